"""Other ways to send the same survey, each certified, for comparison with a plan."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from incrowd.accountant.analyses import LOCAL, plannable
from incrowd.errors import PrivacyError
from incrowd.planner.cell_ways import sends_cells, ways
from incrowd.planner.groups import Grouping, QuestionSet, Search, SearchProgress
from incrowd.planner.plan import certified_messages, limit_error, with_budget
from incrowd.planner.precision import least_effective_sample
from incrowd.plans import EarlierPlan, Plan
from incrowd.plans.grouping import joint_groups, wide
from incrowd.plans.plan import smallest_crowd
from incrowd.plans.sent import sent
from incrowd.survey import Survey

ANY_BUDGET = 10**9
MORE = (2, 3, 4, 6, 8, 11, 15, 20)  # numbers of reports per person to try
LOCAL_EPSILONS = (16.0, 8.0, 4.0, 2.0)  # limits to try, at most two of them
CLEARLY = 0.8  # a limit is tried if it is below so many times the plan's local epsilon
WORK = 2e6  # of a search with such a limit; two digits of its error are shown
CLOSE = 1.1  # more reports hardly help within so many times the smallest error

AlternativeCode = Literal[
    "joint",  # one joint report
    "joint-copies",  # the budget spent on copies of it
    "table-messages",  # a message for each table
    "table-messages-copies",  # the budget spent on copies of these
    "more-reports",  # up to `limit` reports per person
    "local-epsilon",  # at most the local epsilon `limit`
    "local",  # no shuffler
]


class Alternative(NamedTuple):
    """One way to send a survey, with the smallest noise that meets its guarantee.

    code, limit: which way. reports_per_person: the number that is sent, for cells on average.
    effective_sample_size: as `incrowd.planner.precision.least_effective_sample`; None if no noise
    meets the guarantee. local_epsilon: the guarantee that is left without the shuffler.
    """

    code: AlternativeCode
    messages: int
    reports_per_person: float
    effective_sample_size: float | None
    local_epsilon: float = math.inf
    limit: float | None = None


class _Way(NamedTuple):
    code: AlternativeCode
    survey: Survey
    grouping: Grouping
    limit: float | None = None


def alternatives(
    plan: Plan, earlier: Sequence[EarlierPlan] = (), progress: SearchProgress | None = None
) -> tuple[Alternative, ...]:
    """Certify other ways to send a plan's survey.

    For joint reports: one joint report, one message per table, both with the budget spent on
    copies, more reports per person, and no shuffler. For tables that are sent as cells: one joint
    report, smaller local epsilons, and no shuffler. earlier: what the same people were asked
    before; the guarantee of each way covers it as well.
    """
    ways = _ways(plan.survey, plan.guarantee.local_epsilon)
    return tuple(_certified(each, earlier, progress) for each in ways)


def _ways(survey: Survey, local_epsilon: float) -> Iterator[_Way]:
    budget = survey.reports_per_person or survey.copies
    search, spending = Search.of(survey, ANY_BUDGET), Search.of(survey, budget)
    joint = [*map(frozenset, joint_groups(survey)), *(frozenset({id}) for id in wide(survey))]
    each = [t for t in search.held if not any(t < other for other in search.held)]
    yield _Way("joint", survey, search.best(joint, (1,)))
    if sends_cells(survey):
        for cap in [cap for cap in LOCAL_EPSILONS if cap < CLEARLY * local_epsilon][:2]:
            limited = with_privacy(survey, local_epsilon=cap)
            if groupings := ways(limited, work=WORK):
                yield _Way("local-epsilon", limited, groupings[0], cap)
        yield _unmixed(survey, joint)
        return
    if budget > len(joint):
        yield _Way("joint-copies", survey, spending.best(joint))
    yield _Way("table-messages", survey, search.best(each, (1,)))
    if budget > len(each) > len(joint):
        yield _Way("table-messages-copies", survey, spending.best(each))
    if plannable(survey.privacy.analysis).shuffled:
        if (more := _enough(survey)) > budget:
            larger = with_budget(survey, more)
            yield _Way("more-reports", larger, ways(larger)[0], more)
        yield _unmixed(survey, joint)


def _unmixed(survey: Survey, joint: Sequence[QuestionSet]) -> _Way:
    """The way without a shuffler, in joint reports of these questions."""
    alone = with_privacy(survey, analysis=LOCAL.name, local_epsilon=None)
    return _Way("local", alone, Search.of(alone, ANY_BUDGET).best(joint, (1,)))


def with_privacy(survey: Survey, **changed: object) -> Survey:
    """The survey with some keys of [privacy] changed."""
    return survey.model_copy(update={"privacy": survey.privacy.model_copy(update=changed)})


def _enough(survey: Survey) -> int:
    """The number of reports per person beyond which more hardly help, in the large-N limit."""

    def error(budget: int) -> float:
        return limit_error(with_budget(survey, budget))

    close = CLOSE * error(MORE[-1])
    if close == math.inf:
        return 0
    return MORE[bisect_left(MORE[:-1], True, key=lambda budget: error(budget) <= close)]


def _certified(
    each: _Way, earlier: Sequence[EarlierPlan], progress: SearchProgress | None
) -> Alternative:
    survey, way = each.survey, each.grouping
    try:
        messages = certified_messages(
            survey, way, smallest_crowd(survey, earlier), earlier, progress
        )
    except PrivacyError:
        return Alternative(each.code, len(way.groups), 0, None, limit=each.limit)
    reports = sum(message.reports_each for message in messages)
    local = sent(survey, messages, earlier).local_epsilon
    effective = least_effective_sample(survey, messages)
    return Alternative(each.code, len(way.groups), reports, effective, local, each.limit)
