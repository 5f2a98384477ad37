"""What the answers themselves say: for demonstrations and simulations, where they are known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from incrowd.encoding.records import pack
from incrowd.estimation.decoders import decoder, question_decoder
from incrowd.estimation.tables import NOISE_ONLY, along_axes
from incrowd.plans import Plan, UnlinkedBits
from incrowd.survey import Text
from incrowd.tally.moments import moments
from incrowd.workflow.people import People
from incrowd.workflow.sources import Ids, check_tables, sources


def truth(
    plan: Plan, answers: pa.Table, tables: Sequence[Sequence[str]] | None = None
) -> tuple[np.ndarray, ...]:
    """The shares in the answers themselves, one array for each table but those of text questions.

    For comparison only.
    """
    text = {q.id for q in plan.survey.questions if isinstance(q, Text)}
    wanted = [ids for ids in check_tables(plan, tables) if ids[0] not in text]
    return true_tables(plan, People.of(plan.survey, answers), wanted)


def true_tables(plan: Plan, people: People, tables: Sequence[Ids]) -> tuple[np.ndarray, ...]:
    """The shares in the answers of some people, one array for each table."""
    return tuple(true_table(plan, ids, true_moments(plan, people, ids)) for ids in tables)


def true_table(plan: Plan, ids: Ids, shares: np.ndarray) -> np.ndarray:
    """The cells of a table from its joint shares of set bits, which no noise has touched."""
    if plan.survey.question(ids[0]).travels_apart:
        return shares[1:]
    decoders = [decoder(plan.survey.question(id), np.eye(2)) for id in ids]
    return along_axes([d.mean for d in decoders], shares)


def true_moments(plan: Plan, people: People, ids: Ids) -> np.ndarray:
    """The joint shares of set bits in the answers, as `incrowd.tally.moments` counts them."""
    questions = [plan.survey.question(id) for id in ids]
    if questions[0].travels_apart:
        counts = np.bincount(people.encoded[ids[0]].places, minlength=questions[0].bits)
        return np.append(people.number, counts) / people.number
    ends = np.cumsum([0, *(question.bits for question in questions)]).tolist()
    axes = [slice(a, b) for a, b in pairwise(ends)]
    return moments(pack(questions, people.encoded, people.number), axes) / people.number


def theoretical_error(plan: Plan, ids: Ids, shares: np.ndarray, errors: str) -> np.ndarray:
    """The standard error that every cell of a table should have: Vinterbo, section 3.2.

    shares: the true joint shares of set bits. errors: of the noise alone, or of noise plus
    sampling of exactly the plan's crowd. A table that several messages hold is combined as its
    estimate is.
    """
    people, cells = plan.survey.crowd, true_table(plan, ids, shares)
    found = sources(plan, ids)
    total = sum(source.weight for source in found)
    noise = np.zeros(cells.shape)
    for source in found:
        second = _second_moment(plan, source.number, ids, shares)
        variance = (second - cells) / (source.message.copies * people)
        noise += (source.weight / total) ** 2 * variance
    if errors == NOISE_ONLY:
        return np.sqrt(noise)
    return np.asarray(np.sqrt(noise + cells * (1 - cells) / people))


def _second_moment(plan: Plan, number: int, ids: Ids, shares: np.ndarray) -> np.ndarray:
    """E[g^2] of every cell, g the debiased report of one message."""
    message = plan.messages[number]
    if isinstance(message, UnlinkedBits):  # too wide for a matrix: g^2 is linear in the bit
        low, high = message.noise.inverse[1] ** 2
        q, p = message.noise.matrix[1]
        return np.asarray(low + (high - low) * (q + (p - q) * shares[1:]))
    channels = message.channels
    pairs = [(plan.survey.question(id), channels[id]) for id in ids]
    noisy = along_axes([c.reported(q.domain.bits) for q, c in pairs], shares)
    return along_axes([question_decoder(*pair).square for pair in pairs], noisy)
