"""Joint counts of set bits: all that a table needs from a collection.

Each question of a table is an axis whose entries are conditions: no condition, bit 1 is set, bit 2
is set, ...; for covariances also that both bits of a pair are set. An entry of the tensor counts
the reports that meet the conditions of all axes. For yes/no questions alone it is the histogram of
their bits, summed over supersets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from incrowd.errors import TableError
from incrowd.kernels import codes
from incrowd.kernels.axes import transform

MOST_BITS = 20  # of a whole histogram: 2^20 counts
WIDE_BITS = 12  # of one question: above, products row by row cost less than 2^bits patterns
CHUNK = 1 << 18
CHUNK_NUMBERS = 1 << 25  # of one chunk of products, in single precision: 128 MB

Conditions = Callable[[np.ndarray], np.ndarray]  # bits (rows, w) to met conditions (rows, entries)


def moments(packed: np.ndarray, axes: Sequence[slice]) -> np.ndarray:
    """Return joint counts of set bits.

    packed: uint8, shape (reports, bytes). axes: the bits of each question of the table.
    Returns int64, shape (1 + bits of the first axis, 1 + bits of the second, ...).
    """
    return _joint_counts(packed, axes, _singles)


def pair_moments(packed: np.ndarray, axes: Sequence[slice]) -> np.ndarray:
    """Return joint counts of single set bits and of pairs of set bits of the same question.

    packed, axes: as in `moments`. Returns int64; a question of w bits has an axis of
    1 + w + w (w - 1) / 2 entries, pairs in the order of `numpy.triu_indices`.
    """
    return _joint_counts(packed, axes, _with_pairs)


def histogram(packed: np.ndarray, axes: Sequence[slice]) -> np.ndarray:
    """Count the reports with each pattern of bits.

    packed, axes: as in `moments`. Returns int64, shape (2^bits of the first axis, ...); the first
    bit of a question is the most significant digit of its pattern. Raises TableError above 20
    bits.
    """
    widths = _widths(axes)
    if sum(widths) > MOST_BITS:
        raise TableError.of("table", "reports.wide-table", bits=sum(widths), most=MOST_BITS)
    return codes.histogram(packed, np.r_[tuple(axes)]).reshape([1 << width for width in widths])


def extract(packed: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return some bits of packed reports, uint8 of 0 and 1, shape (reports, columns)."""
    shifted = packed[:, columns // 8] >> (columns % 8).astype(np.uint8)
    return np.asarray(shifted & 1)


def _joint_counts(packed: np.ndarray, axes: Sequence[slice], conditions: Conditions) -> np.ndarray:
    """Count by all patterns of bits if these are few, otherwise row by row; the results are the
    same."""
    widths = _widths(axes)
    if sum(widths) <= MOST_BITS and max(widths) <= WIDE_BITS:
        return _by_histogram(histogram(packed, axes), conditions)
    return _by_products(packed, axes, conditions)


def _widths(axes: Sequence[slice]) -> list[int]:
    return [axis.stop - axis.start for axis in axes]


def _singles(bits: np.ndarray) -> np.ndarray:
    """Return (1, the bits) of each row."""
    return np.hstack([np.ones((len(bits), 1), bits.dtype), bits])


def _with_pairs(bits: np.ndarray) -> np.ndarray:
    """Return (1, the bits, the products of two bits) of each row."""
    first, second = np.triu_indices(bits.shape[1], 1)
    return np.hstack([_singles(bits), bits[:, first] * bits[:, second]])


def _by_histogram(counts: np.ndarray, conditions: Conditions) -> np.ndarray:
    """Sum the patterns that meet each condition, axis by axis.

    Sums of counts below 2^53 are exact in double precision.
    """
    matrices = []
    for size in counts.shape:
        patterns = np.arange(size)[:, None] >> np.arange(size.bit_length() - 1)[::-1]
        matrices.append(conditions((patterns & 1).astype(np.float64)).T)
    return transform(matrices, counts.astype(np.float64)).round().astype(np.int64)


def _by_products(packed: np.ndarray, axes: Sequence[slice], conditions: Conditions) -> np.ndarray:
    """Return products of met conditions row by row, summed over rows by one matrix product.

    Sums of 0 and 1 over a chunk, which has fewer than 2^24 rows, are exact in single precision.
    """
    widths, columns = _widths(axes), np.r_[tuple(axes)]
    sizes = [conditions(np.zeros((1, width))).shape[1] for width in widths]
    half = max(1, len(sizes) // 2)
    left, right = math.prod(sizes[:half]), math.prod(sizes[half:])
    total = np.zeros((left, right), np.int64)
    rows = max(1, min(CHUNK, CHUNK_NUMBERS // (left + right)))
    for i in range(0, len(packed), rows):
        bits = extract(packed[i : i + rows], columns).astype(np.float32)
        met = [conditions(block) for block in np.split(bits, np.cumsum(widths)[:-1], axis=1)]
        ones = np.ones((len(bits), 1), np.float32)
        sides = [reduce(_rowwise, part, ones) for part in (met[:half], met[half:])]
        total += (sides[0].T @ sides[1]).round().astype(np.int64)
    return total.reshape(sizes)


def _rowwise(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return all products of an entry of a and an entry of b, row by row."""
    return np.asarray(a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
