"""The plan with the smallest crowd, epsilon or delta that gives a target error."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

from incrowd.accountant.channels.base import rounded_up
from incrowd.accountant.numerics.extrema import root
from incrowd.catalog.sentences import Keyword, sentence, translatable
from incrowd.errors import PrecisionError, PrivacyError, UsageError
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.planner.plan import limit_error, make_plan
from incrowd.planner.precision import plan_error
from incrowd.planner.search import SearchProgress
from incrowd.plans import Plan
from incrowd.survey import Survey

# The natural logarithms between which the solution is sought, and how far they may be from it:
# within that, the error changes by about `CLOSE`.
RANGES = {
    "crowd": (math.log(10), math.log(1e12), 4e-3),
    "epsilon": (math.log(1e-3), math.log(50), 2e-3),
    "delta": (math.log(1e-30), math.log(0.5), 1e-1),
}
UNKNOWNS = tuple(RANGES)
CLOSE = 0.002  # relative distance from the target error
NEAR = 0.01  # of two logarithms, for a slope; and the least slope
STEPS = 16


class Target(NamedTuple):
    """A target precision, as a proportion: a standard error, or a margin, half of an interval."""

    name: Literal["error", "margin"]
    value: float

    @classmethod
    def of(cls, error: float | None, margin: float | None) -> Target:
        """Read the one that is given. Raises UsageError unless it is one proportion."""
        if error is not None and margin is not None:
            option = Keyword("error")
            raise UsageError.of("margin", "planner.two-targets", value=margin, option=option)
        if error is not None:
            target = cls("error", error)
        elif margin is not None:
            target = cls("margin", margin)
        else:
            raise UsageError.of("error", "planner.no-target", option=Keyword("margin", 0.02))
        if not 0 < target.value < 1:
            raise UsageError.of(target.name, "planner.no-proportion", value=target.value)
        return target

    @property
    def error(self) -> float:
        """The target as a standard error."""
        return self.value / self._unit

    def shown(self, error: float) -> str:
        """Show another standard error in the unit of the target, rounded up."""
        return rounded_up(error * self._unit, 3)

    @property
    def _unit(self) -> float:
        return HALF_WIDTH if self.name == "margin" else 1.0


def solve(
    survey: Survey,
    unknown: str,
    *,
    error: float | None = None,
    margin: float | None = None,
    progress: SearchProgress | None = None,
) -> Plan:
    """Find the plan with the smallest crowd, epsilon, or delta that gives a target error.

    Parameters
    ----------
    survey : Survey
        Its own value of the unknown is ignored.
    unknown : {"crowd", "epsilon", "delta"}
        The number to find.
    error : float, optional
        The target standard error of the wanted tables, a proportion: the largest of all tables or
        their mean, depending on the survey's objective.
    margin : float, optional
        Half of a 95% interval, instead of `error`.
    progress : callable, optional
        Called with a description of every step.

    Returns
    -------
    Plan
        The certified plan that just meets the target.

    Raises
    ------
    UsageError
        For any other unknown, and unless exactly one target is given.
    PrivacyError
        If no value in a wide range reaches the target; the message states the nearest error.

    Notes
    -----
    Secant steps start in the large-crowd limit.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.Survey.of({
    ...     "name": "Habits",
    ...     "crowd": 1000,
    ...     "privacy": {"epsilon": 1.0, "delta": 1e-6},
    ...     "question": [{"id": "smokes", "type": "yesno"}],
    ... })
    >>> plan = incrowd.solve(survey, "crowd", error=0.02)
    >>> 625 < plan.survey.crowd < 800  # without noise: 0.25 / 0.02^2 = 625
    True
    """
    target = Target.of(error, margin)
    if unknown not in UNKNOWNS:
        raise UsageError.of("unknown", "shared.use-one-of", value=unknown, choices=list(UNKNOWNS))
    value, slope = _in_the_limit(survey, unknown, target)
    failing, holding = _range(survey, unknown)
    best, reason, step, last = None, None, 0.0, math.inf
    for _ in range(STEPS):
        if progress:
            progress(translatable("planner.trying", unknown=unknown, value=math.exp(value)))
        candidate, height = None, math.inf
        try:
            candidate = make_plan(_with(survey, unknown, math.exp(value)), progress=progress)
            height = math.log(plan_error(candidate) / target.error)
        except PrecisionError as error:  # a delta that is too small
            reason = error
        if height <= 0:
            best, holding = candidate, value
        else:
            failing = value
        if -CLOSE < height <= 0 or holding - failing <= RANGES[unknown][2]:
            break
        if max(last, height) < math.inf and (secant := (height - last) / step) < 0:
            slope = secant
        step, last = -(height + CLOSE / 2) / slope, height
        if not failing < value + step < holding:  # the middle of what failed and what held
            step = (failing + holding) / 2 - value
        value += step
    if best is None:
        raise reason or PrivacyError.of(
            target.name, "planner.not-found", value=target.value, unknown=unknown
        )
    return best


def _range(survey: Survey, unknown: str) -> tuple[float, float]:
    """Return the logarithms between which an unknown is sought."""
    low, high, _ = RANGES[unknown]
    if unknown == "crowd":  # at least two honest people besides those who may collude
        low = max(low, math.log(survey.rows_per_person * (survey.colluding + 2)))
    return low, high


def _in_the_limit(survey: Survey, unknown: str, target: Target) -> tuple[float, float]:
    """Return the logarithm of the unknown that gives the target in the large-N limit, and the slope
    of the logarithm of the error there."""

    def height(value: float) -> float:
        return math.log(limit_error(_with(survey, unknown, math.exp(value))) / target.error)

    low, high = _range(survey, unknown)
    if height(high) > 0:
        nearest = target.shown(limit_error(_with(survey, unknown, math.exp(high))))
        others = sentence("planner.or-more-people", option=Keyword("unknown", "crowd"))
        raise PrivacyError.of(
            target.name,
            "planner.not-reached",
            value=target.value,
            unknown=unknown,
            most=math.exp(high),
            nearest=nearest,
            others="" if unknown == "crowd" else others,
        )
    value = root(height, low, high, close=1e-4) if height(low) > 0 else low
    near = min(value + NEAR, high)
    return value, min((height(near) - height(value)) / (near - value), -NEAR)


def crowd_in_the_limit(
    survey: Survey, *, error: float | None = None, margin: float | None = None
) -> int:
    """Return the crowd that gives a target error in the large-N limit, which is not certified.

    error, margin, exceptions: as for `solve`.
    """
    target = Target.of(error, margin)
    value, _ = _in_the_limit(survey, "crowd", target)
    return math.ceil(math.exp(value))


def with_budget(survey: Survey, reports_per_person: int) -> Survey:
    """Return the survey with joint reports that the planner groups within a budget of reports.

    Raises SurveyError for an invalid budget.
    """
    raw = survey.model_dump(by_alias=True) | {"message": (), "copies": 1, "tables": "any"}
    return Survey.of(raw | {"reports_per_person": reports_per_person})


def _with(survey: Survey, unknown: str, value: float) -> Survey:
    """Return the survey with another crowd (rounded up), epsilon or delta."""
    raw: dict[str, Any] = survey.model_dump(by_alias=True)
    if unknown == "crowd":
        raw["crowd"] = math.ceil(value)
    else:
        raw["privacy"] = raw["privacy"] | {unknown: value}
    service = survey.privacy.service_epsilon
    if unknown == "epsilon" and service is not None:
        raw["privacy"]["service_epsilon"] = max(service / survey.privacy.epsilon, 1.0) * value
    return Survey.of(raw)
