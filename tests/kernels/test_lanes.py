"""64 lanes of random bits at a time: what is drawn, and what is decided."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import UsageError
from incrowd.kernels import lanes
from incrowd.kernels.gaps import join_digits, set_bits
from incrowd.kernels.lanes import decide_words
from tests.kernels.conftest import BOTH, SEEDS, THOROUGH, Source, laid_out, unpacked

ALL_ONES = 2**64 - 1


# --- 64 lanes --------------------------------------------------------------------------------


class Forever:
    """The infinitely many binary digits of a fraction."""

    def __init__(self, fraction):
        self.fraction = fraction

    def __iter__(self):
        rest = self.fraction
        while True:
            rest *= 2
            yield int(rest >= 1)
            rest -= int(rest)


@BOTH
@pytest.mark.parametrize("threshold", range(64))
def test_every_sequence_of_six_random_bits_is_decided_rightly(threshold, machine_code):
    """Lane i draws the binary digits of i: of 64 equally likely draws, `threshold` give a 1."""
    lane = np.arange(64)
    digits = [threshold >> place & 1 for place in range(5, -1, -1)]
    drawn = [sum((int(i) >> (5 - digit) & 1) << int(i) for i in lane) for digit in range(6)]

    def draw(count):
        assert count == 6 * 3
        return np.repeat(np.array(drawn, np.uint64), 3)

    for word in decide_words(digits, 3, draw, machine_code):
        assert [int(word) >> i & 1 for i in range(64)] == [int(i < threshold) for i in range(64)]


def decided(digits, lane_count, draw):
    """The lanes that are 1, one by one on Python's integers; undecided ones go on together."""
    head, rest = digits[: lanes.DIGITS], digits[lanes.DIGITS :]
    words = -(-lane_count // 64)
    if not head or not lane_count:
        return set()
    drawn = draw(len(head) * words)
    ones, undecided = set(), []
    for lane in range(64 * words):
        bits = [int(drawn[j * words + lane // 64]) >> lane % 64 & 1 for j in range(len(head))]
        if bits == list(head):
            undecided.append(lane)
        elif bits < list(head):
            ones.add(lane)
    later = decided(rest, len(undecided), draw)
    return ones | {undecided[lane] for lane in later if lane < len(undecided)}


@BOTH
@given(st.lists(st.integers(0, 1), max_size=40), st.integers(1, 40), SEEDS, st.integers(0, 7))
@THOROUGH
def test_words_are_decided_by_their_draws(machine_code, digits, count, seed, offset):
    words = decide_words(digits, count, Source(seed, offset).draw, machine_code)
    wanted = decided(digits, 64 * count, Source(seed).draw)
    assert words.dtype == np.uint64
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    assert set(np.flatnonzero(bits).tolist()) == wanted


def both_ways(digits, count, seed, offset=0):
    sources = Source(seed, offset), Source(seed)
    words = [
        decide_words(digits, count, source.draw, way)
        for source, way in zip(sources, (True, False), strict=True)
    ]
    assert sources[0].sizes == sources[1].sizes
    np.testing.assert_array_equal(*words)
    return words[0], sources[0].sizes


@given(st.lists(st.integers(0, 1), max_size=40), st.integers(0, 300), SEEDS, st.integers(0, 7))
@THOROUGH
def test_both_ways_draw_the_same_words_and_give_the_same_bits(digits, count, seed, offset):
    assert both_ways(digits, count, seed, offset)[0].shape == (count,)


def test_blocks_and_infinite_digits_agree_and_have_the_right_rate():
    """2^17 words: within 5 standard errors of 1/3, false alarm 5.7e-7; rejected: 1 % off."""
    words, sizes = both_ways(Forever(Fraction(1, 3)), 2**17 + 5, 11)
    assert sizes[:5] == [7 * 2**15] * 4 + [7 * 5]
    assert 7.05 < sum(sizes) / len(words) < 7.06  # 7 (1 + 1/128 + 1/128^2 + ...)
    lane_count, ones = 64 * len(words), int(np.bitwise_count(words).sum())

    def fits(rate):
        return abs(ones - lane_count * rate) <= 5 * (lane_count * 2 / 9) ** 0.5

    assert fits(1 / 3)
    assert not fits(1 / 3 * 1.01)
    assert not fits(1 / 3 * 0.99)


@BOTH
def test_lanes_that_are_decided_draw_no_more(machine_code):
    """Two words of which one lane in 64 agrees with seven digits; then nothing does."""
    sizes = []

    def draw(count):
        sizes.append(count)
        agreeing = np.uint64(1 << 5) if len(sizes) == 1 else np.uint64(0)
        return np.full(count, agreeing)

    words = decide_words([1] * 14, 2, draw, machine_code)
    assert words.tolist() == [ALL_ONES, ALL_ONES]
    assert sizes == [14, 7]


# --- gaps ------------------------------------------------------------------------------------


@given(st.integers(0, 63), st.integers(0, 5), st.data())
@THOROUGH
def test_numbers_have_the_digits_of_their_lanes(digits, words, data):
    count = data.draw(st.integers(0, 64 * words))
    generator = np.random.default_rng(data.draw(SEEDS))
    table = generator.integers(0, 2**64, (words, digits), dtype=np.uint64).T
    rows = [[int(word) for word in row] for row in table]
    expected = [
        reduce(lambda number, row: 2 * number + (row[i // 64] >> i % 64 & 1), rows, 0)
        for i in range(count)
    ]
    for order in ("C", "F"):
        for machine_code in (False, True):
            numbers = join_digits(np.asarray(table, order=order), count, machine_code)
            assert numbers.dtype == np.int64
            assert numbers.tolist() == expected


@given(st.integers(0, 300), st.integers(1, 300), SEEDS, st.integers(0, 20), st.booleans())
@THOROUGH
def test_bits_are_set_where_the_positions_say(rows, bits, seed, gap, backwards):
    total, width = rows * bits, -(-bits // 8)
    generator = np.random.default_rng(seed)
    chosen = np.sort(generator.choice(total, min(total, 50), replace=False)).astype(np.int64)
    expected = unpacked(laid_out(rows, width, 0, gap, backwards, seed))
    expected[chosen // bits, chosen % bits] = 1
    for machine_code in (False, True):
        packed = laid_out(rows, width, 0, gap, backwards, seed)
        packed.flags.writeable = True
        positions = np.repeat(chosen, 2)[::2]
        positions.flags.writeable = False
        set_bits(packed, bits, positions, machine_code)
        np.testing.assert_array_equal(unpacked(packed), expected)


@BOTH
@pytest.mark.parametrize("positions", [[26], [-1, 3], [0, 2**40]])
def test_positions_outside_are_refused(positions, machine_code):
    packed = np.zeros((2, 2), np.uint8)
    with pytest.raises(UsageError, match=r"positions: got .* between 0 and 25"):
        set_bits(packed, 13, np.array(positions), machine_code)
    assert not packed.any()


def test_lanes_that_are_not_there_are_refused():
    for count in (129, -1):
        with pytest.raises(UsageError, match=r"count: got .* should be at most 128"):
            join_digits(np.zeros((3, 2), np.uint64), count)
