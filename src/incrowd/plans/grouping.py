"""The questions that travel together if the survey leaves no choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.survey import Group, Survey
from incrowd.survey.question import QuestionIds
from incrowd.survey.written import without_margin


def grouping(survey: Survey) -> tuple[Group, ...] | None:
    """Return the messages that the survey fixes; None if it leaves them to the planner."""
    if survey.messages:
        return survey.messages
    if survey.reports_per_person is not None or not (survey.copies > 1 or survey.tables == "any"):
        return None
    return default_groups(survey)


def default_groups(survey: Survey) -> tuple[Group, ...]:
    """Return one joint report of all questions, in the survey's copies, with two exceptions.

    Each question with too many answers is sent as cells. Questions with memoized responses share a
    report of their own: repeated in every round, they would link a person's other answers.
    """
    joint = [Group(questions=ids, copies=survey.copies) for ids in joint_groups(survey)]
    return (*joint, *(Group(questions=(id,), cells=True) for id in wide(survey)))


def joint_groups(survey: Survey) -> tuple[QuestionIds, ...]:
    """Return the questions that may travel together, in as few groups as possible."""
    return tuple(ids for ids in (together(survey), memoized(survey)) if ids)


def together(survey: Survey) -> QuestionIds:
    """Return the questions that may share a joint report."""
    return tuple(q.id for q in survey.randomized if not q.wide and not q.memoized)


def memoized(survey: Survey) -> QuestionIds:
    """Return the questions with memoized responses, which share a report of their own."""
    return tuple(q.id for q in survey.randomized if q.memoized and not q.wide)


def wide(survey: Survey) -> QuestionIds:
    """Return the questions with too many answers for a joint report."""
    return tuple(q.id for q in survey.randomized if q.wide)


def grouping_problems(survey: Survey, groups: Sequence[Group]) -> Iterator[Sentence]:
    """Yield why the questions, copies and kinds of the messages do not follow from the survey."""
    fixed = grouping(survey)
    if fixed is not None and list(fixed) != list(groups):
        yield sentence("plans.other-messages")
    budget = survey.reports_per_person
    if budget is not None and sum(group.copies for group in groups) > budget:
        yield sentence("plans.above-budget", budget=budget)
    for ids in survey.not_held(groups):
        yield sentence("plans.table-in-no-message", ids=list(ids))
    for id in (id for group in groups for id in without_margin(group, groups)):
        yield sentence("plans.parities-alone", id=id)
    remembered = {q.id for q in survey.randomized if q.memoized}
    if any(0 < len(remembered & set(g.questions)) < len(g.questions) for g in groups):
        yield sentence("plans.mixed-memoized")
    once = {q.id for q in survey.randomized if q.asked_memoized}
    if any(once & set(group.questions) and group.copies > 1 for group in groups):
        yield sentence("plans.memoized-copies")
