"""Joint counts of set bits: all that a table needs to know of a collection.

Each question of a table is an axis with the entries (no condition, bit 1 is set, bit 2 is
set, ...). An entry of the tensor counts the reports that meet the conditions of all axes. For
yes/no questions alone it is the histogram of their bits, summed over supersets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

DENSE_BITS = 20  # up to here the joint histogram of the bits fits in memory with ease
CHUNK = 1 << 15


def moments(packed: np.ndarray, axes: Sequence[slice]) -> np.ndarray:
    """Joint counts of set bits.

    packed: uint8, shape (reports, bytes). axes: the bits of each question of the table.
    Returns int64, shape (1 + bits of the first axis, 1 + bits of the second, ...).
    """
    widths = [axis.stop - axis.start for axis in axes]
    columns = np.concatenate([np.arange(axis.start, axis.stop) for axis in axes])
    count = _by_histogram if sum(widths) <= DENSE_BITS and len(axes) > 1 else _by_products
    chunks = (packed[i : i + CHUNK] for i in range(0, len(packed), CHUNK))
    start = np.zeros([1 + w for w in widths], np.int64)
    return sum((count(extract(chunk, columns), widths) for chunk in chunks), start)


def extract(packed: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The named bits of packed reports, uint8 of 0 and 1, shape (reports, columns)."""
    shifted = packed[:, columns // 8] >> (columns % 8).astype(np.uint8)
    bits: np.ndarray = shifted & 1
    return bits


def _by_histogram(bits: np.ndarray, widths: Sequence[int]) -> np.ndarray:
    codes = bits @ (1 << np.arange(bits.shape[1])[::-1])
    counts = np.bincount(codes, minlength=1 << bits.shape[1])
    tensor = counts.reshape([1 << w for w in widths])
    for axis, width in enumerate(widths):
        tensor = np.moveaxis(np.tensordot(_conditions(width), tensor, (1, axis)), 0, axis)
    return tensor


def _conditions(width: int) -> np.ndarray:
    """Which bit patterns meet each condition, shape (1 + width, 2^width)."""
    patterns = np.arange(1 << width)
    set_bits = (patterns >> np.arange(width)[::-1, None]) & 1
    return np.vstack([np.ones_like(patterns), set_bits])


def _by_products(bits: np.ndarray, widths: Sequence[int]) -> np.ndarray:
    """Products of the conditions row by row, summed over rows by one matrix product.

    Sums of 0 and 1 over a chunk are exact in single precision.
    """
    ends = np.cumsum(widths)[:-1]
    ones = np.ones((len(bits), 1), np.float32)
    axes = [np.hstack([ones, block]) for block in np.split(bits, ends, axis=1)]
    half = max(1, len(axes) // 2)
    left, right = (reduce(_rowwise, part, ones) for part in (axes[:half], axes[half:]))
    return (left.T @ right).round().astype(np.int64).reshape([1 + w for w in widths])


def _rowwise(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """All products of an entry of a and an entry of b, row by row."""
    return np.asarray(a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
