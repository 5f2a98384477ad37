"""The rounding of amounts at random: who goes up. Proof: docs/mathematics.md#amounts."""

from __future__ import annotations

import numpy as np

from incrowd.sampling.keystream import Keystream

HALF = np.uint64(32)  # bits of a word; the upper ones are compared


def rounded_up(numerators: np.ndarray, keystream: Keystream) -> np.ndarray:
    """1 with probability exactly numerator / 2^32, from 0 to 1 both included, else 0; int64."""
    drawn = keystream.words(len(numerators)) >> HALF
    return (drawn < numerators.astype(np.uint64)).astype(np.int64)
