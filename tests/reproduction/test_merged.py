"""The exact ratio of merged collections and its simulation, against enumeration and mpmath.

Statistical tests have fixed seeds; each names its false-alarm rate, that is, how often a right
implementation would fail it with another seed, and rejects a wrong variant.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import binom, chi2

from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from reproduction import february_2016, january_2016, merged, sufficient_dp_copies
from reproduction.merged import Merged, Simulated, draw, log_ratio, simulate
from tests.conftest import one_in
from tests.reproduction.conftest import E2, RARE, SIGMAS, laws_on_a_grid

FLIPS = [BitFlip.at_least(q) for q in (0.001, 0.15, 0.3, 0.48)]


def exact_ratio(channel, counts, k):
    """(8.22) with its k!, over all subsets, as a fraction."""
    odds = Fraction(DENOMINATOR - channel.numerator, channel.numerator)
    L = len(counts) - 1
    weights = [odds ** (2 * bits - L) for bits, count in enumerate(counts) for _ in range(count)]
    subsets = itertools.combinations(weights, k)
    return sum(math.prod(subset) for subset in subsets) / math.comb(len(weights), k)


def all_counts(total, kinds):
    """Every way to write a total as a sum of so many counts."""
    if kinds == 1:
        return [(total,)]
    return [
        (first, *rest)
        for first in range(total + 1)
        for rest in all_counts(total - first, kinds - 1)
    ]


def multinomial_law(total, law):
    """Probability of each tuple of counts of so many independent reports."""
    return {
        counts: math.factorial(total)
        * math.prod(c**n / math.factorial(n) for c, n in zip(law, counts, strict=True))
        for counts in all_counts(total, len(law))
    }


def law_of_counts(crowd, ones):
    """Probability of each tuple of counts if so many of the kN reports come from ones."""
    bits = np.arange(crowd.L + 1)
    zero = multinomial_law(crowd.k * crowd.N - ones, binom.pmf(bits, crowd.L, crowd.channel.q))
    one = multinomial_law(ones, binom.pmf(bits, crowd.L, crowd.channel.p))
    total = {}
    for (a, mass_a), (b, mass_b) in itertools.product(zero.items(), one.items()):
        key = tuple(np.add(a, b).tolist())
        total[key] = total.get(key, 0.0) + mass_a * mass_b
    return total


def exact_order(crowd, epsilon, order):
    """(eta, delta) by enumeration, from the two laws of the counts and not from any weights."""
    laws = law_of_counts(crowd, crowd.k), law_of_counts(crowd, 0)
    own, other = laws if order == "presence" else laws[::-1]
    above = [key for key in own if own[key] > math.exp(epsilon) * other[key]]
    eta = sum(own[key] for key in above)
    return eta, eta - math.exp(epsilon) * sum(other[key] for key in above)


# --- the ratio of a given collection ----------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("L", [1, 2, 7])
@pytest.mark.parametrize("channel", one_in(2, FLIPS))
def test_ratio_against_all_subsets(channel, L, k):
    rng = np.random.default_rng(100 * L + k)
    counts = rng.multinomial(11, np.ones(L + 1) / (L + 1), 4)
    expected = [mpmath.log(mpmath.mpf(r.numerator) / r.denominator) for r in (
        exact_ratio(channel, tuple(row.tolist()), k) for row in counts
    )]  # fmt: skip
    assert log_ratio(channel, counts, k) == pytest.approx([float(x) for x in expected], abs=1e-12)


@pytest.mark.parametrize(("N", "L", "k"), [(2, 1, 2), (2, 2, 2), (3, 1, 2), (1, 2, 3), (3, 2, 1)])
def test_ratio_against_the_definition(N, L, k):
    """P(multiset of reports | collection), each record standing k times: Sufficient DP (2.1)."""
    channel = FLIPS[2]
    zeros = np.zeros((k * N, L), int)
    outlier = np.concatenate([np.ones((k, L), int), zeros[k:]])
    kinds = list(itertools.product((0, 1), repeat=L))
    for reports in itertools.combinations_with_replacement(kinds, k * N):
        counts = np.bincount(np.sum(reports, axis=1), minlength=L + 1)
        expected = february_2016.privacy_ratio(channel, zeros, outlier, np.array(reports))
        assert log_ratio(channel, counts, k) == pytest.approx(math.log(expected), abs=1e-12)


@pytest.mark.parametrize(("N", "k"), [(1000, 16), (50, 1), (10**5, 5)])
def test_one_bit_ratio_is_that_of_january(N, k):
    shown = np.arange(0, k * N + 1, max(1, k * N // 37))
    counts = np.stack([k * N - shown, shown], axis=-1)
    expected = np.log(january_2016.inverse_ratio_copies(FLIPS[2], N, k, shown))
    assert log_ratio(FLIPS[2], counts, k) == pytest.approx(expected, abs=1e-6)  # scipy's law


def mpmath_log_ratio(channel, counts, k):
    """The t^k coefficient of the product of (1 + w t)^c in 80 digits."""
    with mpmath.workdps(80):
        L = len(counts) - 1
        odds = mpmath.mpf(DENOMINATOR - channel.numerator) / channel.numerator
        total = [mpmath.mpf(1)] + [mpmath.mpf(0)] * k
        for bits, count in enumerate(counts):
            factor = [math.comb(count, j) * odds ** ((2 * bits - L) * j) for j in range(k + 1)]
            total = [
                mpmath.fsum(total[i] * factor[j - i] for i in range(j + 1)) for j in range(k + 1)
            ]
        return float(mpmath.log(total[k] / math.comb(sum(counts), k)))


@pytest.mark.parametrize(
    ("q", "N", "L", "k"),
    [(0.3389, 10**7, 40, 20), (0.3509, 10**7, 40, 1), (0.02, 10**7, 40, 20), (0.4, 10**6, 100, 13)],
)
def test_ratio_of_large_collections(q, N, L, k):
    channel = BitFlip.at_least(q)
    counts = draw(Merged(channel, N, L, k), True, 3, np.random.default_rng(1))
    lopsided = np.zeros(L + 1, counts.dtype)
    lopsided[[0, L]] = k * N - 2, 2  # fewer than k of the heaviest kind
    for row in [*counts, lopsided]:
        expected = mpmath_log_ratio(channel, [int(n) for n in row], k)
        assert log_ratio(channel, row, k) == pytest.approx(expected, abs=1e-11, rel=1e-13)


def test_ratio_keeps_the_shape_of_its_argument():
    counts = np.arange(24).reshape(2, 4, 3)
    found = log_ratio(FLIPS[1], counts, 2)
    assert found.shape == (2, 4)
    assert found[1, 2] == log_ratio(FLIPS[1], counts[1, 2], 2)


@pytest.mark.parametrize("crowd", [Merged(FLIPS[1], 3, 2, 2), Merged(FLIPS[2], 2, 1, 4)])
def test_ratio_is_that_of_the_two_laws(crowd):
    """And so its mean is 1 without the outlier, and (8.31) with its k! with the outlier."""
    present, absent = law_of_counts(crowd, crowd.k), law_of_counts(crowd, 0)
    keys = np.array(list(absent))
    ratio = np.exp(log_ratio(crowd.channel, keys, crowd.k))
    without, with_outlier = (np.array([law[tuple(k)] for k in keys.tolist()])
                             for law in (absent, present))  # fmt: skip
    assert ratio == pytest.approx(with_outlier / without, rel=1e-11)
    assert without @ ratio == pytest.approx(1, rel=1e-12)
    mean = sufficient_dp_copies.mean_of_ratio(crowd.channel, crowd.N, crowd.L, crowd.k)
    assert with_outlier @ ratio == pytest.approx(mean, rel=1e-12)
    # Sufficient DP, appendix II: (8.22) and (8.31) as printed are k! times too small
    printed = ratio / math.factorial(crowd.k)
    assert without @ printed == pytest.approx(1 / math.factorial(crowd.k), rel=1e-12)
    in_print = sufficient_dp_copies.mean_8_31(crowd.channel, crowd.N, crowd.L, crowd.k)
    assert with_outlier @ printed == pytest.approx(in_print, rel=1e-12)


# --- drawing collections ----------------------------------------------------------------------


def chi_square_p_value(crowd, outlier, ones, draws=60_000):
    """How unlikely drawn collections are if so many reports come from ones."""
    law = law_of_counts(crowd, ones)
    drawn = draw(crowd, outlier, draws, np.random.default_rng(3))
    seen = Counter(map(tuple, drawn.tolist()))
    assert set(seen) <= set(law)
    common = [key for key in law if draws * law[key] >= 10]
    observed = np.array([seen[key] for key in common] + [0.0])
    expected = np.array([draws * law[key] for key in common] + [0.0])
    observed[-1], expected[-1] = draws - observed.sum(), max(draws - expected.sum(), 1e-9)
    return chi2.sf((((observed - expected) ** 2) / expected)[expected > 1].sum(), len(common))


@pytest.mark.parametrize("crowd", [Merged(FLIPS[2], 3, 2, 2), Merged(FLIPS[1], 4, 3, 1)])
def test_drawn_collections_have_the_right_law(crowd):
    """False alarms: 1e-6 each. Rejected: a collection of one unlike record more or fewer."""
    for outlier, ones in ((True, crowd.k), (False, 0)):
        assert chi_square_p_value(crowd, outlier, ones) > RARE
        assert chi_square_p_value(crowd, outlier, ones + 1) < RARE
        assert chi_square_p_value(crowd, not outlier, ones) < RARE


def test_rare_reports_are_drawn_as_often_as_they_should():
    """More than half of the bits set: 3.5e-8 of all reports, 7 of the 2e8 of a collection.

    Their number over 4000 collections, nearly normal: false alarms about 1e-6. Rejected: five per
    cent off.
    """
    crowd, draws = Merged(BitFlip.at_least(0.15), 10**7, 40, 20), 4000
    counts = draw(crowd, False, draws, np.random.default_rng(4))
    assert (counts.sum(axis=1) == 2 * 10**8).all()
    expected = draws * 2e8 * binom.sf(20, 40, crowd.channel.q)
    assert expected == pytest.approx(28102, abs=1)
    found = counts[:, 21:].sum()
    assert abs(found - expected) < SIGMAS * math.sqrt(expected)
    assert abs(found - 1.05 * expected) > SIGMAS * math.sqrt(expected)


# --- simulating eta and delta -----------------------------------------------------------------

SMALL = [
    (Merged(FLIPS[2], 4, 2, 2), 0.4),
    (Merged(FLIPS[1], 5, 1, 3), 0.3),
    (Merged(FLIPS[2], 12, 3, 1), 0.5),
    (Merged(FLIPS[1], 100, 2, 1), 1.0),
]


def agrees(simulated, eta, delta):
    """Whether simulated values lie within 4.9 standard errors of the given ones."""
    eta_error = math.sqrt(eta * (1 - eta) / simulated.draws)
    return (
        abs(simulated.eta - eta) < SIGMAS * eta_error
        and abs(simulated.delta - delta) < SIGMAS * simulated.delta_error
    )


@pytest.mark.slow
@pytest.mark.parametrize(("crowd", "epsilon"), SMALL)
def test_simulation_against_enumeration(crowd, epsilon):
    """False alarms: 2e-6 each. Rejected: the other order, and k reports taken for another k."""
    exact = {order: exact_order(crowd, epsilon, order) for order in ("presence", "absence")}
    for order, other in (("presence", "absence"), ("absence", "presence")):
        found = simulate(crowd, epsilon, 100_000, 5, order)
        assert agrees(found, *exact[order])
        assert not agrees(found, *exact[other])
        fewer = Merged(crowd.channel, crowd.N, crowd.L, crowd.k + 1)
        assert not agrees(simulate(fewer, epsilon, 100_000, 5, order), *exact[order])


def order_on_a_grid(q, N, L, epsilon, order):
    """(eta, delta) for one report each, from the law of R on a grid."""
    ratio, present, absent = laws_on_a_grid(q, N, L)
    with np.errstate(divide="ignore"):
        ratio, law = (ratio, present) if order == "presence" else (1 / ratio, absent)
    above = ratio > math.exp(epsilon)
    return law[above].sum(), law[above] @ (1 - math.exp(epsilon) / ratio[above])


@pytest.mark.slow
@pytest.mark.parametrize("order", ["presence", "absence"])
@pytest.mark.parametrize(
    ("q", "N", "L", "epsilon"), [(0.2446, 1000, 5, math.log(2)), (0.3, 1000, 5, 0.3)]
)
def test_simulation_against_a_grid(q, N, L, epsilon, order):
    """False alarms: about 2e-6 each. Rejected: twice the eta, and twice the delta."""
    eta, delta = order_on_a_grid(q, N, L, epsilon, order)
    found = simulate(Merged(BitFlip.at_least(q), N, L), epsilon, 200_000, 6, order)
    assert agrees(found, eta, delta)
    assert not agrees(found, 2 * eta, delta)
    assert not agrees(found, eta, 2 * delta)


@pytest.mark.slow
def test_the_standard_error_of_delta_is_right():
    """The spread of 200 simulations: its chi-square has false alarms of 1e-6, each side.

    Rejected: an error that is twice too large or too small.
    """
    crowd, epsilon = SMALL[0]
    runs = [simulate(crowd, epsilon, 500, seed) for seed in range(200)]
    squares = sum((run.delta - exact_order(crowd, epsilon, "presence")[1]) ** 2 for run in runs)
    statistic = squares / np.mean([run.delta_error**2 for run in runs])
    low, high = chi2.ppf(RARE, 200), chi2.isf(RARE, 200)
    assert low < statistic < high
    assert statistic / 4 < low
    assert statistic * 4 > high


def test_limits_of_eta_are_clopper_pearson():
    crowd, epsilon = SMALL[0]
    found = simulate(crowd, epsilon, 400, 7, confidence=0.9)
    assert found.eta == found.exceeded / 400
    assert binom.sf(found.exceeded - 1, 400, found.eta_low) == pytest.approx(0.05, rel=1e-6)
    assert binom.cdf(found.exceeded, 400, found.eta_high) == pytest.approx(0.05, rel=1e-6)
    never = simulate(crowd, 50.0, 400, 7)
    assert (never.exceeded, never.eta_low, never.delta, never.delta_error) == (0, 0.0, 0.0, 0.0)
    assert never.eta_high == pytest.approx(1 - 0.025 ** (1 / 400))


def test_a_seed_fixes_the_result_and_batches_do_not_repeat_it(monkeypatch):
    crowd, epsilon = SMALL[1]
    first = simulate(crowd, epsilon, 3000, 8)
    assert isinstance(first, Simulated)
    assert simulate(crowd, epsilon, 3000, 8) == first
    assert simulate(crowd, epsilon, 3000, 9) != first
    monkeypatch.setattr(merged, "MOST_AT_ONCE", 1000)
    assert (
        simulate(crowd, epsilon, 3000, 8).exceeded != 3 * simulate(crowd, epsilon, 1000, 8).exceeded
    )


def test_what_cannot_be_is_an_error():
    for field in ("N", "L", "k"):
        sizes = {"N": 3, "L": 2, "k": 1} | {field: 0}
        with pytest.raises(ValueError, match="at least 1"):
            Merged(FLIPS[0], **sizes)
    with pytest.raises(ValueError, match="number of reports"):
        log_ratio(FLIPS[0], np.array([1, 2]), 4)
    with pytest.raises(ValueError, match="copies"):
        log_ratio(FLIPS[0], np.array([1, 2]), 0)
    with pytest.raises(ValueError, match="draws"):
        simulate(SMALL[0][0], 1.0, 0, 1)
    with pytest.raises(ValueError, match="confidence"):
        simulate(SMALL[0][0], 1.0, 10, 1, confidence=1.0)


# --- Sufficient DP, section 6: k copies are not free ------------------------------------------


def with_printed_noise(k, draws):
    """P[R > e^2] by simulation, with the noise of (6.3) for L = 40 and N = 1e7."""
    channel = sufficient_dp_copies.noise_6_3(E2, 10**7, 40, k)
    return simulate(Merged(channel, 10**7, 40, k), 2.0, draws, 9, confidence=1 - 2 * RARE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "draws", "low", "high"),
    [  # measured with more draws and another seed: .00129(4), .0099(2), .0598(10), .2045(26)
        (1, 60_000, 0.0005, 0.0024),
        (4, 20_000, 0.006, 0.014),
        (10, 8_000, 0.046, 0.076),
        (20, 5_000, 0.17, 0.24),
    ],
)
def test_error_2_printed_noise_lets_the_ratio_exceed_lambda(k, draws, low, high):
    """False alarms: about 1e-6 each; rejected: the baseline's eta for every k > 1.

    Standard errors: 1.5e-4, 7e-4, .003 and .006.
    """
    found = with_printed_noise(k, draws)
    assert low < found.eta < high
    assert found.eta_low < {1: 0.00129, 4: 0.0099, 10: 0.0598, 20: 0.2045}[k] < found.eta_high
    if k > 1:
        assert found.eta_low > 0.004  # what three deviations are to leave; k = 1 leaves .0013


@pytest.mark.slow
def test_error_2_noise_by_the_right_moments_keeps_eta():
    """k = 10: eta is .0023(2), measured with more draws, in the place of .060; the noise has risen.

    False alarms: 1e-6. Rejected: the eta of the printed noise.
    """
    noise = sufficient_dp_copies.noise_corrected(E2, 10**7, 40, 10)
    assert noise.q > sufficient_dp_copies.noise_corrected(E2, 10**7, 40, 1).q + 0.008
    found = simulate(Merged(noise, 10**7, 40, 10), 2.0, 6_000, 10, confidence=1 - 2 * RARE)
    assert found.eta_low < 0.0023 < found.eta_high < 0.01 < 0.046
