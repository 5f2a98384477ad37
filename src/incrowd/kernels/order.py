"""The order of random keys: a permutation that is uniform if the keys are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import Integers, Words
from incrowd.kernels.compilation import WORDS, compiled, use_machine_code

Places = npt.NDArray[np.uint32]

# Keys for which numpy takes about as long as loading numba (half a second, measured).
LARGE = 2**22
# Between 4 and 8 keys in a bucket: with fewer, the table of buckets is not cached (measured).
BUCKET_BITS = 2
# Beyond this the places in the table of buckets would not fit into 32 bits.
MOST_KEYS = 2**32


def order_of(keys: Words, machine_code: bool | None = None) -> Integers | None:
    """Return the order that sorts the keys: int64, shape (keys,); None if two keys are equal.

    machine_code: None chooses by the number of keys; the results are the same. It is fast for keys
    that are uniform; for others it takes up to quadratic time.
    """
    if not use_machine_code(machine_code, len(keys), LARGE) or not 1 < len(keys) < MOST_KEYS:
        order = np.argsort(keys)
        ordered = keys[order]
        distinct = not (ordered[1:] == ordered[:-1]).any()
        return order.astype(np.int64, copy=False) if distinct else None
    bits = max(1, len(keys).bit_length() - 1 - BUCKET_BITS)
    order, ends = np.empty(len(keys), np.int64), np.zeros(1 << bits, np.uint32)
    return order if _order_loops(keys, np.empty_like(keys), order, ends, 64 - bits) else None


@compiled(f"boolean({WORDS}, uint64[::1], int64[::1], uint32[::1], uint64)")
def _order_loops(keys: Words, ordered: Words, order: Integers, ends: Places, shift: int) -> bool:
    """Put the keys into buckets by their upper bits, then sort by insertion.

    The buckets are already in order, so that a key moves only within its own. All indices are
    unsigned, since the check for negative indices would take as long as the rest. Returns whether
    the keys are distinct.
    """
    one, number = np.uint64(1), np.uint64(keys.size)
    for i in range(number):
        ends[keys[i] >> shift] += np.uint32(1)
    before = np.uint32(0)
    for bucket in range(np.uint64(ends.size)):
        size = ends[bucket]
        ends[bucket] = before
        before += size
    for i in range(number):
        bucket = keys[i] >> shift
        place = np.uint64(ends[bucket])
        ends[bucket] += np.uint32(1)
        ordered[place], order[place] = keys[i], i
    for i in range(one, number):
        key, index, place = ordered[i], order[i], np.uint64(i)
        while place and ordered[place - one] > key:
            ordered[place], order[place] = ordered[place - one], order[place - one]
            place -= one
        if place and ordered[place - one] == key:
            return False
        ordered[place], order[place] = key, index
    return True
