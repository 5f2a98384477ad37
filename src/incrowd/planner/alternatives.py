"""The same survey sent in other ways, side by side, each certified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from incrowd.accounting.analyses import LOCAL, plannable
from incrowd.errors import PrivacyError
from incrowd.planner.expectation import expected_error
from incrowd.planner.groups import Grouping, Progress, Search
from incrowd.planner.planner import certified_messages
from incrowd.plans.grouping import memoised, together, unlinked
from incrowd.survey import Survey

ANY_BUDGET = 10**9


class Alternative(NamedTuple):
    """One way of sending a survey: the error of its tables (largest or mean), None if it is none.

    The noise is the smallest that keeps the survey's promise.
    """

    name: str
    messages: int
    reports_per_person: int
    error: float | None


def alternatives(survey: Survey, progress: Progress | None = None) -> tuple[Alternative, ...]:
    """One joint report, a message a table, both with the budget spent on copies, no shuffler."""
    return tuple(_certified(name, asked, way, progress) for name, asked, way in _ways(survey))


def _ways(survey: Survey) -> Iterator[tuple[str, Survey, Grouping]]:
    budget = survey.reports_per_person or survey.copies
    search, spending = Search.of(survey, ANY_BUDGET), Search.of(survey, budget)
    ids = (together(survey), memoised(survey), *unlinked(survey))
    joint = [frozenset(names) for names in ids if names]
    each = [t for t in search.tables if not any(t < other for other in search.tables)]
    yield "one joint report", survey, search.best(joint, (1,))
    if budget > len(joint):
        yield "joint, with copies", survey, spending.best(joint)
    yield "a message a table", survey, search.best(each, (1,))
    if budget > len(each) > len(joint):
        yield "a message a table, with copies", survey, spending.best(each)
    if plannable(survey.privacy.analysis).shuffled:
        privacy = survey.privacy.model_copy(update={"analysis": LOCAL.name})
        alone = survey.model_copy(update={"privacy": privacy})
        yield "no shuffler (local)", alone, Search.of(alone, ANY_BUDGET).best(joint, (1,))


def _certified(name: str, survey: Survey, way: Grouping, progress: Progress | None) -> Alternative:
    copies = sum(share.copies for share in way.allocation.shares)
    error = None
    with suppress(PrivacyError):
        messages = certified_messages(survey, way, survey.honest, progress=progress)
        error = expected_error(survey, messages)
    return Alternative(name, len(way.groups), copies, error)
