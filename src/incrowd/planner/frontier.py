"""The error of a survey against reports per person, epsilon, and the local epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.accountant.analyses import plannable
from incrowd.errors import PrivacyError, quantity
from incrowd.planner.alternatives import with_privacy
from incrowd.planner.plan import make_plan
from incrowd.planner.precision import plan_error
from incrowd.planner.search import SearchProgress
from incrowd.plans import EarlierPlan, Plan
from incrowd.survey import Survey

POINTS = 7


class Frontier(NamedTuple):
    """The points of three curves: reports per person, epsilon, and local epsilon, each with the
    error.

    Errors are standard errors of certified plans, as proportions: the largest of the wanted tables,
    or their mean. The first local epsilon is that of the survey's plan; the curve is empty if the
    analysis relies on no shuffler.
    """

    reports: tuple[tuple[int, float], ...]
    epsilons: tuple[tuple[float, float], ...]
    local_epsilons: tuple[tuple[float, float], ...]


def frontier(plan: Plan, progress: SearchProgress | None = None) -> Frontier:
    """Compute the curves around a plan, which also cover what the same people were asked before.

    They reach up to 1,000 reports per person, from a tenth of epsilon to ten times epsilon, and
    down to a local epsilon equal to epsilon, for which no shuffler is needed. The planner groups
    the questions anew at every point. Points without a plan are left out.
    """
    survey, earlier = plan.survey, plan.earlier
    most = max(1000, 10 * (survey.reports_per_person or survey.copies))
    budgets = np.unique(np.geomspace(1, most, POINTS).round().astype(int))
    reports: list[tuple[int, float]] = []
    epsilons: list[tuple[float, float]] = []
    for budget in budgets.tolist():
        if progress:
            progress(f"error with {quantity(budget, 'reports')} per person")
        free = {"messages": (), "copies": 1, "reports_per_person": budget}
        fewer = reports[-1][1] if reports else math.inf  # nobody has to use the whole budget
        error = certified_error(survey.model_copy(update=free), earlier)
        reports.append((budget, min(fewer, error)))
    requested = survey.privacy.epsilon
    for epsilon in np.geomspace(requested / 10, requested * 10, POINTS).tolist():
        if math.isclose(epsilon, requested):
            epsilons.append((requested, plan_error(plan)))
            continue
        if progress:
            progress(f"error with epsilon {epsilon:.3g}")
        error = certified_error(with_privacy(survey, epsilon=epsilon), earlier)
        epsilons.append((epsilon, error))
    return Frontier(
        tuple(point for point in reports if math.isfinite(point[1])),
        tuple(point for point in epsilons if math.isfinite(point[1])),
        tuple(without_shuffler(plan, progress)),
    )


def without_shuffler(
    plan: Plan, progress: SearchProgress | None = None
) -> Iterator[tuple[float, float]]:
    """Yield the local epsilon and the error of a plan, then of plans with smaller local epsilons.

    Nothing if the analysis relies on no shuffler, or services add the noise.
    """
    survey, local_epsilon = plan.survey, plan.guarantee.local_epsilon
    if not plannable(survey.privacy.analysis).shuffled or plan.by_services:
        return
    yield local_epsilon, plan_error(plan)
    least = min(survey.privacy.epsilon, local_epsilon)
    for cap in np.geomspace(local_epsilon, least, POINTS)[1:].tolist():
        if progress:
            progress(f"error with local epsilon {cap:.3g}")
        error = certified_error(with_privacy(survey, local_epsilon=cap), plan.earlier)
        if math.isfinite(error):
            yield cap, error


def certified_error(survey: Survey, earlier: Sequence[EarlierPlan]) -> float:
    """Return the error of a survey's plan; infinite if no plan is possible."""
    try:
        return plan_error(make_plan(survey, earlier))
    except PrivacyError:
        return math.inf
