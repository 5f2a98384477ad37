"""The reports of one message, from records and a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.accountant.channels.base import AnswerCodes, Channel, PackedBits
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.kernels.gaps import lane_bits
from incrowd.kernels.lanes import decide_words
from incrowd.plans import CellsMessage, Message, Plan
from incrowd.sampling.flips import (
    check_packed,
    dense_mask,
    flip_mask,
    flip_positions,
    fraction_digits,
    packed_width,
)
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import DeviceKeys, remembered, remembered_sets

# Cells: a person sends the number of each bit of her record that is set after flipping.
#
# A record of c bits with few set bits gives about 1 + q c reports. Zeros are not sent: how many
# people did not set a bit follows from the number of participants, which is public.


BATCH_FLIPS = 1 << 22
BATCH_BITS = 1 << 60


def set_bits(
    rows: np.ndarray,
    places: np.ndarray,
    shape: tuple[int, int],
    noise: BitFlip,
    keystream: Keystream,
) -> np.ndarray:
    """Return the numbers of the bits that are set after flipping, person after person.

    rows, places: the set bits of the records, sorted by row then place, each once. shape: people
    and bits of a record. Returns int64 from 0 to bits - 1, each of which is one report.
    """
    people, bits = shape
    each = max(1, min(BATCH_BITS // bits, BATCH_FLIPS * DENOMINATOR // (noise.numerator * bits)))
    pieces = [np.zeros(0, np.int64)]
    for start in range(0, people, each):
        size = min(each, people - start)
        first, last = np.searchsorted(rows, [start, start + size])
        given = (rows[first:last] - start) * bits + places[first:last]
        flipped = flip_positions(noise.numerator, size * bits, keystream)
        pieces.append(in_one_of(given, flipped) % bits)
    return np.concatenate(pieces)


def in_one_of(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the numbers in exactly one of two arrays, sorted; each array is sorted and distinct.

    The fewer numbers are looked up among the more: flips are often rare.
    """
    few, many = sorted((some, others), key=len)
    places = np.searchsorted(many, few)
    in_both = many.take(places, mode="clip") == few if len(many) else np.zeros(0, bool)
    left, added = np.delete(many, places[in_both]), few[~in_both]
    return np.insert(left, np.searchsorted(left, added), added)


def as_reports(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Return numbers as packed reports of constant length: uint8, shape (reports, ceil(bits /
    8))."""
    whole = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(whole[:, : packed_width(bits)])


# Exact sampling of any channel, without floating point.
#
# The proof is in docs/mathematics.md#exact-sampling.


WORD_RANGE = 2**64


class KeystreamCoins(NamedTuple):
    """The exact randomness of channels, from a keystream."""

    keystream: Keystream

    def flips(self, numerator: int, shape: tuple[int, int]) -> PackedBits:
        """Return packed bits, each 1 with probability numerator / 2^32; fast if that is small."""
        return flip_mask(numerator, shape, self.keystream)

    def mask(self, numerator: int, shape: tuple[int, int]) -> PackedBits:
        """Return packed bits, each 1 with probability numerator / 2^32 (0 and 1 included)."""
        if numerator < DENOMINATOR:
            return dense_mask(numerator, shape, self.keystream)
        return np.packbits(np.ones(shape, np.uint8), axis=1, bitorder="little")

    def heads(self, numerator: int, count: int) -> npt.NDArray[np.bool_]:
        """Return which of `count` coins with probability numerator / 2^32 show heads."""
        words = decide_words(fraction_digits(numerator), -(-count // 64), self.keystream.words)
        return lane_bits(words, count).astype(np.bool_)

    def below(self, size: int, count: int) -> AnswerCodes:
        """Return `count` independent integers, uniform on 0 .. size - 1."""
        return uniform_below(size, count, self.keystream)


def respond(
    packed_records: PackedBits, bits: int, channel: Channel, keystream: Keystream
) -> PackedBits:
    """Return the reports of records: `channel` is applied to their bits, or to the answers they
    encode.

    `packed_records` has shape (rows, ceil(bits / 8)), uint8, bit i of a row in byte i // 8 at
    place i % 8. Returns a new array of that shape. All stages are drawn afresh: reports that
    repeat a permanent response take it from `incrowd.sampling.permanent`.

    Raises AnswersError if the array is not of that shape or a padding bit is set.
    """
    check_packed(packed_records, bits)
    return channel.respond(packed_records, bits, KeystreamCoins(keystream))


def uniform_below(size: int, count: int, keystream: Keystream) -> AnswerCodes:
    """Return `count` independent integers, exactly uniform on 0 .. size - 1; int64.

    Words in the incomplete last round of remainders are drawn again. 1 <= size <= 2^63.
    """
    accepted = WORD_RANGE - WORD_RANGE % size
    words = keystream.words(count)
    # Compare with the largest accepted word, since 2^64 itself is not a word.
    while (again := np.flatnonzero(words > np.uint64(accepted - 1))).size:
        words[again] = keystream.words(again.size)
    return (words % np.uint64(size)).astype(np.int64)


Segment = tuple[slice, Channel]  # bits of a record, and what happens to them


def randomize_records(
    records: np.ndarray,
    plan: Plan,
    message: Message,
    keystream: Keystream,
    memory: DeviceKeys | None = None,
    copies: int | None = None,
) -> np.ndarray:
    """Return the reports of a message from its packed records.

    copies: by default the message's; 1 if each copy has separate records (the cohorts of text
    questions). Returns uint8, shape (copies * rows, ceil(L / 8)), one copy after the other.
    """
    if memory is not None:
        records = remembered(plan, message, records, memory)
    copied = np.tile(records, (copies or message.copies, 1))
    parts = segments(message, fresh=memory is None)
    return respond_in_segments(copied, message.bits, parts, keystream)


def segments(message: Message, fresh: bool = True) -> list[Segment]:
    """Return which bits of the message's records go through which channel.

    The bits with the cohort of a text question are sent unchanged. fresh: whether permanent
    responses are still to be drawn; if not, only their instantaneous stage is applied.
    """
    parts: list[Segment] = []
    places, channels = message.layout.values(), message.channels.values()
    for question, place, channel in zip(message.questions, places, channels, strict=True):
        place = slice(place.start + question.cohort_bits, place.stop)
        left = channel if fresh or not question.memoized else channel.instantaneous
        if left:
            parts.append((place, left))
    return merged(parts)


def respond_in_segments(
    packed_records: PackedBits, bits: int, segments: Sequence[Segment], keystream: Keystream
) -> PackedBits:
    """Return the reports of records: each segment goes through its channel, other bits are
    unchanged.

    `packed_records` has shape (rows, ceil(bits / 8)), uint8, packed as in `flip`. Segments do not
    overlap; a segment with a channel of whole answers has one set bit, before and after. Raises
    AnswersError if the array is not of that shape or a padding bit is set.
    """
    if [place for place, _ in segments] == [slice(0, bits)]:
        return respond(packed_records, bits, segments[0][1], keystream)
    unpacked = np.unpackbits(packed_records, axis=1, count=bits, bitorder="little")
    for place, channel in segments:
        packed = np.packbits(unpacked[:, place], axis=1, bitorder="little")
        width = place.stop - place.start
        reports = respond(packed, width, channel, keystream)
        unpacked[:, place] = np.unpackbits(reports, axis=1, count=width, bitorder="little")
    return np.packbits(unpacked, axis=1, bitorder="little")


def merged(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments with neighbors of equal bit flips joined."""
    joined: list[Segment] = []
    for place, channel in segments:
        before, same = joined[-1] if joined else (slice(0, 0), None)
        if channel.is_flip and (before.stop, same) == (place.start, channel):
            joined[-1] = (slice(before.start, place.stop), channel)
        else:
            joined.append((place, channel))
    return joined


def draw_cohorts(message: Message, people: int, keystream: Keystream) -> dict[str, np.ndarray]:
    """Draw a uniform cohort for each person and text question."""
    hashed = [question for question in message.questions if question.hashed]
    return {q.id: uniform_below(1 << q.cohort_bits, people, keystream) for q in hashed}


def randomize_cells(
    rows: np.ndarray, places: np.ndarray, people: int, message: CellsMessage, keystream: Keystream
) -> np.ndarray:
    """Return the cells that are set after the noise, as reports; those of the records if services
    add the noise. rows, places: as for `set_bits`."""
    if message.by_services:
        return as_reports(places, message.bits)
    shape = people, message.record_bits
    return as_reports(set_bits(rows, places, shape, message.flips, keystream), message.bits)


def repeat_cells(
    rows: np.ndarray,
    places: np.ndarray,
    plan: Plan,
    message: CellsMessage,
    memory: DeviceKeys,
    most: int | None,
) -> np.ndarray:
    """Return the cells set in the permanent responses, as reports: at most `most` of each
    person."""
    return as_reports(remembered_sets(plan, message, rows, places, memory, most), message.bits)
