"""Weights to known margins, and shares of those who answered: values, errors, coverage.

Oracles: Newton's method on the dual problem of raking, P / p of one margin, numerical Jacobians.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import root

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.errors import TableError
from incrowd.estimation.tables import OpenAxis, across
from incrowd.estimation.weighting.margins import CellSums, MarginCells, additive, raked, weighted
from incrowd.estimation.weighting.weighting import without
from incrowd.survey import Choice, YesNo
from tests.estimation.conftest import Setting, Z, nominal, numeric_gradient

SMOKES, SEX = YesNo(id="smokes"), Choice(id="sex", options=("f", "m"))
AGE = Choice(id="age", options=("a", "b"))
PEOPLE = np.array([[0.28, 0.17], [0.22, 0.33]])  # sex by age
RATES = np.array([[0.03, 0.05], [0.9, 0.95]])  # of smokers: weights matter
SHARES = np.stack([PEOPLE * (1 - RATES), PEOPLE * RATES])
PLACES = np.arange(27).reshape(3, 3, 3)[:, :2, :2].reshape(3, 4)
LAYOUT = CellSums(PLACES, np.ones((1, 4)))
BY_SEX, BY_AGE = np.array([[1, 1, 0, 0], [0, 0, 1, 1.0]]), np.array([[1, 0, 1, 0], [0, 1, 0, 1.0]])
MARGINS = [
    MarginCells("sex", ("f", "m"), np.array([0.6, 0.4]), BY_SEX),
    MarginCells("age", ("a", "b"), np.array([0.4, 0.6]), BY_AGE),
]


def setting(people=5000, noise=0.1, copies=1):
    return Setting((SMOKES, SEX, AGE), (BitFlip.at_least(noise),) * 3, SHARES, people, copies)


def by_newton(shares, margins):
    """Weights exp(D' l) whose margins are right; l is zero for the first category of each margin
    but the first, which only says where a factor stands."""
    cells = np.vstack([each.cells for each in margins])
    known = np.concatenate([each.shares for each in margins])

    def off(factors):
        found = cells @ (shares * np.exp(factors @ cells)) - known
        return np.append(found, factors[pinned])

    sizes = [len(each.shares) for each in margins]
    pinned = np.cumsum(sizes)[:-1]
    return np.exp(root(off, np.zeros(len(known)), method="lm", tol=1e-14).x @ cells)


def true_rate(margins):
    """The share of smokers among people who have the known margins."""
    return float((SHARES.reshape(2, 4) * by_newton(PEOPLE.ravel(), margins)).sum(axis=1)[1])


def test_raking_against_newtons_method_and_one_margin_against_division():
    generator = np.random.default_rng(3)
    for _ in range(20):
        shares = generator.dirichlet(np.ones(4) * 5)
        assert raked(shares, MARGINS) == pytest.approx(by_newton(shares, MARGINS), rel=1e-8)
    cells = MarginCells("both", tuple("1234"), np.array([0.1, 0.2, 0.3, 0.4]), np.eye(4))
    assert raked(shares, [cells]) == pytest.approx(cells.shares / shares, rel=1e-12)


def test_raking_takes_a_cell_below_zero_and_refuses_margins_that_cannot_be_met():
    shares = np.array([0.4, -0.01, 0.2, 0.41])
    known = np.array([[0.4, 0.6], [0.55, 0.45]])
    near = [replace(each, shares=own) for each, own in zip(MARGINS, known, strict=True)]
    weights = raked(shares, near)
    assert BY_SEX @ (shares * weights) == pytest.approx([0.4, 0.6])
    assert BY_AGE @ (shares * weights) == pytest.approx([0.55, 0.45])
    with pytest.raises(TableError, match="do not converge"):
        raked(np.array([0.5, 0.0, 0.0, 0.5]), MARGINS)


def test_the_jacobian_is_that_of_the_whole_procedure():
    """Numerically: weights and table are worked out anew beside every entry."""
    joint = setting().joints(setting().collections(4, 1), margin=True)[0]
    values, jacobian = weighted(joint, LAYOUT, MARGINS)
    for cell in range(3):

        def of(entries, cell=cell):
            moved = replace(joint, estimate=entries.reshape(joint.estimate.shape))
            return weighted(moved, LAYOUT, MARGINS)[0][cell, 0]

        slope = numeric_gradient(of, joint.estimate.ravel())
        assert jacobian[cell, 0] == pytest.approx(slope, abs=1e-6)
    assert values[2, 0] == pytest.approx(1) and not jacobian[2].any()


def hits(made, trials, seed, margins=MARGINS):
    """Whether intervals hold the truth: the right ones, and those that take the weights as known
    from elsewhere."""
    truth, right, fixed = true_rate(margins), [], []
    for joint in made.joints(made.collections(seed, trials), margin=True):
        values, jacobian = weighted(joint, LAYOUT, margins)
        frozen = np.zeros(27)
        frozen[PLACES[1]] = raked(joint.estimate.ravel()[PLACES[2]], margins)
        for slopes, into in ((jacobian[1, 0], right), (frozen, fixed)):
            error = error_of(slopes, joint)
            into.append(abs(values[1, 0] - truth) < Z * error)
    return np.mean(right), np.mean(fixed)


@pytest.mark.slow
def test_raked_shares_cover_and_fixed_weights_do_not():
    """400 collections: 4 standard errors of the coverage, one false alarm in 16,000."""
    right, fixed = hits(setting(noise=0.01), 400, 5)
    assert abs(right - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 400) < abs(fixed - 0.95)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "noise", "copies", "seed"),
    [(5000, 0.01, 1, 6), (5000, 0.2, 1, 7), (3000, 0.3, 1, 8), (3000, 0.3, 4, 9)],
)
@pytest.mark.parametrize("margins", [MARGINS, MARGINS[:1]], ids=["raked", "one margin"])
def test_coverage_of_weighted_shares(people, noise, copies, seed, margins):
    """4,000 collections: a false alarm has 4.4 standard errors."""
    right, fixed = hits(setting(people, noise, copies), 4000, seed, margins)
    assert nominal(right)
    if noise == 0.01:
        assert not nominal(fixed)


STRATA = (  # of 2,000 and 4,000 people by chance: smokes by sex in each
    np.array([[0.45, 0.15], [0.05, 0.35]]),
    np.array([[0.20, 0.50], [0.25, 0.05]]),
)
KNOWN = MarginCells("faculty", ("law", "arts"), np.array([0.7, 0.3]), np.eye(2))


def of_strata(trials, seed):
    """Tables of two strata together, who is in which being drawn as well."""
    generator, joints = np.random.default_rng(seed), []
    law = generator.binomial(6000, 1 / 3, trials)
    for people in np.stack([law, 6000 - law], 1):
        parts = []
        for shares, number in zip(STRATA, people, strict=True):
            own = Setting((SMOKES, SEX), (BitFlip.at_least(0.1),) * 2, shares, number)
            histogram = own.collections(int(generator.integers(1 << 32)), 1)
            parts += own.joints(histogram, margin=True)
        axis = OpenAxis("faculty", ("law", "arts"), 0, tuple(people.tolist()))
        joints.append(across(parts, axis))
    return joints


@pytest.mark.slow
@pytest.mark.parametrize("trials", [100, pytest.param(4000, marks=pytest.mark.slow)])
def test_stratified_differences_cover(trials):
    """Smokers among the women less those among the men, in shares of all people: 4 standard errors
    of the coverage. Without weights the difference is another one."""
    contrast = np.zeros(9)
    contrast[[3, 4]] = 1, -1  # smokes = yes, sex = f and m
    layout = CellSums(np.arange(18).reshape(2, 9).T, np.ones((1, 2)))
    truth = float(sum(w * (p[1, 0] - p[1, 1]) for w, p in zip(KNOWN.shares, STRATA, strict=True)))
    right, plain = [], []
    for joint in of_strata(trials, 14):
        values, jacobian = weighted(joint, layout, [KNOWN])
        slopes = contrast @ jacobian[:, 0]
        right.append(abs(contrast @ values[:, 0] - truth) < Z * error_of(slopes, joint))
        both = np.tile(contrast, 2)
        plain.append(abs(both @ joint.estimate.ravel() - truth) < Z * error_of(both, joint))
    slack = 4 * np.sqrt(0.05 * 0.95 / trials)
    assert abs(np.mean(right) - 0.95) < slack < abs(np.mean(plain) - 0.95)


def test_a_share_that_is_not_clear_of_the_noise_is_not_divided_by():
    joint = setting(300, 0.35).joints(setting(300, 0.35).collections(4, 1), margin=True)[0]
    with pytest.raises(TableError, match="the share of sex = "):
        weighted(joint, LAYOUT, MARGINS)


def test_answers_that_are_made_additive_keep_their_means_and_lose_noise():
    """Of 400 collections the mean of each cell is within 5 of its standard errors of the truth."""
    joints = setting(noise=0.2).joints(setting(noise=0.2).collections(13, 400), margin=True)
    matrix = additive(joints[0], ["sex", "age"])
    moved = [j.linear((matrix @ j.estimate.ravel()).reshape(3, 3, 3), matrix) for j in joints]
    for each in moved[:5]:
        assert each.estimate[:, :2].sum(axis=1) == pytest.approx(each.estimate[:, 2])
        assert each.estimate[:, :, :2].sum(axis=2) == pytest.approx(each.estimate[:, :, 2])
    found = np.array([each.estimate[:2, :2, :2] for each in moved])
    error = found.std(axis=0) / np.sqrt(len(found))
    assert np.all(np.abs(found.mean(axis=0) - SHARES) < 5 * error)
    before, after = (
        np.mean([error_of(weighted(j, LAYOUT, MARGINS)[1][1, 0], j) for j in each])
        for each in (joints[:50], moved[:50])
    )
    assert after < 0.9 * before


def error_of(slopes, joint):
    return np.sqrt(slopes @ joint.error.covariance @ slopes)


# --- of those who answered -------------------------------------------------------------------

OPTIONAL = Choice(id="sick", options=("no", "yes"), optional=True)
SICK = np.array([[0.42, 0.10], [0.18, 0.12], [0.1, 0.08]])  # no, yes, no answer; by sex


def answering(noise=0.05, people=4000):
    return Setting((OPTIONAL, SEX), (BitFlip.at_least(noise),) * 2, SICK, people)


def test_shares_of_those_who_answered_and_their_jacobian():
    joint = answering().joints(answering().collections(11, 1), margin=True)[0]
    found, jacobian = without(joint)
    assert found.answers == (("no", "yes"), ("f", "m")) and found.estimate.shape == (3, 3)
    table = joint.estimate
    whole = table[3, 2] - table[2, 2]
    assert found.without_margins().estimate == pytest.approx(table[:2, :2] / whole)
    assert found.estimate[2, 2] == pytest.approx(1)
    assert found.estimate[2, 0] == pytest.approx((table[3, 0] - table[2, 0]) / whole)
    for cell in range(9):

        def of(entries, cell=cell):
            moved = replace(joint, estimate=entries.reshape(table.shape))
            return without(moved)[0].estimate.flat[cell]

        assert jacobian[cell] == pytest.approx(numeric_gradient(of, table.ravel()), abs=1e-6)


@pytest.mark.parametrize("trials", [400, pytest.param(4000, marks=pytest.mark.slow)])
def test_shares_of_those_who_answered_cover(trials):
    """4 standard errors of the coverage: a false alarm in 16,000; the share of all people does not
    cover."""
    truth, right, of_all = SICK[1].sum() / SICK[:2].sum(), [], []
    for joint in answering().joints(answering().collections(12, trials), margin=True):
        found, _ = without(joint)
        for table, into in ((found, right), (joint, of_all)):
            error = table.standard_error[1, -1]
            into.append(abs(table.estimate[1, -1] - truth) < Z * error)
    slack = 4 * np.sqrt(0.05 * 0.95 / trials)
    assert abs(np.mean(right) - 0.95) < slack < abs(np.mean(of_all) - 0.95)


def test_whoever_is_asked_without_a_way_out_answers():
    joint = setting().joints(setting().collections(4, 1), margin=True)[0]
    assert without(joint)[0] is joint
