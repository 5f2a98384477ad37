"""What tables and their errors are where the answers are known: in simulations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incrowd.estimation.cells import planned_noise, planned_weight
from incrowd.estimation.decoders import decoder, merging, question_decoder
from incrowd.estimation.readings import Ids
from incrowd.estimation.tables import NOISE_ONLY
from incrowd.kernels.axes import transform as along_axes
from incrowd.plans import JointReport, Message, Plan
from incrowd.survey import AnyQuestion


def true_table(plan: Plan, ids: Ids, shares: np.ndarray) -> np.ndarray:
    """The cells of a table from its joint shares of set bits, which no noise has touched."""
    first = plan.survey.question(ids[0])
    if len(ids) == 1 and first.wide:
        return np.asarray(merging(first) @ shares[1:])
    decoders = [decoder(plan.survey.question(id), np.eye(2)) for id in ids]
    return along_axes([d.mean for d in decoders], shares)


def theoretical_error(
    plan: Plan,
    found: Sequence[tuple[Message, float]],
    ids: Ids,
    shares: np.ndarray,
    errors: str,
    people: int,
) -> np.ndarray:
    """The standard error that every cell of a table should have: Vinterbo, section 3.2.

    found: the messages that hold the table, and how much each weighs. shares: the true joint
    shares of set bits. errors: of the noise alone, or of noise plus
    sampling of so many people. A table that several messages hold is combined as its
    estimate is.
    """
    cells, questions = true_table(plan, ids, shares), [plan.survey.question(id) for id in ids]
    by_weight = [
        (weight, (_second_moment(message, questions, shares) - cells) / message.independent_copies)
        for message, weight in found
        if not message.cells
    ]
    if len(by_weight) < len(found):
        messages = [message for message in plan.messages if message.cells]
        by_weight.append((planned_weight(messages, ids), planned_noise(messages, questions)))
    total = sum(weight for weight, _ in by_weight)
    noise = np.sum([(weight / total) ** 2 * each / people for weight, each in by_weight], axis=0)
    if errors == NOISE_ONLY:
        return np.asarray(np.sqrt(noise))
    return np.asarray(np.sqrt(noise + cells * (1 - cells) / people))


def _second_moment(
    message: JointReport, questions: Sequence[AnyQuestion], shares: np.ndarray
) -> np.ndarray:
    """E[g^2] of every cell, g the debiased report of one message."""
    pairs = [(question, message.channels[question.id]) for question in questions]
    noisy = along_axes([c.reported(q.domain.bits) for q, c in pairs], shares)
    return along_axes([question_decoder(*pair).square for pair in pairs], noisy)
