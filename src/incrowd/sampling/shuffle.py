"""Exactly uniform permutations. Proof: docs/mathematics.md#buckets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.sampling.keystream import Keystream


def permutation(count: int, keystream: Keystream) -> npt.NDArray[np.int64]:
    """An order of 0..count-1, shape (count,), each of the count! orders equally likely.

    It sorts independent 64-bit keys. Given that no two keys are equal every order of them is
    equally likely, so all keys are drawn again until none are: exact, and seldom needed (for
    10^6 keys about once in 4 * 10^7 times).
    """
    while True:
        keys = keystream.words(count)
        order = np.argsort(keys)
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order.astype(np.int64, copy=False)
