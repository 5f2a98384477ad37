"""Records + Plan -> the reports of one message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incrowd.channels.base import Channel, Packed
from incrowd.plans import Cells, Message, Plan
from incrowd.sampling.cells import as_reports, set_bits
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.memory import Memory, remembered, remembered_sets
from incrowd.sampling.responses import respond, uniform_below

Segment = tuple[slice, Channel]  # bits of a record, and what happens to them


def randomize_records(
    records: np.ndarray,
    plan: Plan,
    message: Message,
    keystream: Keystream,
    memory: Memory | None = None,
    copies: int | None = None,
) -> np.ndarray:
    """The reports of a message from its packed records.

    copies: by default the message's; 1 where each copy has records of its own (the cohorts of
    text questions). Returns uint8, shape (copies * rows, ceil(L / 8)), the copies after one
    another.
    """
    if memory is not None:
        records = remembered(plan, message, records, memory)
    copied = np.tile(records, (copies or message.copies, 1))
    parts = segments(message, fresh=memory is None)
    return respond_in_segments(copied, message.bits, parts, keystream)


def segments(message: Message, fresh: bool = True) -> list[Segment]:
    """Which bits of the message's records go through which channel.

    The bits that tell the cohort of a text question go as they are. fresh: whether permanent
    responses are still to be drawn; if not, only the instantaneous stage is left of them.
    """
    found: list[Segment] = []
    places, channels = message.layout.values(), message.channels.values()
    for question, place, channel in zip(message.questions, places, channels, strict=True):
        place = slice(place.start + question.cohort_bits, place.stop)
        left = channel if fresh or not question.memoised else channel.instantaneous
        if left:
            found.append((place, left))
    return merged(found)


def respond_in_segments(
    packed_records: Packed, bits: int, segments: Sequence[Segment], keystream: Keystream
) -> Packed:
    """Reports from records: each segment through its channel, other bits as they are.

    `packed_records` has shape (rows, ceil(bits / 8)), uint8, packed as in `flip`. Segments do not
    overlap; one of a channel of whole answers holds one set bit for the answer, and one for the
    report. Raises AnswersError if the array is not of that shape or a padding bit is set.
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
    """Neighboring segments with equal bit flips as one: equal noise on equal bits."""
    joined: list[Segment] = []
    for place, channel in segments:
        before, same = joined[-1] if joined else (slice(0, 0), None)
        if channel.is_flip and (before.stop, same) == (place.start, channel):
            joined[-1] = (slice(before.start, place.stop), channel)
        else:
            joined.append((place, channel))
    return joined


def draw_cohorts(message: Message, people: int, keystream: Keystream) -> dict[str, np.ndarray]:
    """A cohort for each person and text question, all equally likely."""
    hashed = [question for question in message.questions if question.hashed]
    return {q.id: uniform_below(1 << q.cohort_bits, people, keystream) for q in hashed}


def randomize_cells(
    rows: np.ndarray, places: np.ndarray, people: int, message: Cells, keystream: Keystream
) -> np.ndarray:
    """The cells that are set after the noise, as reports. rows, places: as for `set_bits`."""
    shape = people, message.record_bits
    return as_reports(set_bits(rows, places, shape, message.noise, keystream), message.bits)


def repeat_cells(
    rows: np.ndarray,
    places: np.ndarray,
    plan: Plan,
    message: Cells,
    memory: Memory,
    most: int | None,
) -> np.ndarray:
    """The cells set in the permanent responses, as reports: no more than `most` of each person."""
    return as_reports(remembered_sets(plan, message, rows, places, memory, most), message.bits)
