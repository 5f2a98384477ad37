"""Tables as they are read in every message that holds them, combined by weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from incrowd.errors import TableError
from incrowd.estimation.covariance import (
    JointEstimate,
    combined_joint,
    estimate_joint,
    question_pair_decoder,
)
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.tables import TableEstimate, combined, estimate_options, estimate_table
from incrowd.plans import Message, Plan

Ids = tuple[str, ...]


class Reading(NamedTuple):
    """The counts of a table in one message, and how much they weigh."""

    message: Message
    weight: float
    counts: np.ndarray


def table_of(
    plan: Plan, found: Sequence[Reading], ids: Ids, noise_only: bool = False, places: int = 0
) -> TableEstimate:
    """One table, combined from all messages that hold it.

    places: how many reports of any message one malicious sender can send at most, if that is known;
    else as many as an honest one.
    """
    tables = [_table(plan, reading, ids, noise_only, places) for reading in found]
    return combined(tables, [reading.weight for reading in found])


def _table(plan: Plan, reading: Reading, ids: Ids, noise_only: bool, places: int) -> TableEstimate:
    made, message = _estimated(plan, reading, ids, noise_only), reading.message
    each = 1 if message.unlinked else message.copies  # what its influence is of
    return replace(made, influence=made.influence * places / each) if places else made


def _estimated(plan: Plan, reading: Reading, ids: Ids, noise_only: bool) -> TableEstimate:
    questions = [plan.survey.question(id) for id in ids]
    counts, message = reading.counts, reading.message
    if message.unlinked:
        inverse = message.noise.inverse
        answers = questions[0].answers
        return estimate_options(ids[0], answers, counts, inverse, message.copies, noise_only)
    singles = counts[tuple(slice(1 + question.domain.bits) for question in questions)]
    channels = message.channels
    decoders = [question_decoder(q, channels[q.id]) for q in questions]
    return estimate_table(ids, decoders, singles, message.copies, noise_only)


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
    if message.unlinked:
        allowed = "its bits travel unlinked, so there is no covariance; ask for its table alone"
        raise TableError.of("table", ids[0], allowed)
    channels = message.channels
    decoders = [question_pair_decoder(plan.survey.question(id), channels[id], margin) for id in ids]
    return estimate_joint(ids, decoders, reading.counts, message.copies, noise_only)
