"""Exact gaps between rare flips: work grows with the flips, not with the bits.

Proof: docs/mathematics.md#exact-sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import isqrt

import numpy as np
import numpy.typing as npt

from incrowd.accountant.channels.base import PackedBits
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.errors import AnswersError, PrivacyError, UsageError
from incrowd.kernels.arrays import Integers
from incrowd.kernels.compilation import use_machine_code
from incrowd.kernels.gaps import LARGE, join_digits, lane_bits, set_bits
from incrowd.kernels.lanes import decide_words
from incrowd.sampling.keystream import Keystream

# Binary digits of thresholds, computed with integers only: every returned digit is exact.


# About 128 digits are certain at this precision for every power used here: see `power_bounds`.
FIRST_PRECISION = 192
DENOMINATOR_BITS = DENOMINATOR.bit_length() - 1

IntegerBounds = tuple[int, int]


def fraction_digits(numerator: int, bits: int = DENOMINATOR_BITS) -> tuple[int, ...]:
    """Return the binary digits of numerator / 2^bits after the point, up to the last that is 1."""
    text = f"{numerator:0{bits}b}".rstrip("0")
    return tuple(map(int, text))


def power_bounds(numerator: int, squarings: int, precision: int) -> IntegerBounds:
    """Return integers around 2^precision x, x = (1 - numerator / 2^32)^(2^squarings).

    One bound is rounded down and the other up, so x lies between them. A squaring at most doubles
    their distance and adds two units: it stays below 2^(squarings + 2).
    """
    exact = (DENOMINATOR - numerator) << precision
    lower, upper = exact >> DENOMINATOR_BITS, -(-exact >> DENOMINATOR_BITS)
    for _ in range(squarings):
        lower, upper = lower * lower >> precision, -(-upper * upper >> precision)
    return lower, upper


def share_bounds(numerator: int, squarings: int, precision: int) -> IntegerBounds:
    """Return integers around 2^precision x / (1 + x), x as in `power_bounds`."""
    lower, upper = power_bounds(numerator, squarings, precision)
    one = 1 << precision
    return (lower << precision) // (one + lower), -(-(upper << precision) // (one + upper))


def certain_digits(bounds: IntegerBounds, precision: int) -> tuple[int, ...]:
    """Return the leading digits on which both bounds agree; every number between them has these."""
    lower, upper = bounds
    doubtful = (lower ^ upper).bit_length()
    return tuple(lower >> place & 1 for place in range(precision - 1, doubtful - 1, -1))


@dataclass(frozen=True)
class LazyDigits:
    """All binary digits of a number in (0, 1), computed as far as they are iterated.

    `bounds(precision)` gives integers around 2^precision times the number.
    """

    bounds: Callable[[int], IntegerBounds]

    def __iter__(self) -> Iterator[int]:
        emitted = 0
        for doubling in count():
            precision = FIRST_PRECISION << doubling
            digits = certain_digits(self.bounds(precision), precision)
            yield from digits[emitted:]
            emitted = max(emitted, len(digits))


# Exact gaps between rare flips: work grows with the flips, not with the bits.
#
# The proof is in docs/mathematics.md#exact-sampling.


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
    """Return `count` independent draws of min(g, limit), P(g) = (1 - q)^g q, q = numerator / 2^32.

    g is the number of unflipped bits before the next flip. Shape (count,); `limit` in bits.
    Its binary digits b_j are independent with P(b_j = 1) = x_j / (1 + x_j), x_j = (1 - q)^(2^j);
    those from J on are independent of the lower ones, and P(g >= 2^J) = x_J.

    Raises PrivacyError unless 0 < numerator < 2^32, UsageError unless 1 <= limit <= 2^62.
    """
    if not 0 < numerator < DENOMINATOR:
        raise PrivacyError.of("noise", "shared.from-0-to-1", value=numerator / DENOMINATOR)
    if not 1 <= limit <= LARGEST_LIMIT:
        raise UsageError.of("limit", "sampling.limit", value=limit)
    digits, size = (limit - 1).bit_length(), -(-count // 64)

    def words(
        bounds: Callable[[int, int, int], IntegerBounds], place: int
    ) -> npt.NDArray[np.uint64]:
        threshold = LazyDigits(partial(bounds, numerator, place))
        return decide_words(threshold, size, keystream.words, machine_code)

    low = [words(share_bounds, place) for place in reversed(range(digits))]
    drawn = join_digits(np.array(low, np.uint64).reshape(digits, size), count, machine_code)
    drawn[lane_bits(words(power_bounds, digits), count) == 1] = limit
    return np.minimum(drawn, limit, out=drawn)


def flip_positions(numerator: int, total_bits: int, keystream: Keystream) -> Integers:
    """Return which of `total_bits` bits are flipped, each independently with q = numerator / 2^32.

    Sorted, shape (number of flips,). Raises PrivacyError unless 0 < numerator < 2^32.
    """
    batches = [np.empty(0, np.int64)]
    start, flips = 0, numerator * total_bits // DENOMINATOR
    machine_code = use_machine_code(None, flips, LARGE)
    while start < total_bits:
        more, start = _next_flips(numerator, start, total_bits, keystream, machine_code)
        batches.append(more)
    return np.concatenate(batches)


def _next_flips(
    numerator: int, start: int, total_bits: int, keystream: Keystream, machine_code: bool
) -> tuple[Integers, int]:
    """Return one batch of flips at or after `start`, and the first bit that is still undecided.

    A gap beyond the window only means that the window contains no flip; the law is memoryless, so
    the next gap starts afresh after the window.
    """
    window = min(total_bits - start, 1 << (WINDOW_FLIPS * DENOMINATOR // numerator).bit_length())
    size = _batch_size(numerator, total_bits - start)
    drawn = gaps(numerator, size, keystream, window, machine_code)
    ended = drawn < window
    after = start + np.cumsum(drawn + ended)
    flips = after[ended] - 1
    return flips[flips < total_bits], int(after[-1])


def _batch_size(numerator: int, bits: int) -> int:
    """Return slightly more than the expected number of flips, so that one batch usually
    suffices."""
    expected = bits * numerator // DENOMINATOR
    return min(BATCH_GAPS, expected + 4 * isqrt(expected) + 8)


# Packed random bits, each set independently with exactly the plan's probability.


# Below this noise, drawing the gaps between flips is faster than deciding every bit (measured).
SPARSE_BELOW = DENOMINATOR // 96
# Rows whose width is not a multiple of 8 are unpacked, a byte per bit, this many bits at a time.
UNPACKED_BITS = 2**20


def packed_width(bits: int) -> int:
    """Return bytes of a packed row of `bits` bits."""
    return -(-bits // 8)


def flip_mask(numerator: int, shape: tuple[int, int], keystream: Keystream) -> PackedBits:
    """Return a mask of the flipped bits, packed: bit i of a row in byte i // 8 at place i % 8,
    padded with zeros. shape: (rows, bits).

    Raises PrivacyError unless 0 < numerator < 2^31, UsageError if rows or bits are negative.
    """
    BitFlip(numerator)
    if min(shape) < 0:
        raise UsageError.of("shape", "sampling.negative-shape", value=shape)
    draw = sparse_mask if numerator < SPARSE_BELOW else dense_mask
    return draw(numerator, shape, keystream)


def dense_mask(numerator: int, shape: tuple[int, int], keystream: Keystream) -> PackedBits:
    """Return `flip_mask` by deciding every bit; padding bits cost no randomness."""
    rows, bits = shape
    if bits % 8 == 0:
        return _bernoulli_bytes(numerator, rows * bits, keystream).reshape(rows, bits // 8)
    mask = np.empty((rows, packed_width(bits)), np.uint8)
    step = -(-UNPACKED_BITS // bits)
    for start in range(0, rows, step):
        part = mask[start : start + step]
        size = len(part) * bits
        flips = _bernoulli_bytes(numerator, size, keystream)
        unpacked = np.unpackbits(flips, count=size, bitorder="little")
        part[:] = np.packbits(unpacked.reshape(-1, bits), axis=1, bitorder="little")
    return mask


def _bernoulli_bytes(numerator: int, bits: int, keystream: Keystream) -> PackedBits:
    words = decide_words(fraction_digits(numerator), -(-bits // 64), keystream.words)
    return words.astype("<u8", copy=False).view(np.uint8)[: packed_width(bits)]


def sparse_mask(numerator: int, shape: tuple[int, int], keystream: Keystream) -> PackedBits:
    """Return `flip_mask` by drawing the gaps between flips."""
    rows, bits = shape
    mask = np.zeros((rows, packed_width(bits)), np.uint8)
    set_bits(mask, bits, flip_positions(numerator, rows * bits, keystream))
    return mask


def check_packed(packed: PackedBits, bits: int) -> None:
    """Raise AnswersError if packed records have another shape, or if a padding bit is set."""
    width = packed_width(bits)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
        raise AnswersError.of(
            "packed records",
            "sampling.packed-shape",
            type=packed.dtype.name,
            shape=packed.shape,
            width=width,
            bits=bits,
        )
    if bits % 8 and (packed[:, -1] >> (bits % 8)).any():
        raise AnswersError.of("packed records", "sampling.padding-bit")
