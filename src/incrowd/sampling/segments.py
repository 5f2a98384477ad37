"""Records whose questions go through channels of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.channel import ExactChannel
from incrowd.sampling.flip import Packed, flip
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.responses import respond_with_bits, respond_with_options

Segment = tuple[slice, BitFlip | ExactChannel]  # bits of a record, and what happens to them


def respond(
    packed_records: Packed, bits: int, segments: Sequence[Segment], keystream: Keystream
) -> Packed:
    """Reports from records: each segment through its channel, other bits as they are.

    `packed_records` has shape (rows, ceil(bits / 8)), uint8, packed as in `flip`. Segments do not
    overlap; one of a k-ary response holds one set bit for the answer, and one for the report.
    Raises AnswersError if the array is not of that shape or a padding bit is set.
    """
    if len(segments) == 1 and segments[0][0] == slice(0, bits):
        channel = segments[0][1]
        if isinstance(channel, BitFlip):
            return flip(packed_records, bits, channel.numerator, keystream)
    unpacked = np.unpackbits(packed_records, axis=1, count=bits, bitorder="little")
    for place, channel in segments:
        unpacked[:, place] = _through(unpacked[:, place], channel, keystream)
    return np.packbits(unpacked, axis=1, bitorder="little")


def _through(bits: np.ndarray, channel: BitFlip | ExactChannel, keystream: Keystream) -> np.ndarray:
    """Bits of one segment, 0 and 1, shape (rows, bits of the segment)."""
    width = bits.shape[1]
    if not isinstance(channel, BitFlip) and channel.of_answers:
        options = respond_with_options(bits.argmax(axis=1), channel, keystream)
        return np.asarray(options[:, None] == np.arange(width), np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    if isinstance(channel, BitFlip):
        packed = flip(packed, width, channel.numerator, keystream)
    else:
        packed = respond_with_bits(packed, width, channel, keystream)
    return np.unpackbits(packed, axis=1, count=width, bitorder="little")


def merged(segments: Sequence[Segment]) -> list[Segment]:
    """Neighbouring segments with equal bit flips as one: equal noise on equal bits."""
    found: list[Segment] = []
    for place, channel in segments:
        if found and isinstance(channel, BitFlip) and found[-1][1] == channel:
            before = found[-1][0]
            if before.stop == place.start:
                found[-1] = (slice(before.start, place.stop), channel)
                continue
        found.append((place, channel))
    return found
