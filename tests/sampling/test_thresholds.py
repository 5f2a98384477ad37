"""Random bits against binary digits of a threshold, and the digits themselves."""

from functools import partial
from itertools import islice

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.kernels.gaps import lane_bits
from incrowd.kernels.lanes import decide_words
from incrowd.sampling import flips as digits_module
from incrowd.sampling.flips import LazyDigits, fraction_digits, power_bounds, share_bounds
from tests.conftest import examples
from tests.sampling.conftest import Scripted

ALL_ONES = np.uint64(2**64 - 1)


# --- Bernoulli words -------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", range(1, 16))
def test_every_sequence_of_four_random_bits_is_decided_rightly(threshold):
    """Lane i of the word draws the binary digits of i: it is 1 exactly when i < threshold."""
    lane, digits = np.arange(64) % 16, fraction_digits(threshold, 4)

    def drawn(call, count):
        assert (call, count) == (0, len(digits))
        rows = [(lane >> (3 - digit)) & 1 for digit in range(count)]
        return [int(sum(int(bit) << place for place, bit in enumerate(row))) for row in rows]

    word = decide_words(digits, 1, Scripted(drawn).words)
    bits = lane_bits(word, 64)
    np.testing.assert_array_equal(bits, lane < threshold)
    assert bits.sum() == 4 * threshold


@pytest.mark.parametrize("later", range(8))
def test_undecided_lanes_draw_again(later):
    """All lanes draw seven ones, the digits of the threshold: the next three decide."""
    digits = fraction_digits(0b1111111_101, 10)

    def drawn(call, count):
        row = [later >> place & 1 for place in (2, 1, 0)]
        return [ALL_ONES] * count if call == 0 else [ALL_ONES if bit else 0 for bit in row]

    stream = Scripted(drawn)
    (word,) = decide_words(digits, 1, stream.words)
    assert word == (ALL_ONES if later < 0b101 else 0)
    assert stream.sizes == [7, 3]


def test_digits_stop_at_the_last_that_is_set():
    assert fraction_digits(2**31) == (1,)
    assert fraction_digits(3 * 2**29) == (0, 1, 1)
    assert len(fraction_digits(1)) == 32
    assert sum(2.0**-place * digit for place, digit in enumerate(fraction_digits(12345), 1)) == (
        12345 / DENOMINATOR
    )


@pytest.mark.parametrize("ties", [100, 128, 192, 250, 400, 1000])
@pytest.mark.parametrize("last", [0, 1])
def test_ties_beyond_the_first_digits_are_decided_by_more_digits(ties, last):
    """Random bits that equal the true digits `ties` times, then differ (0) or overshoot (1)."""
    threshold = LazyDigits(partial(share_bounds, 4096, 5))
    truth = true_digits(share_of(4096, 5), ties + 200)
    place = next(i for i in range(ties, ties + 200) if truth[i] != last)

    def drawn(call, count):
        """All lanes draw alike, seven digits at a time."""
        bits = (truth[i] if i != place else 1 - truth[i] for i in range(7 * call, 7 * call + count))
        return [ALL_ONES if bit else 0 for bit in bits]

    stream = Scripted(drawn)
    word = decide_words(threshold, 1, stream.words)[0]
    assert word == (ALL_ONES if last == 0 else 0)
    assert stream.sizes == [7] * (place // 7 + 1)


# --- digits of thresholds --------------------------------------------------------------------


def power_of(numerator, squarings):
    return (1 - mpmath.mpf(numerator) / DENOMINATOR) ** (1 << squarings)


def share_of(numerator, squarings):
    with mpmath.workdps(1000):
        x = power_of(numerator, squarings)
        return x / (1 + x)


def true_digits(value, count):
    with mpmath.workdps(1000):
        scaled = int(mpmath.floor(mpmath.ldexp(value, count)))
    return [int(digit) for digit in f"{scaled:0{count}b}"]


@pytest.mark.parametrize("numerator", [1, 4096, 2**26 - 1, 2**31 - 1, 3 * 2**30])
@pytest.mark.parametrize("squarings", [0, 1, 7, 20, 36, 61])
def test_threshold_digits_agree_with_mpmath(numerator, squarings):
    """600 binary digits, 180 decimal ones; the first 128 come without a second computation."""
    with mpmath.workdps(1000):
        power, share = power_of(numerator, squarings), share_of(numerator, squarings)
    for value, bounds in ((power, power_bounds), (share, share_bounds)):
        lazy = LazyDigits(partial(bounds, numerator, squarings))
        assert list(islice(lazy, 600)) == true_digits(value, 600)
        first = digits_module.certain_digits(bounds(numerator, squarings, 192), 192)
        assert len(first) >= 128 or squarings == 0


@given(st.integers(1, DENOMINATOR - 1), st.integers(0, 8), st.integers(1, 300))
@examples(200)
def test_bounds_enclose_the_number(numerator, squarings, precision):
    scale = DENOMINATOR ** (1 << squarings)
    power = (DENOMINATOR - numerator) ** (1 << squarings)
    lower, upper = power_bounds(numerator, squarings, precision)
    assert lower * scale <= power << precision <= upper * scale
    assert upper - lower < 2 ** (squarings + 2)
    lower, upper = share_bounds(numerator, squarings, precision)
    assert lower * (scale + power) <= power << precision <= upper * (scale + power)


def test_no_digit_is_given_while_the_bounds_disagree():
    assert digits_module.certain_digits((0b0111, 0b1000), 4) == ()
    assert digits_module.certain_digits((0b0100, 0b0110), 4) == (0, 1)
    assert digits_module.certain_digits((0b1111, 0b10000), 4) == ()
