"""Answers + Plan -> the shares in the answers themselves: for demonstrations and simulations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from incrowd.encoding.answers import load_answers
from incrowd.encoding.people import People
from incrowd.encoding.records import pack
from incrowd.estimation.readings import Ids
from incrowd.estimation.truth import true_table
from incrowd.planner.sources import check_tables
from incrowd.plans import Plan
from incrowd.tally.moments import moments


def truth(
    plan: Plan, answers: Any, *, tables: Sequence[Sequence[str]] | None = None
) -> tuple[np.ndarray, ...]:
    """The shares in the answers themselves, one array for each table but those of text questions.

    For comparison only. answers: as `load_answers` takes them.
    """
    wanted = [ids for ids in check_tables(plan, tables) if ids[0] not in plan.survey.texts]
    people = People.of(plan.survey, load_answers(answers, plan.survey))
    return tuple(true_table(plan, ids, true_moments(plan, people, ids)) for ids in wanted)


def true_moments(plan: Plan, people: People, ids: Ids) -> np.ndarray:
    """The joint shares of set bits in the answers, as `incrowd.tally.moments` counts them."""
    questions = [plan.survey.question(id) for id in ids]
    if questions[0].unlinked:
        counts = np.bincount(people.encoded[ids[0]].places, minlength=questions[0].bits)
        return np.append(people.number, counts) / people.number
    ends = np.cumsum([0, *(question.bits for question in questions)]).tolist()
    axes = [slice(a, b) for a, b in pairwise(ends)]
    return moments(pack(questions, people.encoded, people.number), axes) / people.number
