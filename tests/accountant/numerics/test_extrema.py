"""Roots and valleys, against closed forms; lengths of transforms, against scipy's."""

import math

import pytest
import scipy

from incrowd.accountant.numerics.extrema import root, valley
from incrowd.accountant.numerics.lattice import fast_length

ROOTS = {
    "straight": (lambda x: 3 * x - 6, 2.0),
    "steep": (lambda x: math.exp(9 * x) - math.exp(9), 1.0),
    "flat": (lambda x: math.atan(50 * (x - 0.3)), 0.3),
    "cubic": (lambda x: (x + 1) ** 3 + 1e-3 * (x + 1), -1.0),
    "falling": (lambda x: 1 - x**5 / 32, 2.0),
}


def calls(function):
    """The function, and where it was asked."""
    asked = []

    def counted(x):
        asked.append(x)
        return function(x)

    return counted, asked


@pytest.mark.parametrize("name", ROOTS)
def test_roots_are_as_close_as_wanted(name):
    function, exact = ROOTS[name]
    for close in (1e-3, 1e-12):
        counted, asked = calls(function)
        assert root(counted, -5.0, 7.0, close=close) == pytest.approx(exact, abs=close)
        assert len(asked) < 45  # halves alone take as many for 1e-12
    assert root(function, -5.0, 7.0, relative=1e-6) == pytest.approx(exact, rel=1e-6)


def test_a_root_at_an_end_and_none_at_all():
    assert root(lambda x: x, 0.0, 3.0) == 0.0
    assert root(lambda x: x - 3, 0.0, 3.0) == 3.0
    with pytest.raises(AssertionError):
        root(lambda x: x**2 + 1, -1.0, 1.0)


def test_infinite_heights_only_cost_halves():
    assert root(lambda x: -math.inf if x < 1 else x - 1.5, 0.0, 9.0, close=1e-9) == pytest.approx(
        1.5, abs=1e-9
    )


VALLEYS = {
    "parabola": (lambda x: (x - 2) ** 2, 2.0),
    "corner": (lambda x: abs(x + 1), -1.0),
    "skewed": (lambda x: math.exp(3 * x) - 3 * x, 0.0),
    "flat": (lambda x: (x - 1) ** 4, 1.0),
    "falling": (lambda x: -x, 7.0),
}


@pytest.mark.parametrize("name", VALLEYS)
def test_valleys_are_as_close_as_wanted(name):
    function, exact = VALLEYS[name]
    for close in (1e-1, 1e-3):
        counted, asked = calls(function)
        assert valley(counted, -5.0, 7.0, close) == pytest.approx(exact, abs=2 * close)
        assert min(asked) > -5 and max(asked) < 7
    assert len(asked) < 40


def test_a_parabola_takes_few_steps():
    counted, asked = calls(VALLEYS["parabola"][0])
    valley(counted, -5.0, 7.0, 1e-6)
    assert len(asked) < 12  # golden sections take 34


def test_lengths_are_those_that_transforms_are_fast_for():
    for least in [*range(1, 3000), 65_537, 1_000_003]:
        assert fast_length(least) == scipy.fft.next_fast_len(least, real=True)
