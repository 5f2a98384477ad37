"""The result of a regression of a randomized item: coefficients, tests, and probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, text_list, translatable
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.estimation.regression.results import (
    EFFECT,
    ERROR,
    ESTIMATE,
    INTERVAL,
    TERM,
    Coefficient,
    Odds,
    odds_between,
    p_text,
)
from incrowd.estimation.tables import FIGURES
from incrowd.interviews.logistic import LogitErrors
from incrowd.interviews.mean_shares import MeanShares
from incrowd.interviews.promise import InterviewPromise
from incrowd.number_text import between, percent, places_of, times
from incrowd.views import IntervalPlot, LabeledInterval, Numbers, Sheet, Square, View

ItemModel = Literal["logistic", "multinomial", "ordinal"]
IntervalKind = Literal["wald", "profile"]
OF_MODEL = ("observed", "expected", "scores")  # errors that hold only if the model is right
ERROR_WORDS: dict[LogitErrors, str] = {
    "observed": translatable("interview_models.errors-observed"),
    "expected": translatable("interview_models.errors-expected"),
    "scores": translatable("interview_models.errors-scores"),
    "robust": translatable("interview_models.errors-robust"),
}
YES = 1  # the answer of a yes/no question that a logistic model is about


@dataclass(frozen=True)
class TermTest:
    """The test that all coefficients of a term are zero, with all other terms in the model.

    statistic: chi-square, or F if `denominator` is not None. degrees: how many coefficients.
    """

    term: str
    statistic: float
    degrees: int
    denominator: int | None
    p_value: float | None


@dataclass(frozen=True)
class PredictedShare:
    """The mean probability of an answer. where: the values that columns were set to, if any."""

    where: str
    answer: str
    estimate: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class AverageEffect:
    """The average effect of a column on the probability of an answer.

    change: what is compared, such as "yes - no"; empty for one unit of a number.
    """

    column: str
    change: str
    answer: str
    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, eq=False)
class ItemRegression(views.Result):
    """A regression of the true answers to a randomized item.

    Attributes
    ----------
    formula : str
        The model.
    outcome : str
        The id of the item.
    answers : tuple of str
        The true answers. The log odds are those of "yes" against "no", of each answer against the
        first, or of later answers against earlier ones.
    model : {"logistic", "multinomial", "ordinal"}
        The kind of model.
    people : int
        The number of interviews that are used.
    left_out : int
        The number of interviews without a report, or without a column of the model.
    coefficients : tuple of Coefficient
        On the scale of log odds. In an ordinal model, the thresholds between answers come first.
    covariance : array, shape (coefficients, coefficients)
        Of the coefficients.
    unknowns : tuple of Coefficient
        Probabilities of the design that were estimated along.
    tests : tuple of TermTest
        Of each term of the formula, and of all together.
    shares : tuple of PredictedShare
        The mean probabilities of the answers: as observed, then where requested.
    effects : tuple of AverageEffect
        The average effects of the columns on these probabilities.
    fitted : MeanShares
        The probabilities for each interview that is used, shape (people, answers).
    interviews : array, shape (people,)
        The numbers of these interviews in the file, from 1.
    errors : {"observed", "expected", "scores", "robust", "cluster"}
        What the standard errors come from.
    interval_method : {"wald", "profile"}
        The intervals of the coefficients.
    log_likelihood, null_log_likelihood : float
        Of the model, and of the one without predictors.
    clusters : int
        The number of clusters, if errors are clustered; otherwise 0.
    weighted : bool
        Whether the interviews have weights.
    references : tuple of str
        The categories with which the others are compared.
    guarantee : InterviewPromise or None
        What the device promises.
    """

    formula: str
    outcome: str
    answers: tuple[str, ...]
    model: ItemModel
    people: int
    left_out: int
    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    unknowns: tuple[Coefficient, ...]
    tests: tuple[TermTest, ...]
    shares: tuple[PredictedShare, ...]
    effects: tuple[AverageEffect, ...]
    fitted: MeanShares
    interviews: np.ndarray
    errors: LogitErrors
    interval_method: IntervalKind
    log_likelihood: float
    null_log_likelihood: float
    clusters: int = 0
    weighted: bool = False
    references: tuple[str, ...] = ()
    guarantee: InterviewPromise | None = None

    def __repr__(self) -> str:
        return f"ItemRegression({self.formula}, {self.model}, {self.people:,} interviews)"

    @property
    def aic(self) -> float:
        """Akaike's criterion: smaller is better, for the same interviews without weights."""
        return 2 * (len(self.coefficients) + len(self.unknowns)) - 2 * self.log_likelihood

    @property
    def odds_ratios(self) -> tuple[Odds, ...]:
        """The odds ratios of the coefficients, with their intervals."""
        return tuple(
            Odds(*(math.exp(min(end, 700.0)) for end in (each.estimate, each.low, each.high)))
            for each in self.coefficients
        )

    @property
    def in_r(self) -> str:
        """Lines of R that test the coefficients, and combine them with those of other surveys."""
        return """
            b <- setNames(incrowd$sheets$coefficients$estimate, incrowd$sheets$coefficients$term)
            V <- incrowd$matrices$covariance
            cbind(estimate = b, error = sqrt(diag(V)), z = b / sqrt(diag(V)))
            # Together with other surveys, with the package mixmeta:
            # mixmeta::mixmeta(rbind(b, b_other), list(V, V_other))
            """

    def facts(self) -> dict[str, Any]:
        """Return everything except the probabilities of each interview."""
        names = (
            *("formula", "outcome", "answers", "model", "people", "left_out"),
            *("errors", "interval_method", "clusters", "weighted", "references"),
            *("log_likelihood", "null_log_likelihood", "aic"),
        )
        coefficients = [
            asdict(each) | {"odds_ratio": asdict(odds)}
            for each, odds in zip(self.coefficients, self.odds_ratios, strict=True)
        ]
        return {
            **{name: getattr(self, name) for name in names},
            "coefficients": coefficients,
            "covariance": self.covariance,
            "unknown_probabilities": self.unknowns,
            "tests": self.tests,
            "shares": self.shares,
            "effects": self.effects,
            "guarantee": self.guarantee,
        }

    def long_table(self) -> Sheet:
        """Return a row for each coefficient, then for each unknown probability."""
        names = ("term", *FIGURES, "p_value")
        every = [*self.coefficients, *self.unknowns]
        return Sheet.of_records(
            "coefficients", [{name: getattr(each, name) for name in names} for each in every]
        )

    def sheets(self) -> Sequence[Sheet]:
        """Return the coefficients, tests, mean probabilities, effects, and probabilities."""
        lists: dict[str, Sequence[Any]] = {
            "tests": self.tests,
            "shares": self.shares,
            "effects": self.effects,
        }
        tables = (
            Sheet.of_records(name, [asdict(each) for each in records])
            for name, records in lists.items()
            if records
        )
        return (self.long_table(), *tables, self._fitted())

    def _fitted(self) -> Sheet:
        """Return the probabilities of each interview."""
        columns = (self.fitted.values, self.fitted.errors, *self.fitted.interval(HALF_WIDTH))
        shown = (YES,) if self.model == "logistic" else range(len(self.answers))
        rows: list[tuple[views.Value, ...]] = [
            (int(number), self.answers[answer], *(float(each[row, answer]) for each in columns))
            for row, number in enumerate(self.interviews)
            for answer in shown
        ]
        return Sheet("fitted", ("interview", "answer", *FIGURES), tuple(rows), FIGURES)

    def squares(self) -> Sequence[Square]:
        """Return the covariance of the coefficients."""
        terms = tuple(each.term for each in self.coefficients)
        return (Square("covariance", terms, self.covariance),)

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the coefficients of the predictors."""
        lines = [
            LabeledInterval(each.term, each.estimate, each.low, each.high)
            for each in self.coefficients[len(self.coefficients) - self._slopes :]
        ]
        axis = translatable("interview_models.log-odds-axis")
        return (IntervalPlot(self.title, axis, [("", lines)]),) if lines else ()

    @property
    def _slopes(self) -> int:
        """The number of coefficients after the intercept or the thresholds."""
        before = len(self.answers) - 1 if self.model == "ordinal" else 1
        return len(self.coefficients) - before

    @property
    def title(self) -> str:
        """The title of the table of coefficients."""
        names = {"outcome": self.outcome, "people": self.people}
        if self.model == "ordinal":
            return translatable("interview_models.ordinal", **names)
        if self.model == "multinomial":
            return translatable("interview_models.multinomial", first=self.answers[0], **names)
        return translatable("interview_models.logistic", answer=self.answers[YES], **names)

    def view(self) -> View:
        """Return the coefficients, tests, mean probabilities, and effects, with notes."""
        tables = (self._coefficients(), self._tests(), self._shares(), self._effects())
        notes = tuple(self._notes())
        return View(self.title, tables=tuple(each for each in tables if each.lines), notes=notes)

    def _coefficients(self) -> Numbers:
        odds = self.odds_ratios
        lines = [
            (
                each.term,
                _three(each.estimate),
                _three(each.standard_error),
                between(_three(each.low), _three(each.high)),
                times(ratio.ratio),
                odds_between(ratio.low, ratio.high),
                p_text(each.p_value),
            )
            for each, ratio in zip(self.coefficients, odds, strict=True)
        ]
        headings = (TERM, ESTIMATE, ERROR, INTERVAL, EFFECT["logistic"], INTERVAL, "p")
        whole = (TERM, ESTIMATE, ERROR, "p")
        return Numbers(self.title, headings, tuple(lines), whole=whole, spaces=2)

    def _tests(self) -> Numbers:
        lines = [
            (
                each.term,
                NumberText(f"{each.statistic:.2f}"),
                str(each.degrees)
                if each.denominator is None
                else f"{each.degrees}, {each.denominator}",
                p_text(each.p_value),
            )
            for each in self.tests
        ]
        statistic = "F" if self.clusters else translatable("interview_models.chi-square")
        headings = (TERM, statistic, translatable("interview_models.degrees"), "p")
        title = translatable("interview_models.tests-title")
        return Numbers(title, headings, tuple(lines), spaces=2)

    def _shares(self) -> Numbers:
        places = places_of(each.standard_error for each in self.shares)
        lines = [
            (
                each.where or translatable("interview_models.as-observed"),
                *self._answer(each.answer),
                *_percents((each.estimate, each.standard_error), places),
                between(*_percents((each.low, each.high), places)),
            )
            for each in self.shares
        ]
        headings = (
            translatable("interviews.interviews-column"),
            *self._answer(translatable("estimation.answer-column")),
            translatable("interview_models.percent"),
            ERROR,
            INTERVAL,
        )
        title = translatable("interview_models.shares-title")
        return Numbers(self._of_yes(title), headings, tuple(lines), spaces=2)

    def _effects(self) -> Numbers:
        places = places_of(each.standard_error for each in self.effects)
        lines = [
            (
                each.column,
                each.change or translatable("interview_models.per-unit"),
                *self._answer(each.answer),
                *_percents((each.estimate, each.standard_error), places),
                between(*_percents((each.low, each.high), places)),
                p_text(each.p_value),
            )
            for each in self.effects
        ]
        headings = (
            translatable("interviews.name-column"),
            translatable("interview_models.change"),
            *self._answer(translatable("estimation.answer-column")),
            translatable("estimation.percentage-points"),
            ERROR,
            INTERVAL,
            "p",
        )
        title = translatable("interview_models.effects-title")
        return Numbers(self._of_yes(title), headings, tuple(lines), whole=(INTERVAL,), spaces=2)

    def _answer(self, text: str) -> tuple[str, ...]:
        """Return a cell of the column of answers, which a logistic model does not need."""
        return () if self.model == "logistic" else (text,)

    def _of_yes(self, title: str) -> str:
        """Return a title, with the only answer that is shown."""
        if self.model != "logistic":
            return title
        return translatable("interview_models.of-answer", title=title, answer=self.answers[YES])

    def _notes(self) -> Iterator[str]:
        if self.references:
            yield translatable("estimation.compared-with", levels=[*self.references])
        yield translatable("interview_models.left-out", people=self.people, left_out=self.left_out)
        if self.errors == "cluster":
            yield translatable("interview_models.errors-cluster", clusters=self.clusters)
        else:
            yield ERROR_WORDS[self.errors]
        if self.weighted:
            yield translatable("interview_models.weighted")
        if self.interval_method == "profile":
            yield translatable("interview_models.profile")
        by_model = self.errors in OF_MODEL
        if by_model:
            yield translatable(
                "interview_models.fit", log_likelihood=self.log_likelihood, aic=self.aic
            )
        if self.tests:
            ratio, wald = "interview_models.ratio-tests", "interview_models.wald-tests"
            yield translatable(ratio if by_model else wald)
        if self.effects:
            yield translatable("interview_models.fixed-interviews")
        if self.unknowns:
            texts = [
                translatable(
                    "interview_models.unknown-probability",
                    name=each.term,
                    estimate=each.estimate,
                    low=each.low,
                    high=each.high,
                )
                for each in self.unknowns
            ]
            yield text_list(texts)


def _three(value: float) -> NumberText:
    return NumberText(f"{value:.3f}" if abs(value) < 1000 else f"{value:,.1f}")


def _percents(values: Sequence[float], places: int) -> list[NumberText]:
    return [percent(value, places) for value in values]
