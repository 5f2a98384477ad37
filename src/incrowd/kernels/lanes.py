"""Bits that are 1 with exactly a given probability, decided 64 lanes at a time.

Each lane draws the binary digits of a uniform number u and compares them with the digits of the
threshold t, most significant first. The first digit in which they differ decides: t has 1 there
and u has 0 exactly when u < t, so the lane is 1 with probability

    sum of 2^-j over the digits j of t that are 1  =  t,

without rounding. For t = n / 2^32 that is exactly n / 2^32. A finite expansion that ends without
a difference means u >= t: the lane is 0. A word whose 64 lanes are decided draws no more; which
words still draw depends on earlier draws alone, so every new word is independent of the past, and
words drawn after a lane is decided do not change it. Hence lanes are independent, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.compilation import WORDS, compiled, use_machine_code

Words = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]

ALL_LANES = np.uint64(2**64 - 1)
# Words decided together: few enough to stay in the cache, enough to hide the interpreter.
BLOCK_WORDS = 2**15
# From here on numpy takes about as long as loading numba (half a second, measured).
LARGE = 2**21


class Steps(NamedTuple):
    """The two steps of the race, in place."""

    compare: Callable[[int, Words, Words, Words], int]
    retire: Callable[[Words, Indices, Words, Words], int]


def decide_words(
    digits: Iterable[int],
    count: int,
    draw: Callable[[int], Words],
    machine_code: bool | None = None,
) -> Words:
    """`count` words, shape (count,), whose bits are independently 1 with probability exactly t.

    `digits` are the binary digits of t, first the half; they may be infinite, and are iterated
    anew for every block. `draw(n)` gives n fresh random words. machine_code: None lets `count`
    decide; both ways draw the same words in the same order and give the same bits.
    """
    steps = MACHINE_CODE if use_machine_code(machine_code, count, LARGE) else PLAIN
    words = np.empty(count, np.uint64)
    for start in range(0, count, BLOCK_WORDS):
        _decide_block(digits, words[start : start + BLOCK_WORDS], draw, steps)
    return words


def _decide_block(
    digits: Iterable[int], result: Words, draw: Callable[[int], Words], steps: Steps
) -> None:
    """Words leave the race at the first digit at which all their lanes have differed."""
    left = len(result)
    active = np.arange(left)
    ones, undecided = np.zeros(left, np.uint64), np.full(left, ALL_LANES)
    for digit in digits:
        pending = steps.compare(digit, draw(left), ones[:left], undecided[:left])
        # Removing finished words costs more than a few unused random words: wait for an eighth.
        if 8 * pending <= 7 * left:
            left = steps.retire(result, active[:left], ones[:left], undecided[:left])
        if not left:
            return
    result[active[:left]] = ones[:left]


def _compare(digit: int, random: Words, ones: Words, undecided: Words) -> int:
    """Compare one digit in all words; returns how many are not decided yet."""
    if digit:
        ones |= undecided & ~random
    undecided &= random if digit else ~random
    return int(np.count_nonzero(undecided))


def _retire(result: Words, active: Indices, ones: Words, undecided: Words) -> int:
    """Note what is decided and move the other words to the front; returns how many they are."""
    result[active] = ones
    pending = undecided != 0
    left = int(np.count_nonzero(pending))
    for words in (active, ones, undecided):
        words[:left] = words[pending]
    return left


@compiled(f"int64(int64, {WORDS}, uint64[::1], uint64[::1])")
def _compare_loops(digit: int, random: Words, ones: Words, undecided: Words) -> int:
    pending = 0
    if digit:
        for i in range(random.size):
            ones[i] |= undecided[i] & ~random[i]
            undecided[i] &= random[i]
            pending += undecided[i] != 0
    else:
        for i in range(random.size):
            undecided[i] &= ~random[i]
            pending += undecided[i] != 0
    return pending


@compiled("int64(uint64[::1], int64[::1], uint64[::1], uint64[::1])")
def _retire_loops(result: Words, active: Indices, ones: Words, undecided: Words) -> int:
    left = 0
    for i in range(active.size):
        word, one, open_lanes = active[i], ones[i], undecided[i]
        result[word] = one
        # Written always and kept if undecided: cheaper than a branch nobody can predict.
        active[left], ones[left], undecided[left] = word, one, open_lanes
        left += open_lanes != 0
    return left


PLAIN = Steps(_compare, _retire)
MACHINE_CODE = Steps(_compare_loops, _retire_loops)
