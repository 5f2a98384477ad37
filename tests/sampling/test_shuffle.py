"""Permutations: every order is equally likely."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from incrowd.sampling.shuffle import permutation
from tests.conftest import examples
from tests.sampling.conftest import FALSE_ALARM, Scripted, simulation


def orders_equally_likely(orders):
    """All 24 orders of four (chi-square). False alarms: 1e-6."""
    codes = orders @ np.array([64, 16, 4, 1])
    seen, counts = np.unique(codes, return_counts=True)
    return len(seen) == 24 and stats.chisquare(counts).pvalue > FALSE_ALARM


def test_all_orders_of_four_are_equally_likely():
    stream = simulation(51)
    orders = np.array([permutation(4, stream) for _ in range(24_000)])
    assert orders_equally_likely(orders)
    # Wrong: the well-known shuffle that swaps each place with any place.
    picks = simulation(52).words(4 * 24_000).reshape(-1, 4) % 4
    naive = np.tile(np.arange(4), (24_000, 1))
    every = np.arange(24_000)
    for place in range(4):
        other = picks[:, place].astype(int)
        naive[every, place], naive[every, other] = naive[every, other], naive[every, place]
    assert not orders_equally_likely(naive)


def test_keys_that_tie_are_all_drawn_again():
    draws = [[5, 9, 5], [1, 1, 1], [30, 10, 20]]
    stream = Scripted(lambda call, count: draws[call])
    np.testing.assert_array_equal(permutation(3, stream), [1, 2, 0])
    assert stream.sizes == [3, 3, 3]


@given(st.integers(0, 300), st.integers(0, 2**32))
@examples(100)
def test_a_permutation_holds_every_index_once(count, seed):
    order = permutation(count, simulation(seed))
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.sort(order), np.arange(count))
