"""Other ways to send the same survey, each certified, for comparison with a plan."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from incrowd.accountant.analyses import LOCAL, plannable
from incrowd.errors import PrivacyError
from incrowd.planner.allocation import FULL
from incrowd.planner.certification import certified_messages
from incrowd.planner.loads import VariableSet
from incrowd.planner.plan import device_messages, limit_error
from incrowd.planner.precision import least_effective_sample
from incrowd.planner.search import SearchProgress, best_joint_way, cells_way, ways
from incrowd.planner.solving import with_budget
from incrowd.planner.task import PlanCandidate, task_of
from incrowd.plans import EarlierPlan, Plan
from incrowd.plans.plan import smallest_crowd
from incrowd.plans.sent import sent
from incrowd.survey import Survey

MORE = (2, 3, 4, 6, 8, 11, 15, 20)  # numbers of reports per person to try
LOCAL_EPSILONS = (16.0, 8.0, 4.0, 2.0)  # limits to try, at most two of them
CLEARLY = 0.8  # a limit is tried if it is below so many times the plan's local epsilon
ROUGH = FULL._replace(work=2e6)  # with such a limit; two digits of its error are shown
CLOSE = 1.1  # more reports hardly help within so many times the smallest error

AlternativeCode = Literal[
    "joint",  # one joint report
    "joint-copies",  # the budget spent on copies of it
    "table-messages",  # a message for each table
    "table-messages-copies",  # the budget spent on copies of these
    "more-reports",  # up to `limit` reports per person
    "local-epsilon",  # at most the local epsilon `limit`
    "local",  # no shuffler
    "device-noise",  # noise from the devices, if services add that of the plan
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


class _AlternativeWay(NamedTuple):
    code: AlternativeCode
    survey: Survey
    messages: PlanCandidate
    limit: float | None = None


def alternatives(
    plan: Plan, earlier: Sequence[EarlierPlan] = (), progress: SearchProgress | None = None
) -> tuple[Alternative, ...]:
    """Certify other ways to send a plan's survey.

    For joint reports: one joint report, one message per table, both with the budget spent on
    copies, more reports per person, and no shuffler. For tables that are sent as cells: one joint
    report, smaller local epsilons, and no shuffler. earlier: what the same people were asked
    before; the guarantee of each way covers it as well. If services add the noise: the same tables
    with noise from the devices.
    """
    if plan.by_services:
        return (_by_devices(plan.survey, earlier, progress),)
    ways = _ways(plan.survey, plan.guarantee.local_epsilon)
    return tuple(_certified(each, earlier, progress) for each in ways)


def _by_devices(
    survey: Survey, earlier: Sequence[EarlierPlan], progress: SearchProgress | None
) -> Alternative:
    try:
        messages = device_messages(survey, earlier, progress)
    except PrivacyError:
        return Alternative("device-noise", 0, 0, None)
    reports = sum(message.reports_each for message in messages)
    local = sent(survey, messages, earlier).local_epsilon
    effective = least_effective_sample(survey, messages)
    return Alternative("device-noise", len(messages), reports, effective, local)


def _ways(survey: Survey, local_epsilon: float) -> Iterator[_AlternativeWay]:
    budget = survey.reports_per_person or survey.copies
    task = task_of(survey)
    joint = [frozenset(order) for order, _, _ in task.default]
    each = [t for t in task.held if not any(t < other for other in task.held)]
    yield _AlternativeWay("joint", survey, best_joint_way(task, joint, (1,)))
    if cells_way(task):
        for cap in [cap for cap in LOCAL_EPSILONS if cap < CLEARLY * local_epsilon][:2]:
            limited = with_privacy(survey, local_epsilon=cap)
            if possible := ways(task_of(limited, ROUGH)):
                yield _AlternativeWay("local-epsilon", limited, possible[0], cap)
        yield _unmixed(survey, joint)
        return
    if budget > len(joint):
        yield _AlternativeWay("joint-copies", survey, best_joint_way(task, joint, reports=budget))
    yield _AlternativeWay("table-messages", survey, best_joint_way(task, each, (1,)))
    if budget > len(each) > len(joint):
        yield _AlternativeWay(
            "table-messages-copies", survey, best_joint_way(task, each, reports=budget)
        )
    if plannable(survey.privacy.analysis).shuffled:
        if (more := _enough(survey)) > budget:
            larger = with_budget(survey, more)
            yield _AlternativeWay("more-reports", larger, ways(task_of(larger))[0], more)
        yield _unmixed(survey, joint)


def _unmixed(survey: Survey, joint: Sequence[VariableSet]) -> _AlternativeWay:
    """Return the way without a shuffler, in joint reports of these questions."""
    alone = with_privacy(survey, analysis=LOCAL.name, local_epsilon=None)
    return _AlternativeWay("local", alone, best_joint_way(task_of(alone), joint, (1,)))


def with_privacy(survey: Survey, **changed: object) -> Survey:
    """Return the survey with some keys of [privacy] changed; what one service may learn alone stays
    in proportion to epsilon."""
    service, epsilon = survey.privacy.service_epsilon, changed.get("epsilon")
    if service is not None and isinstance(epsilon, float):
        changed["service_epsilon"] = service / survey.privacy.epsilon * epsilon
    return survey.model_copy(update={"privacy": survey.privacy.model_copy(update=changed)})


def _enough(survey: Survey) -> int:
    """Return the number of reports per person beyond which more hardly help,
    in the large-N limit."""

    def error(budget: int) -> float:
        return limit_error(with_budget(survey, budget))

    close = CLOSE * error(MORE[-1])
    if close == math.inf:
        return 0
    return MORE[bisect_left(MORE[:-1], True, key=lambda budget: error(budget) <= close)]


def _certified(
    each: _AlternativeWay, earlier: Sequence[EarlierPlan], progress: SearchProgress | None
) -> Alternative:
    survey, way = each.survey, each.messages
    try:
        messages = certified_messages(
            survey, way, smallest_crowd(survey, earlier), earlier, progress
        )
    except PrivacyError:
        return Alternative(each.code, len(way.messages), 0, None, limit=each.limit)
    reports = sum(message.reports_each for message in messages)
    local = sent(survey, messages, earlier).local_epsilon
    effective = least_effective_sample(survey, messages)
    return Alternative(each.code, len(way.messages), reports, effective, local, each.limit)
