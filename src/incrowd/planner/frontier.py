"""Error against reports a person, epsilon, and the local epsilon: what a wish costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from incrowd.accountant.analyses import plannable
from incrowd.errors import PrivacyError
from incrowd.planner.alternatives import with_privacy
from incrowd.planner.groups import Progress
from incrowd.planner.plan import make_plan
from incrowd.planner.precision import expected_error
from incrowd.survey import Survey

POINTS = 7


class Frontier(NamedTuple):
    """Points of three curves, each with the error: reports a person may send, epsilon, and the
    local epsilon, which is left if the shuffler fails.

    Standard errors, proportions, largest or mean over the wanted tables, of certified plans. The
    first local epsilon is that of the survey's own plan; none where no shuffler is relied on.
    """

    reports: tuple[tuple[int, float], ...]
    epsilons: tuple[tuple[float, float], ...]
    local_epsilons: tuple[tuple[float, float], ...]


def frontier(survey: Survey, progress: Progress | None = None) -> Frontier:
    """The curves around a survey: up to 1,000 reports a person, epsilon from a tenth to tenfold,
    local epsilons down to the epsilon that is promised, for which no shuffler is needed.

    The planner groups the questions anew at every point. Points without a plan are left out.
    """
    most = max(1000, 10 * (survey.reports_per_person or survey.copies))
    budgets = np.unique(np.geomspace(1, most, POINTS).round().astype(int))
    reports: list[tuple[int, float]] = []
    epsilons: list[tuple[float, float]] = []
    for budget in budgets.tolist():
        if progress:
            progress(f"error with {budget:,} reports a person")
        free = {"messages": (), "copies": 1, "reports_per_person": budget}
        fewer = reports[-1][1] if reports else math.inf  # nobody has to use the whole budget
        error = certified_error(survey.model_copy(update=free))
        reports.append((budget, min(fewer, error)))
    wanted = survey.privacy.epsilon
    for epsilon in np.geomspace(wanted / 10, wanted * 10, POINTS).tolist():
        if progress:
            progress(f"error with epsilon {epsilon:.3g}")
        epsilons.append((epsilon, certified_error(with_privacy(survey, epsilon=epsilon))))
    return Frontier(
        tuple(point for point in reports if math.isfinite(point[1])),
        tuple(point for point in epsilons if math.isfinite(point[1])),
        tuple(without_shuffler(survey, progress)),
    )


def without_shuffler(
    survey: Survey, progress: Progress | None = None
) -> Iterator[tuple[float, float]]:
    """The local epsilon and the error of the survey's own plan, then of plans that keep smaller
    ones; none where no shuffler is relied on."""
    if not plannable(survey.privacy.analysis).shuffled:
        return
    best = make_plan(survey)
    left = best.guarantee.local_epsilon
    yield left, expected_error(survey, best.messages)
    for cap in np.geomspace(left, min(survey.privacy.epsilon, left), POINTS)[1:].tolist():
        if progress:
            progress(f"error with local epsilon {cap:.3g}")
        if math.isfinite(error := certified_error(with_privacy(survey, local_epsilon=cap))):
            yield cap, error


def certified_error(survey: Survey) -> float:
    """The error of the survey's plan; infinite if no plan is possible."""
    try:
        return expected_error(survey, make_plan(survey).messages)
    except PrivacyError:
        return math.inf
