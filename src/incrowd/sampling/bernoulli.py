"""Bits that are 1 with exactly a given probability, 64 at a time, without floating point."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from incrowd.kernels.lanes import decide_words
from incrowd.sampling.keystream import Keystream

Words = npt.NDArray[np.uint64]


def bernoulli_words(
    digits: Iterable[int], count: int, keystream: Keystream, machine_code: bool | None = None
) -> Words:
    """`count` words, shape (count,), whose bits are independently 1 with probability exactly t.

    `digits` are the binary digits of t, first the half; they may be infinite. The proof is in
    `incrowd.kernels.lanes`; machine_code: as there.
    """
    return decide_words(digits, count, keystream.words, machine_code)


def lanes(words: Words) -> npt.NDArray[np.uint8]:
    """The same bits as bytes, shape (8 len(words),): bit i in byte i // 8 at place i % 8."""
    return words.astype("<u8", copy=False).view(np.uint8)
