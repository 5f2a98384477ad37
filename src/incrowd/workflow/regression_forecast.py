"""Plan -> how sharp a regression will be, before anything is collected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from incrowd.estimation.covariance import MOST_CELLS, JointEstimate
from incrowd.estimation.readings import Reading
from incrowd.estimation.regression.expected import Shares, check_shares, expected_counts
from incrowd.estimation.regression.fitting import fit_tables, left_out
from incrowd.estimation.regression.levels import level_table
from incrowd.estimation.regression.model import Family, Levels, Model, too_large
from incrowd.estimation.regression.results import Regression
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.planner.sources import MOST_COUNTS, sources
from incrowd.plans import Plan
from incrowd.workflow.regress import plan_model


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

    Where a predictor is asked in clear, that crowd is in every stratum.

    shares: for some questions the shares of the answers that are expected; of the others all are
    taken to be alike. The errors are those to expect; the coefficients say nothing. Other
    arguments, and what is raised, as `regress`; TableError if the table of all questions is too
    large, UsageError for shares that cannot be.
    """
    model = plan_model(plan, outcome, on, reference, family, scores)
    strata = _expected(plan, model, shares or {}, noise_only)
    made = fit_tables(model, strata)
    return Regression(
        family=model.family,
        outcome=model.explained,
        people=plan.survey.crowd * len(strata),
        coefficients=made.coefficients,
        covariance=made.covariance,
        method="table",
        references=model.references,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        guarantee=plan.guarantee,
        left_out=left_out(model, strata),
        reason=made.reason,
        expected=True,
    )


def _expected(
    plan: Plan, model: Model, shares: Shares, noise_only: bool
) -> list[tuple[Levels, JointEstimate]]:
    """The table to expect, in every stratum of the predictors that are asked in clear."""
    check_shares(plan.survey, shares)
    if model.cells > MOST_CELLS or model.counts > MOST_COUNTS:
        raise too_large(model)
    questions = [variable.question for variable in model.randomized]
    found = [
        Reading(
            each.message,
            each.weight,
            expected_counts(each.message, questions, plan.survey.crowd, shares),
        )
        for each in sources(plan, model.ids)
    ]
    table = level_table(model.randomized, found, noise_only)
    clear = [each.question for each in model.predictors if each.question.id in model.open]
    ids = [question.id for question in clear]
    said = product(*(question.answers for question in clear))
    return [(dict(zip(ids, answers, strict=True)), table) for answers in said]
