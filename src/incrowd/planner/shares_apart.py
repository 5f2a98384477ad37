"""Two shares of the people of a tally, and what their noise has in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

import numpy as np

from incrowd.errors import TableError, likely
from incrowd.estimation.cells import CellsReading, answer_sums
from incrowd.estimation.delta_method import pick
from incrowd.estimation.quotients import Comparison
from incrowd.estimation.readings import Ids, table_of
from incrowd.estimation.shares_apart import POSITIVE, UNKNOWN, Share, difference_of_shares
from incrowd.planner.sources import readings
from incrowd.plans import Plan
from incrowd.survey import Survey
from incrowd.tally.tally import Tally

Answers = Mapping[str, str]


def check_answers(survey: Survey, answers: Answers) -> Ids:
    """The questions of a share. Raises TableError for one that is open or a text, and for an answer
    that it does not have."""
    for id, answer in answers.items():
        question = survey.question(id)
        if question.open or question.one_way_only:
            kind = "it is open" if question.open else "it is a text question"
            allowed = f"{kind}; use other questions, whose answers are randomized one by one"
            raise TableError.of("question", id, allowed)
        if answer not in question.answers:
            hint, known = likely(answer, question.answers), ", ".join(question.answers)
            allowed = f"{hint}this is no answer to {id}; use {known}"
            raise TableError.of(id, answer, allowed)
    return tuple(answers)


def held_together(plan: Plan, first: Answers, second: Answers) -> Ids | None:
    """All questions of two shares, if a message holds them."""
    ids = tuple(dict.fromkeys((*first, *second)))
    return ids if any(message.holds(ids) for message in plan.messages) else None


def shares_compared(
    plan: Plan, counted: Tally, first: Answers, second: Answers, noise_only: bool, positive: bool
) -> Comparison:
    """The first share less the second. counted: counts of pairs, of the questions of both if a
    message holds them, else of each by themselves."""
    if ids := held_together(plan, first, second):
        return _in_one_table(plan, counted, ids, first, second, noise_only)
    shares = [_share(plan, counted, answers) for answers in (first, second)]
    people = min(number for _, number in shares)
    found = difference_of_shares(
        *(share for share, _ in shares),
        noise_covariance=_noise_covariance(plan, counted, first, second),
        people=people,
        noise_only=noise_only,
        positive=positive,
    )
    if noise_only:
        return found
    return replace(found, reason=POSITIVE if positive else UNKNOWN)


def _in_one_table(
    plan: Plan, counted: Tally, ids: Ids, first: Answers, second: Answers, noise_only: bool
) -> Comparison:
    found = readings(plan, counted, ids)
    table = table_of(plan, found, ids, noise_only, covariance=True, margin=True)
    picked, noise = (pick(each, [first, second]) for each in (table, table.noise_alone()))
    shares = [
        Share(answers, value, variance, step)
        for answers, value, variance, step in zip(
            (first, second), picked.values, np.diagonal(noise.covariance), noise.step, strict=True
        )
    ]
    a, b = picked.values
    sampling = float((picked.covariance - noise.covariance)[0, 1])
    return difference_of_shares(
        *shares,
        noise_covariance=float(noise.covariance[0, 1]),
        people=int(table.people),
        noise_only=noise_only,
        both=float(sampling * table.people + a * b),
    )


def _share(plan: Plan, counted: Tally, answers: Answers) -> tuple[Share, int]:
    """A share by the table of its questions, and of how many people it is."""
    ids = tuple(answers)
    table = table_of(plan, readings(plan, counted, ids), ids, places=1)
    place = tuple(plan.survey.question(id).answers.index(answers[id]) for id in ids)
    step = float(np.broadcast_to(table.report, table.estimate.shape)[place])
    share = Share(answers, float(table.estimate[place]), float(table.noise_error[place]) ** 2, step)
    return share, int(table.people)


def _noise_covariance(plan: Plan, counted: Tally, first: Answers, second: Answers) -> float:
    """Of two tables in different messages: that of all messages of cells together, weighted as each
    table weighs them; joint reports of different messages have independent noise."""
    parts, weight = [], 1.0
    for answers in (first, second):
        found = readings(plan, counted, tuple(answers))
        cells = [reading for reading in found if isinstance(reading, CellsReading)]
        if not cells:
            return 0.0
        weight *= cells[0].weight / sum(reading.weight for reading in found)
        sums = [
            np.eye(len(question.answers))[question.answers.index(answer)] @ answer_sums(question)
            for question, answer in ((plan.survey.question(id), a) for id, a in answers.items())
        ]
        parts.append((cells[0].combined(tuple(answers)), reduce(np.kron, sums)))
    (one, left), (other, right) = parts
    return weight * float(left @ one.covariance_with(other) @ right)
