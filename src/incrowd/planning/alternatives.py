"""The same survey sent in other ways, side by side, each certified."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from incrowd.errors import PrivacyError
from incrowd.plan.grouping import apart, memoised, together
from incrowd.planning.expectation import expected_error
from incrowd.planning.groups import Grouping, Progress, Search, copy_points
from incrowd.planning.planner import certified_messages
from incrowd.planning.signal import large_crowd_signal
from incrowd.survey import Survey


class Alternative(NamedTuple):
    """One way of sending a survey: the error of its tables (largest or mean), None if it is none.

    The noise is the smallest that keeps the survey's promise.
    """

    name: str
    messages: int
    reports_per_person: int
    error: float | None


def alternatives(survey: Survey, progress: Progress | None = None) -> tuple[Alternative, ...]:
    """One joint report, one with the budget spent on copies, a message a table, no anonymiser."""
    return tuple(_certified(name, asked, way, progress) for name, asked, way in _ways(survey))


def _ways(survey: Survey) -> Iterator[tuple[str, Survey, Grouping]]:
    budget = survey.reports_per_person or survey.copies
    search = Search.of(survey, large_crowd_signal(survey), 10**9)
    ids = (together(survey), memoised(survey), *apart(survey))
    joint = [frozenset(names) for names in ids if names]
    each = [t for t in search.tables if not any(t < other for other in search.tables)]
    yield "one joint report", survey, search.best(joint, (1,))
    if budget > len(joint):
        most = copy_points(budget - len(joint) + 1)
        yield f"joint, up to {budget:,} copies", survey, search.best(joint, most)
    yield "a message for each table", survey, search.best(each, (1,))
    if survey.privacy.analysis != "local":
        privacy = survey.privacy.model_copy(update={"analysis": "local"})
        alone = survey.model_copy(update={"privacy": privacy})
        local = Search.of(alone, large_crowd_signal(alone), 10**9)
        yield "no anonymiser trusted (local)", alone, local.best(joint, (1,))


def _certified(name: str, survey: Survey, way: Grouping, progress: Progress | None) -> Alternative:
    copies = sum(share.copies for share in way.allocation.shares)
    try:
        messages = certified_messages(survey, way, survey.honest, progress=progress)
    except PrivacyError:
        return Alternative(name, len(way.groups), copies, None)
    return Alternative(name, len(way.groups), copies, expected_error(survey, messages))
