"""The result of a model of an outcome that a randomized item predicts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import translatable
from incrowd.errors import quantity
from incrowd.estimation.regression.results import (
    EFFECT,
    ERROR,
    ESTIMATE,
    INTERVAL,
    TERM,
    Coefficient,
    coefficient_text,
    odds_between,
    p_text,
)
from incrowd.interviews.formula import INTERCEPT
from incrowd.interviews.intercepts import InterceptFit
from incrowd.interviews.promise import InterviewPromise
from incrowd.interviews.weighted_reports import STOP
from incrowd.methods import Family, OutcomeErrors, OutcomeMethod
from incrowd.number_text import between, times
from incrowd.views import IntervalPlot, LabeledInterval, Numbers, Sheet, Square, View

TITLES: dict[Family, str] = {
    "logistic": "interview_outcomes.logistic",
    "linear": "interview_outcomes.linear",
}
ERROR_SOURCES: dict[OutcomeErrors, str] = {
    "observed": "interview_outcomes.errors-observed",
    "robust": "interview_outcomes.errors-robust",
    "cluster": "interview_outcomes.errors-cluster",
}
OF_OUTCOME, OF_ITEM, OF_DESIGN = "outcome", "item", "design"


@dataclass(frozen=True)
class GroupVariation:
    """Random intercepts of groups of interviews.

    column: that names the groups. variance: of the intercepts, with its standard error; nan if the
    variance is 0. part: of the variance of the outcome that is not explained. p_value: of the
    likelihood-ratio test that the variance is 0.
    """

    column: str
    groups: int
    variance: float
    standard_error: float
    part: float
    p_value: float

    @classmethod
    def of(cls, column: str, fit: InterceptFit, rest: float) -> GroupVariation:
        """Return the intercepts of a fit. rest: the variance that no group explains."""
        variance, error = fit.variance, fit.variance_error
        part = variance / (variance + rest)
        return cls(column, fit.groups, variance, error, part, fit.p_value)

    @property
    def text(self) -> str:
        """The variance with its error and its test, in words."""
        facts = {"column": self.column, "groups": self.groups}
        if self.variance == 0:
            return translatable("interview_outcomes.no-variation", **facts)
        return translatable(
            "interview_outcomes.variation",
            **facts,
            variance=coefficient_text(self.variance),
            error=coefficient_text(self.standard_error),
            part=self.part,
            p=p_text(self.p_value),
        )


@dataclass(frozen=True)
class OutcomeRegression(views.Result):
    """A model of an openly asked outcome, with a randomized item as a predictor.

    Attributes
    ----------
    family : {"logistic", "linear"}
        The kind of model.
    outcome : str
        The outcome; for a logistic model, the one whose log odds are explained.
    item : str
        The id of the randomized item.
    answers : tuple of str
        Its possible true answers; the others are compared with the first one.
    formula, item_formula : str
        The models of the outcome and of the item.
    people : int
        The number of interviews that were used.
    left_out : int
        The number of interviews without a report, an outcome, or a predictor.
    coefficients : tuple of Coefficient
        Of the outcome, the intercept first.
    item_coefficients : tuple of Coefficient
        Of the model of the true answer to the item: log odds against its first answer.
    differences : tuple of Coefficient
        By how much the mean outcome would be higher if all people gave an answer, compared with the
        first answer, with everything else unchanged. Empty with random intercepts.
    unknown : tuple of Coefficient
        The probabilities of the design that were estimated along.
    covariance : array
        Of all parameters, in the order of `labels`.
    labels : tuple of str
        The names of all parameters.
    sigma : float or None
        The standard deviation of the outcome around a linear model.
    errors : {"observed", "robust", "cluster"}
        What the standard errors are made of: the observed information, or also the squares of
        scores, of interviews or of clusters.
    log_likelihood : float
        Of outcomes and reports together.
    weighted : bool
        Whether interviews have weights.
    variation : GroupVariation or None
        The random intercepts, if the model has them.
    method : {"likelihood", "rr"}
        What was computed: the maximum of the likelihood, or the steps of R's package rr.
    limit : tuple of float
        For the steps of rr, where the coefficients of the outcome would end if the steps went on;
        otherwise empty.
    guarantee : InterviewPromise or None
        What the device promises.

    Examples
    --------
    >>> import numpy as np, pyarrow, incrowd
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> rng = np.random.default_rng(1)
    >>> smokes, die = rng.random(2000) < 0.4, rng.integers(1, 7, 2000)
    >>> reported = np.where(die == 6, True, np.where(die == 1, False, smokes))
    >>> cough = (rng.random(2000) < np.where(smokes, 0.6, 0.3)).astype(int)
    >>> table = pyarrow.table({"smokes": np.where(reported, "yes", "no"), "cough": cough})
    >>> answers = incrowd.read_answers(survey, table)
    >>> found = incrowd.interviews.regress_outcome(answers, "cough ~ smokes")
    >>> [each.term for each in found.coefficients]
    ['(intercept)', 'smokes=yes']
    >>> found.differences[0].low < 0.3 < found.differences[0].high
    True
    """

    family: Family
    outcome: str
    item: str
    answers: tuple[str, ...]
    formula: str
    item_formula: str
    people: int
    left_out: int
    coefficients: tuple[Coefficient, ...]
    item_coefficients: tuple[Coefficient, ...]
    differences: tuple[Coefficient, ...]
    unknown: tuple[Coefficient, ...]
    covariance: np.ndarray
    labels: tuple[str, ...]
    sigma: float | None
    errors: OutcomeErrors
    log_likelihood: float
    weighted: bool = False
    variation: GroupVariation | None = None
    method: OutcomeMethod = "likelihood"
    limit: tuple[float, ...] = ()
    guarantee: InterviewPromise | None = None

    def __repr__(self) -> str:
        people = quantity(self.people, "interviews")
        return f"OutcomeRegression({self.family}, {self.formula}, {people})"

    @property
    def in_r(self) -> str:
        """Lines of R that use the coefficients and their covariance."""
        return """
            outcome <- subset(incrowd$sheets$coefficients, part == "outcome")
            b <- setNames(outcome$estimate, outcome$term)
            V <- incrowd$matrices$covariance[seq_along(b), seq_along(b)]
            cbind(estimate = b, error = sqrt(diag(V)), z = b / sqrt(diag(V)))
            """

    def facts(self) -> dict[str, Any]:
        """Return both models, the differences, and how they were estimated."""
        names = ("family", "outcome", "item", "answers", "formula", "item_formula")
        more = ("people", "left_out", "differences", "unknown", "sigma", "errors", "weighted")
        return {
            **{name: getattr(self, name) for name in names},
            "coefficients": self.coefficients,
            "item_coefficients": self.item_coefficients,
            **{name: getattr(self, name) for name in more},
            "log_likelihood": self.log_likelihood,
            "intercepts": self.variation,
            "method": self.method,
            "limit": self.limit,
            "labels": self.labels,
            "covariance": self.covariance,
            "guarantee": self.guarantee,
        }

    def long_table(self) -> Sheet:
        """Return a row for each coefficient, difference, and unknown probability."""
        names = ("term", "estimate", "standard_error", "low", "high", "p_value")
        records = [
            {"part": part} | {name: getattr(each, name) for name in names}
            for part, rows in self._parts()
            for each in rows
        ]
        return Sheet.of_records("coefficients", records)

    def _parts(self) -> Iterator[tuple[str, tuple[Coefficient, ...]]]:
        yield OF_OUTCOME, self.coefficients
        yield OF_ITEM, self.item_coefficients
        yield "difference", self.differences
        yield OF_DESIGN, self.unknown

    def squares(self) -> Sequence[Square]:
        """Return the covariance of all parameters."""
        return (Square("covariance", self.labels, self.covariance),)

    def view(self) -> View:
        """Return both models with notes."""
        sizes = {"outcome": self.outcome, "interviews": self.people}
        of_rr = self.method == "rr"
        title = translatable("interview_outcomes.rr" if of_rr else TITLES[self.family], **sizes)
        first, *others = self.answers
        code = "interview_outcomes.of-item"
        code = code if len(others) == 1 else "interview_outcomes.of-several"
        of_item = {"item": self.item, "answer": others[0], "first": first}
        tables = [
            coefficient_table(title, self.coefficients, odds=self.family == "logistic"),
            coefficient_table(
                translatable(code, **of_item),
                self.item_coefficients,
                odds=True,
            ),
        ]
        if self.differences:
            of_means = {"outcome": self.outcome, "item": self.item, "first": first}
            means = translatable("interview_outcomes.differences", **of_means)
            tables.append(coefficient_table(means, self.differences, odds=False))
        return View(title=title, tables=tuple(tables), notes=tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        if self.method == "rr":
            yield from self._notes_on_rr()
            return
        yield translatable(ERROR_SOURCES[self.errors])
        yield translatable("estimation.wald-intervals")
        if self.weighted:
            yield translatable("interview_models.weighted")
        if self.sigma is not None:
            sigma = coefficient_text(self.sigma)
            yield translatable("interview_outcomes.sigma", sigma=sigma)
        for each in self.unknown:
            yield translatable(
                "interview_outcomes.unknown",
                name=each.term,
                estimate=coefficient_text(each.estimate),
                error=coefficient_text(each.standard_error),
            )
        if self.variation:
            yield self.variation.text
        yield from self._notes_on_people()

    def _notes_on_people(self) -> Iterator[str]:
        if self.left_out:
            yield translatable("interview_outcomes.left-out", number=self.left_out)
        code = (
            "interview_outcomes.rr-hidden" if self.method == "rr" else "interview_outcomes.hidden"
        )
        yield translatable(code, item=self.item, formula=self.item_formula)

    def _notes_on_rr(self) -> Iterator[str]:
        estimates = (each.estimate for each in self.coefficients)
        rest = max(abs(end - at) for end, at in zip(self.limit, estimates, strict=True))
        rest = math.ceil(1e5 * rest) / 1e5
        yield translatable("interview_outcomes.rr-steps")
        yield translatable("interview_outcomes.rr-stop", stop=STOP, rest=rest)
        yield translatable("interview_outcomes.rr-errors")
        yield translatable("estimation.wald-intervals")
        yield from self._notes_on_people()

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the coefficients of both models, without intercepts."""
        linear = self.family == "linear"
        code = "estimation.difference" if linear else "interview_models.log-odds-axis"
        groups = [
            (
                self.outcome,
                [
                    LabeledInterval(each.term, each.estimate, each.low, each.high)
                    for each in self.coefficients
                    if each.term != INTERCEPT
                ],
            )
        ]
        title = translatable("interview_outcomes.plot", outcome=self.outcome)
        return (IntervalPlot(title, translatable(code), groups),)


def coefficient_table(title: str, rows: Sequence[Coefficient], *, odds: bool) -> Numbers:
    """Return a table of coefficients. odds: whether they are log odds."""
    ratio = (EFFECT["logistic"], INTERVAL) if odds else ()
    lines = [
        (
            each.term,
            coefficient_text(each.estimate),
            coefficient_text(each.standard_error),
            between(coefficient_text(each.low), coefficient_text(each.high)),
            *(_odds(each) if odds else ()),
            p_text(each.p_value),
        )
        for each in rows
    ]
    return Numbers(
        title,
        (TERM, ESTIMATE, ERROR, INTERVAL, *ratio, "p"),
        tuple(lines),
        (TERM, ESTIMATE, ERROR, "p"),
        spaces=2,
    )


def _odds(each: Coefficient) -> tuple[str, str]:
    low, middle, high = (math.exp(min(x, 700.0)) for x in (each.low, each.estimate, each.high))
    return times(middle), odds_between(low, high)
