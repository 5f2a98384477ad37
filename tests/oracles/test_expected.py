"""The tables of expected values are what the scripts beside them make."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.oracles import contour, expected, records
from tests.oracles.homogeneous import drawn, presence
from tests.oracles.small_crowds import homogeneous

pytestmark = pytest.mark.slow

PRINTED = 4e-7  # half a unit of the seventh digit, at most
SIX, FIVE = 4e-6, 4e-5


def laws(q, bits):
    """The law of the number of set bits from ones, and from zeros."""
    return [binom.pmf(np.arange(bits + 1), bits, chance) for chance in (1 - q, q)]


def blanket(q, bits, crowd, epsilon):
    ones, zeros = laws(q, bits)
    cover = (2 * q) ** bits * binom.pmf(np.arange(bits + 1), bits, 0.5)
    return contour.divergence(ones, zeros, cover, crowd, epsilon)


@pytest.mark.parametrize("row", expected.ENUMERABLE)
def test_homogeneous_crowds_over_every_collection(row):
    assert homogeneous(*row[:4]) == pytest.approx(row[4:], rel=PRINTED)


@pytest.mark.parametrize("row", expected.HOMOGENEOUS)
def test_homogeneous_crowds_by_the_contour(row):
    """Few kinds of reports make the integral settle slowly; three digits are enough there."""
    q, bits, crowd, epsilon, *wanted = row
    ones, zeros = laws(q, bits)
    pairs = (ones, zeros), (zeros, ones)
    found = [contour.divergence(*pair, zeros, crowd, epsilon) for pair in pairs]
    assert found == pytest.approx(wanted[:2], rel=SIX if bits == 5 else 2e-4)
    if bits == 5:
        etas = [contour.exceedance(*pair, zeros, crowd, epsilon) for pair in pairs]
        assert etas == pytest.approx(wanted[2:], rel=SIX)


def test_forty_bits_are_those_of_the_lattice_and_of_draws():
    q, bits, crowd, epsilon, delta, eta = expected.MANY_BITS
    assert presence(q, bits, crowd, epsilon, step=1e3) == pytest.approx(delta, abs=5e-7)
    figures = drawn(q, bits, crowd, epsilon, 400_000, np.random.default_rng(1))
    for (found, error), wanted, printed in zip(figures, (delta, eta), (5e-7, 5e-5), strict=True):
        assert abs(found - wanted) < 5 * error + printed


@pytest.mark.parametrize("row", expected.BLANKET)
def test_blankets_over_every_pair_of_records(row):
    *given, wanted = row
    assert records.blanket(*given) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("row", expected.CALIBRATED)
def test_calibrated_noise_lies_between(row):
    bits, crowd, epsilon, wanted, less, more = row
    assert blanket(less, bits, crowd, epsilon) > wanted > blanket(more, bits, crowd, epsilon)


def test_a_crowd_on_a_third_option():
    q, crowd, epsilon, *wanted = expected.THIRD_OPTION
    x, other, third = records.laws(q, [(3, 1, 1)])
    found = [contour.divergence(x, other, z, crowd, epsilon) for z in (third, other, x)]
    assert found == pytest.approx(wanted, rel=FIVE)
