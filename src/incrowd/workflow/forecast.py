"""Plan -> how sharp its tables will be, before anything is collected."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from incrowd.estimation.efficiency import (
    approximate_loss,
    effective_sample,
    option_products,
    products,
    table_factor,
    variances,
)
from incrowd.plan import Plan

MOST_CELLS = 4096


@dataclass(frozen=True)
class TableForecast:
    """What to expect of one table when all its cells are alike.

    standard_error: of a cell, noise plus sampling, as a proportion. as_good_as: how many people
    asked openly would tell as much in squared error (Vinterbo, section 4.1: the loss at
    s = 2 / (cells + 1), its mean over uniformly random tables).
    """

    questions: tuple[str, ...]
    cells: int
    standard_error: float
    as_good_as: float


def forecast(plan: Plan) -> tuple[TableForecast, ...]:
    """The wanted tables of a plan for exactly its crowd, colluding people included.

    Tables with a `multi` question, whose cells overlap, or with very many cells are left out.
    """
    tables = (_forecast(plan, ids) for ids in plan.survey.wanted)
    return tuple(table for table in tables if table is not None)


def _forecast(plan: Plan, ids: tuple[str, ...]) -> TableForecast | None:
    questions = [plan.survey.question(id) for id in ids]
    sizes = [len(question.answers) for question in questions]
    if any(q.type == "multi" for q in questions) or math.prod(sizes) > MOST_CELLS:
        return None
    message = plan.messages[0]
    axes = [
        products(message.channel) if q.domain.bits == 1 else option_products(message.channel, n)
        for q, n in zip(questions, sizes, strict=True)
    ]
    shares = np.full(sizes, 1 / math.prod(sizes))
    crowd, copies = plan.survey.crowd, message.copies
    error = float(np.sqrt(variances(axes, shares, crowd, copies).max()))
    # what the copies leave of the noise's share of c
    c = 1 + (table_factor(axes, shares) - 1) / copies
    lost = approximate_loss(c, math.prod(sizes))
    return TableForecast(ids, math.prod(sizes), error, effective_sample(crowd, lost))
