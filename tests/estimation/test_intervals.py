"""Intervals of one cell and of all cells at once, by simulation.

4,000 collections of any size: a share of 4,000 has a standard error of at most .0034 near .95, so
that right 95% intervals fall outside [.935, .965] with probability below 2e-5, and the wrong
variants named here well outside.
"""

import numpy as np
import pytest
from scipy.stats import norm

from incrowd.estimation.simultaneous import simultaneous_intervals
from incrowd.survey import YesNo
from tests.conftest import slowly
from tests.estimation.conftest import SEX, Z, drawn_histograms, joint_estimates, nominal

# --- simulation ------------------------------------------------------------------------------


def covers(estimates, errors, truth):
    """For each cell, the share of trials whose 95% interval holds the truth."""
    return np.mean(np.abs(np.array(estimates) - truth) <= Z * np.array(errors), axis=0)


ONE_WAY = ((SEX,), np.array([0.5, 0.3, 0.2]))
THREE_WAY = (
    tuple(YesNo(id=name) for name in "abc"),
    np.array([0.2, 0.1, 0.1, 0.15, 0.1, 0.1, 0.1, 0.15]).reshape(2, 2, 2),
)
SETTINGS = [
    pytest.param(ONE_WAY, 3000, 1, id="one-way"),
    pytest.param(THREE_WAY, 12000, 1, id="three-way", marks=pytest.mark.slow),
    pytest.param(ONE_WAY, 1500, 4, id="one-way, 4 copies"),
    pytest.param(THREE_WAY, 4000, 4, id="three-way, 4 copies", marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("table", "people", "copies"), SETTINGS)
def test_intervals_cover_and_wrong_ones_do_not(table, people, copies):
    questions, shares = table
    counts = drawn_histograms(questions, shares, people, copies, seed=people + copies)
    found = joint_estimates(questions, counts, copies)
    estimates = [f.estimate for f in found]
    errors = np.array([f.standard_error for f in found])
    assert np.all(shares >= 5 * np.sqrt(np.mean(errors**2, axis=0)))
    assert nominal(covers(estimates, errors, shares))
    assert not nominal(covers(estimates, 0.9 * errors, shares))
    if copies > 1:
        as_if_people = [f.standard_error for f in joint_estimates(questions, counts, 1)]
        assert not nominal(covers(estimates, as_if_people, shares))


# --- all cells at once -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("copies", [4, *slowly(1)])
def test_simultaneous_intervals_cover_jointly_and_single_ones_do_not(copies):
    """4,000 collections: right intervals fall below .94 with probability .002. The multiplier of
    one collection serves all: correlations hardly vary."""
    questions, shares = THREE_WAY
    found = joint_estimates(
        questions, drawn_histograms(questions, shares, 8000, copies, 11), copies
    )
    for method in ("max-t", "bonferroni"):
        multiplier = simultaneous_intervals(found[0], method=method).multiplier
        reach = np.array([multiplier * f.standard_error for f in found])
        off = np.abs(np.array([f.estimate for f in found]) - shares)
        assert np.mean(np.all(off <= reach, axis=(1, 2, 3))) >= 0.94
        assert np.mean(np.all(off <= 0.9 * reach, axis=(1, 2, 3))) < 0.94
    single = np.array([Z * f.standard_error for f in found])
    assert np.mean(np.all(off <= single, axis=(1, 2, 3))) < 0.85


def test_multipliers_of_known_cases():
    """Independent cells: P(all |z| < c) = (2 Phi(c) - 1)^n, so c is known. Perfectly correlated
    cells: the multiplier of one. The simulation is good to .03 here (some 4 standard errors)."""
    base = joint_estimates(*[ONE_WAY[0], drawn_histograms(*ONE_WAY, 3000, 1, 12, 1)])[0]
    independent = base.with_errors(covariance=np.diag([1.0, 4.0, 9.0]))
    found = simultaneous_intervals(independent)
    assert found.multiplier == pytest.approx(norm.ppf((1 + 0.95 ** (1 / 3)) / 2), abs=0.03)
    assert np.allclose(found.high - found.estimate, found.multiplier * np.array([1, 2, 3]))
    one = np.array([1.0, -2.0, 3.0])
    tied = simultaneous_intervals(base.with_errors(covariance=np.outer(one, one)))
    assert tied.multiplier == pytest.approx(Z, abs=0.03)
    bonferroni = simultaneous_intervals(independent, method="bonferroni")
    assert bonferroni.multiplier == pytest.approx(norm.ppf(1 - 0.025 / 3), abs=1e-9)
    assert bonferroni.accuracy == 0 < found.accuracy < 0.0011
    assert simultaneous_intervals(independent).multiplier == found.multiplier
    nothing = simultaneous_intervals(base.with_errors(covariance=np.zeros((3, 3))))
    assert np.array_equal(nothing.low, nothing.estimate)
