"""Records + Plan -> the reports of one message."""

from __future__ import annotations

import numpy as np

from incrowd.channels.rappor import Rappor
from incrowd.plans import Message, Plan, UnlinkedBits
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.memory import Memory, remembered
from incrowd.sampling.responses import uniform_below
from incrowd.sampling.segments import Segment, merged, respond
from incrowd.sampling.unlinked import as_reports, set_bits
from incrowd.survey import Text


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
    return respond(copied, message.bits, parts, keystream)


def segments(message: Message, fresh: bool = True) -> list[Segment]:
    """Which bits of the message's records go through which channel.

    The bits that tell the cohort of a text question go as they are. fresh: whether permanent
    responses are still to be drawn; if not, only the instantaneous stage is left of them.
    """
    found: list[Segment] = []
    places, channels = message.layout.values(), message.channels.values()
    for question, place, channel in zip(message.questions, places, channels, strict=True):
        if isinstance(question, Text):
            place = slice(place.start + question.cohort_bits, place.stop)
        if not fresh and question.randomizer is not None and question.randomizer.memoised:
            if not isinstance(channel, Rappor) or channel.instantaneous is None:
                continue
            channel = channel.instantaneous
        found.append((place, channel))
    return merged(found)


def draw_cohorts(message: Message, people: int, keystream: Keystream) -> dict[str, np.ndarray]:
    """A cohort for each person and text question, all equally likely."""
    texts = [question for question in message.questions if isinstance(question, Text)]
    return {q.id: uniform_below(q.cohorts, people, keystream) for q in texts}


def randomize_unlinked(
    rows: np.ndarray,
    places: np.ndarray,
    people: int,
    message: UnlinkedBits,
    keystream: Keystream,
) -> np.ndarray:
    """The set bits of each copy, as reports. rows, places: as for `set_bits`."""
    shape = people, message.record_bits
    copies = [
        set_bits(rows, places, shape, message.noise, keystream) for _ in range(message.copies)
    ]
    return as_reports(np.concatenate(copies), message.bits)
