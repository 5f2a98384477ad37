"""The questions that travel together if the survey leaves no choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


def grouping_problems(survey: Survey, groups: Sequence[Group]) -> Iterator[str]:
    """Yield why the questions, copies and kinds of the messages do not follow from the survey."""
    fixed = grouping(survey)
    if fixed is not None and list(fixed) != list(groups):
        yield "the messages are not those of the survey"
    budget = survey.reports_per_person
    if budget is not None and sum(group.copies for group in groups) > budget:
        yield f"a person would send more than {budget} reports"
    for ids in survey.not_held(groups):
        yield f"no message contains the table {', '.join(ids)}"
    for id in (id for group in groups for id in without_margin(group, groups)):
        yield f"no message sends the cells of {id} alone, which parities need"
    remembered = {q.id for q in survey.randomized if q.memoized}
    if any(0 < len(remembered & set(g.questions)) < len(g.questions) for g in groups):
        yield "a message combines memoized questions with others"
    once = {q.id for q in survey.randomized if q.asked_memoized}
    if any(once & set(group.questions) and group.copies > 1 for group in groups):
        yield "a memoized question is sent in copies, which would all be equal"
