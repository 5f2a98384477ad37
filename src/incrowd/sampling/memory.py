"""Devices that remember their permanent responses from round to round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incrowd.channels.bit_flip import is_flip
from incrowd.errors import MISSING, UsageError
from incrowd.plans import Cells, Message, Plan
from incrowd.plans.rounds import series
from incrowd.sampling.permanent import DeviceKey, permanent_bits, permanent_set

Memory = Sequence[DeviceKey]  # the secrets of the devices, one for each row of the answers


def remembering(
    plan: Plan, rows: int, names: Sequence[str] | None, key: DeviceKey | None
) -> Memory | None:
    """The secrets that the plan's permanent responses need; None if it has none.

    rows: of the answers. names: of the devices, one for each row; None if they have none. Raises
    UsageError if they are needed and no key is given, or the rows cannot be told apart.
    """
    if not plan.memoised:
        return None
    if key is None:
        allowed = f"the permanent response to {plan.memoised[0]!r} needs one; give one, and keep it"
        raise UsageError.of("device_key", MISSING, allowed)
    if names is None:
        if rows == 1:
            return [key]
        allowed = "several rows are several devices; name the column that says whose row it is"
        raise UsageError.of("id", MISSING, allowed)
    return [key.derive(name) for name in names]


def remembered(plan: Plan, message: Message, records: np.ndarray, memory: Memory) -> np.ndarray:
    """The records with the permanent responses in the place of the answers they belong to.

    A response depends on the device, the survey's name, the noise, the questions it travels with,
    the question and the answer; not on the plan, so that later rounds with another plan repeat it.
    """
    bits = np.unpackbits(records, axis=1, count=message.bits, bitorder="little")
    for id in (question.id for question in message.questions if question.memoised):
        place, noise = message.layout[id], message.channels[id].permanent_stage
        assert is_flip(noise)  # RAPPOR's, or the planner's
        name = series(plan.survey.name, message, noise)
        for row, key in enumerate(memory):
            answer = bits[row, place]
            named = np.packbits(answer).tobytes().hex()
            bits[row, place] = permanent_bits(key, answer, noise, name, id, named)
    return np.packbits(bits, axis=1, bitorder="little")


def remembered_sets(
    plan: Plan,
    message: Cells,
    rows: np.ndarray,
    places: np.ndarray,
    memory: Memory,
    most: int | None = None,
) -> np.ndarray:
    """The numbers of the bits that are set in the permanent responses, person after person.

    rows, places: the set bits of the records, sorted by row then place. most: of one person.
    """
    name = series(plan.survey.name, message, message.noise)
    records = np.split(places, np.searchsorted(rows, np.arange(1, len(memory))))
    found = [
        permanent_set(
            key, own, message.record_bits, message.noise, name, ",".join(message.ids), most=most
        )
        for key, own in zip(memory, records, strict=True)
    ]
    return np.concatenate(found)
