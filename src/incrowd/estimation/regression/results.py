"""Coefficients with errors, or why there are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
import scipy

from incrowd import views
from incrowd.estimation.regression.model import Model
from incrowd.estimation.tables import LEVEL
from incrowd.methods import Family, Penalty, RegressionMethod
from incrowd.plans import Guarantee, Plan

MOST = 700.0  # of which e^x is still a number


@dataclass(frozen=True)
class Coefficient:
    """One coefficient with its standard error and interval.

    In a logistic model on the scale of log odds, in a linear one in units of the outcome. low or
    high is infinite where the reports set no limit; then standard_error says nothing. p_value: of
    the hypothesis that the coefficient is zero, by the test that the interval belongs to; None if
    it cannot be computed. design_effect: the variance, divided by that with the same number of
    people without noise and weights if the model is right; None if it is not known.
    """

    term: str
    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float | None = None
    design_effect: float | None = None

    @property
    def bounded(self) -> bool:
        """Whether the interval has both ends."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True)
class GroupSize:
    """The people who gave one answer to a predictor.

    people: their estimated number. effective: how many people, asked without noise, would give the
    mean of the outcome among them with the same standard error; None if it is not known.
    """

    term: str
    people: float
    effective: float | None


@dataclass(frozen=True)
class Odds:
    """An odds ratio with its interval; an end is 0 or infinite where there is no limit."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class ModelFit:
    """Coefficients, or the reason why there are none.

    covariance: of the coefficients. separated: the levels, with their questions, of a group that
    may have no one with the outcome, or no one without it, or so few that normal intervals do not
    hold. refusal: the chance that reports like these do not determine the coefficients, None if
    unknown; risk: mostly because of which people.
    """

    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    reason: str = ""
    separated: tuple[tuple[str, str], ...] = ()
    refusal: float | None = None
    risk: str = ""
    groups: tuple[GroupSize, ...] = ()

    @property
    def near(self) -> str:
        """Why coefficients that exist cannot be relied on; "" if they can."""
        if not self.separated:
            return ""
        return f"too few people {self.risk} are visible through the noise (separation)"


@dataclass(frozen=True)
class EvenForecast:
    """A forecast if answers whose shares are not stated are equally common.

    refusal: the chance that reports will not determine the coefficients. largest_error: of the
    standard errors of the coefficients except the intercept; None if there are none.
    """

    refusal: float
    largest_error: float | None


@dataclass(frozen=True)
class Regression(views.Notebook, views.Tabular):
    """A model that was fitted to reports, or a forecast of one.

    outcome: the variable that is explained; for a logistic model, the one whose log odds are.
    people: the number of people; left_out: the share of them who are not part of the model, because
    they did not answer or were released with others on another level; merged: the share of the
    latter. method: "table" or "pairs" (unbiased estimating equations) or "likelihood". references:
    the levels with which the others are compared. outcome_level: the question of the outcome and
    its answer, "" for the whole question. terms: for each coefficient the questions and answers to
    which it belongs; none for the intercept, the question and "" for a slope. scores: what each
    answer to the outcome counts in a linear model; empty for an amount, which is its own score.
    slopes: for predictors with one slope, by id, the score of each answer. penalty: of the
    likelihood; the intervals are then those of a score test, and may be infinite on one side or
    both. absent: levels of open questions without a coefficient, as no released person is known to
    have them. errors: whether they are of noise and sampling or of the noise alone; assumption: on
    which they rest, "" if none. reason: why there are no coefficients. weighted_to: the names of
    the known margins to which the model is weighted; error_ratio: its standard errors divided by
    those without weights, in the mean square, if both exist. groups: the number of people in each
    group that a model from a table compares.

    refusal: the chance that reports like these do not determine the coefficients of a model without
    a penalty; risk: mostly because of which people. If they are so few that normal intervals do not
    hold, the penalty is Firth's without being requested, and ways_out are the changes of the model
    with which these reports support it without a penalty.

    expected: whether this is a forecast, before anything is collected. Then shares: the stated
    shares of answers; those to other questions are equally common or uneven, whichever is less
    favorable for each figure. ways_out: changes that make a refusal rare, and enough: the crowd
    that does so with the same noise, if it is not rare already. even: the forecast if all answers
    without stated shares are equally common; None if there are none.
    """

    family: Family
    outcome: str
    people: int
    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    method: RegressionMethod
    references: tuple[str, ...]
    errors: str
    guarantee: Guarantee
    plan: Plan
    outcome_level: tuple[str, str]
    terms: tuple[tuple[tuple[str, str], ...], ...]
    scores: tuple[tuple[str, float], ...] = ()
    slopes: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()
    penalty: Penalty | None = None
    absent: tuple[str, ...] = ()
    merged: float = 0.0
    left_out: float = 0.0
    assumption: str = ""
    reason: str = ""
    expected: bool = False
    shares: Mapping[str, Sequence[float]] = field(default_factory=dict)
    refusal: float | None = None
    risk: str = ""
    ways_out: tuple[str, ...] = ()
    even: EvenForecast | None = None
    enough: int | None = None
    weighted_to: tuple[str, ...] = ()
    error_ratio: float | None = None
    groups: tuple[GroupSize, ...] = ()
    seed: int | None = None

    def __repr__(self) -> str:
        fit = f"{len(self.coefficients)} coefficients" if self.estimable else "not estimable"
        simulated = views.simulated(self.seed)
        return f"Regression({self.family}, {self.outcome}, {fit}, {self.people:,}{simulated})"

    @property
    def estimable(self) -> bool:
        """Whether there are coefficients."""
        return bool(self.coefficients)

    @property
    def interval_method(self) -> Literal["wald", "score"]:
        """The test whose intervals and p-values are given."""
        return "score" if self.penalty else "wald"

    @property
    def odds_ratios(self) -> tuple[Odds, ...]:
        """For a logistic model: the odds divided by those at the reference."""
        if self.family != "logistic":
            return ()
        ends = [(each.estimate, each.low, each.high) for each in self.coefficients]
        return tuple(Odds(*map(_exp, each)) for each in ends)


def _exp(value: float) -> float:
    return math.exp(value) if value < MOST or math.isinf(value) else math.exp(MOST)


def coefficients(
    names: list[str], beta: np.ndarray, covariance: np.ndarray
) -> tuple[Coefficient, ...]:
    """Coefficients with normal 95% intervals, and the p-values of Wald's test."""
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    reach = float(scipy.special.ndtri((1 + LEVEL) / 2)) * errors
    ratios = np.abs(beta) / np.maximum(errors, 1e-300)
    columns = (beta, errors, beta - reach, beta + reach, 2 * scipy.special.ndtr(-ratios))
    rows = np.column_stack(columns).tolist()
    return tuple(Coefficient(name, *row) for name, row in zip(names, rows, strict=True))


def of_fit(plan: Plan, model: Model, fit: ModelFit) -> Callable[..., Regression]:
    """A regression with the fields of its model and fit; the caller adds the others."""
    return partial(
        Regression,
        plan=plan,
        family=model.family,
        outcome=model.explained,
        outcome_level=model.outcome_level,
        references=model.references,
        terms=model.term_levels,
        scores=model.shown_scores,
        slopes=model.slopes,
        penalty=model.penalty,
        absent=model.absent,
        coefficients=fit.coefficients,
        covariance=fit.covariance,
        reason=fit.reason,
        refusal=fit.refusal,
        risk=fit.risk,
        groups=fit.groups,
    )
