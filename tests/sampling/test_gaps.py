"""Gaps between rare flips: geometric, exact, and as many as there should be."""

import math

import numpy as np
import pytest
from scipy import stats

from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.errors import PrivacyError, UsageError
from incrowd.sampling.flips import flip_positions, gaps
from tests.sampling.conftest import FALSE_ALARM, simulation


def geometric(drawn, numerator):
    """Gaps fit P(g >= a) = (1 - q)^a: 100 classes (chi-square), and the mean within 5 errors.

    False alarms: 1.6e-6. Class limits are integers, so the classes' probabilities are exact.
    """
    q = numerator / DENOMINATOR
    log_p = math.log1p(-q)
    limits = np.unique(np.ceil(np.log1p(-np.arange(1, 100) / 100) / log_p))
    probabilities = np.diff(-np.expm1(log_p * np.concatenate([[0.0], limits, [np.inf]])))
    classes = np.bincount(np.searchsorted(limits, drawn, side="right"), minlength=len(limits) + 1)
    fit = stats.chisquare(classes, probabilities * len(drawn)).pvalue > FALSE_ALARM
    error = math.sqrt((1 - q) / len(drawn)) / q
    return bool(fit and abs(drawn.mean() - (1 - q) / q) <= 5 * error)


def test_a_million_gaps_at_two_to_the_minus_20_are_geometric():
    drawn = gaps(4096, 10**6, simulation(31), 2**40)
    assert drawn.dtype == np.int64
    assert drawn.shape == (10**6,)
    assert geometric(drawn, 4096)
    assert not geometric(drawn, 4096 * 101 // 100)
    assert not geometric(drawn, 4096 * 99 // 100)


def test_gaps_that_are_one_off_are_rejected():
    # At 2^-20 one bit is a thousandth of the standard error of 10^6 gaps; at 1/70 it is 14 of them.
    numerator = DENOMINATOR // 70
    drawn = gaps(numerator, 10**6, simulation(32), 2**40)
    assert geometric(drawn, numerator)
    assert not geometric(drawn + 1, numerator)
    assert not geometric(np.abs(drawn - 1), numerator)


def low_digits_fit(drawn, numerator, digits=20):
    """Each of the low binary digits is 1 with x / (1 + x), and neighbors are independent.

    Within 5 standard errors; false alarms: 5.7e-7 for each of 2 digits - 1 tests.
    """
    bits = ((drawn[:, None] >> np.arange(digits)) & 1).astype(float)
    x = np.exp(math.log1p(-numerator / DENOMINATOR) * 2.0 ** np.arange(digits))
    centerd, variance = bits - x / (1 + x), x / (1 + x) ** 2
    rates = np.abs(centerd.sum(axis=0)) <= 5 * np.sqrt(len(drawn) * variance)
    products = np.abs((centerd[:, 1:] * centerd[:, :-1]).sum(axis=0))
    pairs = products <= 5 * np.sqrt(len(drawn) * variance[1:] * variance[:-1])
    return bool(rates.all() and pairs.all())


def test_binary_digits_of_gaps_are_independent_with_their_probabilities():
    drawn = gaps(4096, 200_000, simulation(33), 2**40)
    assert low_digits_fit(drawn, 4096)
    assert not low_digits_fit(drawn & ~np.int64(4), 4096)
    repeated = np.where(np.arange(drawn.size) % 10, drawn, drawn & ~np.int64(8) | drawn >> 1 & 8)
    assert not low_digits_fit(repeated, 4096)


def limit_fits(drawn, numerator, limit):
    """The share reported as `limit` is (1 - q)^limit within 5 standard errors, the rest below.

    False alarms: 5.7e-7.
    """
    share = math.exp(limit * math.log1p(-numerator / DENOMINATOR))
    error = math.sqrt(share * (1 - share) / len(drawn))
    return bool(drawn.max() <= limit and abs((drawn == limit).mean() - share) <= 5 * error)


@pytest.mark.parametrize("limit", [1, 2, 3, 64, 100, 128, 129])
def test_gaps_beyond_the_limit_are_reported_as_the_limit(limit):
    numerator = DENOMINATOR // 80
    drawn = gaps(numerator, 10**5, simulation(34), limit)
    assert drawn.min() >= 0
    assert limit_fits(drawn, numerator, limit)
    assert not limit_fits(drawn, numerator * 2, limit)
    assert not limit_fits(drawn + 1, numerator, limit)


def test_wrong_noise_and_limits_are_refused():
    for numerator in (0, DENOMINATOR, -1):
        with pytest.raises(PrivacyError, match="noise: got"):
            gaps(numerator, 1, simulation(1), 10)
    for limit in (0, 2**62 + 1):
        with pytest.raises(UsageError, match="limit: got"):
            gaps(1, 1, simulation(1), limit)


@pytest.mark.parametrize("numerator", [1, 4096, DENOMINATOR // 100, DENOMINATOR // 3])
@pytest.mark.parametrize("total_bits", [0, 1, 2, 1000, 100_003])
def test_flip_positions_are_sorted_distinct_and_inside(numerator, total_bits):
    positions = flip_positions(numerator, total_bits, simulation(35))
    assert (np.diff(positions) > 0).all()
    assert ((positions >= 0) & (positions < total_bits)).all()


def number_of_flips_fits(number, numerator, bits):
    """Within 5 standard errors of the binomial mean; false alarms: 5.7e-7."""
    q = numerator / DENOMINATOR
    return abs(number - bits * q) <= 5 * math.sqrt(bits * q * (1 - q))


def test_positions_over_many_batches_have_the_right_number_and_spread():
    numerator, bits = 4096, 2**39
    positions = flip_positions(numerator, bits, simulation(36))
    assert number_of_flips_fits(len(positions), numerator, bits)
    assert not number_of_flips_fits(len(positions), numerator * 101 // 100, bits)
    # Uniform over 64 parts: false alarms 1e-6. Wrong: one part of 64 is left out.
    parts = np.bincount(positions >> 33, minlength=64)
    assert stats.chisquare(parts).pvalue > FALSE_ALARM
    parts[20] = 0
    assert stats.chisquare(parts).pvalue < FALSE_ALARM


@pytest.mark.slow
def test_fifty_million_gaps_are_geometric():
    stream = simulation(62)
    drawn = np.concatenate([gaps(4096, 10**6, stream, 2**40) for _ in range(50)])
    assert geometric(drawn, 4096)
    assert not geometric(drawn, 4096 + 5)
    short = np.concatenate([gaps(DENOMINATOR // 100, 10**6, stream, 2**40) for _ in range(50)])
    assert geometric(short, DENOMINATOR // 100)
    assert not geometric(short + (np.arange(short.size) % 10 == 0), DENOMINATOR // 100)
