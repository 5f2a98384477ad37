"""Joint histograms of report bits, and joint counts of pairs of set bits.

A covariance needs, from each question of a table, products of two of its bits. So here each
question is an axis with the entries (no condition, bit 1 is set, bit 2 is set, ..., bits 1 and 2
are set, bits 1 and 3, ..., bits 2 and 3, ...), pairs in the order of `numpy.triu_indices`. An
entry of the tensor counts the reports that meet the conditions of all axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from incrowd.errors import TableError
from incrowd.tally.moments import extract

MOST_BITS = 20  # of a whole histogram: 2^20 counts
WIDE_BITS = 12  # of one question: beyond, products row by row cost less than 2^bits patterns
CHUNK = 1 << 18
CHUNK_NUMBERS = 1 << 25  # of one chunk of products, in single precision: 128 MB


def histogram(packed: np.ndarray, axes: Sequence[slice]) -> np.ndarray:
    """How many reports show each pattern of bits.

    packed: uint8, shape (reports, bytes). axes: the bits of each question of the table. Returns
    int64, shape (2^bits of the first axis, 2^bits of the second, ...); the first bit of a
    question is the most significant digit of its pattern. Raises TableError above 20 bits.
    """
    widths, columns = _layout(axes)
    if sum(widths) > MOST_BITS:
        raise TableError.of("table", f"{sum(widths)} bits", f"histograms hold {MOST_BITS} at most")
    weights = 1 << np.arange(sum(widths))[::-1]
    counts = np.zeros(1 << sum(widths), np.int64)
    for i in range(0, len(packed), CHUNK):
        codes = extract(packed[i : i + CHUNK], columns) @ weights
        counts += np.bincount(codes, minlength=len(counts))
    return counts.reshape([1 << width for width in widths])


def pair_moments(packed: np.ndarray, axes: Sequence[slice]) -> np.ndarray:
    """Joint counts of single set bits and of pairs of set bits.

    packed: uint8, shape (reports, bytes). axes: the bits of each question of the table. Returns
    int64; a question of w bits has an axis of 1 + w + w (w - 1) / 2 entries.
    """
    widths, columns = _layout(axes)
    if sum(widths) <= MOST_BITS and max(widths) <= WIDE_BITS:
        return pairs_of_histogram(histogram(packed, axes))
    sizes = [1 + w * (w + 1) // 2 for w in widths]
    half = max(1, len(sizes) // 2)
    rows = max(1, CHUNK_NUMBERS // (math.prod(sizes[:half]) + math.prod(sizes[half:])))
    chunks = (packed[i : i + rows] for i in range(0, len(packed), rows))
    start = np.zeros((math.prod(sizes[:half]), math.prod(sizes[half:])), np.int64)
    total = sum((_products(extract(chunk, columns), widths, half) for chunk in chunks), start)
    return total.reshape(sizes)


def pairs_of_histogram(counts: np.ndarray) -> np.ndarray:
    """The pair moments of a histogram with axes of 2^bits patterns, as `pair_moments`."""
    for axis, size in enumerate(counts.shape):
        met = _conditions(size.bit_length() - 1)
        counts = np.moveaxis(np.tensordot(met, counts, (1, axis)), 0, axis)
    return counts


def _layout(axes: Sequence[slice]) -> tuple[list[int], np.ndarray]:
    widths = [axis.stop - axis.start for axis in axes]
    return widths, np.concatenate([np.arange(axis.start, axis.stop) for axis in axes])


def _conditions(width: int) -> np.ndarray:
    """Which of 2^width patterns meet each condition, shape (conditions, 2^width)."""
    patterns = np.arange(1 << width)[:, None] >> np.arange(width)[::-1]
    return _with_pairs((patterns & 1).astype(np.int64)).T


def _with_pairs(bits: np.ndarray) -> np.ndarray:
    """(1, the bits, the products of two bits) of each row."""
    first, second = np.triu_indices(bits.shape[1], 1)
    ones = np.ones((len(bits), 1), bits.dtype)
    return np.hstack([ones, bits, bits[:, first] * bits[:, second]])


def _products(bits: np.ndarray, widths: Sequence[int], half: int) -> np.ndarray:
    """Products of conditions row by row, summed over rows by one matrix product.

    Sums of 0 and 1 over a chunk, which has fewer than 2^24 rows, are exact in single precision.
    """
    blocks = np.split(bits.astype(np.float32), np.cumsum(widths)[:-1], axis=1)
    axes = [_with_pairs(block) for block in blocks]
    ones = np.ones((len(bits), 1), np.float32)
    left, right = (reduce(_rowwise, part, ones) for part in (axes[:half], axes[half:]))
    return np.asarray((left.T @ right).round().astype(np.int64))


def _rowwise(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """All products of an entry of a and an entry of b, row by row."""
    return np.asarray(a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
