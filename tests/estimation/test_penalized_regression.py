"""Firth's penalized likelihood: without noise it is Firth's; with noise it is there where the plain
fit is refused, and its intervals cover.

Oracles: a saturated 2 x 2 table, where Firth's penalty adds half a person to each cell; Firth's
modified scores in numpy, person by person; score intervals of one share in closed form.

A share of 1,000 has a standard error of .007 near .95, so that a right interval falls below .935
with probability .02, and below .93 with .003. Seeds are fixed.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.cell_errors import CellErrors
from incrowd.estimation.regression.evidence import JointTable
from incrowd.estimation.regression.fitting import fit_tables, refusal_risk
from incrowd.estimation.regression.model import Model, design
from incrowd.estimation.regression.penalized import (
    StackedCells,
    cells_of,
    penalized_root,
    score_interval,
    score_ratio,
)
from incrowd.estimation.regression.solving import Strata
from incrowd.estimation.regression.variables import sloped, whole
from incrowd.estimation.tables import Provenance, TableEstimate
from incrowd.survey import Choice, YesNo
from tests.conftest import slowly
from tests.estimation.conftest import Crowd, Mailing, Stratum

Z = 1.959963984540054
ILL, SMOKES = YesNo(id="ill"), YesNo(id="smokes")
WELL = Choice(id="well", options=("bad", "so so", "good", "very good"))
PLAIN = Model("logistic", whole(ILL), (0.0, 1.0), (whole(SMOKES),))
ONE = replace(PLAIN, penalty="firth")
TWO = replace(ONE, predictors=(whole(SMOKES), sloped(WELL, (1.0, 2.0, 3.0, 4.0))))


def counted(model, counts, noise=None):
    """A table of people, whose cells are counted without noise, or with so much of it."""
    people, cells = counts.sum(), counts.size
    shares = counts / people
    sampling = (np.diag(shares.ravel()) - np.outer(shares.ravel(), shares.ravel())) / people
    noise = np.zeros((cells, cells)) if noise is None else noise
    levels = [each.levels for each in model.randomized]
    return TableEstimate(
        questions=tuple(each.name for each in model.randomized),
        answers=tuple(levels),
        exclusive=(True,) * len(levels),
        margins=(False,) * len(levels),
        estimate=shares,
        error=CellErrors.of_noise(
            np.sqrt(np.diagonal(noise)).reshape(shares.shape),
            shares,
            float(people),
            covariance=noise + sampling,
            noise_covariance=noise,
            report=np.full(shares.shape, 1 / people),
        ),
        provenance=Provenance(float(people)),
    )


def cells(model, *tables, sampled=True):
    parts = [JointTable(joint, design(model, {}), "logistic") for joint in tables]
    return cells_of(Strata(parts, sampled))


def firth(x, y, weights, steps=200):
    """Firth 1993 by modified scores y - mu + h (1/2 - mu), each row counting `weights` people."""
    beta = np.zeros(x.shape[1])
    for _ in range(steps):
        mean = expit(x @ beta)
        slope = weights * mean * (1 - mean)
        inverse = np.linalg.inv((x.T * slope) @ x)
        leverage = mean * (1 - mean) * np.einsum("ij,jk,ik->i", x, inverse, x)
        score = x.T @ (weights * (y - mean + leverage * (0.5 - mean)))
        step = inverse @ score
        beta = beta + step / max(1.0, np.abs(step).max())
    return beta


@pytest.mark.parametrize("counts", [[[50, 30], [8, 20]], [[40, 11], [3, 0]], [[0, 25], [60, 5]]])
def test_of_four_cells_it_adds_half_a_person_to_each(counts):
    """Also where one is empty. Wrong: the plain log odds ratio."""
    table = np.array(counts, float)
    found = fit_tables(ONE, [({}, counted(ONE, table))])
    half = np.log(table + 0.5)
    assert found.coefficients[0].estimate == pytest.approx(half[1, 0] - half[0, 0], abs=1e-6)
    expected = half[1, 1] - half[1, 0] - half[0, 1] + half[0, 0]
    assert found.coefficients[1].estimate == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("separated", [False, True])
def test_without_noise_it_is_firths(separated):
    """With a slope, a second predictor, and nobody ill among those who feel very good."""
    counts = np.random.default_rng(2).integers(1, 30, (2, 2, 4)).astype(float)
    if separated:
        counts[1, :, 2:] = 0  # the outcome is an end of the scale alone
        counts[0, :, 0] = 0
    found = fit_tables(TWO, [({}, counted(TWO, counts))])
    y, smokes, well = (each.ravel() for each in np.indices(counts.shape))
    x = np.column_stack([np.ones(y.size), smokes, well + 1.0])
    expected = firth(x, y, counts.ravel())
    assert [each.estimate for each in found.coefficients] == pytest.approx(expected, abs=1e-5)


def one_share(share, people, noise=0.0, sampled=True):
    shares = np.array([1 - share, share])
    both = np.array([[1.0, -1.0], [-1.0, 1.0]])
    sampling = both * max(share * (1 - share), 0) / people if sampled else None
    return StackedCells(
        np.ones((1, 2)), np.array([0.0, 1.0]), shares, both * noise**2, sampling, people
    )


@pytest.mark.parametrize(("share", "noise"), [(0.3, 0.0), (0.3, 0.05), (0.02, 0.01), (-0.01, 0.02)])
def test_the_interval_of_one_share_is_that_of_its_score_test(share, noise):
    """In closed form: all m with |share - m| at most Z errors; the error by sampling is the larger
    of that at the share and that at m. An end is open where the test refuses no smaller share."""
    people = 2000
    alone = one_share(share, people, noise)
    low, high = score_interval(alone, penalized_root(alone), 0)
    grid = expit(np.linspace(-20, 20, 400_001))
    sampling = np.maximum(grid * (1 - grid), max(share * (1 - share), 0)) / people
    kept = grid[np.abs(share - grid) <= Z * np.sqrt(noise**2 + sampling)]
    assert expit(high) == pytest.approx(kept[-1], rel=2e-3)
    if kept[0] == grid[0]:
        assert low == -math.inf
    else:
        assert expit(low) == pytest.approx(kept[0], rel=2e-3)


def test_there_is_an_estimate_whatever_the_noise_made_of_a_cell():
    """Tables whose smallest cells are below zero. The plain fit is refused."""
    generator = np.random.default_rng(5)
    counts = np.array([[9000.0, 900.0], [80.0, 20.0]])
    noise = 0.004**2 * (np.eye(4) - 0.25)
    refused = 0
    for _ in range(40):
        shares = counts / counts.sum() + generator.multivariate_normal(np.zeros(4), noise).reshape(
            2, 2
        )
        joint = replace(counted(ONE, counts, noise), estimate=shares)
        refused += bool(fit_tables(PLAIN, [({}, joint)]).reason)
        beta = penalized_root(cells(ONE, joint))
        assert beta is not None and np.isfinite(beta).all()
    assert refused > 25


# --- coverage ------------------------------------------------------------------------------------

FLIP = BitFlip.at_least(0.2)
BETA = np.array([-3.0, 1.0])
GROUP = 0.1  # who smoke


def rare(people=9000, copies=1):
    """A rare outcome in a small group, of which the plain fit is refused in about half."""
    ill = expit(BETA[0] + BETA[1] * np.array([0, 1])) * np.array([1 - GROUP, GROUP])
    shares = np.stack([np.array([1 - GROUP, GROUP]) - ill, ill])
    return Crowd(ONE, (Stratum({}, shares, people),), (Mailing((FLIP, FLIP), copies),))


def collections(trials, seed, **changed):
    crowd = rare(**changed)
    return crowd.tables(crowd.strata[0], seed, trials)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, *slowly(3)])
def test_the_truth_is_seldom_refused(copies):
    """Wrong: the errors of the sampling alone."""
    refused, wrong, plain = 0, 0, 0
    for joint in collections(120, 7, copies=copies):
        of = cells(ONE, joint)
        refused += abs(score_ratio(of, 1, BETA[1], BETA[:1])[0]) > Z
        bare = replace(of, noise=np.zeros_like(of.noise))
        wrong += abs(score_ratio(bare, 1, BETA[1], BETA[:1])[0]) > Z
        plain += bool(fit_tables(PLAIN, [({}, joint)]).reason)
    assert refused <= 15 and wrong > 36  # 16 of 120 or more have a chance of 4e-4
    assert copies > 1 or plain > 24


def test_intervals_are_what_the_test_does_not_refuse():
    """Both ends, and the truth between them just where its test says so."""
    for joint in collections(12, 11):
        of = cells(ONE, joint)
        beta = penalized_root(of)
        low, high = score_interval(of, beta, 1)
        assert low <= beta[1] <= high
        refused = abs(score_ratio(of, 1, BETA[1], BETA[:1])[0]) > Z
        assert refused == (not low <= BETA[1] <= high)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 4])
def test_95_percent_of_the_intervals_cover(copies):
    """Of all collections, though the plain fit tells but some of them, and what these tell is off:
    medians of the told ones. The intervals of the plain fit cover less."""
    found = [
        (fit_tables(ONE, [({}, joint)]), fit_tables(PLAIN, [({}, joint)]))
        for joint in collections(1000, 13, copies=copies)
    ]
    covered = np.mean(
        [
            [c.low <= b <= c.high for c, b in zip(f.coefficients, BETA, strict=True)]
            for f, _ in found
        ],
        axis=0,
    )
    assert (covered >= 0.935).all()
    told = [p.coefficients[1] for _, p in found if not p.reason]
    assert all(not f.reason for f, _ in found)
    slopes = np.median([f.coefficients[1].estimate for f, _ in found])
    print(covered, len(told), np.median([c.estimate for c in told]), slopes)
    print(np.mean([c.low <= BETA[1] <= c.high for c in told]))
    assert abs(slopes - 1) < abs(np.median([c.estimate for c in told]) - 1) or copies > 1


# --- how often the plain fit is refused, and what the others tell --------------------------------


@pytest.mark.slow
def test_the_chance_of_a_refusal_is_how_often_it_happens():
    """From the true shares, and the mean covariance. Of 150 collections the refused share has a
    standard error of .041 at most: off by four of them with probability 6e-5."""
    tables = collections(150, 17)
    refused = np.mean([bool(fit_tables(PLAIN, [({}, joint)]).reason) for joint in tables])
    expected = replace(tables[0], estimate=rare().strata[0].shares).with_errors(
        covariance=np.mean([joint.error.covariance for joint in tables], axis=0),
        noise_covariance=np.mean([joint.error.noise_covariance for joint in tables], axis=0),
    )
    risk = refusal_risk(PLAIN, [({}, expected)])
    assert abs(risk.chance - refused) < 4 * 0.041
    assert 0.2 < refused < 0.8 and risk.who == "smokes=yes with ill=yes"
    assert refusal_risk(ONE, [({}, expected)]).chance < 0.01


@pytest.mark.slow
def test_what_is_not_refused_is_off_towards_even_odds():
    """The group that is hardly seen has its odds too close to even, so that its coefficient is too
    high where the outcome is rare there, whatever its sign. Firth's fit, which is always there, is
    off by less. 110 or so of 200 are told: the median of them has an error of about .1."""
    told, penalized = [], []
    for joint in collections(200, 19):
        plain = fit_tables(PLAIN, [({}, joint)])
        told += [] if plain.reason else [plain.coefficients[1].estimate]
        penalized.append(penalized_root(cells(ONE, joint))[1])
    assert 60 < len(told) < 140
    assert np.median(told) > BETA[1] + 0.15
    assert abs(np.median(penalized) - BETA[1]) < np.median(told) - BETA[1]
