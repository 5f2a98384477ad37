"""K-Randomization, January 2016: closed forms and rows against enumeration and mpmath."""

import itertools
import math
import re
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from reproduction import february_2016, january_2016
from reproduction.february_2016 import law
from reproduction.rows import january_2016_sixteen
from tests.reproduction.conftest import (
    E2,
    FLIPS,
    bit_law,
    exact_flip,
    exact_moments,
    find,
    true_number,
    weights,
)

MP = mpmath.mp.clone()
MP.dps = 60
NEXT = 1.5 / DENOMINATOR  # one step of the noise, and half for rounding


@pytest.mark.parametrize(("N", "k"), [(5, 1), (7, 1), (4, 2), (3, 3)])
@pytest.mark.parametrize("channel", FLIPS)
def test_one_bit_ratios_are_quotients_of_binomial_laws(channel, N, k):
    p, q = exact_flip(channel)
    shown = np.arange(k * N + 1)

    def law(ones):
        """The number of ones among kN reports, `ones` of them from a 1: all sums of bits."""
        found = Counter()
        for bits in itertools.product((0, 1), repeat=k * N):
            kept = sum(bits[:ones]) + sum(1 - b for b in bits[ones:])
            found[sum(bits)] += p**kept * q ** (k * N - kept)
        return found

    with_outlier, without = law(k), law(0)
    expected = [float(with_outlier[s] / without[s]) for s in shown]
    assert january_2016.inverse_ratio_copies(channel, N, k, shown) == pytest.approx(expected)
    if k == 1:
        assert january_2016.inverse_ratio(channel, N, shown) == pytest.approx(expected, rel=1e-13)


def test_january_noise_as_printed():
    assert january_2016.noise_one_bit(2, 1000).q == pytest.approx(0.032527, abs=1e-6)
    assert january_2016.noise_copies(2, 1000, 16).q == pytest.approx(0.1668, abs=5e-5)
    spread = january_2016.deviation_of_estimate(january_2016.noise_copies(2, 1000, 16), 1000, 16)
    assert spread == pytest.approx(4.42, abs=5e-3)


@pytest.mark.parametrize(
    ("limit", "N", "k", "L"), [(2, 1000, 16, 3), (1.1, 50, 2, 7), (E2, 9, 1, 1)]
)
def test_january_noise_solves_the_inequalities(limit, N, k, L):
    """(0.13), (1.20) with the right sign, and (2.31), as equalities solved by mpmath."""

    def solve(equation):
        return float(MP.findroot(equation, (1e-6, 0.4999999), solver="anderson", tol=1e-20))

    def one_bit(q):
        return 3 * MP.sqrt(MP.mpf(1) / N) * (1 - 2 * q) - (1 - MP.mpf(1) / limit) * MP.sqrt(
            q * (1 - q)
        )

    def with_copies(q):
        root = 1 - MP.mpf(limit) ** (-MP.mpf(1) / k)
        return 3 * (1 - 2 * q) - root * MP.sqrt(q * (1 - q) * k * N)

    def with_bits(q):
        largest = (1 + (1 - MP.mpf(1) / limit) ** 2 * N / 9) ** (MP.mpf(1) / L)
        return (1 - 3 * q + 3 * q**2) - q * (1 - q) * largest

    assert january_2016.noise_one_bit(limit, N).q == pytest.approx(solve(one_bit), abs=NEXT)
    assert january_2016.noise_copies(limit, N, k).q == pytest.approx(solve(with_copies), abs=NEXT)
    assert january_2016.noise_bits(limit, N, L).q == pytest.approx(solve(with_bits), abs=NEXT)


def test_january_closed_forms_agree_where_they_meet():
    one_bit = january_2016.noise_one_bit(2, 1000)
    assert abs(january_2016.noise_copies(2, 1000, 1).numerator - one_bit.numerator) <= 1
    assert abs(january_2016.noise_bits(2, 1000, 1).numerator - one_bit.numerator) <= 1
    spread = january_2016.deviation_of_estimate(one_bit, 1000)
    assert spread == pytest.approx(january_2016.smallest_deviation(2), rel=1e-7)


@pytest.mark.parametrize("channel", FLIPS[1:])
def test_variance_of_the_sum_of_weights_under_zeros(channel):
    N, L = 3, 2
    weight = weights(channel, L)
    laws = bit_law(channel, L, 0)
    outcomes = [
        (math.prod(laws[b] for b in bits), sum(weight[b] for b in bits))
        for bits in itertools.product(range(L + 1), repeat=N)
    ]
    mean, variance = exact_moments(outcomes)
    assert mean == pytest.approx(N)
    assert january_2016.variance_of_sum(channel, N, L) == pytest.approx(variance, rel=1e-12)


def test_error_6_the_deviation_of_the_estimate_is_not_that_of_the_sum():
    channel = january_2016.noise_one_bit(2, 1000)
    assert january_2016.deviation_of_estimate(channel, 1000) == pytest.approx(6.0, abs=0.005)
    assert january_2016.deviation_of_sum(channel, 1000) == pytest.approx(5.6, abs=0.05)
    classical = BitFlip.at_least(1 / 3)
    assert january_2016.deviation_of_estimate(classical, 1000) == pytest.approx(44.7, abs=0.05)
    # (0.26) is 333 -+ three times the 44.7 of the estimate, but an interval for S
    printed_half = (467.1 - 198.9) / 2
    assert printed_half == pytest.approx(3 * 44.7, abs=0.05)
    right_half = 3 * january_2016.deviation_of_sum(classical, 1000)
    assert right_half == pytest.approx(44.7, abs=0.05)
    inside = binom.cdf(333 + right_half, 1000, 1 / 3) - binom.cdf(333 - right_half, 1000, 1 / 3)
    assert inside == pytest.approx(0.9973, abs=0.001)  # three deviations of a normal law
    # (0.28) takes the right one at q = .033
    small = january_2016.deviation_of_sum(BitFlip.at_least(0.033), 1000)
    assert 3 * small == pytest.approx((49.94 - 16.05) / 2, abs=0.01)


def test_january_bound_for_copies_is_on_the_wrong_side():
    """(1.12) bounds 1/R from above; (1.20) needs it from below: R exceeds lambda at that point."""
    N, k = 1000, 16
    channel = january_2016.noise_copies(2, N, k)
    assert january_2016.inverse_ratio_bound(channel, N, k) == pytest.approx(1 / 2, rel=1e-8)
    point = channel.q * k * N - 3 * january_2016.deviation_of_sum(channel, k * N)
    above = np.array([math.ceil(point)])  # R falls as more ones are shown
    ratio = 1 / january_2016.inverse_ratio_copies(channel, N, k, above)[0]
    law_one, law_zero = (february_2016.law(channel, k * N, ones)[above[0]] for ones in (k, 0))
    assert ratio == pytest.approx(law_zero / law_one, rel=1e-9)
    assert ratio > 2.04


@pytest.mark.slow
def test_numbers_of_the_example(rows):
    exact = mpmath.findroot(
        lambda q: 3 * (1 - 2 * q) / mpmath.sqrt(1000 * q * (1 - q)) - mpmath.mpf(1) / 2,
        (0.02, 0.05),
        solver="anderson",
    )
    row = find(rows, "January", "(0.19), example")
    assert row.formula == pytest.approx(float(exact), abs=3e-10)
    assert true_number(row) == pytest.approx(float(exact), rel=1e-5)
    none, one = (law(BitFlip.at_least(float(exact)), 1000, ones) for ones in (0, 1))
    kept = none[none <= 2 * one].sum()
    assert true_number(find(rows, "January", "below (0.29)")) == pytest.approx(100 * kept, abs=1e-4)
    assert find(rows, "January", "below (0.21)", "local sigma").formula == pytest.approx(
        5.61, abs=0.01
    )
    assert true_number(find(rows, "January", "below (0.21)", "local sigma")) == pytest.approx(6)


@pytest.mark.slow
def test_intervals_are_those_of_binomials(rows):
    for place, q, ones in (("(0.26)", 0.333, 0), ("(0.27)", 0.333, 1), ("(0.29)", 0.033, 1)):
        low, high = map(float, re.findall(r"[\d.]+", find(rows, "January", place).true)[:2])
        center = (1000 - ones) * q + ones * (1 - q)
        half = 3 * math.sqrt(1000 * q * (1 - q))
        assert (low, high) == pytest.approx((center - half, center + half), abs=0.006)


@pytest.mark.slow
def test_error_of_1_11_and_1_20(rows):
    row = find(rows, "January", "(1.11)")
    assert (row.formula, true_number(row)) == (0.09, 0.1)
    exact = Fraction(math.comb(8, 0), math.comb(10, 1))  # (1.9) from its left side
    assert exact == Fraction(1, 10)
    noise = BitFlip.at_least(find(rows, "January", "(1.22), (1.23)").formula)
    point = math.ceil(16_000 * noise.q - 3 * math.sqrt(16_000 * noise.p * noise.q))
    ratio = law(noise, 16_000, 0)[point] / law(noise, 16_000, 16)[point]
    assert true_number(find(rows, "January", "(1.22), (1.23)")) == pytest.approx(ratio, rel=1e-5)
    assert ratio > 2.04


@pytest.mark.parametrize("k", [1, 4, 16])
def test_exceeding_against_the_two_laws(k):
    """P[R > 2] from the laws of S, and not from (1.8)."""
    flip = BitFlip.at_least(0.1)
    none, one = law(flip, 1000 * k, 0), law(flip, 1000 * k, k)
    found = january_2016_sixteen.exceeding(BitFlip.at_least(0.1), k)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert found == pytest.approx(none[none > 2 * one].sum(), rel=1e-6)


@pytest.mark.slow
def test_one_bit_gains_nothing_from_copies(rows):
    row = find(rows, "January", "1", "precision grows")
    assert true_number(row) == pytest.approx(3 / math.log(2), abs=1e-3)


@pytest.mark.slow
def test_few_collections_of_zeros_fall_three_deviations(rows):
    """(2.26): the law of X for zeros by Fourier transform on a grid, here."""
    row = find(rows, "January", "(2.26)")
    q = find(rows, "January", "(2.26) to (2.33)").formula
    bits, N, step, size = np.arange(6), 1000, 1 / 64, 1 << 19
    place = ((1 - q) / q) ** (2.0 * bits - 5) / step
    low, mass = np.floor(place).astype(int), binom.pmf(bits, 5, q)
    split = np.bincount(low, mass * (low + 1 - place), size)
    split += np.bincount(low + 1, mass * (place - low), size)
    sums = np.fft.irfft(np.fft.rfft(split) ** N, size)
    assert true_number(row) == pytest.approx(sums[: round(N / 2 / step)].sum(), rel=0.01)
