"""Amounts: the edges beside a number, and the chance of the upper one that keeps its mean.

Proof: docs/mathematics.md#amounts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incrowd.channels.bit_flip import DENOMINATOR


def between(edges: Sequence[float], numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of the edge below each number, and 2^32 times the chance of the next one.

    The chance is (x - a) / (b - a) between the edges a and b, rounded to a whole number over 2^32:
    the mean is kept up to (b - a) / 2^33. A number outside of the edges is moved to the nearest.
    """
    ends = np.array(edges)
    inside = np.clip(numbers, ends[0], ends[-1])
    below = np.clip(np.searchsorted(ends, inside, side="right") - 1, 0, len(ends) - 2)
    share = (inside - ends[below]) / (ends[below + 1] - ends[below])
    return below, np.rint(share * DENOMINATOR).astype(np.int64)
