"""Plan -> how precise regressions will be, before anything is collected."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from incrowd.catalog.sentences import Keyword, as_translatable
from incrowd.errors import IncrowdError, TableError, UsageError
from incrowd.estimation.cell_errors import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.estimation.intervals import HALF_WIDTH, POWER, detectable_size
from incrowd.estimation.precision import assumed_shares
from incrowd.estimation.readings import (
    expected_cells_reading,
    expected_readings,
    joint_sources,
    pair_weight,
)
from incrowd.estimation.regression.cell_pairs import cell_pairs_of_stratum
from incrowd.estimation.regression.evidence import StratumEvidence
from incrowd.estimation.regression.expected import (
    ExpectedPairs,
    GuessedShares,
    expected_counts,
    expected_message,
    guessed_shares,
)
from incrowd.estimation.regression.fitting import (
    Risk,
    fit,
    fit_tables,
    linear_risk,
    no_fit,
    refusal_risk,
    silent_share,
)
from incrowd.estimation.regression.formula import formula_of, model_of, ways_out
from incrowd.estimation.regression.levels import level_table
from incrowd.estimation.regression.model import Levels, Model
from incrowd.estimation.regression.pairs import lift_of
from incrowd.estimation.regression.regress import (
    assumption_of,
    chosen_method,
    in_cell_pairs,
)
from incrowd.estimation.regression.results import (
    Coefficient,
    EvenForecast,
    ModelFit,
    Regression,
    of_fit,
)
from incrowd.estimation.regression.solving import Strata
from incrowd.estimation.tables import TableEstimate
from incrowd.methods import Family, Penalty, RegressionMethod
from incrowd.plans import JointReport, Outline, Plan
from incrowd.plans.plan import with_merged
from incrowd.plans.strata import strata
from incrowd.survey import Survey
from incrowd.survey.formulas import Formula, share_problems
from incrowd.survey.merging import Merge

MOST_STEPS, STEP = 64, 1.25  # up to a million times the crowd
RARE = 0.05  # a larger chance that a model is refused is reported
NOTHING = np.zeros((0, 0))


def forecast_regression(
    plan: Plan,
    outcome: str | None = None,
    *,
    on: Sequence[str] | None = None,
    reference: Mapping[str, str] | None = None,
    family: Family | None = None,
    scores: Sequence[float] | None = None,
    predictor_scores: Mapping[str, Sequence[float]] | None = None,
    merge: Merge | None = None,
    penalty: Penalty | None = None,
    method: RegressionMethod | None = None,
    noise_only: bool = False,
    shares: GuessedShares | None = None,
    power: float = POWER,
) -> Regression:
    """Forecast the errors of a regression for exactly the plan's crowd.

    It assumes that no answer depends on any other. If questions are open, every stratum has the
    plan's crowd, whether they are predictors or not.

    Parameters
    ----------
    plan : Plan
        The plan.
    outcome, on, reference, family, scores, predictor_scores, merge, penalty
        As for `regress`.
    method : {"table", "pairs"}, optional
        As for `regress`.
    noise_only : bool
        Whether errors are those of the noise alone, with the people fixed.
    shares : mapping of str to sequence of float, optional
        The expected shares of the answers to some questions. By default those that the survey
        states; otherwise equal or uneven shares, whichever make an error, or a refusal, larger.

    power : float
        The probability with which an effect that is called detectable is detected.

    Returns
    -------
    Regression
        Only its errors are meaningful, not its coefficients. `refusal` is the chance that the
        reports do not support the model without a penalty.

    Raises
    ------
    UsageError
        For impossible models, shares, or powers, and for the method "likelihood".
    TableError
        For questions that do not travel together.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> model = incrowd.forecast_regression(plan, "physical_limitation", on=["self_rated_health"])
    >>> [round(each.standard_error, 1) for each in model.coefficients]
    [0.0, 0.1, 0.1, 0.1]
    """
    formula = formula_of(
        plan.survey, outcome, on, reference, family, scores, predictor_scores, merge, penalty
    )
    model_of(plan.survey, formula)
    questions = {question.id: question for question in plan.survey.questions}
    if problems := tuple(share_problems(shares or {}, formula, questions)):
        raise UsageError(*problems)
    detectable_size(power)
    return replace(_forecast(plan, formula, shares or {}, method, noise_only), power=power)


def forecast_regressions(plan: Plan, *, power: float = POWER) -> tuple[Regression, ...]:
    """Forecast every regression that a plan's survey lists.

    Parameters
    ----------
    plan : Plan
        The plan.
    power : float
        As for `forecast_regression`.

    Returns
    -------
    tuple of Regression
        As from `forecast_regression`. If the table of a regression is too large, its `reason` says
        so.

    Raises
    ------
    UsageError
        If the argument is not a plan, or the power is not between 0 and 1.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.Survey.of({
    ...     "name": "Habits",
    ...     "crowd": 1000,
    ...     "privacy": {"epsilon": 1.0, "delta": 1e-6},
    ...     "question": [{"id": id, "type": "yesno"} for id in ("smokes", "drinks")],
    ...     "regression": [{"outcome": "smokes", "on": ["drinks"]}],
    ... })
    >>> (model,) = incrowd.forecast_regressions(incrowd.plan(survey))
    >>> model.outcome, model.expected
    ('smokes=yes', True)
    """
    detectable_size(power)
    each = (_forecast_or_reason(plan, formula) for formula in plan.survey.regressions)
    return tuple(replace(model, power=power) for model in each)


def _forecast_or_reason(plan: Plan, formula: Formula) -> Regression:
    try:
        return _forecast(plan, formula, {})
    except TableError as error:
        problem = error.problems[0]
        failed = ModelFit((), NOTHING, as_translatable(problem.message))
        return _regression(plan, formula, failed, {})


def _forecast(
    plan: Plan,
    formula: Formula,
    stated: GuessedShares,
    method: RegressionMethod | None = None,
    noise_only: bool = False,
) -> Regression:
    model = model_of(plan.survey, formula)
    merged = with_merged(plan, formula.merge)
    method = chosen_method(merged, model, method, noise_only)
    if method == "likelihood":
        option = Keyword("method", "table")
        raise UsageError.of("method", "planner.no-forecast", value=method, option=option)
    shares = _shares_of(plan, model, stated)

    def expecting(formula: Formula) -> _Expected:
        return _expecting(plan, formula, shares, method, noise_only)

    expected = expecting(formula)
    fit, risk = expected.fit(1.0), expected.risk(1.0)
    rare = risk.chance <= RARE and not fit.reason
    return replace(
        _regression(plan, formula, fit, shares),
        method=method,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        assumption=assumption_of(merged, model, method, noise_only),
        left_out=expected.left_out,
        refusal=risk.chance,
        risk=risk.who,
        ways_out=() if rare else tuple(_ways_out(plan, formula, expecting)),
        enough=None if rare else _enough(plan, expected),
        even=_if_even(_READS[method](merged, model, shares, noise_only))
        if _uneven_shares(plan.survey, model, shares)
        else None,
    )


def _expecting(
    plan: Outline,
    formula: Formula,
    shares: GuessedShares,
    method: RegressionMethod,
    noise_only: bool,
) -> _Expected:
    """Return what to expect in the less favorable case: that the answers to questions without
    shares are equally common, or that they are uneven."""
    model, merged = model_of(plan.survey, formula), with_merged(plan, formula.merge)
    cases = [shares]
    if uneven := _uneven_shares(plan.survey, model, shares):
        cases.append({**shares, **uneven})
    each = [_READS[method](merged, model, case, noise_only) for case in cases]
    return _Expected(
        fit=lambda times: _less_favorable([case.fit(times) for case in each]),
        risk=lambda times: max((case.risk(times) for case in each), key=lambda risk: risk.chance),
        left_out=max(case.left_out for case in each),
    )


def _uneven_shares(survey: Survey, model: Model, shares: GuessedShares) -> GuessedShares:
    """Return uneven shares of the answers to a model's questions whose shares are not stated."""
    questions = (each.question for each in (model.outcome, *model.predictors))
    return {
        q.id: tuple(assumed_shares(survey, q.with_merged(()), even=False).tolist())
        for q in questions
        if not (q.open or q.id in shares)
    }


def _less_favorable(fits: Sequence[ModelFit]) -> ModelFit:
    """Return a refusal if one of the fits is one; otherwise that with the largest errors on the
    whole, and for each coefficient the larger error."""
    if refused := [fit for fit in fits if not fit.coefficients]:
        return refused[-1]
    worst = max(fits, key=lambda fit: float(np.trace(fit.covariance)))
    pairs = zip(*(fit.coefficients for fit in fits), strict=True)
    errors = [max(each.standard_error for each in same) for same in pairs]
    larger = [_with_error(*each) for each in zip(worst.coefficients, errors, strict=True)]
    before = np.array([each.standard_error for each in worst.coefficients])
    scale = np.divide(errors, before, out=np.ones_like(before), where=before > 0)
    covariance = worst.covariance * np.outer(scale, scale)
    return replace(worst, coefficients=tuple(larger), covariance=covariance)


def _with_error(each: Coefficient, error: float) -> Coefficient:
    """Return a coefficient with a normal interval of another standard error; an open end stays
    open."""
    low = each.low if math.isinf(each.low) else each.estimate - HALF_WIDTH * error
    high = each.high if math.isinf(each.high) else each.estimate + HALF_WIDTH * error
    return replace(each, standard_error=error, low=low, high=high)


def _shares_of(plan: Outline, model: Model, stated: GuessedShares) -> GuessedShares:
    """Return the stated shares of the answers to a model's questions, and of those that not
    everybody is asked."""
    survey, ids = plan.survey, [each.question.id for each in (model.outcome, *model.predictors)]
    shares = {
        question.id: tuple(assumed_shares(survey, question, even=True).tolist())
        for question in map(survey.question, ids)
        if question.asked_if is not None or question.id in survey.shares
    }
    return shares | {id: stated[id] for id in ids if id in stated}


def expected_fit(plan: Outline, formula: Formula, noise_only: bool = False) -> ModelFit:
    """Return the coefficients of a regression with their expected errors, as `forecast_regression`.

    `refusal` is the chance that the model cannot be fitted to the reports; without coefficients,
    `reason` says why. Raises TableError if the table is too large or does not travel together.
    """
    model = model_of(plan.survey, formula)
    merged = with_merged(plan, formula.merge)
    method = chosen_method(merged, model, None, noise_only)
    expected = _expecting(plan, formula, _shares_of(plan, model, {}), method, noise_only)
    risk = expected.risk(1.0)
    return replace(expected.fit(1.0), refusal=risk.chance, risk=risk.who)


def _if_even(expected: _Expected) -> EvenForecast:
    """Return the forecast in the favorable case."""
    errors = [each.standard_error for each in expected.fit(1.0).coefficients[1:]]
    return EvenForecast(expected.risk(1.0).chance, max(errors, default=None))


def _ways_out(
    plan: Plan, formula: Formula, expecting: Callable[[Formula], _Expected]
) -> Iterator[str]:
    """Return changes of the model with which it is rarely refused."""

    def refused(formula: Formula) -> ModelFit:
        """Return a failed fit; without a reason if the model is rarely refused."""
        try:
            chance, levels, _ = expecting(formula).risk(1.0)
        except IncrowdError as error:
            return no_fit(str(error))
        return replace(no_fit("" if chance <= RARE else "often refused"), separated=levels)

    return (way.words for way in ways_out(plan.survey, formula, refused(formula), refused))


def _regression(plan: Plan, formula: Formula, fit: ModelFit, shares: GuessedShares) -> Regression:
    """Return the forecast of a fit, from a table with errors of noise and sampling."""
    model = model_of(plan.survey, formula)
    untested = tuple(replace(each, p_value=None) for each in fit.coefficients)
    return of_fit(plan, model, replace(fit, coefficients=untested))(
        people=_people(plan, model) * len(_strata(model)),
        method="table",
        errors=NOISE_AND_SAMPLING,
        guarantee=plan.guarantee,
        expected=True,
        shares=shares,
    )


class _Expected(NamedTuple):
    """fit: for a multiple of the crowd, with the plan's noise. risk: that the model is refused."""

    fit: Callable[[float], ModelFit]
    risk: Callable[[float], Risk]
    left_out: float = 0.0


def _from_table(plan: Outline, model: Model, shares: GuessedShares, noise_only: bool) -> _Expected:
    questions = [variable.question for variable in model.randomized]
    crowd = _people(plan, model)

    def counts(message: JointReport) -> np.ndarray:
        return expected_counts(message, questions, crowd, shares)

    readings = expected_readings(plan, model.ids, crowd, counts, partial(guessed_shares, shares))
    table = level_table(model.randomized, readings, noise_only)

    def tables(times: float) -> list[tuple[Levels, TableEstimate]]:
        more = table.of_people(table.people * times).with_errors(
            covariance=table.error.joint / times,
            noise_covariance=table.error.joint_noise / times,
        )
        return [(levels, more) for levels in _strata(model)]

    return _Expected(
        fit=lambda times: fit_tables(model, tables(times)),
        risk=lambda times: refusal_risk(model, tables(times)),
        left_out=silent_share(model, tables(1.0)),
    )


def _from_pairs(plan: Outline, model: Model, shares: GuessedShares, noise_only: bool) -> _Expected:
    stratum = _cell_pairs if in_cell_pairs(plan, model) else _report_pairs
    of = partial(stratum, plan, model, shares, not noise_only)

    def evidence(times: float) -> Strata:
        people = _people(plan, model) * times
        return Strata([of(people, levels) for levels in _strata(model)], not noise_only)

    return _Expected(
        fit=lambda times: fit(model, evidence(times)),
        risk=lambda times: linear_risk(evidence(times), len(model.terms)),
    )


def _cell_pairs(
    plan: Outline, model: Model, shares: GuessedShares, sampled: bool, people: float, levels: Levels
) -> StratumEvidence:
    reading = expected_cells_reading(plan, math.ceil(people), partial(guessed_shares, shares))
    return cell_pairs_of_stratum(model, levels, reading, sampled)


def _report_pairs(
    plan: Outline, model: Model, shares: GuessedShares, sampled: bool, people: float, levels: Levels
) -> StratumEvidence:
    survey = plan.survey
    sent = [
        expected_message(model, each.message, pair_weight(survey, each.message, model.ids), shares)
        for each in joint_sources(plan, model.ids)
    ]
    return ExpectedPairs(people, sent, np.array(model.scores), lift_of(model, levels), sampled)


_READS = {"table": _from_table, "pairs": _from_pairs}


def _people(plan: Outline, model: Model) -> int:
    """Return the number of people with the same answers to the open predictors: the crowd of each
    stratum, times the number of strata that differ only in other open questions."""
    if not plan.survey.open:
        return plan.survey.crowd
    return plan.survey.crowd * len(strata(plan.survey)) // len(_strata(model))


def _strata(model: Model) -> list[Levels]:
    """Return the combinations of answers to the open predictors;
    one empty one if there are none."""
    clear = [each.question for each in model.predictors if each.question.id in model.open]
    ids = [question.id for question in clear]
    combinations = product(*(question.recorded for question in clear))
    return [dict(zip(ids, answers, strict=True)) for answers in combinations]


def _enough(plan: Plan, expected: _Expected) -> int | None:
    """Return the crowd, to within a quarter, with which the model is rarely refused; None if no
    crowd is large enough."""

    def rare(step: int) -> bool:
        times = STEP**step
        return expected.risk(times).chance <= RARE and not expected.fit(times).reason

    least = bisect_left(range(MOST_STEPS), True, key=rare)
    return None if least == MOST_STEPS else math.ceil(plan.survey.crowd * STEP**least)
