"""Which crowd, epsilon or delta gives a wanted error."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from incrowd.channels.rounding import rounded_up
from incrowd.errors import PrivacyError, UsageError
from incrowd.estimation.tables import HALF_WIDTH
from incrowd.numerics.extrema import root
from incrowd.planner.groups import Progress
from incrowd.planner.planner import limit_messages, make_plan
from incrowd.planner.precision import expected_error, plan_error
from incrowd.planner.ways import ways
from incrowd.plans import Plan
from incrowd.survey import Survey

# Natural logarithms between which the answer is sought.
RANGES = {
    "crowd": (math.log(10), math.log(1e12)),
    "epsilon": (math.log(1e-3), math.log(50)),
    "delta": (math.log(1e-30), math.log(0.5)),
}
UNKNOWNS = tuple(RANGES)
CLOSE = 0.002  # of the wanted error
STEPS = 8


class Wish(NamedTuple):
    """A wanted precision, a proportion: a standard error, or a margin, half of an interval."""

    name: Literal["error", "margin"]
    value: float

    @property
    def error(self) -> float:
        """The standard error that is wanted."""
        return self.value / self._errors

    def shown(self, error: float) -> str:
        """Another standard error as this one was given, rounded up."""
        return rounded_up(error * self._errors, 3)

    @property
    def _errors(self) -> float:
        return HALF_WIDTH if self.name == "margin" else 1.0


def solve(survey: Survey, unknown: str, wish: Wish, progress: Progress | None = None) -> Plan:
    """The plan of the smallest crowd, epsilon or delta whose tables are as precise as wished.

    wish: of the largest standard error of the wanted tables, or their mean. Solved in
    the large-N limit, then corrected until the certified plan just keeps it. Raises UsageError for
    an unknown that cannot be solved for, PrivacyError if no value in a wide range gives the error,
    saying which error is nearest.
    """
    if unknown not in UNKNOWNS:
        raise UsageError.of("unknown", unknown, f"use one of {', '.join(UNKNOWNS)}")
    if not 0 < wish.value < 1:
        raise UsageError.of(wish.name, wish.value, "should be a proportion between 0 and 1")
    aim, best, error = wish.error, None, wish.error
    for _ in range(STEPS):
        value = _in_the_limit(survey, unknown, aim, wish)
        if progress:
            progress(f"trying {unknown} {value:,.6g}")
        made = make_plan(_with(survey, unknown, value), progress=progress)
        found = plan_error(made)
        if found <= error:
            best = made
            if found > error * (1 - CLOSE):
                break
        aim *= error * (1 - CLOSE / 2) / found
    if best is None:
        allowed = f"no {unknown} was found that reaches it; ask for a larger one"
        raise PrivacyError.of(wish.name, wish.value, allowed)
    return best


def _in_the_limit(survey: Survey, unknown: str, aim: float, wish: Wish) -> float:
    """The value at which the large-N error is the one aimed at."""

    def excess(log_value: float) -> float:
        return math.log(limit_error(_with(survey, unknown, math.exp(log_value))) / aim)

    low, high = RANGES[unknown]
    if unknown == "crowd":  # two honest people besides those who may collude
        low = max(low, math.log(survey.rows_per_person * (survey.colluding + 2)))
    if excess(low) <= 0:
        return math.exp(low)
    if excess(high) > 0 and aim < wish.error:  # a correction went too far
        return math.exp(high)
    if excess(high) > 0:
        nearest = wish.shown(limit_error(_with(survey, unknown, math.exp(high))))
        allowed = f"no {unknown} up to {math.exp(high):.3g} reaches it; ask for {nearest} or more"
        if unknown != "crowd":
            allowed += ", for more people (unknown='crowd'), or for fewer tables"
        raise PrivacyError.of(wish.name, wish.value, allowed)
    return math.exp(root(excess, low, high, close=1e-4))


def limit_error(survey: Survey) -> float:
    """The error of the wanted tables that the large-N limit promises; infinite if there is none."""
    found = ways(survey)
    if not found or found[0].allocation.excess == math.inf:
        return math.inf
    return expected_error(survey, limit_messages(survey, found[0]))


def with_budget(survey: Survey, reports_per_person: int) -> Survey:
    """The survey with joint reports that the planner groups.

    Raises SurveyError for a wrong budget.
    """
    raw = survey.model_dump(by_alias=True) | {"message": (), "copies": 1, "tables": "any"}
    return Survey.of(raw | {"reports_per_person": reports_per_person})


def _with(survey: Survey, unknown: str, value: float) -> Survey:
    """The survey with another crowd (rounded up), epsilon or delta."""
    raw: dict[str, Any] = survey.model_dump(by_alias=True)
    if unknown == "crowd":
        raw["crowd"] = math.ceil(value)
    else:
        raw["privacy"] = raw["privacy"] | {unknown: value}
    return Survey.of(raw)
