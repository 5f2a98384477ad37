"""The correlations of pairs of questions with numbers, and whether they form a possible matrix.

Proof: docs/estimates.md#correlations.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, likely, translatable
from incrowd.errors import Of, UsageError, quantity
from incrowd.estimation.cell_errors import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.intervals import LEVEL
from incrowd.estimation.options import ErrorOptions, without_sampling
from incrowd.estimation.ratios import Quotient
from incrowd.estimation.readings import check_tables, table
from incrowd.estimation.tables import FIGURES, TableEstimate
from incrowd.number_text import between
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import with_merged
from incrowd.survey import AnyQuestion, Survey
from incrowd.views import IntervalPlot, LabeledInterval, Line, Numbers, Sheet, Square, View

NOT_HELD = translatable("estimation.not-held")
NO_SPREAD = translatable("estimation.no-spread")
_HEADINGS = (
    "estimation.questions-column",
    "estimation.correlation",
    "estimation.error-column",
    "estimation.column-interval",
)
Scores = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation of two questions; for two yes/no questions this is phi.

    low, high: the 95% interval, within -1 and 1. Without an estimate (nan), `reason` says why.
    """

    questions: tuple[str, str]
    estimate: float
    standard_error: float
    low: float
    high: float
    reason: str = ""

    @property
    def line(self) -> Line:
        """The pair, its correlation, error and interval, or the reason why there is none."""
        names = " × ".join(self.questions)
        if self.reason:
            return names, "-", "-", self.reason
        figures = (self.estimate, self.standard_error, self.low, self.high)
        estimate, error, low, high = (NumberText(f"{each:.3f}") for each in figures)
        return names, estimate, error, between(low, high)


@dataclass(frozen=True)
class Correlations(views.Result):
    """The correlations of all pairs of some questions.

    Attributes
    ----------
    questions : tuple of str
        The ids of the questions.
    pairs : tuple of Correlation
        In the order of the questions.
    people : int
        The number of people.
    errors : str
        Whether errors are of noise and sampling or of the noise alone.
    guarantee : Guarantee
        What holds for the people in the reports.
    answered : bool
        Whether a question is optional, so that a correlation describes only the people who answered
        both questions.
    rounded : tuple of str
        The questions of amounts. Each amount was rounded at random to an edge, which preserves
        covariances but adds to variances, so that these correlations are closer to 0 than those of
        the amounts.
    seed : int or None
        Of a simulation; None for real reports.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> pair, scores = ["physical_limitation", "self_rated_health"], [4, 3, 2, 1]
    >>> found = incrowd.correlate(plan, reports, pair, scores={"self_rated_health": scores})
    >>> bool(found.pairs[0].high < 0)
    True
    """

    questions: tuple[str, ...]
    pairs: tuple[Correlation, ...]
    people: int
    errors: str
    guarantee: Guarantee
    answered: bool = False
    rounded: tuple[str, ...] = ()
    seed: int | None = None

    def __repr__(self) -> str:
        of = quantity(len(self.questions), "questions"), quantity(self.people, "people")
        return f"Correlations({', '.join(of)}{views.simulated(self.seed)})"

    @property
    def matrix(self) -> np.ndarray:
        """Shape (questions, questions); nan where there is no estimate."""
        return self._square([pair.estimate for pair in self.pairs], 1.0)

    @property
    def standard_errors(self) -> np.ndarray:
        """Shape (questions, questions), 0 on the diagonal."""
        return self._square([pair.standard_error for pair in self.pairs], 0.0)

    @property
    def smallest_eigenvalue(self) -> float:
        """The smallest eigenvalue of the matrix; nan if a correlation is missing.

        Noise can bring it below zero, which is impossible for correlations of answers.
        """
        matrix = self.matrix
        return float(np.linalg.eigvalsh(matrix)[0]) if np.isfinite(matrix).all() else math.nan

    @property
    def in_r(self) -> str:
        """Lines of R that use the figures."""
        return """
            R <- incrowd$matrices$correlations
            eigen(R)$values                           # below 0: see the notes
            """

    def facts(self) -> dict[str, Any]:
        """Return the matrices and all pairs; missing values are null."""
        least = self.smallest_eigenvalue
        return {
            "questions": self.questions,
            "people": self.people,
            "answered": self.answered,
            "rounded": self.rounded,
            "correlations": self.matrix,
            "standard_errors": self.standard_errors,
            "pairs": self.pairs,
            "smallest_eigenvalue": least,
            "positive_definite": None if math.isnan(least) else least > 0,
            "errors": self.errors,
            "guarantee": self.guarantee,
        }

    def long_table(self) -> Sheet:
        """Return a row for each pair."""
        names = (*FIGURES, "reason")
        rows = ((*pair.questions, *(getattr(pair, name) for name in names)) for pair in self.pairs)
        return Sheet("pairs", ("first", "second", *names), tuple(rows))

    def squares(self) -> Sequence[Square]:
        """Return the matrices of correlations and standard errors."""
        return (
            Square("correlations", self.questions, self.matrix),
            Square("standard_errors", self.questions, self.standard_errors),
        )

    def view(self) -> View:
        """Return all pairs, with a note if they do not form a correlation matrix."""
        sizes = {"questions": len(self.questions), "people": self.people}
        title = translatable("estimation.correlations-of", **sizes)
        headings = tuple(map(translatable, _HEADINGS))
        numbers = Numbers(title, headings, tuple(pair.line for pair in self.pairs))
        return View(title=title, tables=(numbers,), notes=tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        yield translatable("estimation.standard-errors", errors=self.errors)
        if self.answered:
            yield translatable("estimation.of-those-who-answered-both")
        if self.rounded:
            yield translatable("estimation.correlations-of-rounded", questions=[*self.rounded])
        least = self.smallest_eigenvalue
        if math.isnan(least):
            yield translatable("estimation.correlations-missing")
        elif least <= 0:
            yield translatable("estimation.not-positive-definite", eigenvalue=least)

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the estimable correlations, by their first questions."""
        groups: dict[str, list[LabeledInterval]] = {}
        for pair in self.pairs:
            if math.isfinite(pair.estimate):
                line = LabeledInterval(pair.questions[1], pair.estimate, pair.low, pair.high)
                groups.setdefault(pair.questions[0], []).append(line)
        title = translatable("estimation.correlations-title")
        axis = translatable("estimation.correlation")
        return (IntervalPlot(title, axis, list(groups.items()), (-1.0, 1.0)),)

    def _square(self, values: Sequence[float], diagonal: float) -> np.ndarray:
        size = len(self.questions)
        matrix = np.full((size, size), diagonal)
        rows, columns = np.triu_indices(size, 1)
        matrix[rows, columns] = matrix[columns, rows] = values
        return matrix


def correlate(
    plan: Plan,
    reports: Reports,
    questions: Sequence[str] | None = None,
    *,
    scores: Scores | None = None,
    **options: Unpack[ErrorOptions],
) -> Correlations:
    """Estimate the correlations of all pairs of some questions.

    Parameters
    ----------
    plan : Plan
        The plan that the reports were made with.
    reports : Collection or iterable of Collection
        All reports.
    questions : sequence of str, optional
        Question ids; by default all yes/no questions, numbers, and amounts, and those with scores.
        Yes counts as 1 and no as 0, a bin as its middle, an edge as itself.
    scores : mapping of str to sequence of float, optional
        For some questions, the number that each answer counts, except "no answer".

    Returns
    -------
    Correlations
        People who did not answer both questions of a pair are left out of it. A pair that no
        message holds has no estimate.

    Raises
    ------
    UsageError
        For fewer than two questions, unknown ones, and those without numbers.
    TableError
        If no message holds any pair.
    ReportsError
        As for `estimate`.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> pair, scores = ["physical_limitation", "self_rated_health"], [4, 3, 2, 1]
    >>> found = incrowd.correlate(plan, reports, pair, scores={"self_rated_health": scores})
    >>> found.matrix.round(1)
    array([[ 1. , -0.3],
           [-0.3,  1. ]])
    """
    plan, noise_only = with_merged(plan, options.get("merge")), without_sampling(plan, options)
    numbers = _numbers(plan.survey, questions, scores or {})
    pairs = list(combinations(numbers, 2))
    closed = {pair: plan.survey.closed(pair) for pair in pairs}
    held = [p for p in pairs if any(message.holds(closed[p]) for message in plan.messages)]
    check_tables(plan, held or pairs[:1])
    counted = count(plan, reports, tables=held, kind="pairs")
    arrived, guarantee = check_arrived(plan, counted, options)

    def of(pair: tuple[str, str]) -> Correlation:
        if pair not in held:
            return no_correlation(pair, NOT_HELD)
        joint = table(plan, counted, pair, noise_only, covariance=True)
        return correlation(joint, numbers[pair[0]], numbers[pair[1]])

    return Correlations(
        questions=tuple(numbers),
        pairs=tuple(map(of, pairs)),
        people=min(each.people for each in arrived),
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
        guarantee=guarantee,
        answered=any(np.isnan(each).any() for each in numbers.values()),
        rounded=plan.survey.rounded(numbers),
        seed=counted.seed,
    )


def _numbers(survey: Survey, ids: Sequence[str] | None, scores: Scores) -> dict[str, np.ndarray]:
    """Return the number of each answer to each question that is correlated; nan for "no answer"."""
    questions = {question.id: question for question in survey.questions}
    for id in (*(ids or ()), *scores):
        if id not in questions:
            raise UsageError.of(
                "questions",
                "estimation.no-such-question",
                value=id,
                hint=likely(id, questions),
                questions=[*questions],
            )
    chosen = ids or [id for id, each in questions.items() if id in scores or each.values]
    if len(set(chosen)) < 2:
        raise UsageError.of("questions", "estimation.few-questions", value=", ".join(chosen))
    return {id: _scored(questions[id], scores.get(id)) for id in dict.fromkeys(chosen)}


def _scored(question: AnyQuestion, scores: Sequence[float] | None) -> np.ndarray:
    scores = question.values if scores is None else scores
    if scores is None or question.one_way_only or not question.exclusive:
        raise UsageError.of("questions", "estimation.no-scores", value=question.id)
    answers = question.substantive
    if len(scores) != len(answers):
        raise UsageError.of(
            ("scores", Of(question.id)),
            "estimation.number-of-scores",
            value=list(scores),
            number=len(answers),
            answers=answers,
        )
    numbers = np.full(len(question.answers), np.nan)
    numbers[: len(answers)] = scores
    return numbers


def no_correlation(questions: tuple[str, str], reason: str) -> Correlation:
    """Return a pair without an estimate; its interval holds every possible value."""
    return Correlation(questions, math.nan, math.nan, -1.0, 1.0, reason)


def correlation(table: TableEstimate, first: np.ndarray, second: np.ndarray) -> Correlation:
    """Return the correlation of the numbers of two questions.

    table: the table of both questions, without margins. first, second: the number of each answer;
    nan for "no answer", and people who gave it are left out.

    The correlation is C / S, C the covariance and S the product of the standard deviations, with
    the interval of `Quotient`, which also covers where S is hardly known.
    """
    names = (table.questions[0], table.questions[1])
    x, y = (each.ravel() for each in np.meshgrid(first, second, indexing="ij"))
    counted = np.isfinite(x + y)
    shares, x, y = table.estimate.ravel()[counted], x[counted], y[counted]
    answered = shares.sum()
    if answered <= 0:
        return no_correlation(names, NO_SPREAD)
    shares = shares / answered
    x, y = x - shares @ x, y - shares @ y
    spreads = shares @ x**2, shares @ y**2
    if min(spreads) <= 0:
        return no_correlation(names, NO_SPREAD)
    over, under = shares @ (x * y), math.sqrt(spreads[0] * spreads[1])
    slopes = np.zeros((2, counted.size))
    slopes[0, counted] = (x * y - over) / answered
    slopes[1, counted] = under * (x**2 / spreads[0] + y**2 / spreads[1] - 2) / (2 * answered)
    variances = slopes @ table.error.joint @ slopes.T
    ratio = Quotient(over, under, variances[0, 0], variances[0, 1], variances[1, 1], False)
    low, high = ratio.interval(LEVEL)
    estimate = max(-1.0, min(ratio.estimate, 1.0))
    return Correlation(names, estimate, ratio.spread / under, max(low, -1), min(high, 1))
