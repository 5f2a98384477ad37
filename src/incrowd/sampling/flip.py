"""Packed random bits, each set independently with exactly the plan's probability."""

from __future__ import annotations

import numpy as np

from incrowd.channels.base import Packed
from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.errors import AnswersError, InWords, UsageError
from incrowd.kernels.gaps import set_bits
from incrowd.kernels.lanes import decide_words
from incrowd.sampling.digits import fraction_digits
from incrowd.sampling.gaps import flip_positions
from incrowd.sampling.keystream import Keystream

# Below this noise drawing the gaps between flips is faster than deciding every bit (measured).
SPARSE_BELOW = DENOMINATOR // 96
# Rows whose width is no multiple of 8 are unpacked, a byte per bit, this many bits at a time.
UNPACKED_BITS = 2**20


def packed_width(bits: int) -> int:
    """Bytes of a packed row of `bits` bits."""
    return -(-bits // 8)


def flip_mask(numerator: int, shape: tuple[int, int], keystream: Keystream) -> Packed:
    """Which bits are flipped: `shape` is (rows, bits), bit i of a row in
    byte i // 8 at place i % 8, padding bits zero.

    Raises PrivacyError unless 0 < numerator < 2^31, UsageError if rows or bits are negative.
    """
    BitFlip(numerator)
    if min(shape) < 0:
        raise UsageError.of("shape", shape, "should hold no negative number")
    draw = sparse_mask if numerator < SPARSE_BELOW else dense_mask
    return draw(numerator, shape, keystream)


def dense_mask(numerator: int, shape: tuple[int, int], keystream: Keystream) -> Packed:
    """`flip_mask` by deciding every bit; padding bits cost no randomness."""
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


def _bernoulli_bytes(numerator: int, bits: int, keystream: Keystream) -> Packed:
    words = decide_words(fraction_digits(numerator), -(-bits // 64), keystream.words)
    return words.astype("<u8", copy=False).view(np.uint8)[: packed_width(bits)]


def sparse_mask(numerator: int, shape: tuple[int, int], keystream: Keystream) -> Packed:
    """`flip_mask` by drawing the gaps between flips."""
    rows, bits = shape
    mask = np.zeros((rows, packed_width(bits)), np.uint8)
    set_bits(mask, bits, flip_positions(numerator, rows * bits, keystream))
    return mask


def check_packed(packed: Packed, bits: int) -> None:
    """Raises AnswersError for packed records of another shape, or with a padding bit set."""
    width = packed_width(bits)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != width:
        allowed = f"should be uint8 of shape (rows, {width}) for {bits} bits"
        found = InWords(f"{packed.dtype.name} of shape {packed.shape}")
        raise AnswersError.of("packed records", found, allowed)
    if bits % 8 and (packed[:, -1] >> (bits % 8)).any():
        raise AnswersError.of(
            "packed records", InWords("a padding bit is set"), "all of them should be 0"
        )
