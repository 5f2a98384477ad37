"""Answers + Plan -> reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from incrowd.channels.rappor import Rappor
from incrowd.encoding.records import pack
from incrowd.errors import UsageError
from incrowd.plans import Message, Plan, UnlinkedBits
from incrowd.reports.collection import ID_BYTES, Collection
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import DeviceKey
from incrowd.sampling.responses import uniform_below
from incrowd.sampling.segments import Segment, merged, respond
from incrowd.sampling.shuffle import permutation
from incrowd.sampling.unlinked import as_reports, set_bits
from incrowd.survey import Text
from incrowd.workflow.memory import Memory, remembered, remembering
from incrowd.workflow.people import People, one_row_each


def randomize(
    plan: Plan,
    answers: pa.Table,
    simulation_seed: int | None = None,
    id: str | None = None,
    device_key: DeviceKey | None = None,
) -> tuple[Collection, ...]:
    """Encode, randomise and shuffle the answers: one collection for each message of the plan.

    answers: an Arrow table with a column for each question; other columns are ignored. id: the
    column that says whose row it is; rows of one person count once. Without it each row is taken
    as one person. device_key: the secret that permanent responses need; each id has its own part
    of it. Real reports take their randomness from the operating system; a `simulation_seed` makes
    them repeatable, therefore not private, and the collections say so.
    Raises AnswersError if the answers do not fit the survey, UsageError if a key is needed.
    """
    if id is not None:
        answers = one_row_each(answers, plan.survey, id)
    people = People.of(plan.survey, answers)
    memory = remembering(plan, answers, id, device_key)
    keystream = keystream_for(simulation_seed)
    persons = "rows" if id is None else "ids"
    found = (
        _collection(plan, number, people, keystream, memory) for number in range(len(plan.messages))
    )
    return tuple(replace(collection, persons=persons) for collection in found)


def keystream_for(seed: int | None) -> Keystream:
    """Randomness from the operating system, or of a simulation. Raises UsageError if seed < 0."""
    if seed is None:
        return Keystream.from_system()
    if seed < 0:
        raise UsageError.of("simulation_seed", seed, "should be at least 0")
    return Keystream.for_simulation(seed)


def _collection(
    plan: Plan, number: int, people: People, keystream: Keystream, memory: Memory | None
) -> Collection:
    message = plan.messages[number]
    packed = randomize_message(plan, message, people, keystream, memory)
    return Collection(
        plan=plan.digest,
        message=number,
        bits=message.bits,
        packed=packed[permutation(len(packed), keystream)],
        seed=keystream.seed,
        id=keystream.words(ID_BYTES // 8).tobytes().hex(),
        people=message.declared(people.number),
    )


def randomize_message(
    plan: Plan,
    message: Message,
    people: People,
    keystream: Keystream,
    memory: Memory | None = None,
) -> np.ndarray:
    """The packed reports of one message, all its copies, not yet shuffled.

    Returns uint8, shape (reports, ceil(bits of a report / 8)). memory: of the devices, for
    permanent responses; without it all stages are drawn afresh, as in a single round.
    """
    if isinstance(message, UnlinkedBits):
        return _unlinked(message, people, keystream)
    questions = message.questions
    if not any(isinstance(question, Text) for question in questions):
        records = pack(questions, people.encoded, people.number)
        return randomize_records(records, plan, message, keystream, memory)
    copies = []
    for _ in range(message.copies):
        cohorts = _cohorts(message, people, keystream)
        records = pack(questions, people.encoded, people.number, cohorts)
        if memory is not None:
            records = remembered(plan, message, records, memory)
        parts = segments(message, fresh=memory is None)
        copies.append(respond(records, message.bits, parts, keystream))
    return np.concatenate(copies)


def randomize_records(
    records: np.ndarray,
    plan: Plan,
    message: Message,
    keystream: Keystream,
    memory: Memory | None = None,
) -> np.ndarray:
    """The reports of a message without text questions, from its packed records.

    Returns uint8, shape (copies * rows, ceil(L / 8)), the copies after one another.
    """
    if memory is not None:
        records = remembered(plan, message, records, memory)
    copied = np.tile(records, (message.copies, 1))
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


def _cohorts(message: Message, people: People, keystream: Keystream) -> dict[str, np.ndarray]:
    """A cohort for each person and text question, all equally likely."""
    texts = [question for question in message.questions if isinstance(question, Text)]
    return {q.id: uniform_below(q.cohorts, people.number, keystream) for q in texts}


def _unlinked(message: UnlinkedBits, people: People, keystream: Keystream) -> np.ndarray:
    """The set bits of each copy, as reports."""
    encoded, shape = people.encoded[message.question.id], (people.number, message.record_bits)
    copies = [
        set_bits(encoded.rows, encoded.places, shape, message.noise, keystream)
        for _ in range(message.copies)
    ]
    return as_reports(np.concatenate(copies), message.bits)
