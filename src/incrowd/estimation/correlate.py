"""Reports + Plan -> the correlations of all pairs of questions with numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from incrowd.errors import UsageError, likely
from incrowd.estimation.correlations import (
    NOT_HELD,
    Correlation,
    Correlations,
    correlation,
    no_correlation,
)
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.readings import check_tables, table
from incrowd.estimation.results import Received
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.plans import Plan
from incrowd.survey import AnyQuestion, Survey

Scores = Mapping[str, Sequence[float]]


def correlate(
    plan: Plan,
    reports: Reports,
    questions: Sequence[str] | None = None,
    *,
    scores: Scores | None = None,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
    received: Sequence[Received] = (),
) -> Correlations:
    """The correlations of all pairs of some questions, each with its error and interval.

    questions: by default all yes/no questions, numbers and amounts, and those with scores. Yes
    counts 1 and no 0; a bin counts with its middle, an edge as it is. scores: for some questions
    the number of each answer but "no answer"; people who did not answer one of a pair are left out
    of it. A pair that no message holds has no estimate. received: as for `estimate`.

    Raises UsageError for fewer than two questions, unknown ones, and those without numbers;
    TableError if no message holds any pair; ReportsError as `estimate`.
    """
    numbers = _numbers(plan.survey, questions, scores or {})
    pairs = list(combinations(numbers, 2))
    closed = {pair: plan.survey.closed(pair) for pair in pairs}
    held = [p for p in pairs if any(message.holds(closed[p]) for message in plan.messages)]
    check_tables(plan, held or pairs[:1])
    counted = count(plan, reports, tables=held, kind="pairs")
    arrived, guarantee = check_arrived(plan, counted, accept_smaller_crowd, received)

    def of(pair: tuple[str, str]) -> Correlation:
        if pair not in held:
            return no_correlation(pair, NOT_HELD)
        both = table(plan, counted, pair, noise_only, covariance=True)
        return correlation(both, numbers[pair[0]], numbers[pair[1]])

    return Correlations(
        questions=tuple(numbers),
        pairs=tuple(map(of, pairs)),
        people=min(each.people for each in arrived),
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        guarantee=guarantee,
        seed=counted.seed,
    )


def _numbers(
    survey: Survey, questions: Sequence[str] | None, scores: Scores
) -> dict[str, np.ndarray]:
    """The number of each answer to each question that is correlated; nan for no answer."""
    known = {question.id: question for question in survey.questions}
    for id in (*(questions or ()), *scores):
        if id not in known:
            allowed = f"no question has this id; {likely(id, known)}use {', '.join(known)}"
            raise UsageError.of("questions", id, allowed)
    wanted = questions or [id for id, each in known.items() if id in scores or each.values]
    if len(set(wanted)) < 2:
        allowed = "name two questions of yes/no or numbers at least, or give answers scores"
        raise UsageError.of("questions", ", ".join(wanted), allowed)
    return {id: _number(known[id], scores.get(id)) for id in dict.fromkeys(wanted)}


def _number(question: AnyQuestion, scores: Sequence[float] | None) -> np.ndarray:
    scores = question.values if scores is None else scores
    if scores is None or question.one_way_only or not question.exclusive:
        allowed = "its answers have no numbers; give each answer a score, or leave it out"
        raise UsageError.of("questions", question.id, allowed)
    answers = question.substantive
    if len(scores) != len(answers):
        allowed = f"should be {len(answers)} numbers, for {', '.join(answers)}"
        raise UsageError.of(f"scores of {question.id}", list(scores), allowed)
    found = np.full(len(question.answers), np.nan)
    found[: len(answers)] = scores
    return found
