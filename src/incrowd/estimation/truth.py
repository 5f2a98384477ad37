"""What tables and their errors are where the answers are known: in simulations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from incrowd.estimation.decoders import decoder, question_decoder
from incrowd.estimation.readings import Ids
from incrowd.estimation.tables import NOISE_ONLY
from incrowd.kernels.axes import transform as along_axes
from incrowd.plans import Message, Plan


def true_table(plan: Plan, ids: Ids, shares: np.ndarray) -> np.ndarray:
    """The cells of a table from its joint shares of set bits, which no noise has touched."""
    if plan.by_cells_alone(ids):
        return shares[1:]
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
    cells = true_table(plan, ids, shares)
    total = sum(weight for _, weight in found)
    noise = np.zeros(cells.shape)
    for message, weight in found:
        second = _second_moment(plan, message, ids, shares)
        variance = (second - cells) / (message.independent_copies * people)
        noise += (weight / total) ** 2 * variance
    if errors == NOISE_ONLY:
        return np.sqrt(noise)
    return np.asarray(np.sqrt(noise + cells * (1 - cells) / people))


def _second_moment(plan: Plan, message: Message, ids: Ids, shares: np.ndarray) -> np.ndarray:
    """E[g^2] of every cell, g the debiased report of one message."""
    if message.cells:  # too wide for a matrix: g^2 is linear in the bit
        low, high = message.noise.inverse[1] ** 2
        q, p = message.noise.matrix[1]
        return np.asarray(low + (high - low) * (q + (p - q) * shares[1:]))
    channels = message.channels
    pairs = [(plan.survey.question(id), channels[id]) for id in ids]
    noisy = along_axes([c.reported(q.domain.bits) for q, c in pairs], shares)
    return along_axes([question_decoder(*pair).square for pair in pairs], noisy)
