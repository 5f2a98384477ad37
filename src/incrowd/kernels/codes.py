"""Selected bits of packed reports as numbers, and how often each number occurs."""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt

from incrowd.errors import UsageError
from incrowd.kernels.arrays import Integers, Packed
from incrowd.kernels.compilation import compiled, use_machine_code
from incrowd.kernels.threads import over_rows

PatternCodes = npt.NDArray[np.uint32]

MOST_COLUMNS = 20  # of a histogram: 2^20 counts
# Reports for which numpy takes about as long as loading numba (half a second, measured).
LARGE = 2**24
# Reports whose codes are in memory at a time.
PIECE = 2**18
# Reports whose codes the kernel processes at a time: they stay in the nearest cache (measured).
BLOCK = 512
# Below this many reports another thread is not worthwhile (measured).
THREAD = 2**18


def histogram(
    packed: Packed,
    columns: npt.ArrayLike,
    threads: int | None = None,
    machine_code: bool | None = None,
) -> Integers:
    """Count the reports with each pattern of the selected bits: int64, shape (2^k,) for k columns.

    packed: uint8, shape (reports, bytes), bit i of a report in byte i // 8 at place i % 8; any
    strides. columns: at most 20 bits, in any order; the first is the most significant digit of
    the pattern. threads: the maximum, None for one per core. machine_code: None chooses by the
    number of reports; the results are the same.

    Raises UsageError if the reports do not have a bit, or for more than 20 bits.
    """
    chosen = _checked(columns, packed.shape[1])
    if not use_machine_code(machine_code, len(packed), LARGE):
        return _count(packed, chosen)
    places, tables = _tables(chosen)

    def count(part: slice) -> Integers:
        counts = np.zeros(1 << len(chosen), np.int64)
        _count_loops(packed[part], places, tables, counts)
        return counts

    return np.asarray(np.sum(over_rows(count, len(packed), threads, THREAD), axis=0))


def codes(packed: Packed, columns: npt.ArrayLike) -> PatternCodes:
    """Return the selected bits of each report as one number: uint32, shape (reports,).

    packed, columns: as in `histogram`. Raises UsageError as `histogram` does.
    """
    chosen = _checked(columns, packed.shape[1])
    digits = (table[packed[:, place]] for place, table in zip(*_tables(chosen), strict=True))
    return reduce(np.bitwise_or, digits, np.zeros(len(packed), np.uint32))


def _checked(columns: npt.ArrayLike, width: int) -> Integers:
    chosen = np.asarray(columns, np.int64).reshape(-1)
    if len(chosen) > MOST_COLUMNS:
        raise UsageError.of("columns", "kernels.too-many", value=len(chosen), most=MOST_COLUMNS)
    if len(chosen) and not 0 <= chosen.min() <= chosen.max() < 8 * width:
        value, most = tuple(chosen.tolist()), 8 * width - 1
        raise UsageError.of("columns", "kernels.out-of-range", value=value, most=most)
    return chosen


def _tables(columns: Integers) -> tuple[Integers, PatternCodes]:
    """Return the bytes with selected bits, and what each value of such a byte adds to the code."""
    places, table = np.unique(columns // 8, return_inverse=True)
    tables = np.zeros((len(places), 256), np.int64)
    digits = reversed(range(len(columns)))
    for row, bit, digit in zip(table, columns % 8, digits, strict=True):
        tables[row] |= (np.arange(256) >> bit & 1) << digit
    return places, tables.astype(np.uint32)


def _count(packed: Packed, columns: Integers) -> Integers:
    counts = np.zeros(1 << len(columns), np.int64)
    for start in range(0, len(packed), PIECE):
        counts += np.bincount(codes(packed[start : start + PIECE], columns), minlength=len(counts))
    return counts


@compiled("void(Array(uint8, 2, 'A', readonly=True), int64[::1], uint32[:, ::1], int64[::1])")
def _count_loops(packed: Packed, places: Integers, tables: PatternCodes, counts: Integers) -> None:
    """Count block by block, byte by byte: a short inner loop over the bytes of a report is much
    slower.

    Indices are unsigned, since the check for negative indices would take as long as the rest.
    """
    reports = np.uint64(packed.shape[0])
    block = np.empty(BLOCK, np.uint32)
    for start in range(np.uint64(0), reports, np.uint64(BLOCK)):
        size = min(np.uint64(BLOCK), reports - start)
        block[:] = 0
        for i in range(places.size):
            place, table = np.uint64(places[i]), tables[i]
            for report in range(size):
                block[report] |= table[packed[start + report, place]]
        for report in range(size):
            counts[block[report]] += 1
