"""Exact sampling of the channels that are more than a bit flip. No floating point.

Proof: docs/mathematics.md#exact-sampling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from incrowd.channels.base import Channel
from incrowd.channels.bit import Bit
from incrowd.channels.bit_flip import DENOMINATOR
from incrowd.channels.k_ary import KAry
from incrowd.errors import AnswersError, InWords, UsageError
from incrowd.kernels.gaps import lane_bits
from incrowd.kernels.lanes import decide_words
from incrowd.sampling.digits import fraction_digits
from incrowd.sampling.flip import Packed, check_packed, dense_mask
from incrowd.sampling.keystream import Keystream

Codes = npt.NDArray[np.int64]

WORD_RANGE = 2**64


def respond_with_bits(
    packed_records: Packed, bits: int, channel: Channel, keystream: Keystream
) -> Packed:
    """Reports from records: every bit goes through `channel` independently, stage by stage.

    `packed_records` has shape (rows, ceil(bits / 8)), uint8, bit i of a row in byte i // 8 at
    place i % 8. Returns a new array of that shape. All stages are drawn afresh: reports that
    repeat a permanent response take it from `incrowd.sampling.permanent`.

    Raises AnswersError if the array is not of that shape or a padding bit is set, UsageError if
    a stage of the channel is not a bit channel.
    """
    check_packed(packed_records, bits)
    for stage in channel.stages:
        if not isinstance(stage, Bit):
            raise UsageError.of("channel", InWords(stage), "should be a channel of bits")
        packed_records = _through_bit(packed_records, bits, stage, keystream)
    return packed_records


def _through_bit(records: Packed, bits: int, channel: Bit, keystream: Keystream) -> Packed:
    shape = len(records), bits
    raised = _mask(channel.one_if_zero, shape, keystream)
    lowered = _mask(DENOMINATOR - channel.one_if_one, shape, keystream)
    reports: Packed = records ^ (records & lowered | ~records & raised)
    return reports


def _mask(numerator: int, shape: tuple[int, int], keystream: Keystream) -> Packed:
    """Packed bits, each 1 with probability numerator / 2^32, padding zero; 0 and 1 included."""
    if numerator < DENOMINATOR:
        return dense_mask(numerator, shape, keystream)
    return np.packbits(np.ones(shape, np.uint8), axis=1, bitorder="little")


def respond_with_options(codes: npt.NDArray[Any], channel: Channel, keystream: Keystream) -> Codes:
    """Reports from answers: every answer goes through `channel`, stage by stage.

    `codes` are the numbers of the chosen options, integers from 0 to options - 1, any shape.
    Returns int64 of that shape.

    Raises AnswersError if a code names no option, UsageError if a stage of the channel is not a
    k-ary response.
    """
    if codes.dtype.kind not in "iu":
        raise AnswersError.of("codes", codes.dtype.name, "should be an array of integers")
    reports = codes.astype(np.int64)
    for stage in channel.stages:
        if not isinstance(stage, KAry):
            raise UsageError.of("channel", InWords(stage), "should be a k-ary response")
        reports = _through_k_ary(reports, stage, keystream)
    return reports


def _through_k_ary(codes: Codes, channel: KAry, keystream: Keystream) -> Codes:
    """Keep a code, or step to one of the others: 1 to options - 1 places on, all equally likely."""
    wrong = codes[(codes < 0) | (codes >= channel.options)]
    if wrong.size:
        raise AnswersError.of("codes", int(wrong[0]), f"should be from 0 to {channel.options - 1}")
    words = decide_words(fraction_digits(channel.keep), -(-codes.size // 64), keystream.words)
    kept = lane_bits(words, codes.size).reshape(codes.shape)
    steps = 1 + uniform_below(channel.options - 1, codes.size, keystream).reshape(codes.shape)
    return np.where(kept, codes, (codes + steps) % channel.options)


def uniform_below(size: int, count: int, keystream: Keystream) -> Codes:
    """`count` independent integers, all of 0 .. size - 1 equally likely, exactly; int64.

    Words in the incomplete last round of remainders are drawn again. 1 <= size <= 2^32.
    """
    accepted = WORD_RANGE - WORD_RANGE % size
    words = keystream.words(count)
    # The largest accepted word, as 2^64 itself is no word.
    while (again := np.flatnonzero(words > np.uint64(accepted - 1))).size:
        words[again] = keystream.words(again.size)
    return (words % np.uint64(size)).astype(np.int64)
