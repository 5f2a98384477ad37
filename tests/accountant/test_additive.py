"""Laws of noise that services add to counts."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from incrowd.accountant import AdditiveNoise
from incrowd.errors import PrivacyError


def test_a_truncated_laplace_law_has_geometric_weights():
    noise = AdditiveNoise.laplace(1.5, most=8)
    total = 1 + 2 * sum(math.exp(-1.5 * z) for z in range(1, 5))
    expected = [math.exp(-1.5 * abs(z)) / total for z in range(-4, 5)]
    assert np.allclose(noise.chances, expected, rtol=1e-12)
    assert sum(noise.whole) == 1 << 64
    assert noise.variance == pytest.approx(
        sum(p * z * z for p, z in zip(expected, range(-4, 5), strict=True)), rel=1e-12
    )


def test_the_sum_of_two_laws_is_exact():
    one, other = AdditiveNoise.laplace(1.0, most=6), AdditiveNoise.gaussian(1.3, most=4)
    expected = dict.fromkeys(range(-5, 6), Fraction(0))
    for (x, p), (y, q) in product(
        zip(range(-3, 4), one.whole, strict=True), zip(range(-2, 3), other.whole, strict=True)
    ):
        expected[x + y] += Fraction(p * q, 1 << 128)
    both = one.plus(other)
    assert [Fraction(n, 1 << both.bits) for n in both.whole] == list(expected.values())


def test_two_halves_are_a_laplace_law():
    half = AdditiveNoise.polya(0.7, most=100)
    laplace = AdditiveNoise.laplace(0.7, most=100)
    middle = half.plus(half).chances[50:-50]  # as far as the Laplace law goes
    assert np.allclose(middle[30:-30], laplace.chances[30:-30], rtol=1e-6)
    assert 2 * half.variance == pytest.approx(laplace.variance, rel=1e-9)


@pytest.mark.parametrize("numerators", [(), (1, 2), (0, 1 << 63), (1 << 64, 0)])
def test_numbers_that_are_no_law_are_refused(numerators):
    with pytest.raises(PrivacyError, match="add up to 2"):
        AdditiveNoise(numerators)
