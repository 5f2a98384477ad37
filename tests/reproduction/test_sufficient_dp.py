"""Sufficient DP, sections 3 and 4: moments and noise for one report each."""

import math

import mpmath
import pytest

from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from reproduction import conditions, january_2016, sufficient_dp
from tests.reproduction.conftest import (
    E2,
    FLIPS,
    bit_law,
    exact_flip,
    exact_moments,
    ratios,
    weights,
)

MP = mpmath.mp.clone()
MP.dps = 60


@pytest.mark.parametrize(("N", "L"), [(1, 1), (2, 3), (4, 2), (6, 1)])
@pytest.mark.parametrize("channel", FLIPS)
def test_moments_by_enumeration(channel, N, L):
    weight = weights(channel, L)
    for record, moments in ((0, sufficient_dp.moments_of_zero), (1, sufficient_dp.moments_of_one)):
        mean, variance = exact_moments(zip(bit_law(channel, L, record), weight, strict=True))
        found = moments(channel, L)
        assert (found.mean, found.variance) == pytest.approx((mean, variance), rel=1e-9)
    mean, variance = exact_moments(ratios(channel, N, L, 1))
    found = sufficient_dp.moments_of_ratio(channel, N, L)
    assert (found.mean, found.variance) == pytest.approx((mean, variance), rel=1e-9)
    left = sufficient_dp.condition_3_12(channel, N, L)
    assert left == pytest.approx(mean + 3 * math.sqrt(variance), rel=1e-9)
    upper = sufficient_dp.condition_3_13(channel, N, L)
    assert upper > left
    assert sufficient_dp.condition_3_15(channel.phi, N, L) == pytest.approx(upper, rel=1e-12)


@pytest.mark.parametrize("channel", FLIPS)
def test_fifth_powers(channel):
    p, q = exact_flip(channel)
    assert sufficient_dp.fifth(channel.phi) == pytest.approx(float((p**5 + q**5) / (p * q) ** 2))


@pytest.mark.parametrize(
    ("limit", "N", "L"),
    [(2, 1000, 5), (E2, 5000, 5), (E2, 10**7, 40), (1.5, 10**9, 64), (9, 30, 1)],
)
def test_noise_solves_the_conditions(limit, N, L):

    def left(q, exact):
        third = ((1 - q) ** 3 + q**3) / (q * (1 - q))
        fifth = ((1 - q) ** 5 + q**5) / (q * (1 - q)) ** 2
        own = (fifth**L - third ** (2 * L)) / MP.mpf(N) ** 2
        if exact:
            mean = (N - 1 + third**L) / N
            return mean + 3 * MP.sqrt((N - 1) * (third**L - 1) / MP.mpf(N) ** 2 + own)
        return 1 + third**L / N + 3 * MP.sqrt(third**L / N + own)

    for solve, exact in (
        (sufficient_dp.noise_3_12, True),
        (sufficient_dp.noise_3_13, False),
    ):
        step = MP.mpf(1) / DENOMINATOR
        q = MP.mpf(solve(limit, N, L).numerator) * step
        assert left(q, exact) <= limit < left(q - step, exact)


@pytest.mark.parametrize("channel", FLIPS)
def test_noise_from_phi(channel):
    assert abs(sufficient_dp.noise_of_phi(channel.phi).numerator - channel.numerator) <= 1


def test_what_has_no_noise_is_an_error():
    with pytest.raises(ValueError, match="any noise"):
        sufficient_dp.noise_3_13(2, 5, 3)  # 1 + 1/5 + 3/sqrt(5) is above 2 already at q = 1/2
    for solve in (sufficient_dp.noise_3_12, sufficient_dp.noise_3_13):
        with pytest.raises(ValueError, match="greater than 1"):
            solve(1, 1000, 3)
    for solve in (january_2016.smallest_deviation, lambda x: january_2016.noise_copies(x, 9, 2)):
        with pytest.raises(ValueError, match="greater than 1"):
            solve(0.5)
    with pytest.raises(ValueError, match="greater than 1"):
        sufficient_dp.local_noise(1, 5)
    with pytest.raises(ValueError, match="phi"):
        sufficient_dp.noise_of_phi(1.0)


def test_left_sides_too_large_for_a_float_do_not_hold():
    found = conditions.smallest_noise(lambda channel: channel.phi**200, 2)
    assert found.phi**200 <= 2 < BitFlip(found.numerator - 1).phi ** 200


def test_noise_printed_in_sections_3_and_4():
    e2_table = {1000: 0.1692, 3000: 0.1424, 5000: 0.1310}
    for N, printed in e2_table.items():
        assert sufficient_dp.noise_3_12(E2, N, 5).q == pytest.approx(printed, abs=5e-5)
    assert sufficient_dp.noise_3_12(2, 1000, 5).q == pytest.approx(0.2446, abs=1e-4)
    assert sufficient_dp.noise_3_12(2, 3000, 5).q == pytest.approx(0.2109, abs=5e-5)
    assert sufficient_dp.noise_3_12(E2, 10**7, 40).q == pytest.approx(0.351, abs=5e-4)
    assert sufficient_dp.local_noise(2, 5).q == pytest.approx(0.465, abs=5e-4)
    assert sufficient_dp.local_noise(E2, 40).q == pytest.approx(0.4875, abs=5e-5)
    local = january_2016.deviation_of_estimate(sufficient_dp.local_noise(E2, 40), 10**7)
    assert local / math.sqrt(10**7) == pytest.approx(20, abs=0.05)
    assert january_2016.deviation_of_estimate(BitFlip.at_least(0.351), 1) == pytest.approx(
        1.6, abs=0.005
    )


def test_more_deviations_cost_less_noise_than_printed():
    """Section 3.4: from 3 to 3.5 deviations q rises by .0008 at L = 40 and N = 1e7, not .0025."""
    rise = (
        sufficient_dp.noise_3_12(E2, 10**7, 40, 3.5).q
        - sufficient_dp.noise_3_12(E2, 10**7, 40, 3.0).q
    )
    assert rise == pytest.approx(0.0008, abs=5e-5)


@pytest.mark.parametrize(("limit", "L"), [(2, 5), (E2, 40), (1.01, 1)])
def test_local_noise(limit, L):
    channel = sufficient_dp.local_noise(limit, L)
    p, q = exact_flip(channel)
    assert float((p / q) ** L) <= limit * (1 + 1e-12)
    fewer = BitFlip(channel.numerator - 1)
    assert (fewer.p / fewer.q) ** L > limit
