"""Exact gaps between rare flips: work grows with the flips, not with the bits.

Proof: docs/mathematics.md#exact-sampling.
"""

from __future__ import annotations

from functools import partial
from math import isqrt

import numpy as np
import numpy.typing as npt

from incrowd.channels.bit_flip import DENOMINATOR
from incrowd.errors import PrivacyError, UsageError
from incrowd.kernels.compilation import use_machine_code
from incrowd.kernels.gaps import LARGE, join_digits
from incrowd.sampling.bernoulli import bernoulli_words, lanes
from incrowd.sampling.digits import LazyDigits, power_bounds, share_bounds
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
    Proof: g = sum of b_j 2^j has P(g) = q prod_j (1 - q)^(b_j 2^j), a product over the binary
    digits, so they are independent with P(b_j = 1) = x_j / (1 + x_j), x_j = (1 - q)^(2^j);
    the digits from J on are independent of the lower ones, and P(g >= 2^J) = x_J.

    Raises PrivacyError unless 0 < numerator < 2^32, UsageError unless 1 <= limit <= 2^62.
    """
    if not 0 < numerator < DENOMINATOR:
        raise PrivacyError.of("noise", numerator / DENOMINATOR, "should lie between 0 and 1")
    if not 1 <= limit <= LARGEST_LIMIT:
        raise UsageError.of("limit", limit, "should lie between 1 and 2^62")
    digits = (limit - 1).bit_length()
    drawn = _low_digits(numerator, digits, count, keystream, machine_code)
    beyond = LazyDigits(partial(power_bounds, numerator, digits))
    words = bernoulli_words(beyond, -(-count // 64), keystream, machine_code)
    drawn[np.unpackbits(lanes(words), count=count, bitorder="little") == 1] = limit
    return np.minimum(drawn, limit, out=drawn)


def _low_digits(
    numerator: int, digits: int, count: int, keystream: Keystream, machine_code: bool | None
) -> Integers:
    """Geometric numbers modulo 2^digits, the highest binary digit drawn first."""
    size = -(-count // 64)
    words = [
        bernoulli_words(
            LazyDigits(partial(share_bounds, numerator, place)), size, keystream, machine_code
        )
        for place in reversed(range(digits))
    ]
    return join_digits(np.array(words, np.uint64).reshape(digits, size), count, machine_code)


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
