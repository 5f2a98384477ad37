"""Bits that are 1 with exactly a given probability, decided 64 lanes at a time.

Each lane draws the binary digits of a uniform number u and compares them with the digits of the
threshold t, most significant first. The first digit in which they differ decides: t has 1 there
and u has 0 exactly when u < t, so the lane is 1 with probability

    sum of 2^-j over the digits j of t that are 1  =  t,

without rounding. For t = n / 2^32 that is exactly n / 2^32. A finite expansion that ends without
a difference means u >= t: the lane is 0.

All lanes compare the first seven digits. Then one lane in 128 is undecided; these lanes are packed
into words again and continue in the same way with the following digits. Which lanes they are
depends only on earlier draws, so every new word is independent of the past, and words drawn after a
lane is decided do not change it. Hence the lanes are independent, too.
Proof: docs/mathematics.md#exact-sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import Word, Words
from incrowd.kernels.compilation import WORDS, compiled, use_machine_code

Indices = npt.NDArray[np.int64]
DrawWords = Callable[[int], Words]

ALL_LANES = np.uint64(2**64 - 1)
# Digits that all lanes compare: with fewer, too many lanes have to be gathered; with more, too many
# words are drawn for lanes that are already decided (measured).
DIGITS = 7
# Words compared together: few enough for the cache, many enough to hide the interpreter's overhead.
BLOCK_WORDS = 2**15
# From here on numpy takes about as long as loading numba (half a second, measured).
LARGE = 2**21
# The 64 places, indexed by the top six bits of 2^place times this number, which are all different.
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
PLACES = np.zeros(64, np.int64)
PLACES[[(int(DE_BRUIJN) << place & 2**64 - 1) >> 58 for place in range(64)]] = np.arange(64)


class LaneSteps(NamedTuple):
    """The steps of the comparison, which work in place.

    compare(flips, random, ones, undecided): compare one digit after the other in all words.
    gather(undecided, lanes): write the places of undecided lanes; `lanes` has one spare entry.
    scatter(bits, lanes, ones): set the gathered lanes whose bits are 1.
    """

    compare: Callable[[Words, Words, Words, Words], None]
    gather: Callable[[Words, Indices], None]
    scatter: Callable[[Words, Indices, Words], None]


def decide_words(
    digits: Iterable[int], count: int, draw: DrawWords, machine_code: bool | None = None
) -> Words:
    """Return `count` words whose bits are independently 1 with probability exactly t.

    digits: the binary digits of t after the point; there may be infinitely many, and they are
    iterated again for undecided lanes. draw(n): n fresh random words. machine_code: None chooses by
    `count`; both methods draw the same words in the same order and give the same bits.
    """
    steps = MACHINE_CODE if use_machine_code(machine_code, count, LARGE) else PLAIN
    words = np.zeros(count, np.uint64)
    _race(digits, 0, words, draw, steps)
    return words


def _race(
    digits: Iterable[int], first: int, ones: Words, draw: DrawWords, steps: LaneSteps
) -> None:
    """Set the lanes that are below the number with the digits from `first` on; all are zero."""
    compared = list(islice(digits, first, first + DIGITS))
    if not compared or not len(ones):
        return
    flips = np.array([0 if digit else ALL_LANES for digit in compared], np.uint64)
    starts = range(0, len(ones), BLOCK_WORDS)
    blocks = (ones[start : start + BLOCK_WORDS] for start in starts)
    undecided = [_undecided(flips, block, draw, steps) for block in blocks]
    lanes = np.concatenate(
        [64 * start + places for start, places in zip(starts, undecided, strict=True)]
    )
    if len(lanes):
        bits = np.zeros(-(-len(lanes) // 64), np.uint64)
        _race(digits, first + len(flips), bits, draw, steps)
        steps.scatter(bits, lanes, ones)


def _undecided(flips: Words, ones: Words, draw: DrawWords, steps: LaneSteps) -> Indices:
    """Compare the next digits in all lanes of a block; returns the lanes that are not decided."""
    undecided = np.full(len(ones), ALL_LANES)
    steps.compare(flips, draw(len(flips) * len(ones)), ones, undecided)
    count = int(np.bitwise_count(undecided).sum())
    lanes = np.empty(count + 1, np.int64)
    steps.gather(undecided, lanes)
    return lanes[:count]


def _compare(flips: Words, random: Words, ones: Words, undecided: Words) -> None:
    """Compare digits: for a 1 (no flip), lanes that drew 0 become 1; for a 0, those that drew 1
    stay 0. The other lanes remain undecided."""
    for flip, drawn in zip(flips, random.reshape(len(flips), len(ones)), strict=True):
        equal = undecided & (drawn ^ flip)
        ones |= (undecided ^ equal) & ~flip
        undecided[:] = equal


def _gather(undecided: Words, lanes: Indices) -> None:
    lanes[:-1] = np.flatnonzero(_bits(undecided))


def _scatter(bits: Words, lanes: Indices, ones: Words) -> None:
    chosen = lanes[_bits(bits)[: len(lanes)] != 0]
    np.bitwise_or.at(ones, chosen >> 6, np.uint64(1) << (chosen & 63).astype(np.uint64))


def _bits(words: Words) -> npt.NDArray[np.uint8]:
    """Return the bits of words: bit i of word w at place 64 w + i."""
    return np.unpackbits(words.astype("<u8", copy=False).view(np.uint8), bitorder="little")


@compiled(f"void(uint64[::1], {WORDS}, uint64[::1], uint64[::1])")
def _compare_loops(flips: Words, random: Words, ones: Words, undecided: Words) -> None:
    """Do the same as `_compare` for 1024 words at a time, which stay in the nearest cache for all
    digits."""
    count, piece, start = np.uint64(ones.size), np.uint64(1024), np.uint64(0)
    while start < count:
        end = min(count, start + piece)
        for digit in range(np.uint64(flips.size)):
            flip, row = flips[digit], digit * count
            for i in range(start, end):
                equal = undecided[i] & (random[row + i] ^ flip)
                ones[i] |= (undecided[i] ^ equal) & ~flip
                undecided[i] = equal
        start = end


@compiled("void(uint64[::1], int64[::1])")
def _gather_loops(undecided: Words, lanes: Indices) -> None:
    filled, none, one = np.uint64(0), np.uint64(0), np.uint64(1)

    def lane(word: int, left: Word) -> np.int64:
        """Return the lowest of the remaining lanes of a word."""
        place: np.int64 = PLACES[(left & (~left + one)) * DE_BRUIJN >> np.uint64(58)]
        return 64 * word + place

    for i in range(undecided.size):
        left = undecided[i]
        # Most words have at most two undecided lanes. Two are always written, and counted only if
        # they exist, which is faster than an unpredictable branch.
        for _ in range(2):
            lanes[filled] = lane(i, left)
            filled += np.uint64(left != none)
            left &= left - one
        while left != none:
            lanes[filled] = lane(i, left)
            filled += one
            left &= left - one


@compiled("void(uint64[::1], int64[::1], uint64[::1])")
def _scatter_loops(bits: Words, lanes: Indices, ones: Words) -> None:
    one, low = np.uint64(1), np.uint64(63)
    for i in range(np.uint64(lanes.size)):
        lane = np.uint64(lanes[i])
        bit = bits[i >> np.uint64(6)] >> (i & low) & one
        ones[lane >> np.uint64(6)] |= bit << (lane & low)


PLAIN = LaneSteps(_compare, _gather, _scatter)
MACHINE_CODE = LaneSteps(_compare_loops, _gather_loops, _scatter_loops)
