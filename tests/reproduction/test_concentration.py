"""Sufficient DP, section 3.4: the concentration bound holds for the lower tail alone."""

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import binom

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp
from tests.reproduction.conftest import E2, FLIPS, bit_law, find, true_number, weights

MP = mpmath.mp.clone()
MP.dps = 60


def one_bit_sum(channel, N):
    """Values and exact probabilities of X = N R for L = 1, from binomials."""
    zeros = binom.pmf(np.arange(N), N - 1, channel.q)
    law = np.convolve(zeros, [channel.q, channel.p])
    shown = np.arange(N + 1)
    return shown * channel.p / channel.q + (N - shown) * channel.q / channel.p, law


def tails(channel, N, deviations):
    """(P[EX - X > t], P[X - EX > t]) for t so many deviations, one bit, exactly."""
    value, law = one_bit_sum(channel, N)
    mean = law @ value
    t = deviations * math.sqrt(law @ (value - mean) ** 2)
    return law[mean - value > t].sum(), law[value - mean > t].sum()


@pytest.mark.parametrize("q", [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35])
@pytest.mark.parametrize("N", [2, 5, 20, 100, 1000])
def test_error_4_maurers_bound_holds_for_the_lower_tail(q, N):
    channel = BitFlip.at_least(q)
    for deviations in (0.25, 0.5, 1, 1.5, 2, 3, 4, 6):
        bound = sufficient_dp.lower_tail_bound_corrected(channel, N, 1, deviations)
        assert tails(channel, N, deviations)[0] <= bound * (1 + 1e-9)


def test_error_4_it_does_not_bound_the_upper_tail():
    """q = .01, L = 1, N = 1000, six deviations: the upper tail is 6.2e-7, the bound 9.0e-8."""
    channel = BitFlip.at_least(0.01)
    lower, upper = tails(channel, 1000, 6)
    bound = sufficient_dp.lower_tail_bound_corrected(channel, 1000, 1, 6)
    assert lower <= bound < 1e-7
    assert upper > 6 * bound
    assert upper > 30 * sufficient_dp.lower_tail_bound(channel, 1000, 1, 6)


def test_error_4_as_printed_it_bounds_neither_tail():
    """phi^L stands where phi^(2L) belongs. q = .02, L = 1, N = 5, three deviations."""
    channel = BitFlip.at_least(0.02)
    lower, upper = tails(channel, 5, 3)
    printed = sufficient_dp.lower_tail_bound(channel, 5, 1)
    assert printed < 0.0122 < 0.018 < lower < upper
    assert lower < sufficient_dp.lower_tail_bound_corrected(channel, 5, 1)


def test_error_4_the_exponent_is_that_of_the_definition():
    """exp(-t^2 / (2 sum E X_i^2)) from exact moments gives phi^(2L), not the printed phi^L."""
    channel, N, L = FLIPS[1], 50, 4
    weight = weights(channel, L)
    second = [
        float(sum(c * w**2 for c, w in zip(bit_law(channel, L, record), weight, strict=True)))
        for record in (0, 1)
    ]
    moments = sufficient_dp.moments_of_ratio(channel, N, L)
    t = 3 * N * math.sqrt(moments.variance)
    expected = math.exp(-(t**2) / (2 * ((N - 1) * second[0] + second[1])))
    found = sufficient_dp.lower_tail_bound_corrected(channel, N, L)
    assert found == pytest.approx(expected, rel=1e-12)
    assert sufficient_dp.lower_tail_bound(channel, N, L) < 0.8 * expected


@pytest.mark.parametrize(
    ("N", "q", "in_the_table", "corrected"),
    [(1000, 0.1692, 0.052, 0.0459), (3000, 0.1424, 0.057, 0.0536), (5000, 0.1310, 0.062, 0.0580)],
)
def test_error_4_the_table_does_not_follow(N, q, in_the_table, corrected):
    channel = BitFlip.at_least(q)
    assert sufficient_dp.lower_tail_bound(channel, N, 5) == pytest.approx(0.0111, abs=5e-5)
    found = sufficient_dp.lower_tail_bound_corrected(channel, N, 5)
    phi = MP.mpf(channel.p) / channel.q + MP.mpf(channel.q) / channel.p - 1
    variance = (N - 1) * (phi**5 - 1) + (phi**2 + phi - 1) ** 5 - phi**10
    second = (N - 1) * phi**5 + (phi**2 + phi - 1) ** 5
    assert found == pytest.approx(float(MP.exp(-4.5 * variance / second)), rel=1e-10)
    assert found == pytest.approx(corrected, abs=5e-5)
    assert abs(found - in_the_table) > 0.003


def test_the_bound_for_many_bits_as_printed():
    channel = sufficient_dp.noise_3_12(E2, 10**7, 40)
    for form in (sufficient_dp.lower_tail_bound, sufficient_dp.lower_tail_bound_corrected):
        assert form(channel, 10**7, 40, 3.05) == pytest.approx(0.0096, abs=1e-4)
        assert form(channel, 10**7, 40, 3.5) == pytest.approx(0.0022, abs=5e-5)


@pytest.mark.slow
def test_the_concentration_bound(rows):
    for N, exact in ((1000, 0.0459), (3000, 0.0536), (5000, 0.0580)):
        row = find(rows, "Sufficient", f"3.4, table, N = {N}")
        assert true_number(row) == pytest.approx(exact, abs=6e-5)
        assert row.formula == pytest.approx(0.0111, abs=5e-5)
    row = find(rows, "Sufficient", "3.4", "P[E(S)")
    shown = np.arange(1001)
    value = shown * 99 + (1000 - shown) / 99
    mass = np.convolve(binom.pmf(np.arange(1000), 999, 0.01), [0.01, 0.99])
    mean = mass @ value
    t = 6 * math.sqrt(mass @ (value - mean) ** 2)
    assert true_number(row) == pytest.approx(mass[value - mean > t].sum(), rel=1e-4)
    assert true_number(row) > 6 * row.formula
