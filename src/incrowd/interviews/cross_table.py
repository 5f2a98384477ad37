"""Tables of several questions of interviews: the result, and its function."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, likely, translatable
from incrowd.errors import UsageError
from incrowd.estimation.intervals import LEVEL
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.contrasts import WaldTest
from incrowd.interviews.influence import half_width
from incrowd.interviews.items import ReportedItem
from incrowd.interviews.joint import OddsRatio, independence, odds_ratio
from incrowd.interviews.promise import InterviewPromise
from incrowd.interviews.selection import (
    METHOD_NOTES,
    SampleArrays,
    SampleDesign,
    answer_labels,
    estimator,
    left_out_words,
    open_item,
    people_groups,
)
from incrowd.interviews.shares import ItemShares, design_effects, moments, profile_interval
from incrowd.methods import EstimationMethod
from incrowd.number_text import between, percent, places_of, times
from incrowd.views import IntervalPlot, LabeledInterval, Line, Numbers, Sheet, Square, View

MOST_CELLS = 1024
MOST_COLUMNS = 6  # that a terminal shows side by side


@dataclass(frozen=True)
class InterviewTable(views.Result):
    """The joint distribution of the true answers to several questions of interviews.

    Attributes
    ----------
    names : tuple of str
        The questions and open columns, one for each axis.
    answers : tuple of tuple of str
        The names of the answers on each axis.
    labels : tuple of tuple of str
        What they are called.
    estimate, standard_error, low, high : ndarray
        Shares of all people, with one axis for each name. The error is nan where the likelihood
        puts a share at an end of its range; its interval is valid.
    covariance : ndarray
        Of all shares in the order of `estimate.ravel()`; nan where there is no standard error.
    margins : tuple of tuple of (float, float)
        For each axis, the share of each answer and its standard error.
    people, left_out : int
        The number of interviews with a value on every axis, and that of all others.
    method : {"moments", "likelihood"}
        How the shares were estimated.
    sample : SampleDesign
        Whether weights and clusters were used.
    log_likelihood : float
        nan for moments.
    unknowns : tuple of (str, float, float)
        Unknown probabilities of the designs: name, estimate, and standard error.
    independence : WaldTest or None
        The test that two axes are independent, by moments; None for more axes.
    odds_ratio : OddsRatio or None
        Of two axes with two answers each.

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> from incrowd import interviews
    >>> design = {"kind": "forced", "yes": "1/6", "no": "1/6"}
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [
    ...         {"id": id, "type": "yesno", "design": design} for id in ("smokes", "drinks")
    ...     ],
    ... })
    >>> table = pyarrow.table({
    ...     "smokes": ["yes", "yes", "no", "no"] * 50, "drinks": ["yes", "no", "no", "no"] * 50
    ... })
    >>> result = interviews.table(incrowd.read_answers(survey, table), ["smokes", "drinks"])
    >>> result.estimate.round(3)
    array([[ 0.719, -0.219],
           [ 0.156,  0.344]])
    """

    names: tuple[str, ...]
    answers: tuple[tuple[str, ...], ...]
    labels: tuple[tuple[str, ...], ...]
    estimate: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    covariance: np.ndarray
    margins: tuple[tuple[tuple[float, float], ...], ...]
    people: int
    left_out: int
    method: EstimationMethod
    sample: SampleDesign
    log_likelihood: float
    unknowns: tuple[tuple[str, float, float], ...] = ()
    independence: WaldTest | None = None
    odds_ratio: OddsRatio | None = None
    guarantee: InterviewPromise | None = None

    def __repr__(self) -> str:
        return f"InterviewTable({' × '.join(self.names)}, method={self.method!r})"

    def facts(self) -> dict[str, Any]:
        """Return all figures."""
        return {
            "guarantee": self.guarantee,
            "method": self.method,
            "questions": self.names,
            "answers": self.answers,
            "shares": self.estimate,
            "standard_errors": self.standard_error,
            "low": self.low,
            "high": self.high,
            "covariance": self.covariance,
            "margins": self.margins,
            "people": self.people,
            "left_out": self.left_out,
            "log_likelihood": self.log_likelihood,
            "unknowns": self.unknowns,
            "independence": self.independence,
            "odds_ratio": self.odds_ratio,
            "level": LEVEL,
            "weighted": self.sample.weighted,
            "clusters": self.sample.clusters,
        }

    def long_table(self) -> Sheet:
        """Return a row for each cell."""
        figures = ("share", "standard_error", "low", "high")
        grids = (self.estimate, self.standard_error, self.low, self.high)
        columns = zip(*(grid.ravel().tolist() for grid in grids), strict=True)
        rows = tuple(
            (*cell, *each) for cell, each in zip(product(*self.answers), columns, strict=True)
        )
        return Sheet("table", (*self.names, *figures), rows, figures)

    def squares(self) -> Sequence[Square]:
        """Return the covariance of all cells."""
        labels = tuple(", ".join(cell) for cell in product(*self.answers))
        return (Square("covariance", labels, self.covariance),)

    def view(self) -> View:
        """Return two axes as rows and columns with their sums, more axes as a list of cells."""
        errors = self.standard_error[np.isfinite(self.standard_error)]
        places = places_of([float(each) for each in errors])
        title = translatable("interviews.table-title", names=" × ".join(self.names))
        as_grid = len(self.names) == 2 and len(self.labels[1]) <= MOST_COLUMNS
        grid = self._grid if as_grid else self._list
        notes = (translatable(METHOD_NOTES[self.method]), *self._notes())
        return View(
            title=title,
            lines=(left_out_words(self.people, self.people + self.left_out), *self._lines()),
            tables=(grid(title, places),),
            notes=notes,
        )

    def _grid(self, title: str, places: int) -> Numbers:
        first, second = self.names
        any_answer = translatable("estimation.any-answer")
        rows, columns = self.margins

        def shown(share: float, error: float) -> str:
            text = percent(share, places)
            if math.isnan(error):
                return text
            return translatable("interviews.with-error", share=text, error=percent(error, places))

        lines = [
            (label, *(shown(*cell) for cell in zip(*cells, strict=True)), shown(*margin))
            for label, *cells, margin in zip(
                self.labels[0],
                self.estimate.tolist(),
                self.standard_error.tolist(),
                rows,
                strict=True,
            )
        ]
        total = shown(float(self.estimate.sum()), math.nan)
        lines.append((any_answer, *(shown(*margin) for margin in columns), total))
        title = translatable("interviews.rows-and-columns", rows=first, columns=second)
        return Numbers(title, (first, *self.labels[1], any_answer), tuple(lines))

    def _list(self, title: str, places: int) -> Numbers:
        def line(cell: tuple[str, ...], *figures: float) -> Line:
            share, error, low, high = figures
            shown = "-" if math.isnan(error) else percent(error, places)
            ends = between(percent(low, places), percent(high, places))
            return (*cell, percent(share, places), shown, ends)

        grids = (self.estimate, self.standard_error, self.low, self.high)
        figures = zip(*(grid.ravel().tolist() for grid in grids), strict=True)
        lines = [
            line(cell, *each) for cell, each in zip(product(*self.labels), figures, strict=True)
        ]
        headings = (
            *self.names,
            translatable("interviews.share-column"),
            translatable("estimation.error-column"),
            translatable("estimation.column-interval"),
        )
        return Numbers(title, headings, tuple(lines))

    def _lines(self) -> Iterator[str]:
        for name, value, error in self.unknowns:
            yield translatable(
                "interviews.unknown-line",
                name=translatable("interviews.unknown", name=name),
                share=percent(value, 1),
                error=percent(error, 1),
            )
        if self.independence:
            yield wald_words("interviews.independence", self.independence)
        if self.odds_ratio:
            yield _odds_words(self.odds_ratio)

    def _notes(self) -> Iterator[str]:
        yield from self.sample.notes()
        if self.independence and self.method == "likelihood":
            yield translatable("interviews.test-by-moments")
        if np.isnan(self.standard_error).any():
            yield translatable("interviews.at-end")
        if np.any((self.estimate < 0) | (self.estimate > 1)):
            yield translatable("interviews.outside-range")

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the shares of all cells, by the answers on the first axis."""
        groups: dict[str, list[LabeledInterval]] = {}
        grids = (self.estimate, self.low, self.high)
        figures = zip(*(grid.ravel().tolist() for grid in grids), strict=True)
        for (first, *others), each in zip(product(*self.labels), figures, strict=True):
            heading = translatable("interviews.name-is", name=self.names[0], value=first)
            label = " × ".join(others) or first
            groups.setdefault(heading, []).append(LabeledInterval(label, *each))
        title = translatable("interviews.table-title", names=" × ".join(self.names))
        axis = translatable("interviews.share-axis")
        return (IntervalPlot(title, axis, list(groups.items())),)


def wald_words(code: str, test: WaldTest) -> str:
    """Return a test as a line. code: of the text, with what is tested."""
    distribution = translatable(
        "interviews.chi-square" if test.clusters is None else "interviews.chi-square-of-clusters",
        statistic=NumberText(f"{test.statistic:.4g}"),
        degrees=test.freedom,
        clusters=test.clusters,
    )
    if math.isnan(test.p_value):
        return translatable("interviews.no-test", of=translatable(code), distribution=distribution)
    p_value = NumberText(f"{test.p_value:.3g}")
    return translatable(
        "interviews.test", of=translatable(code), distribution=distribution, p=p_value
    )


def _odds_words(odds: OddsRatio) -> str:
    if math.isnan(odds.estimate):
        return translatable("interviews.no-odds-ratio")
    low, high = times(odds.low), times(odds.high)
    return translatable(
        "interviews.odds-ratio", value=times(odds.estimate), ends=between(low, high)
    )


def table(
    answers: InterviewAnswers,
    names: Sequence[str],
    *,
    method: EstimationMethod = "moments",
    weighted: bool = True,
) -> InterviewTable:
    """Estimate the joint distribution of several questions, randomized or asked openly.

    Parameters
    ----------
    answers : InterviewAnswers
        What `incrowd.read_answers` returned.
    names : sequence of str
        At least two questions, or open columns with levels or a few different numbers.
    method : {"moments", "likelihood"}
        Moments are unbiased, and may be below 0 or above 1. The likelihood gives possible shares.
    weighted : bool
        Whether the weights of the survey are used.

    Returns
    -------
    InterviewTable
        For two axes, with a test of independence, and with the odds ratio if each has two answers.

    Raises
    ------
    UsageError
        For unknown names, too many cells, and fewer than two interviews with a value on each axis.

    References
    ----------
    .. [1] A. Chaudhuri, R. Mukerjee (1988). Randomized response: theory and techniques. Dekker.

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
    >>> data = pyarrow.table({"smokes": ["yes", "no"] * 50, "sex": ["f", "f", "m", "m"] * 25})
    >>> result = interviews.table(incrowd.read_answers(survey, data), ["smokes", "sex"])
    >>> result.estimate.round(2)
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    estimate, sample = estimator(method), SampleArrays.of(answers, weighted)
    axes = [_axis(answers, name) for name in _distinct(names)]
    items = [item for item, _, _ in axes]
    cells = math.prod(item.matrices.answers for item in items)
    if cells > MOST_CELLS:
        raise UsageError.of("names", "interviews.too-many-cells", value=cells, most=MOST_CELLS)
    shares = estimate(items, sample.weights, sample.clusters)
    two = len(items) == 2
    by_moments = _moments(items, sample) if two and method != "moments" else shares
    test = independence(by_moments, sample.clusters) if two and by_moments else None
    low, high = _ends(shares, items, sample, method)
    errors, covariance = shares.standard_errors, shares.covariance[:cells, :cells].copy()
    at_end = shares.at_end[:cells]
    covariance[at_end], covariance[:, at_end] = np.nan, np.nan
    shape = shares.mixture.shape
    return InterviewTable(
        guarantee=answers.guarantee,
        names=tuple(names),
        answers=tuple(each for _, each, _ in axes),
        labels=tuple(each for _, _, each in axes),
        estimate=shares.table,
        standard_error=errors[:cells].reshape(shape),
        low=low.reshape(shape),
        high=high.reshape(shape),
        covariance=covariance,
        margins=tuple(_margin(shares, axis) for axis in range(len(items))),
        people=shares.people,
        left_out=answers.people - shares.people,
        method=method,
        sample=sample.design,
        log_likelihood=shares.log_likelihood,
        unknowns=tuple(
            zip(
                shares.mixture.names, shares.unknowns.tolist(), errors[cells:].tolist(), strict=True
            )
        ),
        independence=test,
        odds_ratio=odds_ratio(shares, sample.clusters) if shape == (2, 2) else None,
    )


def _distinct(names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, str) or len(names) < 2 or len(set(names)) < len(names):
        shown = names if isinstance(names, str) else ", ".join(names)
        raise UsageError.of("names", "interviews.two-names", value=shown)
    return names


def _axis(
    answers: InterviewAnswers, name: str
) -> tuple[ReportedItem, tuple[str, ...], tuple[str, ...]]:
    """Return an axis as an item, with the names of its answers and what they are called."""
    if name in {each.id for each in answers.survey.items}:
        item = answers.item(name)
        return item, answers.survey.item(name).design.answers, answer_labels(answers, name)
    groups = people_groups(answers, check_name(answers, name))
    return open_item(groups), groups.labels, groups.labels


def check_name(answers: InterviewAnswers, name: str) -> str:
    """Return the name of a question or an open column, or raise UsageError."""
    choices = [*(each.id for each in answers.survey.items), *answers.names]
    if name not in choices:
        raise UsageError.of(
            "names",
            "interviews.no-such-name",
            value=name,
            hint=likely(name, choices),
            names=choices,
        )
    return name


def _moments(items: Sequence[ReportedItem], sample: SampleArrays) -> ItemShares | None:
    """Return the table by moments; None if the reports of a group do not determine it."""
    try:
        return moments(items, sample.weights, sample.clusters)
    except UsageError:
        return None


def _ends(
    shares: ItemShares,
    items: Sequence[ReportedItem],
    sample: SampleArrays,
    method: EstimationMethod,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the 95% intervals of all cells."""
    cells = shares.mixture.cells
    half = half_width(shares.used, sample.clusters)
    if method == "moments":
        reach = half * shares.standard_errors[:cells]
        return shares.parameters[:cells] - reach, shares.parameters[:cells] + reach
    effects = design_effects(items, sample.weights, sample.clusters)
    ends = [
        profile_interval(shares, cell, effect=float(effects[cell]), half=half)
        for cell in range(cells)
    ]
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


def _margin(shares: ItemShares, axis: int) -> tuple[tuple[float, float], ...]:
    """Return the shares of the answers on one axis, with their standard errors."""
    shape, cells = shares.mixture.shape, shares.mixture.cells
    place = np.indices(shape)[axis].ravel()
    chosen = (place == np.arange(shape[axis])[:, None]).astype(float)
    variances = np.einsum("ac,cd,ad->a", chosen, shares.covariance[:cells, :cells], chosen)
    values = chosen @ shares.parameters[:cells]
    errors = np.sqrt(np.maximum(variances, 0))
    return tuple(zip(values.tolist(), errors.tolist(), strict=True))
