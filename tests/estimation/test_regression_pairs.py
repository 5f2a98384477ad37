"""Linear models from pairs of questions against the whole table, and against enumeration."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.estimation.regression.fitting import fit, fit_tables
from incrowd.estimation.regression.levels import level_rows
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.pairs import Columns, MessageRows, Pairs, pairs_of_stratum
from incrowd.estimation.regression.solving import Strata
from incrowd.estimation.regression.variables import against_others, whole
from incrowd.survey import Choice, Multi, YesNo
from tests.conftest import one_in
from tests.estimation.conftest import Crowd, Mailing, Stratum

VISITS = Choice(id="visits", options=("few", "some", "many"))
SMOKES = YesNo(id="smokes")
AGE = Choice(id="age", options=("young", "middle", "old"))
TOWN = Choice(id="town", options=("north", "south"))
SMOKING = whole(SMOKES)
PREDICTORS = (SMOKING, whole(AGE), whole(TOWN))
CROSSED = ((SMOKING, PREDICTORS[2]),)
MODEL = Model("linear", whole(VISITS), (1, 2, 4), PREDICTORS, CROSSED, frozenset({"town"}))
FLIP = BitFlip.at_least(0.2)
CHANNELS = (FLIP, BitFlip.at_least(0.1), KAry.from_epsilon(1.5, 3))


def crowd(*mailings):
    generator = np.random.default_rng(3)
    strata = [
        Stratum({"town": town}, generator.dirichlet(np.full(18, 3.0)).reshape(3, 2, 3), 700)
        for town in TOWN.options
    ]
    return Crowd(MODEL, tuple(strata), mailings)


@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize(
    "mailings",
    one_in(
        3,
        [
            (Mailing((FLIP,) * 3),),
            (Mailing(CHANNELS, copies=4),),
            (Mailing(CHANNELS, 2, 1.0), Mailing((FLIP,) * 3, 3, 0.4)),
        ],
        whole=True,
    ),
    ids=["one copy", "four copies", "two messages"],
)
def test_pairs_give_the_coefficients_and_errors_of_the_whole_table(mailings, sampled):
    """The covariance of all cells of the table against sums that never make it: to 1e-9."""
    asked = crowd(*mailings)
    (tables,) = asked.collections(seed=5, trials=1)
    if not sampled:
        tables = [(c, t.noise_alone()) for c, t in tables]
    whole_table = fit_tables(MODEL, tables)
    parts = [pairs_of_stratum(MODEL, clear, sent, sampled) for clear, sent in asked.sent(seed=5)]
    from_pairs = fit(MODEL, Strata(parts, sampled))
    assert [c.term for c in from_pairs.coefficients][-1] == "smokes=yes:town=south"
    values = [[c.estimate for c in f.coefficients] for f in (whole_table, from_pairs)]
    assert np.allclose(*values, rtol=1e-9, atol=1e-11)
    assert np.allclose(whole_table.covariance, from_pairs.covariance, rtol=1e-8, atol=1e-12)
    as_one = [replace(p, messages=[replace(s, copies=1) for s in p.messages]) for p in parts]
    if sampled and any(m.copies > 1 for m in mailings):
        wrong = fit(MODEL, Strata(as_one, sampled))
        assert not np.allclose(wrong.covariance, from_pairs.covariance, rtol=0.05)


SIZES = (2, 3, 2)  # levels of three predictors; the outcome has two


def test_the_square_of_a_score_is_right_on_average_by_enumeration():
    """All reports of every person, by their chances: the mean of what estimates t t' is t t'
    itself, to 1e-10; the square of the report's own score is not."""
    generator = np.random.default_rng(8)
    scores, beta = np.array([0.5, 2.0]), generator.normal(size=1 + sum(SIZES))
    columns = Columns(SIZES)
    laws = [np.full((n, n), 0.2 / (n - 1)) + (0.8 - 0.2 / (n - 1)) * np.eye(n) for n in (2, *SIZES)]
    inverses = [np.linalg.inv(law) for law in laws]
    for person in itertools.product(*(range(n) for n in (2, *SIZES))):
        x = np.concatenate(
            [[1.0], *(np.eye(n)[at] for n, at in zip(SIZES, person[1:], strict=True))]
        )
        t = x * (scores[person[0]] - x @ beta)
        both, own = 0.0, 0.0
        for said in itertools.product(*(range(n) for n in (2, *SIZES))):
            chance = np.prod([law[s, p] for law, s, p in zip(laws, said, person, strict=True)])
            g = [inverse[:, s] for inverse, s in zip(inverses, said, strict=True)]
            u = np.concatenate([[1.0], *g[1:]])[None]
            squares = columns.score_squares(u, g[0][None], scores, beta)
            own, both = own + chance * squares[0], both + chance * squares[1]
        assert np.allclose(both, np.outer(t, t), atol=1e-10)
        assert not np.allclose(own, np.outer(t, t), atol=1e-2)


def test_forms_are_squares_on_average_and_never_above_the_largest():
    generator, columns = np.random.default_rng(9), Columns(SIZES)
    weights = generator.normal(size=(4, 1 + sum(SIZES)))
    people = [
        np.concatenate([[1.0], *(np.eye(n)[at] for n, at in zip(SIZES, levels, strict=True))])
        for levels in itertools.product(*map(range, SIZES))
    ]
    found = columns.forms(np.array(people), weights)
    assert np.allclose(found, (np.array(people) @ weights.T) ** 2)
    assert np.all(found.max(axis=0) <= columns.most(weights) + 1e-12)


def test_forty_questions_stand_in_one_model():
    """True bits, hardly any noise: ordinary least squares. The errors are those of White (1980)."""
    generator = np.random.default_rng(10)
    bits = generator.random((1500, 40)) < 0.4
    y = bits[:, 0] ^ (generator.random(1500) < 0.3)
    rows = np.hstack([np.stack([1 - b, b], axis=1) for b in [y, *bits.T]]).astype(float)
    lift = np.zeros((41, 81))
    lift[0, 0] = 1
    lift[np.arange(1, 41), np.arange(2, 82, 2)] = 1
    part = Pairs(
        [MessageRows(lambda: iter([rows]), 1, 1, 1.0)], (2,) * 41, np.array([0.0, 1.0]), lift
    )
    questions = [YesNo(id=f"q{n}") for n in range(41)]
    model = Model("linear", whole(questions[0]), (0, 1), tuple(map(whole, questions[1:])))
    found = fit(model, Strata([part]))
    x = np.column_stack([np.ones(1500), bits])
    beta, *_ = np.linalg.lstsq(x, y.astype(float), rcond=None)
    inverse = np.linalg.inv(x.T @ x)
    meat = (x * ((y - x @ beta) ** 2)[:, None]).T @ x
    assert np.allclose([c.estimate for c in found.coefficients], beta, atol=1e-10)
    assert np.allclose(found.covariance, inverse @ meat @ inverse, rtol=1e-9, atol=1e-15)


USES = Multi(id="uses", options=("u", "v", "w"), at_most=2)


@pytest.mark.parametrize(
    "variable", [whole(AGE), whole(SMOKES), against_others(AGE, "old"), against_others(USES, "v")]
)
def test_what_a_report_says_of_the_levels_sums_to_one(variable):
    """So that sums over a question leave the table of the others, without its noise."""
    rows = level_rows(variable, FLIP)
    assert np.allclose(rows.sum(axis=0), np.eye(1, rows.shape[1])[0], atol=1e-12)


def test_the_table_sums_to_one_exactly():
    (tables,) = crowd(Mailing((FLIP,) * 3)).collections(seed=6, trials=1)
    assert all(abs(table.estimate.sum() - 1) < 1e-12 for _, table in tables)
    ones = np.ones(18)
    assert all(abs(ones @ table.error.covariance @ ones) < 1e-15 for _, table in tables)
