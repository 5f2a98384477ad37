"""Plan -> how sharp regressions will be, before anything is collected."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from incrowd.errors import TableError, UsageError
from incrowd.estimation.readings import Reading
from incrowd.estimation.regression.expected import Shares, expected_counts
from incrowd.estimation.regression.expected_pairs import ExpectedPairs, expected_message
from incrowd.estimation.regression.fitting import fit, fit_tables, silent_share
from incrowd.estimation.regression.formula import model_of
from incrowd.estimation.regression.levels import level_table
from incrowd.estimation.regression.model import Levels, Model
from incrowd.estimation.regression.pairs import lift_of
from incrowd.estimation.regression.results import Fit, Method, Regression, of_fit
from incrowd.estimation.regression.solving import Strata
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.planner.sources import pair_weight, sources
from incrowd.plans import Plan
from incrowd.plans.strata import strata
from incrowd.survey.formulas import Family, Formula
from incrowd.workflow.formulas import formula_of
from incrowd.workflow.regress import chosen_method

MOST_STEPS, STEP = 64, 1.25  # up to a million times the crowd
NOTHING = np.zeros((0, 0))


def forecast_regression(
    plan: Plan,
    *,
    outcome: str | None = None,
    on: Sequence[str] | None = None,
    reference: Mapping[str, str] | None = None,
    family: Family | None = None,
    scores: Sequence[float] | None = None,
    method: Method | None = None,
    noise_only: bool = False,
    shares: Shares | None = None,
) -> Regression:
    """How sharp a regression will be for exactly the plan's crowd, if nothing depends on anything.

    Where questions are asked in clear, that crowd is in every stratum, whether they are predictors
    or not.

    shares: for some questions the shares of the answers that are expected; of the others all are
    taken to be alike. The errors are those to expect; the coefficients say nothing. Other
    arguments, and what is raised, as `regress`; UsageError also for shares that cannot be, and for
    the method "likelihood".
    """
    formula = formula_of(plan.survey, outcome, on, reference, family, scores, shares)
    return _forecast(plan, formula, method, noise_only)


def forecast_regressions(plan: Plan) -> tuple[Regression, ...]:
    """What to expect of every regression that the survey of a plan wants.

    One that no table can hold has that as its reason.
    """
    return tuple(_forecast_or_reason(plan, formula) for formula in plan.survey.regressions)


def _forecast_or_reason(plan: Plan, formula: Formula) -> Regression:
    try:
        return _forecast(plan, formula)
    except TableError as error:
        problem = error.problems[0]
        return _regression(plan, formula, Fit((), NOTHING, f"{problem.shown}; {problem.allowed}"))


def _forecast(
    plan: Plan, formula: Formula, method: Method | None = None, noise_only: bool = False
) -> Regression:
    model = model_of(plan.survey, formula)
    method = chosen_method(plan, model, method, noise_only)
    if method == "likelihood":
        allowed = "what it will tell is not known beforehand; use method='table'"
        raise UsageError.of("method", method, allowed)
    read = _from_pairs if method == "pairs" else _from_table
    expected = read(plan, model, formula.shares, noise_only)
    found = expected.fit(1.0)
    return replace(
        _regression(plan, formula, found),
        method=method,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        left_out=expected.left_out,
        enough=_enough(plan, expected.fit) if found.reason else None,
    )


def _regression(plan: Plan, formula: Formula, found: Fit) -> Regression:
    """As it is planned, from a table with errors of noise and sampling."""
    model = model_of(plan.survey, formula)
    return of_fit(plan, model, found)(
        people=_people(plan, model) * len(_strata(model)),
        method="table",
        errors=NOISE_AND_SAMPLING,
        guarantee=plan.guarantee,
        expected=True,
        shares=formula.shares,
    )


class _Expected(NamedTuple):
    """fit: of so many times the crowd, with the plan's noise."""

    fit: Callable[[float], Fit]
    left_out: float = 0.0


def _from_table(plan: Plan, model: Model, shares: Shares, noise_only: bool) -> _Expected:
    questions = [variable.question for variable in model.randomized]
    crowd = _people(plan, model)
    found = [
        Reading(message, weight, expected_counts(message, questions, crowd, shares))
        for _, message, weight in sources(plan, model.ids)
    ]
    table = level_table(model.randomized, found, noise_only)

    def fitted(times: float) -> Fit:
        more = replace(
            table,
            people=table.people * times,
            covariance=table.covariance / times,
            noise_covariance=table.noise_covariance / times,
        )
        return fit_tables(model, [(levels, more) for levels in _strata(model)])

    return _Expected(fitted, silent_share(model, [(levels, table) for levels in _strata(model)]))


def _from_pairs(plan: Plan, model: Model, shares: Shares, noise_only: bool) -> _Expected:
    survey = plan.survey
    sent = [
        expected_message(model, each.message, pair_weight(survey, each.message, model.ids), shares)
        for each in sources(plan, model.ids)
    ]

    def fitted(times: float) -> Fit:
        people = _people(plan, model) * times
        stratum = partial(ExpectedPairs, people, sent, np.array(model.scores))
        parts = [stratum(lift_of(model, each), not noise_only) for each in _strata(model)]
        return fit(model, Strata(parts, not noise_only))

    return _Expected(fitted)


def _people(plan: Plan, model: Model) -> int:
    """Those who give the same answers to the predictors that are asked in clear: the crowd of each
    stratum that other open questions make of them."""
    if not plan.survey.open:
        return plan.survey.crowd
    return plan.survey.crowd * len(strata(plan.survey)) // len(_strata(model))


def _strata(model: Model) -> list[Levels]:
    """The answers to the predictors that are asked in clear; one stratum, if there are none."""
    clear = [each.question for each in model.predictors if each.question.id in model.open]
    ids = [question.id for question in clear]
    said = product(*(question.recorded for question in clear))
    return [dict(zip(ids, answers, strict=True)) for answers in said]


def _enough(plan: Plan, fit: Callable[[float], Fit]) -> int | None:
    """The crowd, to a quarter, with which the plan's noise tells the coefficients, if any does."""
    steps = range(MOST_STEPS)
    least = bisect_left(steps, True, key=lambda step: not fit(STEP**step).reason)
    return None if least == MOST_STEPS else math.ceil(plan.survey.crowd * STEP**least)
