"""Answers + Plan -> reports."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from incrowd.encoding.answers import check_columns
from incrowd.encoding.records import encode
from incrowd.plan import Message, Plan
from incrowd.randomize.flip import flip
from incrowd.randomize.keystream import Keystream
from incrowd.randomize.shuffle import permutation
from incrowd.reports.collection import Collection


def randomize(plan: Plan, answers: pa.Table, simulation_seed: int | None = None) -> Collection:
    """Encode, randomise and shuffle the answers; one row is taken as one person.

    answers: an Arrow table with a column for each question; other columns are ignored. Real
    reports take their randomness from the operating system; a `simulation_seed` makes them
    repeatable, therefore not private, and the collection says so.
    Raises AnswersError if the answers do not fit the survey.
    """
    answers = check_columns(answers, plan.survey)
    keystream = _keystream(simulation_seed)
    message = plan.messages[0]
    records = encode([plan.survey.question(id) for id in message.questions], answers)
    packed = randomize_records(records, plan, message, keystream)
    return Collection(
        plan=plan.digest,
        message=0,
        bits=plan.bits(message),
        packed=packed[permutation(len(packed), keystream)],
        seed=simulation_seed,
    )


def randomize_records(
    records: np.ndarray, plan: Plan, message: Message, keystream: Keystream
) -> np.ndarray:
    """Flip the message's copies of packed records, uint8 of shape (rows, ceil(L / 8)).

    Returns shape (copies * rows, ceil(L / 8)), still in the order of the records.
    """
    copied = np.tile(records, (message.copies, 1))
    return flip(copied, plan.bits(message), message.noise_numerator, keystream)


def _keystream(seed: int | None) -> Keystream:
    return Keystream.from_system() if seed is None else Keystream.for_simulation(seed)
