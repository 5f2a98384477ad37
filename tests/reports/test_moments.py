"""Counts of pairs and patterns of bits, by their definition."""

import itertools

import numpy as np
import pytest

from incrowd.errors import TableError
from incrowd.reports.moments import histogram, pair_moments
from tests.conftest import pack

AXES = (slice(0, 1), slice(1, 4), slice(4, 7))


# --- counting --------------------------------------------------------------------------------


def brute_pairs(bits, axes):
    """Every entry of the pair moments by its definition."""
    sets = []
    for axis in axes:
        columns = range(axis.start, axis.stop)
        pairs = list(itertools.combinations(columns, 2))
        sets.append([(), *((c,) for c in columns), *pairs])
    found = np.empty([len(s) for s in sets], int)
    for place in np.ndindex(*found.shape):
        columns = [c for s, i in zip(sets, place, strict=True) for c in s[i]]
        found[place] = bits[:, columns].all(axis=1).sum()
    return found


@pytest.mark.parametrize("axes", [[slice(0, 3)], [slice(3, 5), slice(0, 1)], AXES[::-1]])
def test_pair_moments_count_what_they_say(axes):
    bits = np.random.default_rng(1).integers(0, 2, (300, 7))
    assert np.array_equal(pair_moments(pack(bits), axes), brute_pairs(bits, axes))


@pytest.mark.parametrize("limit", [0, 20])
def test_both_ways_of_counting_pairs_agree(limit, monkeypatch):
    bits = np.random.default_rng(2).integers(0, 2, (999, 7))
    monkeypatch.setattr("incrowd.reports.moments.MOST_BITS", limit)
    monkeypatch.setattr("incrowd.reports.moments.CHUNK_NUMBERS", 1 << 10)
    monkeypatch.setattr("incrowd.reports.moments.CHUNK", 100)
    assert np.array_equal(pair_moments(pack(bits), AXES), brute_pairs(bits, AXES))


def test_histograms_count_patterns_first_bit_most_significant():
    bits = np.random.default_rng(3).integers(0, 2, (500, 7))
    found = histogram(pack(bits), [slice(4, 7), slice(0, 1)])
    assert found.shape == (8, 2)
    for pattern, bit in np.ndindex(8, 2):
        wanted = [pattern >> 2 & 1, pattern >> 1 & 1, pattern & 1]
        same = (bits[:, 4:7] == wanted).all(axis=1) & (bits[:, 0] == bit)
        assert found[pattern, bit] == same.sum()
    with pytest.raises(TableError, match="21 bits"):
        histogram(np.zeros((1, 3), np.uint8), [slice(0, 21)])
