"""Plan -> how sharp a regression will be, before anything is collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incrowd.estimation.covariance import MOST_CELLS
from incrowd.estimation.readings import Reading
from incrowd.estimation.regression.expected import Shares, check_shares, expected_counts
from incrowd.estimation.regression.fitting import fit_tables, left_out
from incrowd.estimation.regression.formula import model_of
from incrowd.estimation.regression.levels import level_table
from incrowd.estimation.regression.model import Family, too_large
from incrowd.estimation.regression.results import Regression
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.planner.sources import MOST_COUNTS, check_tables, sources
from incrowd.plans import Plan


def forecast_regression(
    plan: Plan,
    *,
    outcome: str,
    on: Sequence[str],
    reference: Mapping[str, str] | None = None,
    family: Family | None = None,
    scores: Sequence[float] | None = None,
    noise_only: bool = False,
    shares: Shares | None = None,
) -> Regression:
    """How sharp a regression will be for exactly the plan's crowd, if nothing depends on anything.

    shares: for some questions the shares of the answers that are expected; of the others all are
    taken to be alike. The errors are those to expect; the coefficients say nothing. Other
    arguments, and what is raised, as `regress`; TableError if the table of all questions is too
    large, UsageError for shares that cannot be.
    """
    shares = shares or {}
    check_shares(plan.survey, shares)
    model = model_of(plan.survey, outcome, on, reference=reference, family=family, scores=scores)
    if model.cells > MOST_CELLS or model.counts > MOST_COUNTS:
        raise too_large(model)
    ids, people = check_tables(plan, [model.ids])[0], plan.survey.crowd
    questions = [variable.question for variable in model.randomized]
    found = [
        Reading(
            each.message,
            each.weight,
            expected_counts(each.message, questions, people, shares or {}),
        )
        for each in sources(plan, ids)
    ]
    table = level_table(model.randomized, found, noise_only)
    made = fit_tables(model, [({}, table)])
    return Regression(
        family=model.family,
        outcome=model.explained,
        people=people,
        coefficients=made.coefficients,
        covariance=made.covariance,
        method="table",
        references=model.references,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        guarantee=plan.guarantee,
        left_out=left_out(model, [({}, table)]),
        reason=made.reason,
        expected=True,
    )
