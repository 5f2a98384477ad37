"""The order of keys: both ways agree with Python's sort, and notice keys that are equal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.kernels.order import order_of
from tests.kernels.conftest import BOTH, SEEDS, THOROUGH, Source


@BOTH
@given(st.integers(0, 2000), SEEDS, st.integers(0, 7), st.sampled_from([64, 40, 12]))
@THOROUGH
def test_keys_are_sorted_wherever_they_lie(machine_code, count, seed, offset, bits):
    """Also keys of few bits, which all fall into few buckets."""
    keys = Source(seed, offset).draw(count) >> np.uint64(64 - bits)
    numbers = keys.tolist()
    order = order_of(keys, machine_code)
    if len(set(numbers)) < count:
        assert order is None
    else:
        assert order.dtype == np.int64
        assert order.tolist() == sorted(range(count), key=numbers.__getitem__)


@BOTH
@pytest.mark.parametrize("first, second", [(0, 1), (3, 900), (998, 999)])
def test_equal_keys_are_noticed(machine_code, first, second):
    keys = Source(5).draw(1000).copy()
    assert order_of(keys, machine_code) is not None
    keys[first] = keys[second]
    assert order_of(keys, machine_code) is None
