"""Rare flips: from the binary digits of gaps to numbers, and from positions to set bits."""

from __future__ import annotations

import numpy as np

from incrowd.errors import UsageError
from incrowd.kernels.arrays import Integers, Packed, Words
from incrowd.kernels.compilation import compiled, use_machine_code

# From here on numpy takes about as long as loading numba (half a second, measured).
LARGE = 2**21


def join_digits(digits: Words, count: int, machine_code: bool | None = None) -> Integers:
    """Return numbers from their binary digits: number i is in lane i % 64 of word i // 64.

    digits: shape (digits, words), at most 63 digits, the most significant first. machine_code:
    None chooses by `count`; the results are the same. Returns int64, shape (count,).

    Raises UsageError if the words hold fewer than `count` lanes.
    """
    if not 0 <= count <= 64 * digits.shape[1]:
        most = 64 * digits.shape[1]
        raise UsageError.of("count", "kernels.too-many", value=count, most=most)
    if not use_machine_code(machine_code, count, LARGE):
        return _join(digits, count)
    numbers = np.zeros((digits.shape[1], 64), np.int64)
    _join_loops(digits, numbers)
    return numbers.reshape(-1)[:count]


def lane_bits(words: Words, count: int) -> Packed:
    """Return the first `count` lanes, one byte each: bit i % 64 of word i // 64 at place i."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), count=count, bitorder="little")


def _join(digits: Words, count: int) -> Integers:
    numbers = np.zeros(count, np.int64)
    for words in digits:
        numbers <<= 1
        numbers |= lane_bits(words, count)
    return numbers


@compiled("void(Array(uint64, 2, 'A', readonly=True), int64[:, ::1])")
def _join_loops(digits: Words, numbers: Integers) -> None:
    for word in range(digits.shape[1]):
        for digit in range(digits.shape[0]):
            bits = digits[digit, word]
            for lane in range(64):
                one = np.int64((bits >> np.uint64(lane)) & np.uint64(1))
                numbers[word, lane] = numbers[word, lane] << 1 | one


def set_bits(
    packed: Packed, bits: int, positions: Integers, machine_code: bool | None = None
) -> None:
    """Set bits of packed rows in place; positions count through all rows, `bits` bits per row.

    packed: shape (rows, at least ceil(bits / 8)), bit i of a row in byte i // 8 at place i % 8.
    machine_code: None chooses by the number of positions; the results are the same.

    Raises UsageError if a position is out of range.
    """
    total = len(packed) * bits
    if len(positions) and not 0 <= positions.min() <= positions.max() < total:
        value, most = tuple(positions.tolist()), total - 1
        raise UsageError.of("positions", "kernels.out-of-range", value=value, most=most)
    if use_machine_code(machine_code, len(positions), LARGE):
        _set_loops(packed, bits, positions)
    else:
        row, bit = np.divmod(positions, max(bits, 1))
        np.bitwise_or.at(packed, (row, bit // 8), np.left_shift(1, bit % 8).astype(np.uint8))


@compiled("void(uint8[:, :], int64, Array(int64, 1, 'A', readonly=True))")
def _set_loops(packed: Packed, bits: int, positions: Integers) -> None:
    width = np.uint64(bits)
    for i in range(positions.size):
        position = np.uint64(positions[i])
        row = position // width
        bit = position - row * width
        place = np.uint8(1 << np.int64(bit & np.uint64(7)))
        packed[row, bit >> np.uint64(3)] |= place
