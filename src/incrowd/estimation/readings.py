"""Tables as they are read in every message that holds them, combined by weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from incrowd.estimation.cells import CellsReading, cells_joint, cells_table
from incrowd.estimation.covariance import (
    JointEstimate,
    combined_joint,
    estimate_joint,
    question_pair_decoder,
)
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.tables import TableEstimate, combined, estimate_table
from incrowd.plans import JointReport, Message, Plan
from incrowd.plans.slots import slots

Ids = tuple[str, ...]


class Reading(NamedTuple):
    """The counts of a table in the joint reports of one message, and how much they weigh."""

    message: JointReport
    weight: float
    counts: np.ndarray


Readings = Sequence[Reading | CellsReading]


def table_of(
    plan: Plan, found: Readings, ids: Ids, noise_only: bool = False, places: int = 0
) -> TableEstimate:
    """One table, combined from all messages that hold it. places: as `false_reports` has them."""
    tables = [_table(plan, reading, ids, noise_only, places) for reading in found]
    return combined(tables, [reading.weight for reading in found])


def false_reports(plan: Plan, message: Message, places: int) -> int:
    """How many reports of a message one malicious sender can send at most.

    places: sealed reports in one upload, if the reports came over a network: all of them may hold
    this message. Otherwise 0: she sends the copies of an honest person, or of cells as many as the
    slots of an upload hold; and that for each of her rows.
    """
    if places:
        return places
    reports = sum(slots(plan)) if message.cells else message.copies
    return reports * plan.survey.rows_per_person


def _table(
    plan: Plan, reading: Reading | CellsReading, ids: Ids, noise_only: bool, places: int
) -> TableEstimate:
    questions = [plan.survey.question(id) for id in ids]
    if isinstance(reading, CellsReading):
        senders = partial(false_reports, plan, places=places)
        return cells_table(questions, reading, noise_only, senders)
    counts, message = reading.counts, reading.message
    singles = counts[tuple(slice(1 + question.domain.bits) for question in questions)]
    channels = message.channels
    decoders = [question_decoder(q, channels[q.id]) for q in questions]
    table = estimate_table(ids, decoders, singles, message.copies, noise_only)
    return replace(table, influence=table.influence * false_reports(plan, message, places))


def joint(
    plan: Plan, found: Readings, ids: Ids, noise_only: bool = False, margin: bool = False
) -> JointEstimate:
    """A table, with its margins if wanted, and the covariance of everything in it.

    found: counts of pairs. Raises TableError if it has more than 2,000 cells.
    """
    tables = [_joint(plan, reading, ids, noise_only, margin) for reading in found]
    return combined_joint(tables, [reading.weight for reading in found])


def _joint(
    plan: Plan, reading: Reading | CellsReading, ids: Ids, noise_only: bool, margin: bool
) -> JointEstimate:
    questions = [plan.survey.question(id) for id in ids]
    if isinstance(reading, CellsReading):
        return cells_joint(questions, reading, noise_only, margin)
    channels = reading.message.channels
    decoders = [question_pair_decoder(q, channels[q.id], margin) for q in questions]
    return estimate_joint(ids, decoders, reading.counts, reading.message.copies, noise_only)
