"""The papers' closed forms against enumeration, mpmath and the papers' own right numbers.

The errors of DESIGN 3.6 that concern them are tests here: the claim as printed fails, ours holds.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from incrowd.papers import conditions, february_2016, january_2016, sufficient_dp
from incrowd.papers import sufficient_dp_copies as copies
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import binom

from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.errors import PrivacyError

E2 = math.e**2
MP = mpmath.mp.clone()
MP.dps = 60
FLIPS = [BitFlip.at_least(q) for q in (0.02, 0.17, 0.3, 0.45)]
NEXT = 1.5 / DENOMINATOR  # one step of the noise, and half for rounding


def exact_flip(channel):
    """p and q as fractions."""
    q = Fraction(channel.numerator, DENOMINATOR)
    return 1 - q, q


def bit_law(channel, L, record):
    """P(l bits set) in a report from zeros (record 0) or ones (record 1), as fractions."""
    p, q = exact_flip(channel)
    if record:
        p, q = q, p
    return [math.comb(L, bits) * q**bits * p ** (L - bits) for bits in range(L + 1)]


def weights(channel, L):
    """The likelihood ratio of ones to zeros for l bits set, as fractions."""
    p, q = exact_flip(channel)
    return [(p / q) ** (2 * bits - L) for bits in range(L + 1)]


def subset_mean_weight(drawn, k):
    """The mean weight of all subsets of k of the drawn weights: the ratio, by brute force."""
    subsets = list(itertools.combinations(drawn, k))
    return sum(math.prod(subset) for subset in subsets) / Fraction(len(subsets))


def ratios(channel, N, L, k, outlier=True):
    """Every outcome of kN reports, numbered by their bits set: (probability, R) as fractions."""
    laws = [bit_law(channel, L, 1)] * (k if outlier else 0)
    laws += [bit_law(channel, L, 0)] * (k * N - len(laws))
    weight = weights(channel, L)
    for bits in itertools.product(range(L + 1), repeat=k * N):
        chance = math.prod(law[b] for law, b in zip(laws, bits, strict=True))
        yield chance, subset_mean_weight([weight[b] for b in bits], k)


def exact_moments(outcomes):
    outcomes = list(outcomes)
    mean = sum(chance * value for chance, value in outcomes)
    return float(mean), float(sum(chance * value**2 for chance, value in outcomes) - mean**2)


# --- January 2016 -----------------------------------------------------------------------------


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


# --- February 2016 ----------------------------------------------------------------------------


@pytest.mark.parametrize(("N", "m"), [(1, 0), (1, 1), (4, 2), (6, 6), (6, 1)])
@pytest.mark.parametrize("channel", FLIPS)
def test_law_of_the_number_of_ones(channel, N, m):
    p, q = exact_flip(channel)
    expected = [Fraction(0)] * (N + 1)
    for bits in itertools.product((0, 1), repeat=N):
        kept = sum(bits[:m]) + sum(1 - b for b in bits[m:])
        expected[sum(bits)] += p**kept * q ** (N - kept)
    expected = np.array([float(value) for value in expected])
    assert february_2016.law(channel, N, m) == pytest.approx(expected, rel=1e-12)
    if N > 1 and m > 0:
        before = february_2016.law(channel, N - 1, m - 1)
        assert february_2016.law_with_one(channel, before) == pytest.approx(expected, rel=1e-12)
        stepped = february_2016.cumulative_with_one(channel, np.cumsum(before))
        assert stepped == pytest.approx(np.cumsum(expected), rel=1e-12)
    if N > 1 and m < N:
        before = february_2016.law(channel, N - 1, m)
        assert february_2016.law_with_zero(channel, before) == pytest.approx(expected, rel=1e-12)
        stepped = february_2016.cumulative_with_zero(channel, np.cumsum(before))
        assert stepped == pytest.approx(np.cumsum(expected), rel=1e-12)


def outcomes_by_multiset(channel, records):
    """P(multiset) for every multiset of reports, from all ordered outcomes, as fractions."""
    p, q = exact_flip(channel)
    L = len(records[0])
    found = Counter()
    for reports in itertools.product(itertools.product((0, 1), repeat=L), repeat=len(records)):
        differing = int((np.array(reports) != np.array(records)).sum())
        found[tuple(sorted(reports))] += q**differing * p ** (L * len(records) - differing)
    return found


@pytest.mark.parametrize(
    ("records", "modified"),
    [
        ([[0], [1], [1], [0]], [[0], [1], [1], [1]]),
        ([[0, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [1, 1]]),
        ([[0, 1], [1, 1], [0, 0]], [[0, 1], [1, 0], [0, 0]]),
        ([[0, 1, 1], [1, 0, 0]], [[0, 1, 1], [0, 1, 0]]),
    ],
)
@pytest.mark.parametrize("channel", FLIPS[1:3])
def test_ratio_from_the_definition(channel, records, modified):
    before, after = (outcomes_by_multiset(channel, x) for x in (records, modified))
    assert sum(before.values()) == 1
    for reports in before:
        found = february_2016.probability(channel, np.array(records), np.array(reports))
        assert found == pytest.approx(float(before[reports]), rel=1e-12)
        ratio = february_2016.privacy_ratio(
            channel, np.array(records), np.array(modified), np.array(reports)
        )
        assert ratio == pytest.approx(float(after[reports] / before[reports]), rel=1e-12)


def test_one_bit_ratio_from_the_definition():
    channel, N, m = FLIPS[1], 9, 4
    records = (np.arange(N) < m + 1).astype(int)[:, None]
    modified = (np.arange(N) < m).astype(int)[:, None]
    expected = [
        february_2016.privacy_ratio(
            channel, records, modified, (np.arange(N) < shown).astype(int)[:, None]
        )
        for shown in range(N + 1)
    ]
    assert february_2016.one_bit_ratio(channel, N, m) == pytest.approx(expected, rel=1e-12)


def test_the_definition_refuses_what_is_large_or_does_not_fit():
    rng = np.random.default_rng(1)
    large = rng.integers(0, 2, (60, 5))
    with pytest.raises(PrivacyError, match="take fewer reports"):
        february_2016.probability(FLIPS[0], large, large)
    with pytest.raises(PrivacyError, match="shape"):
        february_2016.probability(FLIPS[0], large[:3], large[:4])
    with pytest.raises(PrivacyError, match=r"0\.\.3"):
        february_2016.law(FLIPS[0], 3, 4)


# --- Sufficient DP: one report each -----------------------------------------------------------


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
        (sufficient_dp.noise_3_15, False),
    ):
        step = MP.mpf(1) / DENOMINATOR
        q = MP.mpf(solve(limit, N, L).numerator) * step
        assert left(q, exact) <= limit < left(q - step, exact)
    phi = sufficient_dp.largest_phi(limit, N, L)
    assert sufficient_dp.condition_3_15(phi, N, L) == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize("channel", FLIPS)
def test_noise_from_phi(channel):
    assert abs(sufficient_dp.noise_of_phi(channel.phi).numerator - channel.numerator) <= 1


def test_what_has_no_noise_is_an_error():
    for solve in (sufficient_dp.noise_3_13, sufficient_dp.noise_3_15):
        with pytest.raises(PrivacyError, match="any noise"):
            solve(2, 5, 3)  # 1 + 1/5 + 3/sqrt(5) is above 2 already at q = 1/2
    for solve in (sufficient_dp.noise_3_12, sufficient_dp.noise_3_15):
        with pytest.raises(PrivacyError, match="greater than 1"):
            solve(1, 1000, 3)
    for solve in (january_2016.smallest_deviation, lambda x: january_2016.noise_copies(x, 9, 2)):
        with pytest.raises(PrivacyError, match="greater than 1"):
            solve(0.5)
    with pytest.raises(PrivacyError, match="greater than 1"):
        sufficient_dp.local_noise(1, 5)
    with pytest.raises(PrivacyError, match="phi"):
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
    local = sufficient_dp.deviation_of_estimate(sufficient_dp.local_noise(E2, 40), 10**7)
    assert local / math.sqrt(10**7) == pytest.approx(20, abs=0.05)
    assert sufficient_dp.deviation_of_estimate(BitFlip.at_least(0.351), 1) == pytest.approx(
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


# --- DESIGN 3.6, 4: the concentration bound ---------------------------------------------------


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


# --- DESIGN 3.6, 5: the table of section 3.3 --------------------------------------------------


def tail_mass(q, N, limit, step=1 / 16, L=5):
    """P[R >= limit] of a collection with the outlier, by Fourier transform on a fine grid.

    Each weight is split between two grid points so that its mean is kept. That adds at most
    N step^2 / 4 to the variance of X (at most 5, against 1e8), and the limit falls between two
    points. The circle holds 12 reports with all bits set beside the rest; more have probability
    below 1e-15.
    """
    bits = np.arange(L + 1)
    weight = ((1 - q) / q) ** (2.0 * bits - L)
    size = next_fast_len(math.ceil((12 * weight[-1] + 4 * N) / step), real=True)
    place = weight / step
    low = np.floor(place).astype(int)

    def transform(law):
        mass = np.bincount(low, law * (low + 1 - place), size)
        return rfft(mass + np.bincount(low + 1, law * (place - low), size))

    zero, one = (transform(binom.pmf(bits, L, chance)) for chance in (q, 1 - q))
    law = irfft(zero ** (N - 1) * one, size)
    return law[math.ceil(limit * N / step) :].sum()


TABLE = [
    (2, 1000, 0.2446, 0.0060, 0.0071),
    (2, 3000, 0.2109, 0.0048, 0.0064),
    (2, 5000, 0.1963, 0.0045, 0.0067),
    (E2, 1000, 0.1692, 0.0037, 0.0037),
    (E2, 3000, 0.1424, 0.0062, 0.0068),
    (E2, 5000, 0.1310, 0.0074, 0.0086),
]


def test_error_5_the_noise_for_5000_people():
    right = sufficient_dp.noise_3_12(2, 5000, 5)
    assert right.q == pytest.approx(0.1963, abs=5e-5)
    assert sufficient_dp.condition_3_12(right, 5000, 5) <= 2
    assert sufficient_dp.condition_3_12(BitFlip.at_least(0.1778), 5000, 5) > 2.3
    assert tail_mass(0.1778, 5000, 2) > 0.02  # the printed noise leaves far more than .0045


@pytest.mark.parametrize(("limit", "N", "q", "printed", "exact"), TABLE)
def test_error_5_tail_masses(limit, N, q, printed, exact):
    found = tail_mass(q, N, limit)
    assert found == pytest.approx(exact, abs=1e-4)
    assert found >= printed - 5e-5
    if printed != exact:
        assert found > printed + 5e-4


def test_the_grid_of_the_tail_masses_is_fine_enough():
    for limit, q in ((2, 0.2446), (E2, 0.1692)):
        fine, coarse = (tail_mass(q, 1000, limit, step) for step in (1 / 64, 1 / 16))
        assert fine == pytest.approx(coarse, abs=2e-6)
    assert tail_mass(0.2446, 1000, 2, 1 / 256) == pytest.approx(7.0676e-3, abs=2e-7)  # DESIGN 3.4
    assert tail_mass(0.3, 1, 1.5, L=1) == pytest.approx(0.7, abs=1e-9)


# --- Sufficient DP: k reports each, and DESIGN 3.6, 2 -----------------------------------------

SMALL = [(2, 1, 1), (2, 2, 1), (3, 1, 2), (2, 2, 2), (1, 1, 2), (2, 1, 3), (2, 1, 4)]


@pytest.mark.parametrize(("N", "L", "k"), SMALL)
@pytest.mark.parametrize("channel", FLIPS[1:])
def test_moments_with_copies_by_enumeration(channel, N, L, k):
    mean, variance = exact_moments(ratios(channel, N, L, k))
    assert copies.mean_of_ratio(channel, N, L, k) == pytest.approx(mean, rel=1e-12)
    assert copies.variance_of_ratio(channel, N, L, k) == pytest.approx(variance, rel=1e-9)
    assert copies.mean_bound(channel, N, L, k) >= mean * (1 - 1e-12)
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
def test_weights_of_subsets(channel, L, k):
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


def test_error_2_noise_must_rise_with_copies():
    printed, corrected = (
        [noise(E2, 10**7, 40, k).q for k in (1, 4, 10)]
        for noise in (copies.noise_6_3, copies.noise_corrected)
    )
    assert printed[0] == pytest.approx(corrected[0], abs=1e-8)
    assert printed == sorted(printed, reverse=True)
    assert corrected == sorted(corrected)
    assert corrected[2] - printed[2] > 0.017
