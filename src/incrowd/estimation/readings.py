"""Tables as they are read in every message that holds them, combined by weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc

from incrowd.errors import TableError
from incrowd.estimation.covariance import (
    JointEstimate,
    combined_joint,
    estimate_joint,
    question_pair_decoder,
)
from incrowd.estimation.decoders import merging, question_decoder
from incrowd.estimation.tables import TableEstimate, combined, estimate_options, estimate_table
from incrowd.plans import Message, Plan
from incrowd.plans.slots import slots
from incrowd.survey import AnyQuestion

Ids = tuple[str, ...]


class Reading(NamedTuple):
    """The counts of a table in one message, and how much they weigh."""

    message: Message
    weight: float
    counts: np.ndarray


def table_of(
    plan: Plan, found: Sequence[Reading], ids: Ids, noise_only: bool = False, places: int = 0
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


def _table(plan: Plan, reading: Reading, ids: Ids, noise_only: bool, places: int) -> TableEstimate:
    table = _estimated(plan, reading, ids, noise_only)
    return replace(table, influence=table.influence * false_reports(plan, reading.message, places))


def _estimated(plan: Plan, reading: Reading, ids: Ids, noise_only: bool) -> TableEstimate:
    questions = [plan.survey.question(id) for id in ids]
    counts, message = reading.counts, reading.message
    if message.cells:
        return _options(questions[0], reading, noise_only)
    singles = counts[tuple(slice(1 + question.domain.bits) for question in questions)]
    channels = message.channels
    decoders = [question_decoder(q, channels[q.id]) for q in questions]
    return estimate_table(ids, decoders, singles, message.copies, noise_only)


def _options(question: AnyQuestion, reading: Reading, noise_only: bool) -> TableEstimate:
    """A question that is sent as cells; the noise of merged bits is independent, so that
    its variances add up, and their count is binomial if nobody gave any of these answers."""
    message, counts = reading.message, reading.counts
    assert message.noise is not None
    given = question.id, question.recorded, counts, message.noise.inverse, message.copies
    made = estimate_options(*given, noise_only)
    if not question.merged:
        return made
    merge = merging(question)
    trials = merge.sum(axis=1).astype(np.int64) * int(counts[0])
    return replace(
        made,
        answers=(question.answers,),
        estimate=merge @ made.estimate,
        noise_error=np.sqrt(merge @ made.noise_error**2),
        p_values=bdtrc(merge @ counts[1:] - 1, trials, message.noise.q),
    )


def joint(
    plan: Plan, found: Sequence[Reading], ids: Ids, noise_only: bool = False, margin: bool = False
) -> JointEstimate:
    """A table, with its margins if wanted, and the covariance of everything in it.

    found: counts of pairs. Raises TableError if it has more than 2,000 cells.
    """
    tables = [_joint(plan, reading, ids, noise_only, margin) for reading in found]
    return combined_joint(tables, [reading.weight for reading in found])


def _joint(plan: Plan, reading: Reading, ids: Ids, noise_only: bool, margin: bool) -> JointEstimate:
    message = reading.message
    if message.cells:
        allowed = "no joint confidence region is available from cells; ask for its table alone"
        raise TableError.of("table", ids[0], allowed)
    channels = message.channels
    decoders = [question_pair_decoder(plan.survey.question(id), channels[id], margin) for id in ids]
    return estimate_joint(ids, decoders, reading.counts, message.copies, noise_only)
