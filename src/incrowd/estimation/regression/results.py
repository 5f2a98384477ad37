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
from incrowd.plans import Guarantee, Plan
from incrowd.survey.formulas import Family, Penalty

MOST = 700.0  # of which e^x is still a number
Method = Literal["table", "pairs", "likelihood"]


@dataclass(frozen=True)
class Coefficient:
    """One coefficient with its standard error and interval.

    Of a logistic model on the scale of log odds, of a linear one in units of the outcome. Where the
    reports set no limit on a side, low or high is infinite.
    """

    term: str
    estimate: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Odds:
    """An odds ratio with its interval, which is 0 or infinite where it has no end."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    """coefficients: none, if the model cannot be estimated; reason: then why. covariance: of the
    coefficients. separated: the levels, after their questions, of people of whom it is not seen
    that they have the outcome, or that they do not. refusal: the chance that reports like these do
    not tell the coefficients, None if it is not known; risk: for which people mostly."""

    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    reason: str = ""
    separated: tuple[tuple[str, str], ...] = ()
    refusal: float | None = None
    risk: str = ""


@dataclass(frozen=True)
class Uneven:
    """A forecast if answers whose shares are not stated are uneven.

    refusal: the chance that reports will not tell the coefficients. error_ratio: the largest
    standard error over that with equally common answers; None if none is expected in either case.
    """

    refusal: float
    error_ratio: float | None


@dataclass(frozen=True)
class Regression(views.Notebook, views.Tabular):
    """A model that was fitted to reports.

    outcome: the variable that is explained; of a logistic model what the log odds are of. people:
    whose answers these are; left_out: the share of them who are no part of the model: they did not
    answer, or were released with others who are on another level. method: "table" or "pairs"
    (unbiased estimating equations) or "likelihood". references: the levels that the others are
    compared with. outcome_level: the question of the outcome and its answer, "" if it is the whole
    question. terms: for each coefficient of the model the questions and answers that it is for; of
    the intercept none, of a slope its question and "". scores: what each answer to the outcome
    counts in a linear model; of an amount none, which counts as it is. slopes: for predictors with
    one slope, by id, the score of each answer. penalty: of the likelihood; then intervals are those
    of a score test, and may be infinite on one side or both. absent: levels in clear without a
    coefficient, since none of the released people are known to be on them. merged: the share of the
    people who were released with others on another level, a part of left_out. errors: of the noise
    alone, or noise plus sampling; assumption: what they rest on, "" if on nothing. reason: why
    there are no coefficients. expected: whether nothing
    was collected yet and this is what to expect; then shares: those of answers that were stated,
    all answers to other questions being alike; ways_out: what makes a refusal rare, and enough: the
    crowd that does, for the same noise, if it is not rare; uneven: the same if answers whose shares
    are not stated are uneven, None if there are none. refusal: the chance that such reports do not
    tell the coefficients of a model that is read from a table, without weights; risk: for which
    people mostly. weighted_to: the names of the known margins that it is weighted to;
    error_ratio: its standard errors over those without weights, in the mean square, if there are
    both.
    """

    family: Family
    outcome: str
    people: int
    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    method: Method
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
    uneven: Uneven | None = None
    enough: int | None = None
    weighted_to: tuple[str, ...] = ()
    error_ratio: float | None = None
    seed: int | None = None

    def __repr__(self) -> str:
        found = f"{len(self.coefficients)} coefficients" if self.estimable else "not estimable"
        simulated = views.simulated(self.seed)
        return f"Regression({self.family}, {self.outcome}, {found}, {self.people:,}{simulated})"

    @property
    def estimable(self) -> bool:
        """Whether there are coefficients."""
        return bool(self.coefficients)

    @property
    def odds_ratios(self) -> tuple[Odds, ...]:
        """Of a logistic model: how many times as high the odds are as at the reference."""
        if self.family != "logistic":
            return ()
        ends = [(each.estimate, each.low, each.high) for each in self.coefficients]
        return tuple(Odds(*map(_exp, each)) for each in ends)


def _exp(value: float) -> float:
    return math.exp(value) if value < MOST or math.isinf(value) else math.exp(MOST)


def coefficients(
    names: list[str], beta: np.ndarray, covariance: np.ndarray
) -> tuple[Coefficient, ...]:
    """Normal intervals of 95% around each."""
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    reach = float(scipy.special.ndtri((1 + LEVEL) / 2)) * errors
    columns = (beta, errors, beta - reach, beta + reach)
    rows = np.column_stack(columns).tolist()
    return tuple(Coefficient(name, *row) for name, row in zip(names, rows, strict=True))


def of_fit(plan: Plan, model: Model, found: Fit) -> Callable[..., Regression]:
    """A regression as its model and its fit have it; of whom, and how it was made, is left open."""
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
        coefficients=found.coefficients,
        covariance=found.covariance,
        reason=found.reason,
        refusal=found.refusal,
        risk=found.risk,
    )
