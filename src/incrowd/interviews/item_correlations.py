"""Correlations of randomized questions and open numbers: the result, and its function."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, translatable
from incrowd.errors import Of, UsageError
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.columns import Factor
from incrowd.interviews.cross_table import check_name
from incrowd.interviews.promise import InterviewPromise
from incrowd.interviews.scores import (
    NumberColumn,
    NumberCorrelation,
    OpenNumber,
    ScoredItem,
    correlation,
)
from incrowd.interviews.selection import SampleArrays, SampleDesign
from incrowd.number_text import between
from incrowd.views import IntervalPlot, LabeledInterval, Line, Numbers, Sheet, Square, View

FIGURES = ("estimate", "standard_error", "low", "high", "people")


@dataclass(frozen=True)
class ItemCorrelations(views.Result):
    """The correlations of all pairs of some randomized questions and open numbers.

    Attributes
    ----------
    names : tuple of str
        The questions and columns.
    pairs : tuple of NumberCorrelation
        In the order of `itertools.combinations(names, 2)`.
    sample : SampleDesign
        Whether weights and clusters were used.

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> from incrowd import interviews
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> data = {"smokes": ["yes", "no"] * 50, "age": [50, 30, 45, 35] * 25}
    >>> answers = incrowd.read_answers(survey, pyarrow.table(data))
    >>> interviews.correlate(answers, ["smokes", "age"]).matrix.shape
    (2, 2)
    """

    names: tuple[str, ...]
    pairs: tuple[NumberCorrelation, ...]
    sample: SampleDesign
    guarantee: InterviewPromise | None = None

    def __repr__(self) -> str:
        return f"ItemCorrelations(names={list(self.names)})"

    @property
    def matrix(self) -> np.ndarray:
        """Shape (names, names); nan where there is no estimate."""
        return self._square([each.estimate for each in self.pairs], 1.0)

    @property
    def standard_errors(self) -> np.ndarray:
        """Shape (names, names), 0 on the diagonal."""
        return self._square([each.standard_error for each in self.pairs], 0.0)

    def _square(self, values: Sequence[float], diagonal: float) -> np.ndarray:
        matrix = np.full((len(self.names), len(self.names)), diagonal)
        rows, columns = np.triu_indices(len(self.names), 1)
        matrix[rows, columns] = matrix[columns, rows] = values
        return matrix

    def facts(self) -> dict[str, Any]:
        """Return the matrices and all pairs."""
        return {
            "guarantee": self.guarantee,
            "names": self.names,
            "correlations": self.matrix,
            "standard_errors": self.standard_errors,
            "pairs": self.pairs,
            "weighted": self.sample.weighted,
            "clusters": self.sample.clusters,
        }

    def long_table(self) -> Sheet:
        """Return a row for each pair."""
        rows = tuple(
            (*names, *(getattr(each, figure) for figure in FIGURES))
            for names, each in zip(combinations(self.names, 2), self.pairs, strict=True)
        )
        return Sheet("pairs", ("first", "second", *FIGURES), rows)

    def squares(self) -> Sequence[Square]:
        """Return the matrices of correlations and standard errors."""
        return (
            Square("correlations", self.names, self.matrix),
            Square("standard_errors", self.names, self.standard_errors),
        )

    def view(self) -> View:
        """Return all pairs."""
        title = translatable("estimation.correlations-title")
        headings = (
            translatable("interviews.pair-column"),
            translatable("estimation.correlation"),
            translatable("estimation.error-column"),
            translatable("estimation.column-interval"),
            translatable("interviews.interviews-column"),
        )
        lines = tuple(
            _line(names, each)
            for names, each in zip(combinations(self.names, 2), self.pairs, strict=True)
        )
        return View(
            title=title, tables=(Numbers(title, headings, lines),), notes=tuple(self._notes())
        )

    def _notes(self) -> Iterator[str]:
        yield translatable("interviews.device-removed")
        yield from self.sample.notes()
        if any(math.isnan(each.estimate) for each in self.pairs):
            yield translatable("interviews.no-correlation")
        elif np.linalg.eigvalsh(self.matrix)[0] <= 0:
            yield translatable(
                "estimation.not-positive-definite",
                eigenvalue=float(np.linalg.eigvalsh(self.matrix)[0]),
            )

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the correlations, by the first name."""
        groups: dict[str, list[LabeledInterval]] = {}
        for (first, second), each in zip(combinations(self.names, 2), self.pairs, strict=True):
            if math.isfinite(each.estimate):
                line = LabeledInterval(second, each.estimate, each.low, each.high)
                groups.setdefault(first, []).append(line)
        title = translatable("estimation.correlations-title")
        axis = translatable("estimation.correlation")
        return (IntervalPlot(title, axis, list(groups.items()), (-1.0, 1.0)),)


def _line(names: tuple[str, str], each: NumberCorrelation) -> Line:
    people, pair = NumberText(f"{each.people:,}"), " × ".join(names)
    if math.isnan(each.estimate):
        return pair, "-", "-", "-", people
    figures = (each.estimate, each.standard_error, each.low, each.high)
    estimate, error, low, high = (NumberText(f"{figure:.3f}") for figure in figures)
    return pair, estimate, error, between(low, high), people


def correlate(
    answers: InterviewAnswers,
    names: Sequence[str],
    *,
    scores: Mapping[str, Sequence[float]] | None = None,
    weighted: bool = True,
) -> ItemCorrelations:
    """Estimate the correlations of randomized questions with each other and with open numbers.

    Parameters
    ----------
    answers : InterviewAnswers
        What `incrowd.read_answers` returned.
    names : sequence of str
        At least two questions or open columns of numbers. "Yes" counts as 1, and "no" as 0.
    scores : mapping of str to sequence of float, optional
        For questions with other answers, the number that each answer counts.
    weighted : bool
        Whether the weights of the survey are used.

    Returns
    -------
    ItemCorrelations
        Correlations of the true answers: the noise of the device is removed. Each pair uses the
        interviews that have both.

    Raises
    ------
    UsageError
        For fewer than two names, unknown ones, and those without numbers.

    References
    ----------
    .. [1] J. A. Fox, P. E. Tracy (1984). Measuring associations with randomized response. Social
           Science Research 13.

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> from incrowd import interviews
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> data = {"smokes": ["yes", "no"] * 50, "age": [50, 30, 30, 50] * 25}
    >>> answers = incrowd.read_answers(survey, pyarrow.table(data))
    >>> none = interviews.correlate(answers, ["smokes", "age"]).pairs[0]
    >>> round(abs(float(none.estimate)), 9)
    0.0
    """
    distinct = tuple(dict.fromkeys(names))
    if isinstance(names, str) or len(distinct) < 2:
        shown = names if isinstance(names, str) else ", ".join(names)
        raise UsageError.of("names", "interviews.two-names", value=shown)
    columns = {name: _column(answers, name, scores or {}) for name in distinct}
    sample = SampleArrays.of(answers, weighted)
    pairs = tuple(
        correlation(columns[first], columns[second], sample.weights, sample.clusters)
        for first, second in combinations(distinct, 2)
    )
    return ItemCorrelations(distinct, pairs, sample.design, guarantee=answers.guarantee)


def _column(
    answers: InterviewAnswers, name: str, scores: Mapping[str, Sequence[float]]
) -> NumberColumn:
    check_name(answers, name)
    if name not in {each.id for each in answers.survey.items}:
        column = answers.column(name)
        if isinstance(column, Factor):
            raise UsageError.of("names", "interviews.not-numbers", value=name)
        return OpenNumber(column)
    item = answers.survey.item(name)
    values = scores.get(name, item.question.values)
    if values is None:
        raise UsageError.of("names", "estimation.no-scores", value=name)
    if len(values) != len(item.design.answers):
        raise UsageError.of(
            ("scores", Of(name)),
            "estimation.number-of-scores",
            value=list(values),
            number=len(item.design.answers),
            answers=item.design.answers,
        )
    return ScoredItem(answers.item(name), np.array(values, float))
