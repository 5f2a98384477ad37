"""Tables as they are read in every message that holds them, combined by weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from incrowd.estimation.cells import CellsReading, cells_table
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
    plan: Plan,
    found: Readings,
    ids: Ids,
    noise_only: bool = False,
    places: int = 0,
    *,
    covariance: bool = False,
    margin: bool = False,
) -> TableEstimate:
    """One table, combined from all messages that hold it.

    places: as `false_reports` has them. covariance: that of all cells as well, from counts of
    pairs; margin: then with "any answer" as the last entry of each axis. Raises TableError for a
    covariance of more than 2,000 cells.
    """
    questions = [plan.survey.question(id) for id in ids]

    def of(reading: Reading | CellsReading) -> TableEstimate:
        if isinstance(reading, CellsReading):
            senders = partial(false_reports, plan, places=places)
            return cells_table(
                questions, reading, noise_only, senders, covariance=covariance, margin=margin
            )
        message, channels = reading.message, reading.message.channels
        decoders = [question_decoder(q, channels[q.id], margin) for q in questions]
        table = estimate_table(
            ids, decoders, reading.counts, message.copies, noise_only, covariance=covariance
        )
        return replace(table, influence=table.influence * false_reports(plan, message, places))

    return combined([of(reading) for reading in found], [reading.weight for reading in found])


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
