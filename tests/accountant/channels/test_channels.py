"""Channels: their matrices, inverses and privacy against fractions and explicit products.

The oracles work on exact fractions of the devices as they are described in words, or on the
explicit Kronecker product, which the library never builds.
"""

import itertools
import math
import re
from fractions import Fraction
from functools import reduce

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.accountant.channels.base import rounded_down, rounded_up
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor, TwoStage
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from incrowd.errors import PrivacyError, Unusable
from incrowd.kernels.axes import transform
from tests.accountant.channels.conftest import HALF, bits, flips, fractions_of, inner, k_ary
from tests.conftest import examples

one_bit = st.one_of(
    bits,
    st.builds(Warner, inner),
    st.builds(Simmons, inner, inner),
    st.builds(Rappor, flips),
    st.builds(Rappor, flips, bits),
    st.builds(TwoStage, bits, bits),
)


@st.composite
def two_k_ary(draw):
    options = st.just(draw(st.integers(2, 5)))
    return TwoStage(draw(k_ary(options)), draw(k_ary(options)))


channels = st.one_of(one_bit, k_ary(), two_k_ary())


def brute_epsilon(channel):
    """max over reports and ordered pairs of answers of ln(P(r|x) / P(r|x')), 60 digits."""
    largest = Fraction(1)
    for row in fractions_of(channel):
        for one, other in itertools.permutations(row, 2):
            if one and not other:
                return mpmath.inf
            if other:
                largest = max(largest, one / other)
    with mpmath.workdps(60):
        return mpmath.log(mpmath.mpf(largest.numerator) / largest.denominator)


def determinant(channel):
    """Leibniz' formula on fractions."""
    rows = fractions_of(channel)
    total = Fraction(0)
    for order in itertools.permutations(range(len(rows))):
        swaps = sum(a > b for a, b in itertools.combinations(order, 2))
        total += (-1) ** swaps * math.prod(rows[i][j] for i, j in enumerate(order))
    return total


@given(channels)
@examples(100)
def test_columns_are_laws_and_the_matrix_is_the_nearest_floats(channel):
    exact = fractions_of(channel)
    assert all(sum(column) == 1 for column in zip(*exact, strict=True))
    assert all(entry >= 0 for row in exact for entry in row)
    assert channel.matrix.tolist() == [[float(entry) for entry in row] for row in exact]


@given(channels)
@examples(100)
def test_the_inverse_undoes_the_matrix_or_says_why_not(channel):
    if determinant(channel) == 0:
        with pytest.raises(PrivacyError, match="cannot be inverted"):
            channel.inverse  # noqa: B018
        return
    exact = fractions_of(channel)
    inverse = [[Fraction(float(entry)) for entry in row] for row in channel.inverse]
    largest = max(abs(entry) for row in inverse for entry in row)
    for i, row in enumerate(inverse):
        for j in range(len(exact)):
            product = sum(row[k] * exact[k][j] for k in range(len(exact)))
            # An inverse whose entries are right to a few ulp; a stage's entries multiply.
            assert abs(product - (i == j)) <= largest * Fraction(1, 2**46)


def test_noise_next_to_one_half_costs_no_digits():
    """Floating-point elimination would lose 31 of 53 bits here; the fractions lose none."""
    flip = BitFlip(HALF - 1)
    assert Bit.from_flip(flip).inverse.tolist() == flip.inverse.tolist()
    assert KAry(HALF + 1, 2).inverse.tolist() == flip.inverse.tolist()


@given(channels)
@examples(100)
def test_epsilon_is_the_largest_ratio_rounded_up(channel):
    exact = brute_epsilon(channel)
    with mpmath.workdps(60):
        assert exact <= channel.epsilon <= exact * (1 + mpmath.mpf(2) ** -48)


def informative(channel):
    """Far enough from singular that the oracle's floating-point solution is right."""
    return abs(np.linalg.det(channel.matrix)) > 0.05


@given(st.lists(st.one_of(one_bit, flips).filter(informative), min_size=1, max_size=8))
@examples(40)
def test_axis_by_axis_is_the_explicit_kronecker_inverse(usable):
    """Theorem 4.1 (Bourke): the matrix of independent bits is the Kronecker product."""
    explicit = reduce(np.kron, [c.matrix for c in usable])
    counts = np.random.default_rng(len(usable)).integers(0, 100, [2] * len(usable))
    expected = np.linalg.solve(explicit, counts.ravel())
    found = transform([c.inverse for c in usable], counts.astype(float)).ravel()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(found).max())
    again = transform([c.matrix for c in usable], found.reshape(counts.shape))
    np.testing.assert_allclose(again, counts, rtol=0, atol=1e-11 * np.abs(found).max())


def test_mixes_of_question_sizes_go_axis_by_axis():
    mix = [KAry.from_epsilon(1.0, 5), Bit.from_probabilities(0.1, 0.7), BitFlip.at_least(0.2)]
    explicit = np.linalg.inv(reduce(np.kron, [c.matrix for c in mix]))
    counts = np.arange(20.0).reshape(5, 2, 2)
    found = transform([c.inverse for c in mix], counts).ravel()
    np.testing.assert_allclose(found, explicit @ counts.ravel(), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("a", [0.75, 0.6, 0.9375, 0.25])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_entries_of_iterated_bits(a, n):
    """Vinterbo, theorem 4.4 and corollary 1: both matrices entry by entry."""
    device = Warner.from_probability(a)
    a = device.a
    matrix, inverse = (reduce(np.kron, [m] * n) for m in (device.matrix, device.inverse))
    for r, x in itertools.product(range(2**n), repeat=2):
        d = (r ^ x).bit_count()
        assert matrix[r, x] == pytest.approx(a ** (n - d) * (1 - a) ** d, rel=1e-12)
        entry = a ** (n - d) * (a - 1) ** d / (2 * a - 1) ** n
        assert inverse[x, r] == pytest.approx(entry, rel=1e-12)


# --- the devices as described in words -------------------------------------------------------


@given(inner)
def test_warners_device_tells_the_truth_when_the_spinner_points_there(numerator):
    a = Fraction(numerator, DENOMINATOR)
    assert fractions_of(Warner(numerator)) == [[a, 1 - a], [1 - a, a]]


@given(st.integers(1, HALF - 1))
def test_simmons_with_a_coin_is_a_bit_flip(half):
    assert Simmons(2 * half).as_bit() == Bit.from_flip(BitFlip(half))


@given(inner, inner)
def test_simmons_device_to_the_last_bit_and_towards_privacy(unrelated, prevalence):
    f, yes = Fraction(unrelated, DENOMINATOR), Fraction(prevalence, DENOMINATOR)
    wanted = f * yes, 1 - f + f * yes
    found = fractions_of(Simmons(unrelated, prevalence))[1]
    assert wanted[0] <= found[0] < wanted[0] + Fraction(1, DENOMINATOR)
    assert wanted[1] - Fraction(1, DENOMINATOR) < found[1] <= wanted[1]
    assert found[0] <= found[1]


@given(k_ary())
def test_k_ary_keeps_or_takes_another(channel):
    keep = Fraction(channel.keep, DENOMINATOR)
    other = (1 - keep) / (channel.options - 1)
    for r, row in enumerate(fractions_of(channel)):
        assert row == [keep if r == x else other for x in range(channel.options)]


@given(flips, bits)
def test_rappor_is_both_stages_in_sequence(permanent, instantaneous):
    """Sum over the permanent bit b of P(r | b) P(b | x), exactly."""
    q = Fraction(permanent.numerator, DENOMINATOR)
    ones = [Fraction(n, DENOMINATOR) for n in (instantaneous.one_if_zero, instantaneous.one_if_one)]
    expected = [(1 - q) * ones[0] + q * ones[1], q * ones[0] + (1 - q) * ones[1]]
    channel = Rappor(permanent, instantaneous)
    assert fractions_of(channel)[1] == expected
    assert channel.symmetric == (ones[0] == 1 - ones[1])
    if channel.symmetric:
        assert expected[0] == 1 - expected[1]


@given(flips, st.integers(0, DENOMINATOR))
def test_rappor_with_a_symmetric_second_stage(permanent, keep):
    """Vinterbo, section 5.3: C_q C_(1 - f/2) = C_(q - (q - 1/2) f), q = P(1 | permanent 1)."""
    f, q = Fraction(2 * permanent.numerator, DENOMINATOR), Fraction(keep, DENOMINATOR)
    channel = Rappor(permanent, Bit(DENOMINATOR - keep, keep))
    a = q - (q - Fraction(1, 2)) * f
    assert fractions_of(channel) == [[a, 1 - a], [1 - a, a]]


def test_one_time_rappor_is_the_permanent_stage():
    channel = Rappor.one_time(0.5)
    assert fractions_of(channel) == fractions_of(BitFlip.at_least(0.25))
    assert channel.permanent_stage == BitFlip.at_least(0.25)
    assert channel.epsilon == channel.permanent_epsilon == BitFlip.at_least(0.25).epsilon


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Bit(-1, 5), "one_if_zero"),
        (lambda: Bit(5, DENOMINATOR + 1), "one_if_one"),
        (lambda: Bit(0.25, 5), "one_if_zero"),
        (lambda: Bit(True, 5), "one_if_zero"),
        (lambda: Bit.from_probabilities(0.1, 1.1), "one_if_one"),
        (lambda: Bit.from_probabilities(math.nan, 0.1), "one_if_zero"),
        (lambda: Warner(0), "spinner"),
        (lambda: Warner.from_probability(1.0), "spinner"),
        (lambda: Warner.from_epsilon(0.0), "epsilon"),
        (lambda: Simmons(DENOMINATOR), "unrelated"),
        (lambda: Simmons.from_probabilities(0.5, 0.0), "prevalence"),
        (lambda: Simmons.from_epsilon(-1.0), "epsilon"),
        (lambda: Simmons.from_epsilon(1e-12), "epsilon"),
        (lambda: Simmons.from_epsilon(1.0, 0.0), "prevalence"),
        (lambda: KAry.from_epsilon(math.nan, 3), "epsilon"),
        # What would reach these tells nothing at all.
        (lambda: KAry.from_epsilon(1e-12, 4), "epsilon"),
        (lambda: Simmons.from_epsilon(5e-10), "epsilon"),
        (lambda: Simmons.from_epsilon(math.nan), "epsilon"),
        (lambda: KAry.from_epsilon(1e-10, 3), "epsilon"),
        (lambda: KAry(2**30, 3), "keep"),
        (lambda: KAry(DENOMINATOR, 3), "keep"),
        (lambda: KAry(2**31, 1), "options"),
        (lambda: KAry.from_probabilities(0.2, 4), "keep"),
        (lambda: KAry.from_epsilon(0, 4), "epsilon"),
        (lambda: Rappor.one_time(1.0), "f"),
        (lambda: TwoStage(KAry(2**31, 3), Bit(1, 2)), "second stage"),
    ],
)
def test_wrong_channels_are_refused_by_name(make, field):
    with pytest.raises(Unusable) as caught:
        make()
    assert caught.value.problems[0].field == field


@pytest.mark.parametrize(
    "channel", [Bit(7, 7), Warner(HALF), KAry(2**30, 4), TwoStage(Bit(1, 9), Bit(5, 5))]
)
def test_channels_without_inverse_say_why(channel):
    with pytest.raises(PrivacyError, match="cannot be inverted"):
        channel.inverse  # noqa: B018


def test_reports_that_only_some_answers_give_have_infinite_epsilon():
    assert Bit(0, HALF).epsilon == math.inf
    assert Bit(DENOMINATOR, HALF).epsilon == math.inf
    assert Bit(0, 0).epsilon == 0  # the report 1 never comes
    assert TwoStage(Bit(0, HALF), Bit(HALF // 2, HALF)).epsilon < math.inf


def test_channels_are_plain_data():
    assert Warner(5) == Warner(5)
    assert len({Bit(1, 2), Bit(1, 2), KAry(2**31, 3), Rappor(BitFlip(1))}) == 3


# --- in words --------------------------------------------------------------------------------

WORDS = {
    "bit flip with probability 0.2769": BitFlip.at_least(0.27699),
    "0 sent as 1 with probability 0.1, 1 sent as 1 with 0.7": Bit.from_probabilities(0.1, 0.7),
    "0 sent as 1 with probability 0.7, 1 sent as 1 with 0.1": Bit.from_probabilities(0.7, 0.1),
    "spinner with probability 0.7": Warner.from_probability(0.7),
    "spinner with probability 0.3": Warner.from_probability(0.3),
    "unrelated question with probability 0.5": Simmons.from_probabilities(0.5),
    "unrelated question with probability 0.5, 0.25 yes": Simmons.from_probabilities(0.5, 0.25),
    "k-ary response that keeps the answer (one of 3) with probability 0.6": (
        KAry.from_probabilities(0.6, 3)
    ),
    "permanent bit flip with probability 0.25": Rappor.one_time(0.5),
    "permanent bit flip with probability 0.25; in each report 0 sent as 1 with probability 0.25, "
    "1 sent as 1 with 0.75": Rappor.from_probabilities(0.5, 0.25, 0.75),
}


@pytest.mark.parametrize("words", WORDS)
def test_devices_in_words(words):
    assert str(WORDS[words]) == words


@given(st.floats(1e-12, 1e6), st.integers(1, 12))
def test_printed_numbers_are_rounded_to_the_safe_side(value, significant):
    """Oracle: fractions. Less than one step of the last digit off; "%g" fails half the time."""
    step = Fraction(10) ** (math.floor(math.log10(value)) - significant + 1)
    down, up = rounded_down(value, significant), rounded_up(value, significant)
    exact = Fraction(repr(value))
    assert exact - step < Fraction(down) <= exact <= Fraction(up) < exact + step
    assert all(len(re.sub(r"e.*|[.]", "", text).strip("0")) <= significant for text in (down, up))


@pytest.mark.parametrize("value", [0.0, math.inf, 1e-6, 1e-5, 0.3, 1.0, math.log(2)])
def test_round_numbers_stay_as_they_are(value):
    assert float(rounded_up(value, 17)) == float(rounded_down(value, 17)) == value
    assert rounded_up(1e-5, 3) == rounded_down(1e-5, 3) == "1e-05"
