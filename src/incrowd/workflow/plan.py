"""Survey -> Plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from incrowd.planner import solving
from incrowd.planner.expectation import expected_error
from incrowd.planner.frontier import frontier
from incrowd.planner.planner import make_plan
from incrowd.plans import Asked, Plan
from incrowd.survey import Survey

Progress = Callable[[str], None]


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
    return solving.solve(survey, unknown, error, plan_error, progress)


def plan_error(made: Plan) -> float:
    """The standard error of a plan's wanted tables: the largest, or their mean."""
    return expected_error(made.survey, made.messages)


def with_budget(survey: Survey, reports_per_person: int) -> Survey:
    """The survey with its grouping left to the planner. Raises SurveyError for a wrong budget."""
    raw = survey.model_dump(by_alias=True) | {"message": (), "copies": 1}
    return Survey.of(raw | {"reports_per_person": reports_per_person})


def write_frontier(made: Plan, path: Path, progress: Progress | None = None) -> None:
    """Write error against reports a person and against epsilon: a page, and a .csv beside it."""
    from incrowd.presentation.curves import frontier_page, frontier_table  # slow to import
    from incrowd.presentation.write import write_frontier_files

    survey, found = made.survey, frontier(made.survey, progress)
    reports = float(sum(message.copies for message in made.messages))
    chosen = (reports, survey.privacy.epsilon, plan_error(made))
    page = frontier_page(survey.name, found.reports, found.epsilons, chosen, survey.objective)
    write_frontier_files(path, page, frontier_table(found.reports, found.epsilons))
