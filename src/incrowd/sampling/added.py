"""Noise that services add to counts, drawn exactly as it is certified."""

from __future__ import annotations

import numpy as np

from incrowd.accountant.additive import BITS, AdditiveNoise


def draw(law: AdditiveNoise, words: np.ndarray) -> np.ndarray:
    """Return numbers from -m to m with exactly the probabilities of a law over 2^64: int64.

    words: uint64, uniform, one for each number. Number z is drawn if the word is below the sum of
    the numerators up to z, and not below that of the numbers before.
    """
    if law.bits != BITS:
        raise ValueError("only a law over 2^64 can be drawn from words of 64 bits")
    ends = np.cumsum(np.array(law.whole[:-1], np.uint64))  # the last end, 2^64, exceeds all words
    return np.searchsorted(ends, words, side="right") - law.reach
