"""Intervals of all that is estimated from cells, by simulation: of right ones 95% cover.

4,000 collections each, drawn by their exact law (tests/oracles/cell_collections.py), of 400, 2,000
and 20,000 people, with a noise of about ten people in a cell: of most of 400 people the noise is as
large as the sampling, of 20,000 hardly anything is left of it. Questions depend on each other, and
of one of them 1 percent of the people say yes.

A share of 4,000 has a standard error of .0034 near .95, so that right intervals fall outside
[.935, .965] with probability below 2e-5 each; about 120 shares are looked at, so that 0.2% is the
rate of false alarms of all together. Seeds are fixed. The wrong variants fall outside.
"""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit
from scipy.stats import binom, chi2, norm

import incrowd
from incrowd.estimation.association import cramers_v
from incrowd.estimation.compare import conditional_share, difference, odds_ratio
from incrowd.estimation.readings import readings, table
from incrowd.estimation.regression.fitting import fit_tables
from incrowd.estimation.regression.levels import level_table
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.variables import whole
from incrowd.estimation.weighting.known_margins import known_margins
from incrowd.estimation.weighting.weighting import TableChange, derived
from tests.estimation.conftest import covered, nominal
from tests.oracles.cell_collections import CellCollections, noise_of

TRIALS, Z = 4000, norm.ppf(0.975)
PEOPLE = [400, 2000, 20_000]
ILL = {"id": "ill", "type": "yesno"}
SMOKES = {"id": "smokes", "type": "yesno"}
AGE = {"id": "age", "type": "choice", "options": ["young", "middle", "old"]}
SEX = {"id": "sex", "type": "choice", "options": ["f", "m"]}
RARE = {"id": "rare", "type": "yesno"}
TABLES = (("ill", "smokes", "age"), ("smokes", "sex"), ("age", "sex"), ("rare", "smokes"), ("ill",))
BETA = np.array([-0.8, 0.7, 0.4, 0.9])  # of being ill: 1, smokes, middle, old


def law():
    """Who smokes is ill more often, and so are the old; men smoke more often; of those who smoke
    1.9 percent are rare, of the others 0.4, together 1."""
    smokes_age = np.array([[0.22, 0.20, 0.18], [0.14, 0.14, 0.12]])
    smoking, age = np.meshgrid([0, BETA[1]], [0, *BETA[2:]], indexing="ij")
    ill = expit(BETA[0] + smoking + age)
    men, rare = np.array([0.45, 0.6]), np.array([0.004, 0.019])
    table = np.stack([1 - ill, ill]) * smokes_age
    table = table[..., None] * np.stack([1 - men, men], -1)[:, None]
    return table[..., None] * np.stack([1 - rare, rare], -1)[:, None, None]


@cache
def crowd(people, noisy=10.0):
    """noisy: of how many people the noise of a cell is. Messages have noises of their own."""
    q = noise_of(noisy, people)
    noises = tuple(q * factor for factor in (0.8, 1.0, 1.0, 0.8, 1.2))
    return CellCollections((ILL, SMOKES, AGE, SEX, RARE), TABLES, noises, law())


def tables(ids, people, trials=TRIALS):
    made = crowd(people)
    for counted in made.tallies(people, trials, seed=people + 1):
        yield table(made.plan, counted, ids, places=(1,))


def holding(found, truth):
    """For each cell the share of tables whose interval holds the truth."""
    return np.mean([(each.low <= truth) & (truth <= each.high) for each in found], axis=0)


# --- the law of the counts -------------------------------------------------------------------


def count_law(inside, people, q):
    """Of the sum of two binomials: of who is in a cell, and of the others."""
    sent = binom.pmf(np.arange(inside + 1), inside, 1 - q)
    return np.convolve(sent, binom.pmf(np.arange(people - inside + 1), people - inside, q))


def deviance(counts, laws):
    """Pearson's chi-square of the counts of all cells, in about five groups each, and its degrees
    of freedom. counts: shape (trials, cells)."""
    total, free = 0.0, 0
    for each, chances in zip(counts.T, laws, strict=True):
        group = (5 * (np.cumsum(chances) - chances / 2)).astype(int)
        _, group = np.unique(np.minimum(group, 4), return_inverse=True)
        expected = len(each) * np.bincount(group, chances)
        seen = np.bincount(group[each], minlength=len(expected))
        total, free = total + np.sum((seen - expected) ** 2 / expected), free + len(seen) - 1
    return total, free


@pytest.mark.slow
def test_the_law_of_the_counts_is_that_of_the_sampler():
    """40 collections of the same 40 people, randomized as real ones are; 3,000 of the oracle. A
    chi-square of all counts and the variance of their sum, that of independent counts: false alarms
    1e-3 each. Wrong: the noise of other messages; noise on those alone who are outside of a cell.
    """
    made, generator = crowd(40, 3.0), np.random.default_rng(1)
    cells = generator.choice(law().size, 40, p=law().ravel())
    people = np.bincount(cells, minlength=law().size).reshape(1, *law().shape)
    inside = np.concatenate([each[0] for each in made.inside(people)])
    q = np.repeat(made.noises, [message.record_bits for message in made.plan.messages])
    laws = [count_law(*each) for each in zip(inside, [40] * len(q), q, strict=True)]
    variance = np.sum(40 * q * (1 - q))
    answers = answers_of(np.unravel_index(cells, law().shape))
    real = np.array([randomized(made, answers, seed) for seed in range(40)])
    oracle = np.hstack(list(made.reports(np.repeat(people, 3000, axis=0), generator)))
    for counts in (real, oracle):
        total, free = deviance(counts, laws)
        assert total < chi2.isf(1e-3, free)
        spread = counts.sum(axis=1).var(ddof=1) / variance
        assert abs(spread - 1) < norm.isf(5e-4) * np.sqrt(2 / len(counts))
    other = [count_law(*each) for each in zip(inside, [40] * len(q), q[::-1], strict=True)]
    outside = [np.append(np.zeros(k), binom.pmf(range(41 - k), 40 - k, q[0])) for k in inside]
    for wrong in (other, outside):
        total, free = deviance(real, [(each + 1e-9) / (1 + 41e-9) for each in wrong])
        assert total > chi2.isf(1e-3, free)


def answers_of(places):
    """What people answer. places: of their answers among those to each question."""
    asked = zip((ILL, SMOKES, AGE, SEX, RARE), places, strict=True)
    return {q["id"]: np.array(q.get("options", [False, True]))[at] for q, at in asked}


def randomized(made, answers, seed):
    """The reports of all cells, of people who are randomized."""
    reports = incrowd.randomize(made.plan, pa.table(answers), simulation_seed=seed)
    counted = incrowd.count(made.plan, reports)
    return np.concatenate(
        [counted.messages[n].tables[ids][1:] for n, ids in enumerate(made.tables)]
    )


# --- shares ----------------------------------------------------------------------------------

WANTED = [("rare",), ("ill",), ("smokes", "sex"), ("rare", "smokes"), ("ill", "smokes", "age")]


@pytest.mark.slow
@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("ids", WANTED, ids="-".join)
def test_shares_cover(ids, people):
    """Single questions, of 1 percent as well, two-way and three-way tables; all but the first
    combined from several messages."""
    assert nominal(holding(tables(ids, people), crowd(people).shares(ids)))


@pytest.mark.slow
def test_the_variance_at_the_estimate_would_not_cover():
    """Where about five reports of a cell are invented, and it holds five people."""
    made = CellCollections(
        (SEX, RARE), (("rare", "sex"),), (0.0025,), np.array([[0.4975, 0.0025], [0.4975, 0.0025]])
    )
    found = [
        table(made.plan, counted, made.tables[0], places=(1,))
        for counted in made.tallies(2000, TRIALS, seed=5)
    ]
    truth = made.shares(made.tables[0])
    assert nominal(holding(found, truth))
    off = np.array([np.abs(each.estimate - truth) for each in found])
    plugged = np.mean(off <= Z * np.array([each.standard_error for each in found]), axis=0)
    assert not nominal(plugged) and plugged.min() < 0.935


@pytest.mark.slow
def test_margins_cover_with_the_errors_of_least_squares_alone():
    """Smoking is in four messages. Wrong: the errors of the sharpest of them, the sum of two cells,
    whether or not its known sum is used."""
    made, truth = crowd(400), crowd(400).shares(["smokes"])
    found = list(tables(("smokes",), 400))
    assert nominal(holding(found, truth))
    cell = 1 / made.plan.messages[1].noise.excess / 400
    for cells in (2, 1):  # without the known sum, and with it
        worse = [each.with_errors(noise=np.full(2, np.sqrt(cells * cell))) for each in found]
        assert holding(worse, truth).min() > 0.965


# --- comparisons, models, weights ------------------------------------------------------------


def compared(people, ids, trials=TRIALS):
    made = crowd(people)
    for counted in made.tallies(people, trials, seed=people + 2):
        yield table(made.plan, counted, ids, covariance=True, margin=True)


def without_noise(joints):
    """Wrong: as if the shares were those of people asked openly."""
    for joint in joints:
        yield joint.with_errors(covariance=joint.error.covariance - joint.error.noise_covariance)


OF, THESE, THOSE = ("ill", "yes"), ("smokes", "yes"), ("smokes", "no")


def figures(made):
    """What is compared, with the truth."""
    (a, b), (c, d) = made.shares(["smokes", "ill"])
    return {
        "share": (lambda joint: conditional_share(joint, OF, THESE), d / (c + d)),
        "difference": (
            lambda joint: difference(joint, OF, THESE, THOSE),
            d / (c + d) - b / (a + b),
        ),
        "odds ratio": (lambda joint: odds_ratio(joint, OF, THESE, THOSE), a * d / (b * c)),
    }


def coverage(figure, truth, joints):
    found = map(figure, joints)
    return np.mean([each.low <= truth <= each.high for each in found])


@pytest.mark.slow
@pytest.mark.parametrize("people", PEOPLE)
def test_comparisons_cover(people):
    """Two questions that go together, in a part of a larger table. Wrong: the noise left out of the
    errors; with more people it is too small a part of them to be missed."""
    joints = list(compared(people, ("smokes", "ill")))
    for name, (figure, truth) in figures(crowd(people)).items():
        assert nominal(coverage(figure, truth, joints)), name
        if people == 400:
            assert not nominal(coverage(figure, truth, without_noise(joints[:1000]))), name


@pytest.mark.slow
def test_odds_ratios_of_a_rare_answer_cover():
    """Of 1 percent, five times as common in one group: a person in 50 has it there."""
    (a, b), (c, d) = crowd(20_000).shares(["smokes", "rare"])
    joints = compared(20_000, ("smokes", "rare"))
    found = [odds_ratio(joint, ("rare", "yes"), THESE, THOSE) for joint in joints]
    assert nominal(np.mean([each.low <= a * d / (b * c) <= each.high for each in found]))


@pytest.mark.slow
@pytest.mark.parametrize("people", PEOPLE[1:])
def test_cramers_v_covers(people):
    """Not of 400 people: there the interval reaches to zero in most collections, where the truth
    nearly is, and covers more often (97.9%)."""
    shares = crowd(people).shares(["smokes", "sex"])
    expected = np.outer(shares.sum(1), shares.sum(0))
    truth = np.sqrt(np.sum((shares - expected) ** 2 / expected))
    found = coverage(cramers_v, truth, compared(people, ("smokes", "sex")))
    assert nominal(found)


@pytest.mark.slow
@pytest.mark.parametrize("people", PEOPLE)
def test_logistic_coefficients_cover(people):
    """From the table of three questions; of 400 people two in a hundred collections are refused,
    since nobody may be in some group. Wrong: the noise left out of the errors."""
    made = crowd(people)
    ask = made.plan.survey.question
    model = Model("logistic", whole(ask("ill")), (0, 1), (whole(ask("smokes")), whole(ask("age"))))
    tallies = made.tallies(people, TRIALS, seed=people + 3)
    levels = [
        level_table(model.randomized, readings(made.plan, each, model.ids)) for each in tallies
    ]
    found = told(model, levels)
    assert len(found) > 0.98 * TRIALS and nominal(covered(found, BETA))
    if people < 20_000:
        assert not nominal(covered(told(model, without_noise(levels[:500])), BETA))


def told(model, levels):
    """The fits of the collections that are not refused."""
    found = [fit_tables(model, [({}, each)]) for each in levels]
    return [fit for fit in found if not fit.reason]


@pytest.mark.slow
@pytest.mark.parametrize("people", PEOPLE)
def test_raked_shares_cover(people):
    """Weighted to the known shares of smoking and of age. Wrong: the same errors as without
    weights, which know no more than the people who came."""
    made, truth = crowd(people), crowd(people).shares(["ill", "smokes"])
    known = {
        id: dict(zip(made.plan.survey.question(id).answers, made.shares([id]), strict=True))
        for id in ("smokes", "age")
    }
    change = TableChange(known_margins(made.plan.survey, known), places=(1,))
    found = [
        derived(made.plan, counted, ("ill", "smokes"), change).table
        for counted in made.tallies(people, TRIALS, seed=people + 4)
    ]
    assert nominal(holding(found, truth))
    wrong = [
        each.with_errors(whole=each.error.whole / each.provenance.error_ratio) for each in found
    ]
    assert not nominal(holding(wrong, truth))
