"""Margins that are known among those who answered: values, errors, coverage.

Oracles: division, of one margin; numerical Jacobians; simulated collections.
"""

from dataclasses import replace

import numpy as np
import pytest

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.weighting.margins import CellSums, MarginCells, additive, raked, weighted
from incrowd.survey import Choice, YesNo
from tests.estimation.conftest import Setting, Z, numeric_gradient

SMOKES = YesNo(id="smokes")
DRINKS = Choice(id="drinks", options=("no", "yes"), optional=True)
ANSWERED = np.array(
    [[0.55 * 0.98, 0.15 * 0.02, 0.3 * 0.98], [0.55 * 0.02, 0.15 * 0.98, 0.3 * 0.02]]
)
CENSUS = np.array([0.6, 0.4])  # of those who answered; 0.15 / 0.7 do so unweighted
KNOWN = MarginCells("drinks", ("no", "yes"), CENSUS, np.eye(3)[:2], answered=True)
FOUR = np.arange(12).reshape(3, 4)[:, :3]


def error_of(slopes, joint):
    return np.sqrt(slopes @ joint.error.covariance @ slopes)


def by_division(shares):
    """The weights of "no", "yes" and "no answer": the last one's people keep their share."""
    answered = shares[0] + shares[1]
    return np.append(CENSUS * answered / shares[:2], 1.0)


def answered_joints(trials, seed):
    made = Setting((SMOKES, DRINKS), (BitFlip.at_least(0.005),) * 2, ANSWERED, 3000, 1)
    for joint in made.joints(made.collections(seed, trials), margin=True):
        whole = additive(joint, ["drinks"])
        cells = (whole @ joint.estimate.ravel()).reshape(joint.estimate.shape)
        yield joint.linear(cells, whole)


def test_a_margin_of_those_who_answered_is_division_and_leaves_the_others_alone():
    generator = np.random.default_rng(8)
    for shares in generator.dirichlet(np.ones(3) * 3, 20):
        assert raked(shares, [KNOWN]) == pytest.approx(by_division(shares), rel=1e-9)


def test_two_margins_of_those_who_answered_are_met_together():
    """Of nine cells; in each margin those who answered stay as many, and all people are one."""
    shares = np.random.default_rng(9).dirichlet(np.ones(9) * 5)
    at = np.arange(9).reshape(3, 3)
    rows = [
        np.array([np.isin(np.arange(9), part) * 1.0 for part in turned[:2]])
        for turned in (at, at.T)
    ]
    known = np.array([[0.7, 0.3], [0.45, 0.55]])
    margins = [
        MarginCells(name, ("no", "yes"), each, cells, answered=True)
        for name, each, cells in zip("ab", known, rows, strict=True)
    ]
    made = shares * raked(shares, margins)
    assert made.sum() == pytest.approx(1)
    for each in margins:
        assert each.cells @ made == pytest.approx(each.shares * (each.cells @ shares).sum())


def test_the_jacobian_knows_that_those_who_answered_are_estimated():
    (joint,) = answered_joints(1, 3)
    layout = CellSums(FOUR, np.vstack([np.eye(3), np.ones(3)]))
    values, jacobian = weighted(joint, layout, [KNOWN])
    for cell in np.ndindex(values.shape):

        def of(entries, cell=cell):
            moved = replace(joint, estimate=entries.reshape(joint.estimate.shape))
            return weighted(moved, layout, [KNOWN])[0][cell]

        slope = numeric_gradient(of, joint.estimate.ravel())
        assert jacobian[cell] == pytest.approx(slope, abs=1e-6)


@pytest.mark.slow
def test_tables_weighted_to_those_who_answered_cover_and_a_known_number_of_them_does_not():
    """1,000 collections: the smallest coverage of right intervals is 0.95 - 4 x 0.007. The wrong
    variant takes for known how many answered."""
    weights = by_division(ANSWERED.sum(axis=0))
    truth, layout = float(ANSWERED[1] @ weights), CellSums(FOUR, np.ones((1, 3)))
    right, wrong, several = [], [], []
    for joint in answered_joints(1000, 4):
        values, jacobian = weighted(joint, layout, [KNOWN])
        several.append(values[1, 0])
        right.append(
            abs(values[1, 0] - truth)
            < Z * np.sqrt(jacobian[1, 0] @ joint.error.covariance @ jacobian[1, 0])
        )
        among = joint.estimate.ravel()[FOUR[-1]]
        fixed = MarginCells("", tuple("nya"), among * by_division(among), np.eye(3))
        slopes = weighted(joint, layout, [fixed])[1][1, 0]
        wrong.append(abs(values[1, 0] - truth) < Z * error_of(slopes, joint))
    limit = 4 * np.sqrt(0.05 * 0.95 / 1000)
    assert abs(np.mean(right) - 0.95) < limit < abs(np.mean(wrong) - 0.95)
    assert abs(np.mean(several) - truth) < 4 * np.std(several) / np.sqrt(1000)
