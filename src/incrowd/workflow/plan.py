"""Survey -> Plan."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from incrowd.errors import MISSING, IncrowdWarning, UsageError
from incrowd.planner import solving
from incrowd.planner.groups import Progress
from incrowd.planner.planner import make_plan
from incrowd.plans import Asked, Plan
from incrowd.survey import Survey
from incrowd.survey.words import look_alike_warnings


def plan(
    survey: Survey, *, earlier: Sequence[Asked] = (), progress: Progress | None = None
) -> Plan:
    """Choose messages, copies and noise so that the wanted tables are sharpest under the promise.

    earlier: what the same people were asked before (`Ledger.asked`); the promise covers it too.
    progress: called with a few words at every step. Raises PrivacyError if nothing keeps the
    promise. Warns of answers and questions that look alike.
    """
    for line in look_alike_warnings(survey.questions):
        warnings.warn(line, IncrowdWarning, stacklevel=2)
    return make_plan(survey, earlier, progress)


def solve(
    survey: Survey,
    unknown: str,
    *,
    error: float | None = None,
    margin: float | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The plan of the smallest "crowd", "epsilon" or "delta" that gives a wanted standard error.

    error: a proportion, the largest of the wanted tables or their mean, as the survey's objective
    says. margin: in its place half of a 95% interval. Raises UsageError for another unknown, or
    unless one of them is given, PrivacyError if no value gives the error.
    """
    if margin is not None and error is None:
        return solving.solve(survey, unknown, solving.Wish("margin", margin), progress)
    if error is None:
        raise UsageError.of("error", MISSING, "name the wanted error, or a margin=0.02")
    if margin is not None:
        raise UsageError.of("margin", margin, "error= says the same; leave one of them out")
    return solving.solve(survey, unknown, solving.Wish("error", error), progress)
