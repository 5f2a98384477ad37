"""The difference of two shares of the same people, whether or not one table holds both.

The noise of both estimates and its covariance are always known. How many people are in both shares
is known only from a table that holds all questions. Otherwise it lies within Fréchet's bounds, and
the smallest possible number gives the largest error.
Proof: docs/mathematics.md#shares-of-two-tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from incrowd.errors import InWords, TableError, UsageError, likely
from incrowd.estimation.cells import CellsReading, answer_sums
from incrowd.estimation.delta_method import named, pick
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.ratios import Comparison
from incrowd.estimation.readings import Ids, check_tables, readings, table
from incrowd.estimation.results import Received
from incrowd.estimation.tables import HALF_WIDTH, LEVEL, NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import with_merged
from incrowd.reports.tally import Tally
from incrowd.survey import Survey
from incrowd.survey.merging import Merge

UNKNOWN = (
    "no message holds all of these questions, so that it is not known how many people are in both "
    "shares: the error is the largest that there can be"
)
POSITIVE = (
    "no message holds all of these questions: the error takes both shares to be no less common "
    "together than if they had nothing to do with each other, as was stated"
)
Answers = Mapping[str, str]


@dataclass(frozen=True)
class ShareDifference:
    """One share minus another, with its standard error and interval, and the guarantee.

    first, second: the answers that define each share, by question.
    """

    first: Answers
    second: Answers
    figure: Comparison
    guarantee: Guarantee
    seed: int | None = None


def compare_shares(
    plan: Plan,
    reports: Reports,
    first: Mapping[str, str],
    second: Mapping[str, str],
    *,
    positive: bool = False,
    merge: Merge | None = None,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
    received: Sequence[Received] = (),
) -> ShareDifference:
    """The share of people who give some answers minus the share of those who give others.

    first, second: answers by question, such as {"smokes": "yes"} or {"smokes": "yes", "sex": "f"}.
    The questions of the two shares need not travel together. If they do not, the number of people
    who are in both shares is unknown, and the error is the largest possible one, unless
    positive=True states that people in one share are in the other at least as often as people in
    general. merge, noise_only, received: as for `estimate`. Raises TableError for questions and
    answers that the plan does not have, and for questions of one share that do not travel together;
    UsageError if a share names no answers; ReportsError as `estimate` does.
    """
    plan = with_merged(plan, merge)
    for name, answers in (("first", first), ("second", second)):
        if not answers:
            raise UsageError.of(name, InWords("no answers"), "name a question and an answer")
    tables = check_tables(plan, [tuple(first), tuple(second)])
    for answers in (first, second):
        _check_answers(plan.survey, answers)
    joint = joint_table(plan, first, second)
    counted = count(plan, reports, tables=[joint] if joint else tables, kind="pairs")
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd, received)
    figure = shares_compared(plan, counted, first, second, noise_only, positive)
    return ShareDifference(dict(first), dict(second), figure, guarantee, counted.seed)


def _check_answers(survey: Survey, answers: Answers) -> None:
    """Raises TableError for an open question or a text question, and for an answer that a question
    does not have."""
    for id, answer in answers.items():
        question = survey.question(id)
        if question.open or question.one_way_only:
            kind = "it is open" if question.open else "it is a text question"
            allowed = f"{kind}; use other questions, whose answers are randomized one by one"
            raise TableError.of("question", id, allowed)
        if answer not in question.answers:
            hint, options = likely(answer, question.answers), ", ".join(question.answers)
            allowed = f"{hint}this is not one of the answers to {id}; use {options}"
            raise TableError.of(id, answer, allowed)


def joint_table(plan: Plan, first: Answers, second: Answers) -> Ids | None:
    """All questions of two shares, if one message holds them."""
    ids = tuple(dict.fromkeys((*first, *second)))
    return ids if any(message.holds(ids) for message in plan.messages) else None


class Share(NamedTuple):
    """An estimated share of people. noise: the variance by noise; step: what one report moves."""

    answers: Answers
    estimate: float
    noise: float
    step: float


def shares_compared(
    plan: Plan, counted: Tally, first: Answers, second: Answers, noise_only: bool, positive: bool
) -> Comparison:
    """The first share minus the second.

    counted: counts of pairs, for the table of all questions if a message holds it, else for the
    table of each share.
    """
    if ids := joint_table(plan, first, second):
        return _of_one_table(plan, counted, ids, first, second, noise_only)
    shares, people = [], []
    for answers in (first, second):
        share = table(plan, counted, tuple(answers), places=(1,))
        place = tuple(
            plan.survey.question(id).answers.index(answer) for id, answer in answers.items()
        )
        step = float(np.broadcast_to(share.report, share.estimate.shape)[place])
        noise = float(share.noise_error[place]) ** 2
        shares.append(Share(answers, float(share.estimate[place]), noise, step))
        people.append(int(share.people))
    figure = _difference(
        *shares,
        noise_covariance=_noise_covariance(plan, counted, first, second),
        people=min(people),
        noise_only=noise_only,
        positive=positive,
    )
    return figure if noise_only else replace(figure, reason=POSITIVE if positive else UNKNOWN)


def _of_one_table(
    plan: Plan, counted: Tally, ids: Ids, first: Answers, second: Answers, noise_only: bool
) -> Comparison:
    """The difference where one table holds all questions, and so shows how many are in both."""
    joint = table(plan, counted, ids, noise_only, covariance=True, margin=True)
    picked, noise = (pick(each, [first, second]) for each in (joint, joint.noise_alone()))
    columns = (first, second), picked.values, np.diagonal(noise.covariance), noise.step
    a, b = picked.values
    sampling = float((picked.covariance - noise.covariance)[0, 1])
    return _difference(
        *(Share(*row) for row in zip(*columns, strict=True)),
        noise_covariance=float(noise.covariance[0, 1]),
        people=int(joint.people),
        noise_only=noise_only,
        both=float(sampling * joint.people + a * b),
    )


def _difference(
    first: Share,
    second: Share,
    *,
    noise_covariance: float,
    people: int,
    noise_only: bool,
    both: float | None = None,
    positive: bool = False,
) -> Comparison:
    """One share minus another.

    both: the estimated share of people who are in both, where a table shows it. positive: whether
    people in one share are known to be in the other at least as often as people in general.
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


def _noise_covariance(plan: Plan, counted: Tally, first: Answers, second: Answers) -> float:
    """The covariance by noise of two tables in different messages.

    Joint reports of different messages have independent noise. The tables that come from all
    messages of cells together do not; they count with the weight that each table gives them.
    """
    parts, weight = [], 1.0
    for answers in (first, second):
        sources = readings(plan, counted, tuple(answers))
        cells = [reading for reading in sources if isinstance(reading, CellsReading)]
        if not cells:
            return 0.0
        weight *= cells[0].weight / sum(reading.weight for reading in sources)
        sums = [
            np.eye(len(question.answers))[question.answers.index(answer)] @ answer_sums(question)
            for question, answer in ((plan.survey.question(id), a) for id, a in answers.items())
        ]
        parts.append((cells[0].combined(tuple(answers)), reduce(np.kron, sums)))
    (one, left), (other, right) = parts
    return weight * float(left @ one.covariance_with(other) @ right)
