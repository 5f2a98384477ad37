"""Which questions travel together, where the survey leaves no choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from incrowd.survey import Group, Survey

Ids = tuple[str, ...]


def grouping(survey: Survey) -> tuple[Group, ...] | None:
    """The messages that the survey fixes; None if it leaves them to the planner.

    Without a word about messages one report holds all questions, except for those whose set bits
    travel unlinked, each of them a message of its own, and for those with memoised responses,
    which share one: repeated in every round, they would link the other answers of a person.
    """
    if survey.messages:
        return survey.messages
    if survey.reports_per_person is not None:
        return None
    groups = (together(survey), memoised(survey), *unlinked(survey))
    return tuple(Group(questions=ids, copies=survey.copies) for ids in groups if ids)


def together(survey: Survey) -> Ids:
    """The questions that may travel with each other."""
    return tuple(q.id for q in survey.randomized if not q.unlinked and not q.memoised)


def memoised(survey: Survey) -> Ids:
    """The questions with memoised responses that travel among themselves."""
    return tuple(q.id for q in survey.randomized if q.memoised and not q.unlinked)


def unlinked(survey: Survey) -> tuple[Ids, ...]:
    """The questions whose set bits travel unlinked, each alone."""
    return tuple((q.id,) for q in survey.randomized if q.unlinked)


def grouping_problems(survey: Survey, groups: Sequence[tuple[Ids, int]]) -> Iterator[str]:
    """Why questions and copies of some messages do not follow from the survey."""
    fixed = grouping(survey)
    if fixed is not None and [(g.questions, g.copies) for g in fixed] != list(groups):
        yield "the messages are not those of the survey"
    budget = survey.reports_per_person
    if budget is not None and sum(copies for _, copies in groups) > budget:
        yield f"a person would send more than {budget} reports"
    for ids in (*survey.counted, *survey.regressed):
        if not any(set(ids) <= set(questions) for questions, _ in groups):
            yield f"no message holds the table {', '.join(ids)}"
    alone = set().union(*unlinked(survey))
    if any(alone & set(questions) and len(questions) > 1 for questions, _ in groups):
        yield "a question whose set bits travel unlinked stands with another one"
    kept = set(memoised(survey))
    if any(kept & set(questions) and not kept >= set(questions) for questions, _ in groups):
        yield "a memoised question stands with another one"
    once = {q.id for q in survey.randomized if q.asked_memoised}
    if any(once & set(questions) and copies > 1 for questions, copies in groups):
        yield "a memoised question is sent in copies, which would be the same"
