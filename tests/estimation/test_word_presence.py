"""Words that are present: the law of a random placement, and Holm's rule."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, norm

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.words import FAMILY_ERROR, estimate_words, tail_of_placements
from tests.oracles.word_collections import FLIP, NAMES, one_collection


def exact_tails(values):
    """P[sum >= t] at every possible sum t, by enumeration of all placements."""
    sums = np.sort(np.array([sum(chosen) for chosen in itertools.product(*values)]))
    return sums, np.arange(len(sums), 0, -1) / len(sums)


def test_tail_of_placements_is_that_of_the_enumeration():
    values = np.random.default_rng(5).exponential(size=(8, 5))
    values -= values.mean(axis=1, keepdims=True)
    sums, tails = exact_tails(values)
    chosen = [np.flatnonzero(tails <= p)[0] for p in (0.4, 0.1, 0.01, 0.001, 0.0001)]
    stacked = np.broadcast_to(values, (len(chosen), 8, 5))
    found = tail_of_placements(stacked, sums[chosen])
    assert np.allclose(found, tails[chosen], rtol=0.15)
    spread = np.sqrt((values**2).mean(axis=1).sum())
    assert not np.allclose(norm.sf(sums[chosen] / spread), tails[chosen], rtol=0.15)


def test_the_largest_sum_has_the_chance_of_one_placement():
    values = np.random.default_rng(6).normal(scale=0.01, size=(1, 8, 4))
    values[:, :, 1] += 1
    values -= values.mean(axis=2, keepdims=True)
    found = tail_of_placements(values, values.max(axis=2).sum(axis=1))
    assert found[0] == pytest.approx(4.0**-8, rel=0.01)


def test_tail_of_lattice_sums_lies_between_their_steps():
    """One heavy word among 64 blocks of 32 bits: the number of collisions is binomial."""
    values = np.zeros((1, 64, 32))
    values[:, :, 0] = 1
    values -= values.mean(axis=2, keepdims=True)
    for hits in (4, 6, 9, 12, 15):
        found = tail_of_placements(values, np.array([hits - 2.0]))[0]
        assert binom.sf(hits, 64, 1 / 32) < found < binom.sf(hits - 1, 64, 1 / 32)
    assert norm.sf(10 / np.sqrt(64 * 31) * 32) < binom.sf(12, 64, 1 / 32) / 100


def test_few_placements_prove_little():
    """In one block of 64 bits any word has the heaviest bit with probability 1 / 64."""
    placed = np.arange(4).reshape(4, 1, 1)
    counts = np.array([[10_000, 9_000, *([20] * 63)]])
    found = estimate_words(NAMES[:4], placed, counts, BitFlip.at_least(0.001).inverse)
    assert found.estimate[0] > 0.8 and found.p_value[0] >= 1 / 64 * (1 - 1e-9)
    assert not found.present.any()


def test_presence_is_holms_rule():
    placed, counts = one_collection(people=20_000)
    found = estimate_words(NAMES, placed, counts, FLIP.inverse)
    order = np.argsort(found.p_value)
    raised = [(40 - k) * found.p_value[i] for k, i in enumerate(order)]
    adjusted = np.maximum.accumulate(raised)
    assert np.array_equal(found.present[order], adjusted <= FAMILY_ERROR)
    assert 0 < found.present.sum() < 40
