"""K-Randomization, February 2016: the laws of collections against enumeration."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from reproduction import february_2016
from tests.reproduction.conftest import FLIPS, exact_flip


@pytest.mark.parametrize(("N", "m"), [(1, 0), (1, 1), (4, 2), (6, 6), (6, 1)])
@pytest.mark.parametrize("channel", FLIPS)
def test_law_of_the_number_of_ones(channel, N, m):
    p, q = exact_flip(channel)
    expected = [Fraction(0)] * (N + 1)
    for bits in itertools.product((0, 1), repeat=N):
        kept = sum(bits[:m]) + sum(1 - b for b in bits[m:])
        expected[sum(bits)] += p**kept * q ** (N - kept)
    expected = np.array([float(value) for value in expected])
    assert february_2016.law(channel, N, m) == pytest.approx(expected, rel=1e-12)
    if N > 1 and m > 0:
        before = february_2016.law(channel, N - 1, m - 1)
        assert february_2016.law_with_one(channel, before) == pytest.approx(expected, rel=1e-12)
        stepped = february_2016.cumulative_with_one(channel, np.cumsum(before))
        assert stepped == pytest.approx(np.cumsum(expected), rel=1e-12)
    if N > 1 and m < N:
        before = february_2016.law(channel, N - 1, m)
        assert february_2016.law_with_zero(channel, before) == pytest.approx(expected, rel=1e-12)
        stepped = february_2016.cumulative_with_zero(channel, np.cumsum(before))
        assert stepped == pytest.approx(np.cumsum(expected), rel=1e-12)


def outcomes_by_multiset(channel, records):
    """P(multiset) for every multiset of reports, from all ordered outcomes, as fractions."""
    p, q = exact_flip(channel)
    L = len(records[0])
    found = Counter()
    for reports in itertools.product(itertools.product((0, 1), repeat=L), repeat=len(records)):
        differing = int((np.array(reports) != np.array(records)).sum())
        found[tuple(sorted(reports))] += q**differing * p ** (L * len(records) - differing)
    return found


@pytest.mark.parametrize(
    ("records", "modified"),
    [
        ([[0], [1], [1], [0]], [[0], [1], [1], [1]]),
        ([[0, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [1, 1]]),
        ([[0, 1], [1, 1], [0, 0]], [[0, 1], [1, 0], [0, 0]]),
        ([[0, 1, 1], [1, 0, 0]], [[0, 1, 1], [0, 1, 0]]),
    ],
)
@pytest.mark.parametrize("channel", FLIPS[1:3])
def test_ratio_from_the_definition(channel, records, modified):
    before, after = (outcomes_by_multiset(channel, x) for x in (records, modified))
    assert sum(before.values()) == 1
    for reports in before:
        found = february_2016.probability(channel, np.array(records), np.array(reports))
        assert found == pytest.approx(float(before[reports]), rel=1e-12)
        ratio = february_2016.privacy_ratio(
            channel, np.array(records), np.array(modified), np.array(reports)
        )
        assert ratio == pytest.approx(float(after[reports] / before[reports]), rel=1e-12)


def test_one_bit_ratio_from_the_definition():
    channel, N, m = FLIPS[1], 9, 4
    records = (np.arange(N) < m + 1).astype(int)[:, None]
    modified = (np.arange(N) < m).astype(int)[:, None]
    expected = [
        february_2016.privacy_ratio(
            channel, records, modified, (np.arange(N) < shown).astype(int)[:, None]
        )
        for shown in range(N + 1)
    ]
    assert february_2016.one_bit_ratio(channel, N, m) == pytest.approx(expected, rel=1e-12)


def test_the_definition_refuses_what_is_large_or_does_not_fit():
    rng = np.random.default_rng(1)
    large = rng.integers(0, 2, (60, 5))
    with pytest.raises(ValueError, match="take fewer reports"):
        february_2016.probability(FLIPS[0], large, large)
    with pytest.raises(ValueError, match="shape"):
        february_2016.probability(FLIPS[0], large[:3], large[:4])
    with pytest.raises(ValueError, match=r"0\.\.3"):
        february_2016.law(FLIPS[0], 3, 4)
