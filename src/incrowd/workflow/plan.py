"""Survey -> Plan."""

from __future__ import annotations

from collections.abc import Sequence

from incrowd.planner import solving
from incrowd.planner.groups import Progress
from incrowd.planner.planner import make_plan
from incrowd.plans import Asked, Plan
from incrowd.survey import Survey


def plan(
    survey: Survey, *, earlier: Sequence[Asked] = (), progress: Progress | None = None
) -> Plan:
    """Choose messages, copies and noise so that the wanted tables are sharpest under the promise.

    earlier: what the same people were asked before (`Ledger.asked`); the promise covers it too.
    progress: called with a few words at every step. Raises PrivacyError if nothing keeps the
    promise.
    """
    return make_plan(survey, earlier, progress)


def solve(survey: Survey, unknown: str, *, error: float, progress: Progress | None = None) -> Plan:
    """The plan of the smallest "crowd", "epsilon" or "delta" that gives a wanted standard error.

    error: a proportion, the largest of the wanted tables or their mean, as the survey's objective
    says. Raises UsageError for another unknown, PrivacyError if no value gives the error.
    """
    return solving.solve(survey, unknown, error, progress)
