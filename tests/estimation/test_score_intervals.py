"""Intervals of cells: their coverage by enumeration of the counts, and what they are made of."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from incrowd.estimation.cell_errors import CellErrors
from incrowd.estimation.intervals import score_ends
from incrowd.estimation.tables import Provenance, TableEstimate

PEOPLE, Z = 2000, 1.959963984540054
EXPECTED = [0, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 20, 50, 100, 300, 1000]


def table(counts, q, noise_only=False, constant=True):
    """A cell of which so many reports came, for every number of them."""
    estimate = (counts / PEOPLE - q) / (1 - 2 * q)
    noise = np.full(len(counts), np.sqrt(q * (1 - q) / PEOPLE) / (1 - 2 * q))
    report = 1 / PEOPLE / (1 - 2 * q)
    names = (tuple(map(str, counts)),)
    error = CellErrors.of_noise(
        noise, estimate, PEOPLE, noise_only=noise_only, report=report, constant=constant
    )
    return TableEstimate(("a",), names, estimate, error, Provenance(PEOPLE))


def coverage(q, share, ends):
    """The chance that the interval holds the share: the counts are binomial."""
    counts = np.arange(PEOPLE + 1)
    chances = binom.pmf(counts, PEOPLE, share * (1 - q) + (1 - share) * q)
    low, high = ends(table(counts, q))
    return chances[(low <= share) & (share <= high)].sum()


def ends(found):
    return found.low, found.high


def plugged_in(found):
    """The variance at the estimate instead of the tested share: too small where it came out low."""
    return found.estimate - Z * found.standard_error, found.estimate + Z * found.standard_error


@pytest.mark.parametrize("invented", [0.1, 1, 5, 20, 50, 200])
def test_score_intervals_cover_every_share(invented):
    """invented: reports expected in a cell that nobody is in."""
    covers = [coverage(invented / PEOPLE, n / PEOPLE, ends) for n in EXPECTED]
    assert min(covers) > 0.937
    assert np.mean(covers) < 0.975


def test_the_variance_at_the_estimate_would_not_cover():
    assert min(coverage(5 / PEOPLE, n / PEOPLE, plugged_in) for n in EXPECTED) < 0.925


@pytest.mark.parametrize("invented", [0.1, 1, 5, 20, 50, 200])
def test_intervals_of_the_noise_alone_cover_where_people_are_fixed(invented):
    q = invented / PEOPLE
    for people in (0, 1, 5, 20, 100):
        chances = np.convolve(
            binom.pmf(np.arange(people + 1), people, 1 - q),
            binom.pmf(np.arange(PEOPLE - people + 1), PEOPLE - people, q),
        )
        found = table(np.arange(PEOPLE + 1), q, noise_only=True)
        held = (found.low <= people / PEOPLE) & (people / PEOPLE <= found.high)
        assert chances[held].sum() > 0.933


@pytest.mark.parametrize("estimate", [-0.2, -0.01, 0.0, 0.004, 0.3, 0.995, 1.0, 1.02, 1.3])
def test_the_ends_are_where_the_test_refuses(estimate):
    """Oracle: a search for the sign change of the test, outside of zero and one as well."""
    noise, report, people = 1e-4, 0.003, 400

    def test(share, side):
        sampling = max(share * (1 - share), 0) / people
        return side * (estimate - share) - Z * np.sqrt(noise + report**2 / 4 + sampling)

    low, high = score_ends(Z, np.array([estimate]), np.array([noise]), report, people)
    assert low[0] == pytest.approx(brentq(test, estimate - 1, estimate, (1,), xtol=1e-12), abs=1e-9)
    assert high[0] == pytest.approx(
        brentq(test, estimate, estimate + 1, (-1,), xtol=1e-12), abs=1e-9
    )


def test_without_noise_they_are_those_of_wilson():
    shares = np.array([0.0, 0.1, 0.5, 1.0])
    low, high = score_ends(Z, shares, np.zeros(4), 0.0, 50)
    center = (shares + Z**2 / 100) / (1 + Z**2 / 50)
    half = Z / (1 + Z**2 / 50) * np.sqrt(shares * (1 - shares) / 50 + Z**2 / 10_000)
    assert high == pytest.approx(center + half)
    assert low == pytest.approx(center - half)
