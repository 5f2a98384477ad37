"""Bits that are 1 with exactly a given probability, 64 at a time, without floating point."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from incrowd.randomize.keystream import Keystream

Words = npt.NDArray[np.uint64]

ALL_LANES = np.uint64(2**64 - 1)
# Words decided together: few enough to stay in the cache, enough to hide the interpreter.
BLOCK_WORDS = 2**15


def bernoulli_words(digits: Iterable[int], count: int, keystream: Keystream) -> Words:
    """`count` words, shape (count,), whose bits are independently 1 with probability exactly t.

    `digits` are the binary digits of t, first the half; they may be infinite, and are iterated
    anew for every block. A bit is 1 when a uniform number u is below t, which the first digit in
    which they differ decides; if a finite expansion ends without a difference, u is not below t.
    """
    words = np.empty(count, np.uint64)
    for start in range(0, count, BLOCK_WORDS):
        size = min(BLOCK_WORDS, count - start)
        words[start : start + size] = _decided(digits, size, keystream)
    return words


def _decided(digits: Iterable[int], count: int, keystream: Keystream) -> Words:
    """One block of words: their bits leave the race at the first digit in which they differ."""
    result = np.zeros(count, np.uint64)
    active = np.arange(count)
    ones, undecided = np.zeros(count, np.uint64), np.full(count, ALL_LANES)
    for digit in digits:
        random = keystream.words(active.size)
        if digit:
            ones |= undecided & ~random
        undecided &= random if digit else ~random
        pending = undecided != 0
        # Removing finished words costs more than a few unused random words: wait for an eighth.
        if 8 * np.count_nonzero(pending) > 7 * active.size:
            continue
        result[active] = ones
        active, ones, undecided = active[pending], ones[pending], undecided[pending]
        if not active.size:
            return result
    result[active] = ones
    return result


def lanes(words: Words) -> npt.NDArray[np.uint8]:
    """The same bits as bytes, shape (8 len(words),): bit i in byte i // 8 at place i % 8."""
    return words.astype("<u8", copy=False).view(np.uint8)
