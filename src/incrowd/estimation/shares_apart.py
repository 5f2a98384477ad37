"""The difference of two shares of the same people, whether or not one table holds both.

The noise of both is known, and so is its covariance. How many people have both is known from a
table that holds all questions alone; else it is between what Frechet's bounds allow, and the least
of it gives the largest error. Proof: docs/mathematics.md#shares-of-two-tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from incrowd.errors import TableError, likely
from incrowd.estimation.cells import CellsReading, answer_sums
from incrowd.estimation.delta_method import named, pick
from incrowd.estimation.quotients import Comparison
from incrowd.estimation.readings import Ids, readings, table_of
from incrowd.estimation.tables import HALF_WIDTH, LEVEL, NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.plans import Guarantee, Plan
from incrowd.reports.tally import Tally
from incrowd.survey import Survey

UNKNOWN = (
    "no message holds all of these questions, so that it is not known how many people are in both "
    "shares: the error is the largest that there can be"
)
POSITIVE = (
    "no message holds all of these questions: the error takes both shares to be no less common "
    "together than if they had nothing to do with each other, as was stated"
)


@dataclass(frozen=True)
class ShareDifference:
    """One share less another: estimate, standard error, interval; and the guarantee that holds.

    first, second: what is said by the people of each share, answers by question.
    """

    first: Mapping[str, str]
    second: Mapping[str, str]
    figure: Comparison
    guarantee: Guarantee
    seed: int | None = None


class Share(NamedTuple):
    """An estimated share of people; noise: the variance of its noise; step: of one report."""

    answers: Mapping[str, str]
    estimate: float
    noise: float
    step: float


def difference_of_shares(
    first: Share,
    second: Share,
    *,
    noise_covariance: float,
    people: int,
    noise_only: bool,
    both: float | None = None,
    positive: bool = False,
) -> Comparison:
    """One share less another.

    both: the estimated share of people who are in both, where a table tells it. positive: whether
    it is known that those of one share are in the other at least as often as everybody is.
    """
    noise = max(first.noise + second.noise - 2 * noise_covariance, 0.0)
    a, b = (min(max(share.estimate, 0.0), 1.0) for share in (first, second))
    if both is None:
        both = a * b if positive else max(a + b - 1, 0.0)
    sampling = max(a * (1 - a) + b * (1 - b) - 2 * (both - a * b), 0.0) / people
    step = max(first.step, second.step) if noise_only else 1 / people
    error = math.sqrt(noise if noise_only else noise + sampling)
    reach = HALF_WIDTH * math.hypot(error, HALF_WIDTH * step if error else 0.0)
    estimate = first.estimate - second.estimate
    return Comparison(
        name=f"share of {named(first.answers)} less that of {named(second.answers)}",
        estimate=estimate,
        standard_error=error,
        low=estimate - reach,
        high=estimate + reach,
        scale="linear",
        level=LEVEL,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
    )


# Two shares of the people of a tally, and what their noise has in common.


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
