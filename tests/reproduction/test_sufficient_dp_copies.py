"""Sufficient DP, section 6 and appendix II: k reports each, which are not free."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from scipy.stats import norm

from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from reproduction import copies_noise, january_2016, sufficient_dp
from reproduction import sufficient_dp_copies as copies
from reproduction.rows import sufficient_dp_copies
from tests.conftest import one_in
from tests.reproduction.conftest import (
    E2,
    FLIPS,
    SIGMAS,
    bit_law,
    exact_flip,
    exact_moments,
    find,
    ratios,
    true_number,
    weights,
)

MP = mpmath.mp.clone()
MP.dps = 60


SMALL = [(2, 1, 1), (2, 2, 1), (3, 1, 2), (2, 2, 2), (1, 1, 2), (2, 1, 3), (2, 1, 4)]


@pytest.mark.parametrize(("N", "L", "k"), one_in(2, SMALL))
@pytest.mark.parametrize("channel", FLIPS[1:])
def test_moments_with_copies_by_enumeration(channel, N, L, k):
    mean, variance = exact_moments(ratios(channel, N, L, k))
    assert copies.mean_of_ratio(channel, N, L, k) == pytest.approx(mean, rel=1e-12)
    assert copies.variance_of_ratio(channel, N, L, k) == pytest.approx(variance, rel=1e-9)
    in_the_place_of_6_1 = (1 + (channel.phi**L - 1) / N) ** k
    assert in_the_place_of_6_1 >= mean * (1 - 1e-12)
    left = copies.condition_corrected(channel, N, L, k)
    assert left == pytest.approx(mean + 3 * math.sqrt(variance), rel=1e-9)
    # (8.31) as printed is k! times too small
    printed = copies.mean_8_31(channel, N, L, k)
    assert printed * math.factorial(k) == pytest.approx(mean, rel=1e-12)
    if k > 1:
        assert printed < 0.6 * mean


def test_the_printed_sum_of_8_31():
    """(kN - k)!/(kN)! times the sum of C(k, r) C(kN - k, k - r) phi^(rL), as it stands there."""
    channel, N, L, k = FLIPS[2], 7, 3, 4
    n, phi = k * N, channel.phi
    total = sum(math.comb(k, r) * math.comb(n - k, k - r) * phi ** (r * L) for r in range(k + 1))
    printed = total * math.factorial(n - k) / math.factorial(n)
    assert copies.mean_8_31(channel, N, L, k) == pytest.approx(printed, rel=1e-12)
    # with phi = 1, two equal collections, a mean ratio must be 1
    almost_half = BitFlip(DENOMINATOR // 2 - 1)
    assert copies.mean_of_ratio(almost_half, N, L, k) == pytest.approx(1)
    assert copies.mean_8_31(almost_half, N, L, k) == pytest.approx(1 / 24)


@pytest.mark.parametrize(("L", "k"), [(1, 3), (3, 2), (2, 4)])
@pytest.mark.parametrize("channel", FLIPS)
def test_moments_of_the_weights_of_subsets_are_those_of_all_outcomes(channel, L, k):
    weight = weights(channel, L)
    zero, one = bit_law(channel, L, 0), bit_law(channel, L, 1)
    for r in range(k + 1):
        laws = [one] * r + [zero] * (k - r)
        outcomes = [
            (math.prod(law[b] for law, b in zip(laws, bits, strict=True)),
             math.prod(weight[b] for b in bits))
            for bits in itertools.product(range(L + 1), repeat=k)
        ]  # fmt: skip
        mean, variance = exact_moments(outcomes)
        assert copies.subset_mean(channel, L, r) == pytest.approx(mean, rel=1e-12)
        second = copies.subset_second_moment(channel, L, k, r)
        assert second == pytest.approx(variance + mean**2, rel=1e-9)
        assert copies.subset_variance(channel, L, k, r) == pytest.approx(variance, rel=1e-7)


def test_the_middle_member_of_8_28_lacks_a_square():
    channel, L, k, r = FLIPS[1], 3, 2, 1
    p, q = channel.p, channel.q
    inner = (p + q * (p / q) ** 4) ** ((k - r) * L) * (q + p * (p / q) ** 4) ** (r * L)
    right = copies.subset_second_moment(channel, L, k, r)
    assert (q / p) ** (2 * k * L) * inner == pytest.approx(right)
    assert (q / p) ** (k * L) * inner > 1000 * right


def test_with_one_copy_the_two_sections_agree():
    for channel, N, L in zip(FLIPS, (5, 1000, 10**7, 30), (3, 5, 40, 1), strict=True):
        moments = sufficient_dp.moments_of_ratio(channel, N, L)
        assert copies.mean_of_ratio(channel, N, L, 1) == pytest.approx(moments.mean, rel=1e-12)
        found = copies.variance_of_ratio(channel, N, L, 1)
        assert found == pytest.approx(moments.variance, rel=1e-8)
    found, expected = copies.noise_corrected(2, 1000, 5, 1), sufficient_dp.noise_3_12(2, 1000, 5)
    assert abs(found.numerator - expected.numerator) <= 1


@pytest.mark.parametrize(("N", "L", "k"), [(2, 1, 2), (10**7, 40, 4), (500, 8, 3)])
def test_section_6_as_printed(N, L, k):
    channel = FLIPS[2]
    p, q = channel.p, channel.q
    third, fifth = (q**3 + p**3) / (q * p), (q**5 + p**5) / (q * p) ** 2
    mean = (1 + third**L / (k * N)) ** k
    first = third**L / (k * N) + fifth**L / (k * N) ** 2
    variance = first**k - (1 / (k * N) + third ** (2 * L) / (k * N) ** 2) ** k
    assert copies.mean_6_1(channel, N, L, k) == pytest.approx(mean, rel=1e-12)
    assert copies.variance_6_2(channel, N, L, k) == pytest.approx(variance, rel=1e-9)
    left = copies.condition_6_3(channel, N, L, k)
    assert left == pytest.approx(mean + 3 * math.sqrt(variance), rel=1e-9)
    limit = left * 1.01
    channel = copies.noise_6_3(limit, N, L, k)
    fewer = BitFlip(channel.numerator - 1)
    assert copies.condition_6_3(channel, N, L, k) <= limit < copies.condition_6_3(fewer, N, L, k)


def test_error_2_the_printed_bounds_of_section_6_bound_nothing():
    """With the noise of (6.3), at k = 4, 10, 20: the mean alone is above "bound" and lambda."""
    N, L = 10**7, 40
    for k, printed_mean, exact_mean in ((4, 1.114, 1.496), (10, 1.250, 6.631), (20, 1.497, 453.9)):
        channel = copies.noise_6_3(E2, N, L, k)
        mean = copies.mean_of_ratio(channel, N, L, k)
        assert copies.mean_6_1(channel, N, L, k) == pytest.approx(printed_mean, rel=1e-3)
        assert mean == pytest.approx(exact_mean, rel=1e-3)
        assert mean == pytest.approx(exact_mean_by_mpmath(channel, N, L, k), rel=1e-11)
        if k <= 10:
            exact = copies.variance_of_ratio(channel, N, L, k)
            assert exact > 1000 * copies.variance_6_2(channel, N, L, k)
    assert mean > 60 * E2


def exact_mean_by_mpmath(channel, N, L, k):
    p, q = (MP.mpf(x.numerator) / x.denominator for x in exact_flip(channel))
    phi, n = p / q + q / p - 1, k * N
    terms = (MP.binomial(k, r) * MP.binomial(n - k, k - r) * phi ** (r * L) for r in range(k + 1))
    return float(MP.fsum(terms) / MP.binomial(n, k))


@pytest.mark.slow
def test_error_2_noise_must_rise_with_copies():
    printed, corrected = (
        [noise(E2, 10**7, 40, k).q for k in (1, 4, 10)]
        for noise in (copies.noise_6_3, copies.noise_corrected)
    )
    assert printed[0] == pytest.approx(corrected[0], abs=1e-8)
    assert printed == sorted(printed, reverse=True)
    assert corrected == sorted(corrected)
    assert corrected[2] - printed[2] > 0.017


@pytest.mark.slow
def test_the_printed_noise_exceeds_the_limit_more_with_every_copy():
    """P[R > e^2] at k = 4, 10, 20 within 95% limits widened to false alarms of about 1e-5."""
    rows = list(sufficient_dp_copies.rows())
    measured = {4: 0.0099, 10: 0.0598, 20: 0.2045}  # test_merged.py: other seeds, more draws
    for k, expected in measured.items():
        found = copies_noise.exceeding_with_printed_noise(k)
        half = (found.high - found.low) / 2 * SIGMAS / norm.isf(0.025)
        assert abs(found.value - expected) < half
        assert found.low > 3 * copies_noise.exceeding_with_printed_noise(1).value
    assert copies_noise.exceeding_with_printed_noise(200).low > 0.8
    assert copies_noise.exceeding_with_printed_noise(1).value == pytest.approx(0.00134, abs=1e-5)
    printed = [copies_noise.printed_noise(k).q for k in (1, 4, 20, 200)]
    right = [copies_noise.corrected_noise(k).q for k in (1, 4, 20)]
    assert printed == sorted(printed, reverse=True)
    assert right == sorted(right)
    for k in (2, 10):
        flip = copies_noise.corrected_noise(k)
        assert copies.condition_corrected(flip, 10**7, 40, k) <= E2
    means = [find(rows, "Sufficient", f"(6.1), (8.37), k = {k}") for k in (4, 10, 20)]
    assert [true_number(row) for row in means] == pytest.approx([1.496, 6.631, 453.9], rel=1e-3)
    assert [row.formula for row in means] == pytest.approx([1.114, 1.250, 1.497], rel=1e-3)
    gain = find(rows, "Sufficient", "6.1", "4 reports")
    ratio = january_2016.deviation_of_estimate(copies_noise.printed_noise(1), 1) / (
        january_2016.deviation_of_estimate(copies_noise.corrected_noise(4), 1, 4)
    )
    assert true_number(gain) == pytest.approx(ratio, rel=1e-5)
    assert gain.verdict.startswith(f"wrong: {ratio:.2f} times")


def test_slips_of_appendix_two(rows):
    q, p = Fraction(1, 5), Fraction(4, 5)
    weight = {bits: (p / q) ** (2 * bits - 2) for bits in range(3)}
    pairs = list(itertools.combinations((2, 1, 0, 0), 2))
    exact = sum(weight[a] * weight[b] for a, b in pairs) / Fraction(len(pairs))
    ratio = find(rows, "Sufficient", "(8.21), (8.22)")
    assert true_number(ratio) == pytest.approx(float(exact), rel=1e-5)
    assert ratio.formula == pytest.approx(float(exact) / 2, rel=1e-6)
    assert true_number(find(rows, "Sufficient", "(8.25)")) == pytest.approx(3 * (0.4 + 0.8))
    mean = find(rows, "Sufficient", "(8.30), (8.31)")
    phi = 4 + 0.25 - 1
    weights = [math.comb(2, r) * math.comb(2, 2 - r) for r in range(3)]
    expected = sum(w * phi ** (2 * r) for r, w in enumerate(weights)) / math.comb(4, 2)
    assert true_number(mean) == pytest.approx(expected, rel=1e-5)
    assert mean.formula == pytest.approx(expected / 2, rel=1e-6)
