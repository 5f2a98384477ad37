"""Arrays in the place of numbers: the shape of NumPy, and the values of calls with numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, mutually_broadcastable_shapes

from incrowd import accountant
from incrowd.errors import ArgumentError

FLIP = accountant.BitFlip.from_epsilon(1.0)
CURVE = accountant.privacy_curve("blanket", FLIP, 200)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3), st.integers(0, 99))
def test_a_curve_has_the_shape_of_what_it_is_given(shape, seed):
    epsilons = np.random.default_rng(seed).uniform(0.0, 1.0, shape)
    deltas = CURVE.delta(epsilons)
    assert isinstance(deltas, np.ndarray) and deltas.shape == shape
    for place in np.ndindex(shape):
        assert deltas[place] == CURVE.delta(float(epsilons[place]))
    wanted = np.asarray(np.clip(deltas, 1e-9, 0.5))
    back = CURVE.epsilon(wanted)
    assert back.shape == shape
    for place in np.ndindex(shape):
        assert back[place] == CURVE.epsilon(float(wanted[place]))


@pytest.mark.slow
@settings(max_examples=6, deadline=None, derandomize=True)
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=2), st.integers(0, 99))
def test_crowds_and_figures_are_broadcast_as_numpy_does(shapes, seed):
    random, (one, other) = np.random.default_rng(seed), shapes.input_shapes
    crowds, values = random.integers(50, 90, one), random.uniform(1e-4, 0.1, other)
    for function in (accountant.smallest_delta, accountant.smallest_epsilon):
        result = function("blanket", FLIP, crowds, values)
        assert result.shape == shapes.result_shape == np.broadcast_shapes(one, other)
        every, each = np.broadcast_arrays(crowds, values)
        for place in np.ndindex(result.shape):
            alone = function("blanket", FLIP, int(every[place]), float(each[place]))
            assert result[place] == alone


@pytest.mark.parametrize("number", [0.2, np.float64(0.2), np.float32(0.2)])
def test_a_number_stays_a_number(number):
    for result in (CURVE.delta(number), CURVE.epsilon(number)):
        assert type(result) is float
    assert type(accountant.smallest_delta("blanket", FLIP, np.int64(100), number)) is float


def test_lists_are_arrays_and_a_crowd_of_none_is_not_broadcast():
    assert CURVE.delta([[0.1], [0.2]]).shape == (2, 1)
    deltas = accountant.smallest_delta("local", FLIP, None, [0.5, 0.9])
    assert list(deltas) == [
        accountant.certify("local", FLIP, None, e).delta.upper for e in (0.5, 0.9)
    ]
    # Without a crowd, randomized response itself: delta = p - e^epsilon q.
    assert deltas[0] == pytest.approx(FLIP.p - np.exp(0.5) * FLIP.q, rel=1e-12)


def test_the_values_of_free_functions_are_those_of_numbers():
    deltas = accountant.smallest_delta("blanket", FLIP, [[60], [70]], [0.1, 0.2])
    assert deltas.shape == (2, 2)
    assert deltas[1, 0] == accountant.certify("blanket", FLIP, 70, 0.1).delta.upper


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ArgumentError, match=r"shapes \(3,\) and \(2,\) do not fit together"):
        accountant.smallest_delta("blanket", FLIP, [90, 100], [0.5, 1.0, 2.0])
