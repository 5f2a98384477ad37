"""Answers + Plan -> the shares in the answers themselves: for demonstrations and simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from incrowd.channels.bit_flip import DENOMINATOR
from incrowd.encoding.answers import load_answers
from incrowd.encoding.people import People
from incrowd.encoding.records import pack
from incrowd.estimation.readings import Ids
from incrowd.estimation.tables import OpenAxis
from incrowd.estimation.truth import true_table
from incrowd.planner.open_tables import open_axis, open_of
from incrowd.planner.sources import check_tables
from incrowd.plans import Plan
from incrowd.plans.strata import Names, told_apart
from incrowd.survey import NO_ANSWER, AnyQuestion
from incrowd.tally.moments import moments
from incrowd.workflow.amounts import people_of_file
from incrowd.workflow.strata import released, rows_of

MOST_NUMBERS = 1 << 22  # held at a time: 32 MiB


def truth(
    plan: Plan, answers: Any, *, tables: Sequence[Sequence[str]] | None = None
) -> tuple[np.ndarray, ...]:
    """The shares in the answers themselves, one array for each table but those of text questions.

    For comparison only. answers: as `load_answers` takes them; each edge of an amount counts with
    its chance. Where questions are open, of the people whom `randomize` would release. Raises
    AnswersError if there are none.
    """
    wanted = [ids for ids in check_tables(plan, tables) if ids[0] not in plan.survey.texts]
    read = load_answers(answers, plan.survey)
    everybody = Everybody.of(plan, people_of_file(plan.survey, read))
    return tuple(everybody.cells(plan, ids) for ids in wanted)


class Everybody(NamedTuple):
    """People whose answers are known: who is released, and who with whom."""

    people: People
    releases: Mapping[Names, np.ndarray]

    @classmethod
    def of(cls, plan: Plan, people: People) -> Everybody:
        """The people of all releases. releases: their rows; none where no question is open."""
        if not plan.survey.open:
            return cls(people, {})
        groups = released(plan.survey, people.strata(plan.survey))
        rows = np.sort(np.concatenate(list(rows_of(plan, people, groups))))
        kept = people.take(rows)
        return cls(kept, dict(zip(groups, rows_of(plan, kept, groups), strict=True)))

    def parts(self, plan: Plan, ids: Ids) -> tuple[OpenAxis, list[People]]:
        """The open axis of a table, and who gave each of its answers."""
        names = told_apart(plan.survey, open_of(plan.survey, ids), list(self.releases))
        rows = [np.concatenate([self.releases[name] for name in found]) for found in names.values()]
        axis = open_axis(plan.survey, ids, tuple(names), tuple(map(len, rows)))
        return axis, list(map(self.people.take, rows))

    def who_answered(self, plan: Plan, ids: Ids) -> Everybody:
        """Those who answered all of some questions."""
        said = np.ones(self.people.number, bool)
        for question in map(plan.survey.question, ids):
            if NO_ANSWER in question.answers:
                place = question.answers.index(NO_ANSWER)
                place -= question.bits < len(question.answers)  # where the first answer is no bit
                found = self.people.encoded[question.id]
                said[found.rows[found.places == place]] = False
        places = np.cumsum(said) - 1
        releases = {names: places[rows[said[rows]]] for names, rows in self.releases.items()}
        return Everybody(self.people.take(np.flatnonzero(said)), releases)

    def cells(self, plan: Plan, ids: Ids) -> np.ndarray:
        """The true shares of a table."""
        closed = plan.survey.closed(ids)
        if closed == ids:
            return true_table(plan, ids, true_moments(plan, self.people, ids))
        axis, parts = self.parts(plan, ids)
        one = np.array(1.0)
        shares = [
            true_table(plan, closed, true_moments(plan, part, closed)) if closed else one
            for part in parts
        ]
        return np.stack(
            [w * cells for w, cells in zip(axis.shares, shares, strict=True)], axis.place
        )


def true_moments(plan: Plan, people: People, ids: Ids) -> np.ndarray:
    """The joint shares of set bits in the answers, as `incrowd.tally.moments` counts them."""
    questions = [plan.survey.question(id) for id in ids]
    if len(ids) == 1 and questions[0].wide:
        counts = np.bincount(people.encoded[ids[0]].places, minlength=questions[0].bits)
        return np.append(people.number, counts) / people.number
    ends = np.cumsum([0, *(question.bits for question in questions)]).tolist()
    axes = [slice(a, b) for a, b in pairwise(ends)]
    if any(people.encoded[id].up is not None for id in ids):
        return _expected_moments(questions, people)
    return moments(pack(questions, people.encoded, people.number), axes) / people.number


def _expected_moments(questions: Sequence[AnyQuestion], people: People) -> np.ndarray:
    """The same where amounts are not rounded yet: each edge counts with its chance."""
    total = np.zeros([1 + question.bits for question in questions])
    each = max(1, MOST_NUMBERS // total.size)
    for start in range(0, people.number, each):
        some = people.take(np.arange(start, min(start + each, people.number)))
        held = np.ones((some.number, 1))
        for question in questions:
            chances = np.hstack([np.ones((some.number, 1)), _chances(question, some)])
            held = (held[:, :, None] * chances[:, None]).reshape(some.number, -1)
        total += held.sum(axis=0).reshape(total.shape)
    return total / people.number


def _chances(question: AnyQuestion, people: People) -> np.ndarray:
    """The chance of each bit of each person to be set, shape (people, bits)."""
    found = people.encoded[question.id]
    up = np.zeros(len(found.rows)) if found.up is None else found.up / DENOMINATOR
    chances = np.zeros((people.number, question.bits + 1))  # the first is of no bit
    chances[found.rows, found.places + 1] = 1 - up
    above = up > 0
    chances[found.rows[above], found.places[above] + 2] = up[above]
    return chances[:, 1:]
