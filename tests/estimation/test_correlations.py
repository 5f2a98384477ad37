"""Correlations of tables: closed forms, numerical slopes, and simulated collections."""

import math
from dataclasses import replace

import numpy as np
import pytest

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.cells import CellCounts, CellsReading
from incrowd.estimation.correlate import Correlations, correlation, no_correlation
from incrowd.plans import CellsMessage
from incrowd.survey import Choice, YesNo
from tests.estimation.conftest import ONE_REPORT

ILL, SMOKES = YesNo(id="ill"), YesNo(id="smokes")
VISITS = Choice(id="visits", options=("none", "some", "many"), optional=True)
YES, NUMBERS = np.array([0.0, 1.0]), np.array([0.0, 2.0, 7.0, np.nan])


def table(questions, shares, people=5000, seed=None, q=0.02, noise_only=False):
    """The table of people with these shares: as it is on average, or of one collection."""
    message = CellsMessage(questions=questions, noise_numerator=BitFlip.at_least(q).numerator)
    low, high = message.noise.matrix[1]
    if seed is None:
        reports = people * (low + (high - low) * shares.ravel())
    else:
        generator = np.random.default_rng(seed)
        counts = generator.multinomial(people, shares.ravel())
        reports = generator.binomial(counts, high) + generator.binomial(people - counts, low)
    reading = CellsReading((CellCounts(message, people, reports),), 1.0)
    return reading.table(questions, noise_only, ONE_REPORT, covariance=True)


def phi(shares):
    """Of a two by two table, in its own words."""
    (a, b), (c, d) = shares
    return (a * d - b * c) / math.sqrt((a + b) * (c + d) * (a + c) * (b + d))


TWO = np.array([[0.55, 0.15], [0.12, 0.18]])
FOUR = np.array([[0.30, 0.22, 0.08, 0.05], [0.05, 0.10, 0.15, 0.05]])


def test_of_yes_no_questions_it_is_phi():
    found = correlation(table((ILL, SMOKES), TWO), YES, YES)
    assert found.estimate == pytest.approx(phi(TWO), abs=1e-9)
    assert -1 < found.low < found.estimate < found.high < 1


def test_people_who_did_not_answer_are_left_out():
    found = correlation(table((ILL, VISITS), FOUR), YES, NUMBERS)
    answered = FOUR[:, :3] / FOUR[:, :3].sum()
    x, y = np.repeat([0, 1], 3), np.tile([0, 2, 7], 2)
    covariance = np.cov(x, y, aweights=answered.ravel(), ddof=0)
    wanted = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1])
    assert found.estimate == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("noise_only", [False, True])
def test_the_error_is_that_of_numerical_slopes(noise_only):
    """Also where people are left out."""
    joint = table((ILL, VISITS), FOUR, noise_only=noise_only)

    def value(estimate):
        return correlation(replace(joint, estimate=estimate), YES, NUMBERS).estimate

    steps = 1e-6 * np.eye(joint.estimate.size).reshape(-1, *joint.estimate.shape)
    slopes = np.array(
        [(value(joint.estimate + h) - value(joint.estimate - h)) / 2e-6 for h in steps]
    )
    wanted = math.sqrt(slopes @ joint.error.covariance @ slopes)
    found = correlation(joint, YES, NUMBERS)
    assert found.standard_error == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "q"), [(400, 0.02), (3000, 0.02)])
def test_intervals_cover(people, q):
    """A rare answer, dependent questions. Of 1,500 collections a right share falls outside of
    [.925, .975] with probability 1e-5; with the noise left out of the errors it does."""
    shares = np.array([[0.66, 0.25], [0.02, 0.07]])
    inside = np.zeros(2)
    for seed in range(1500):
        joint = table((ILL, SMOKES), shares, people, seed, q)
        noiseless = joint.with_errors(
            covariance=joint.error.covariance - joint.error.noise_covariance
        )
        for place, each in enumerate((joint, noiseless)):
            found = correlation(each, YES, YES)
            inside[place] += found.low <= phi(shares) <= found.high
    right, wrong = inside / 1500
    assert 0.925 < right < 0.975 and wrong < 0.925


def test_without_spread_everything_is_possible():
    found = correlation(table((ILL, SMOKES), np.array([[1.0, 0.0], [0.0, 0.0]])), YES, YES)
    assert math.isnan(found.estimate) or (found.low, found.high) == (-1.0, 1.0)


def of(*values):
    names, places = "abc", [(0, 1), (0, 2), (1, 2)]
    pairs = []
    for (i, j), value in zip(places, values, strict=True):
        pair = no_correlation((names[i], names[j]), "")
        pairs.append(replace(pair, estimate=value, standard_error=0.1))
    return Correlations(tuple(names), tuple(pairs), 100, "noise alone", None)  # type: ignore[arg-type]


def test_the_matrix_says_whether_it_can_be_one():
    """Correlations r of three questions: eigenvalues 1 + 2 r and 1 - r."""
    assert of(0.2, 0.2, 0.2).smallest_eigenvalue == pytest.approx(0.8)
    assert of(-0.6, -0.6, -0.6).smallest_eigenvalue == pytest.approx(-0.2)
    assert math.isnan(of(0.2, math.nan, 0.2).smallest_eigenvalue)
    found = of(0.1, 0.2, 0.3).matrix
    assert found.tolist() == [[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]
    assert of(0.1, 0.2, 0.3).standard_errors.tolist() == [
        [0, 0.1, 0.1],
        [0.1, 0, 0.1],
        [0.1, 0.1, 0],
    ]
