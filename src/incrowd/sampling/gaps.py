"""Exact gaps between rare flips: work grows with the flips, not with the bits.

Proof: docs/mathematics.md#exact-sampling.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isqrt

import numpy as np
import numpy.typing as npt

from incrowd.channels.bit_flip import DENOMINATOR
from incrowd.errors import PrivacyError, UsageError
from incrowd.kernels.compilation import use_machine_code
from incrowd.kernels.gaps import LARGE, join_digits, lane_bits
from incrowd.kernels.lanes import decide_words
from incrowd.sampling.digits import Bounds, LazyDigits, power_bounds, share_bounds
from incrowd.sampling.keystream import Keystream

Integers = npt.NDArray[np.int64]

LARGEST_LIMIT = 2**62
BATCH_GAPS = 2**17
# A window of this many expected flips is almost never empty, and needs few binary digits.
WINDOW_FLIPS = 8


def gaps(
    numerator: int,
    count: int,
    keystream: Keystream,
    limit: int,
    machine_code: bool | None = None,
) -> Integers:
    """`count` independent draws of min(g, limit), P(g) = (1 - q)^g q, q = numerator / 2^32.

    g is the number of unflipped bits before the next flip. Shape (count,); `limit` in bits.
    Its binary digits b_j are independent with P(b_j = 1) = x_j / (1 + x_j), x_j = (1 - q)^(2^j);
    those from J on are independent of the lower ones, and P(g >= 2^J) = x_J.

    Raises PrivacyError unless 0 < numerator < 2^32, UsageError unless 1 <= limit <= 2^62.
    """
    if not 0 < numerator < DENOMINATOR:
        raise PrivacyError.of("noise", numerator / DENOMINATOR, "should lie between 0 and 1")
    if not 1 <= limit <= LARGEST_LIMIT:
        raise UsageError.of("limit", limit, "should lie between 1 and 2^62")
    digits, size = (limit - 1).bit_length(), -(-count // 64)

    def words(bounds: Callable[[int, int, int], Bounds], place: int) -> npt.NDArray[np.uint64]:
        threshold = LazyDigits(partial(bounds, numerator, place))
        return decide_words(threshold, size, keystream.words, machine_code)

    low = [words(share_bounds, place) for place in reversed(range(digits))]
    drawn = join_digits(np.array(low, np.uint64).reshape(digits, size), count, machine_code)
    drawn[lane_bits(words(power_bounds, digits), count) == 1] = limit
    return np.minimum(drawn, limit, out=drawn)


def flip_positions(numerator: int, total_bits: int, keystream: Keystream) -> Integers:
    """Which of `total_bits` bits are flipped, each independently with q = numerator / 2^32.

    Sorted, shape (number of flips,). Raises PrivacyError unless 0 < numerator < 2^32.
    """
    found = [np.empty(0, np.int64)]
    start, flips = 0, numerator * total_bits // DENOMINATOR
    machine_code = use_machine_code(None, flips, LARGE)
    while start < total_bits:
        more, start = _next_flips(numerator, start, total_bits, keystream, machine_code)
        found.append(more)
    return np.concatenate(found)


def _next_flips(
    numerator: int, start: int, total_bits: int, keystream: Keystream, machine_code: bool
) -> tuple[Integers, int]:
    """One batch of flips at or after `start`, and the first bit on which nothing is decided yet.

    A gap beyond the window says only that the window holds no flip; the law has no memory, so
    the next gap starts afresh behind the window.
    """
    window = min(total_bits - start, 1 << (WINDOW_FLIPS * DENOMINATOR // numerator).bit_length())
    size = _batch_size(numerator, total_bits - start)
    drawn = gaps(numerator, size, keystream, window, machine_code)
    ended = drawn < window
    after = start + np.cumsum(drawn + ended)
    flips = after[ended] - 1
    return flips[flips < total_bits], int(after[-1])


def _batch_size(numerator: int, bits: int) -> int:
    """A little more than the expected number of flips, so that one batch mostly suffices."""
    expected = bits * numerator // DENOMINATOR
    return min(BATCH_GAPS, expected + 4 * isqrt(expected) + 8)
