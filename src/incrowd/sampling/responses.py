"""Exact sampling of any channel: the coins that it tosses. No floating point.

Proof: docs/mathematics.md#exact-sampling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.channels.base import Channel, Codes, Packed
from incrowd.channels.bit_flip import DENOMINATOR
from incrowd.kernels.gaps import lane_bits
from incrowd.kernels.lanes import decide_words
from incrowd.sampling.digits import fraction_digits
from incrowd.sampling.flip import check_packed, dense_mask, flip_mask
from incrowd.sampling.keystream import Keystream

WORD_RANGE = 2**64


class KeystreamCoins(NamedTuple):
    """The exact randomness of channels, out of a keystream."""

    keystream: Keystream

    def flips(self, numerator: int, shape: tuple[int, int]) -> Packed:
        """Packed bits, each 1 with probability numerator / 2^32, quick where that is small."""
        return flip_mask(numerator, shape, self.keystream)

    def mask(self, numerator: int, shape: tuple[int, int]) -> Packed:
        """Packed bits, each 1 with probability numerator / 2^32, padding zero; 0 and 1 included."""
        if numerator < DENOMINATOR:
            return dense_mask(numerator, shape, self.keystream)
        return np.packbits(np.ones(shape, np.uint8), axis=1, bitorder="little")

    def heads(self, numerator: int, count: int) -> npt.NDArray[np.bool_]:
        """Which of so many coins with probability numerator / 2^32 fall on heads."""
        words = decide_words(fraction_digits(numerator), -(-count // 64), self.keystream.words)
        return lane_bits(words, count).astype(np.bool_)

    def below(self, size: int, count: int) -> Codes:
        """So many independent integers, all of 0 .. size - 1 equally likely."""
        return uniform_below(size, count, self.keystream)


def respond(packed_records: Packed, bits: int, channel: Channel, keystream: Keystream) -> Packed:
    """Reports from records: the bits of each go through `channel`, or the answer they stand for.

    `packed_records` has shape (rows, ceil(bits / 8)), uint8, bit i of a row in byte i // 8 at
    place i % 8. Returns a new array of that shape. All stages are drawn afresh: reports that
    repeat a permanent response take it from `incrowd.sampling.permanent`.

    Raises AnswersError if the array is not of that shape or a padding bit is set.
    """
    check_packed(packed_records, bits)
    return channel.respond(packed_records, bits, KeystreamCoins(keystream))


def uniform_below(size: int, count: int, keystream: Keystream) -> Codes:
    """`count` independent integers, all of 0 .. size - 1 equally likely, exactly; int64.

    Words in the incomplete last round of remainders are drawn again. 1 <= size <= 2^63.
    """
    accepted = WORD_RANGE - WORD_RANGE % size
    words = keystream.words(count)
    # The largest accepted word, as 2^64 itself is no word.
    while (again := np.flatnonzero(words > np.uint64(accepted - 1))).size:
        words[again] = keystream.words(again.size)
    return (words % np.uint64(size)).astype(np.int64)
