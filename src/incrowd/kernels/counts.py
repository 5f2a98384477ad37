"""The number of times that each bit of packed reports is set."""

from __future__ import annotations

from math import gcd

import numpy as np

from incrowd.errors import UsageError
from incrowd.kernels.arrays import Integers, Packed, Word, Words
from incrowd.kernels.compilation import WORDS, compiled, use_machine_code
from incrowd.kernels.threads import over_rows

# Bytes for which numpy takes about as long as loading numba (half a second, measured).
LARGE = 2**27
# Bytes that are copied at a time if rows are not contiguous in memory.
PIECE = 2**20
# Below this many bytes another thread is not worthwhile (measured).
THREAD = 2**23
# Words per line, roughly: vector instructions need a long inner loop, and sixteen lines that are a
# power of two apart would share their places in the caches (measured).
LINE_WORDS = 520
# Below this many rows, counting bit by bit is faster than byte by byte (measured).
FEW_ROWS = 1024

BYTE_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")


def count_bits(
    packed: Packed, bits: int, threads: int | None = None, machine_code: bool | None = None
) -> Integers:
    """Count the rows in which each bit is set: int64, shape (bits,).

    packed: uint8, shape (rows, at least ceil(bits / 8)), bit i of a row in byte i // 8 at place
    i % 8; any strides and any address. threads: the maximum, None for one per core.
    machine_code: None chooses by size; the results are the same.

    Raises UsageError if the rows have fewer bits.
    """
    rows, width = packed.shape
    if not 0 <= bits <= 8 * width:
        raise UsageError.of("bits", "kernels.too-many", value=bits, most=8 * width)
    if not packed.size or not use_machine_code(machine_code, packed.size, LARGE):
        return _count(packed)[:bits]
    parts = over_rows(lambda part: _count_lines(packed[part]), rows, threads, THREAD // width + 1)
    return np.asarray(np.sum(parts, axis=0))[:bits]


def _count(packed: Packed) -> Integers:
    """Count with numpy: bit by bit, or byte by byte, whichever has the longer inner loops."""
    if len(packed) < FEW_ROWS:
        flags = np.unpackbits(packed, axis=1, bitorder="little")
        return np.asarray(flags.sum(axis=0, dtype=np.int64))
    counts = [np.bincount(column, minlength=256) @ BYTE_BITS for column in packed.T]
    return np.concatenate([np.zeros(0, np.int64), *counts])


def _count_lines(packed: Packed) -> Integers:
    """Count rows of w bytes, read one after the other as lines of whole words.

    A place in the line means the same bit in every line, since a line consists of whole rows; the
    last rows, which do not fill sixteen lines, are counted with numpy. The kernel returns the
    binary digits of the counts at each place of the line: each plane of digits is again an array of
    packed rows. Rows that are not contiguous in memory are copied, one piece at a time.
    """
    width = packed.shape[1]
    period = width // gcd(width, 8)  # the number of words after which a row begins at a word again
    line = period * -(-LINE_WORDS // period)
    group = 128 * line // width  # rows that fill sixteen lines of 8-byte words
    whole, step = len(packed) // group * group, group * -(-PIECE // (128 * line))
    planes = np.zeros(((16 * whole // group).bit_length(), line), np.uint64)
    carry = np.zeros(line, np.uint64)
    for start in range(0, whole, step):
        piece = np.ascontiguousarray(packed[start : min(start + step, whole)])
        _count_loops(piece.reshape(-1).view(np.uint64), planes, carry)
    digits = (_count(plane.reshape(-1, width)) for plane in planes.view(np.uint8))
    return sum((digit << place for place, digit in enumerate(digits)), _count(packed[whole:]))


@compiled(f"void({WORDS}, uint64[:, ::1], uint64[::1])")
def _count_loops(words: Words, planes: Words, carry: Words) -> None:
    """Count 64 places at once: bit i of planes[k, j] is binary digit k of a count.

    Sixteen lines at a time go through fifteen carry-save adders, which leave the digits of weight
    1, 2, 4, and 8 in the planes and one carry of weight 16. The carry is added to the higher planes
    until it is zero again (Harley and Seal). All indices are unsigned, since a check for negative
    indices would prevent vector instructions.
    """
    one, none = np.uint64(1), np.uint64(0)
    line = np.uint64(planes.shape[1])
    two_lines = line + line
    four_lines = two_lines + two_lines

    def add(a: Word, b: Word, c: Word) -> tuple[Word, Word]:
        """Return a + b + c = sum + 2 carry, in each of 64 bits."""
        half = a ^ b
        return half ^ c, a & b | half & c

    def add_four(i: Word, ones: Word, twos: Word) -> tuple[Word, Word, Word]:
        """Add four words, one line apart, to the digits of weight 1 and 2; return a carry of 4."""
        ones, two = add(ones, words[i], words[i + line])
        ones, also_two = add(ones, words[i + two_lines], words[i + two_lines + line])
        twos, four = add(twos, two, also_two)
        return ones, twos, four

    for start in range(none, np.uint64(words.size), four_lines * np.uint64(4)):
        for j in range(line):
            i = np.uint64(start + j)
            ones, twos, fours, eights = planes[0, j], planes[1, j], planes[2, j], planes[3, j]
            ones, twos, four = add_four(i, ones, twos)
            ones, twos, also_four = add_four(i + four_lines, ones, twos)
            fours, eight = add(fours, four, also_four)
            i += four_lines + four_lines
            ones, twos, four = add_four(i, ones, twos)
            ones, twos, also_four = add_four(i + four_lines, ones, twos)
            fours, also_eight = add(fours, four, also_four)
            eights, carry[j] = add(eights, eight, also_eight)
            planes[0, j], planes[1, j], planes[2, j], planes[3, j] = ones, twos, fours, eights
        plane, left = np.uint64(4), one
        while left != none:
            left = none
            for j in range(line):
                digit, carried = planes[plane, j] ^ carry[j], planes[plane, j] & carry[j]
                planes[plane, j], carry[j] = digit, carried
                left |= carried
            plane += one
