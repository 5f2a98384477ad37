"""The shares of the true answers to the questions of interviews: the result, and its function."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, translatable
from incrowd.estimation.intervals import LEVEL
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.influence import half_width
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.promise import InterviewPromise
from incrowd.interviews.selection import (
    METHOD_NOTES,
    SampleArrays,
    SampleDesign,
    answer_labels,
    check_sizes,
    chosen_items,
    estimator,
    people_groups,
)
from incrowd.interviews.shares import ItemShares, design_effects, profile_interval
from incrowd.methods import EstimationMethod
from incrowd.number_text import between, percent, places_of
from incrowd.views import IntervalPlot, LabeledInterval, Line, Numbers, Sheet, View

FIGURE_NAMES = ("estimate", "standard_error", "low", "high")


@dataclass(frozen=True)
class PrevalenceFigure:
    """An estimated share, or an unknown probability of a design, with its 95% interval.

    question, group, answer: what it is the share of; `answer` is the name of the probability if
    `unknown` is true. label: what the answer is called. at_end: whether the likelihood puts it at
    an end of its range, so that it has no standard error (nan), but an interval. people: the number
    of interviews with a report.
    """

    question: str
    group: str
    answer: str
    label: str
    estimate: float
    standard_error: float
    low: float
    high: float
    people: int
    at_end: bool = False
    unknown: bool = False


@dataclass(frozen=True)
class PrevalenceFit:
    """What one question was estimated from, in one group of people.

    left_out: the number of interviews without a report. log_likelihood: nan for moments.
    """

    question: str
    group: str
    people: int
    left_out: int
    log_likelihood: float


@dataclass(frozen=True)
class Prevalence(views.Result):
    """The estimated shares of the true answers to randomized questions of interviews.

    Attributes
    ----------
    figures : tuple of PrevalenceFigure
        Of each question, group, and answer, and of unknown probabilities of the design.
    fits : tuple of PrevalenceFit
        Of each question and group: how many interviews were used, and the log-likelihood.
    shown : frozenset of (str, str)
        The questions and answers that tables for people show; of yes/no questions only "yes".
    method : {"moments", "likelihood"}
        How the shares were estimated.
    sample : SampleDesign
        Whether weights and clusters were used.
    people : int
        The number of all interviews.
    by : str
        The column that divides people into groups, or "".

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
    >>> table = pyarrow.table({"smokes": ["yes"] * 50 + ["no"] * 50})
    >>> result = interviews.prevalence(incrowd.read_answers(survey, table))
    >>> yes = result.figures[1]
    >>> yes.answer, round(yes.estimate, 3), round(yes.standard_error, 3)
    ('yes', 0.5, 0.075)
    """

    figures: tuple[PrevalenceFigure, ...]
    fits: tuple[PrevalenceFit, ...]
    shown: frozenset[tuple[str, str]]
    method: EstimationMethod
    sample: SampleDesign
    people: int
    by: str = ""
    guarantee: InterviewPromise | None = None
    layout: ClassVar[str] = "pictured"

    def __repr__(self) -> str:
        return f"Prevalence(questions={[*self.left_out]}, method={self.method!r})"

    @property
    def left_out(self) -> dict[str, int]:
        """For each question, the number of interviews without a report, or without a group."""
        questions = dict.fromkeys(each.question for each in self.fits)
        used = {
            question: sum(each.people for each in self.fits if each.question == question)
            for question in questions
        }
        return {question: self.people - number for question, number in used.items()}

    def facts(self) -> dict[str, Any]:
        """Return all figures, and what they were estimated from."""
        return {
            "guarantee": self.guarantee,
            "method": self.method,
            "by": self.by or None,
            "figures": self.figures,
            "fits": self.fits,
            "people": self.people,
            "left_out": self.left_out,
            "level": LEVEL,
            "weighted": self.sample.weighted,
            "clusters": self.sample.clusters,
        }

    def long_table(self) -> Sheet:
        """Return a row for each figure."""
        names = ("question", "group", "answer", *FIGURE_NAMES, "people", "at_end", "unknown")
        rows = tuple(tuple(getattr(each, name) for name in names) for each in self.figures)
        return Sheet("shares", names, rows, FIGURE_NAMES)

    def view(self) -> View:
        """Return a line for each share that is shown."""
        title = translatable("interviews.shares-title")
        shown = [each for each in self.figures if self._is_shown(each)]
        places = places_of(e.standard_error for e in shown if math.isfinite(e.standard_error))
        question = (translatable("presentation.question-column"),) if self._several else ()
        headings = (
            *question,
            *((self.by,) if self.by else ()),
            translatable("estimation.answer-column"),
            translatable("interviews.share-column"),
            translatable("estimation.error-column"),
            translatable("estimation.column-interval"),
            translatable("interviews.interviews-column"),
        )
        lines = tuple(self._line(each, places) for each in shown)
        return View(
            title=title,
            tables=(Numbers(title, headings, lines),),
            notes=tuple(self._notes()),
        )

    @property
    def _several(self) -> bool:
        """Whether tables name the question in each line."""
        return len(self.left_out) > 1 or not self.by

    def _is_shown(self, figure: PrevalenceFigure) -> bool:
        return figure.unknown or (figure.question, figure.answer) in self.shown

    def _line(self, each: PrevalenceFigure, places: int) -> Line:
        error = "-" if math.isnan(each.standard_error) else percent(each.standard_error, places)
        return (
            *((each.question,) if self._several else ()),
            *((each.group,) if self.by else ()),
            each.label,
            percent(each.estimate, places),
            error,
            between(percent(each.low, places), percent(each.high, places)),
            NumberText(f"{each.people:,}"),
        )

    def _notes(self) -> Iterator[str]:
        yield translatable(METHOD_NOTES[self.method])
        yield from self.sample.notes()
        code = "interviews.without-report-or-group" if self.by else "interviews.without-report"
        for question, out in self.left_out.items():
            if out:
                yield translatable(code, question=question, out=out)
        if any(each.at_end for each in self.figures):
            yield translatable("interviews.at-end")
        if any(not 0 <= each.estimate <= 1 for each in self.figures):
            yield translatable("interviews.outside-range")
        if any(each.unknown for each in self.figures):
            yield translatable("interviews.unknown-estimated")

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the shares that are shown, by question."""
        groups: dict[str, list[LabeledInterval]] = {}
        for each in self.figures:
            if self._is_shown(each):
                label = each.label
                if self.by:
                    label = translatable("shared.first-then", first=each.group, second=label)
                line = LabeledInterval(label, each.estimate, each.low, each.high)
                groups.setdefault(each.question, []).append(line)
        title, axis = translatable("interviews.shares-title"), translatable("interviews.share-axis")
        return (IntervalPlot(title, axis, list(groups.items())),)


def prevalence(
    answers: InterviewAnswers,
    of: str | Sequence[str] | None = None,
    *,
    by: str | None = None,
    threshold: float | None = None,
    method: EstimationMethod = "moments",
    weighted: bool = True,
) -> Prevalence:
    """Estimate the shares of the true answers to randomized questions.

    Parameters
    ----------
    answers : InterviewAnswers
        What `incrowd.read_answers` returned.
    of : str or sequence of str, optional
        The ids of questions; by default all of them.
    by : str, optional
        An open column: shares are estimated for each of its levels, or of its numbers if they are
        few.
    threshold : float, optional
        Divides the numbers of the column `by` into those below it and the others.
    method : {"moments", "likelihood"}
        Moments are unbiased, and may be below 0 or above 1. The likelihood gives possible shares,
        with intervals that hold at the ends of the range.
    weighted : bool
        Whether the weights of the survey are used.

    Returns
    -------
    Prevalence
        Interviews without a report to a question are left out of it. Standard errors include the
        choice of people and the device, and weights and clusters if there are any.

    Raises
    ------
    UsageError
        For unknown questions and columns, and groups with fewer than two reports.

    References
    ----------
    .. [1] B. G. Greenberg, A.-L. A. Abul-Ela, W. R. Simmons, D. G. Horvitz (1969). The unrelated
           question randomized response model: theoretical framework. JASA 64.
    .. [2] D. A. Binder (1983). On the variances of asymptotically normal estimators from complex
           surveys. International Statistical Review 51.

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
    >>> table = pyarrow.table({"smokes": ["no"] * 40})
    >>> answers = incrowd.read_answers(survey, table)
    >>> yes = interviews.prevalence(answers, method="likelihood").figures[1]
    >>> yes.estimate, yes.low, round(yes.high, 3), yes.at_end
    (0.0, 0.0, 0.059, True)
    """
    estimate, ids = estimator(method), chosen_items(answers, of)
    sample = SampleArrays.of(answers, weighted)
    groups = None if by is None else people_groups(answers, by, threshold)
    figures: list[PrevalenceFigure] = []
    fits: list[PrevalenceFit] = []
    for id in ids:
        item = answers.item(id)
        if groups is not None:
            check_sizes(id, item, groups)
        for code, group in enumerate(groups.labels if groups else ("",)):
            inside = np.ones(answers.people, bool) if groups is None else groups.codes == code
            reported = np.where(inside, item.reported, MISSING)
            part = ReportedItem(reported, item.group, item.matrices)
            shares = estimate([part], sample.weights, sample.clusters)
            figures += _figures(answers, id, group, part, shares, sample, method)
            left_out = int(inside.sum()) - shares.people
            fits.append(PrevalenceFit(id, group, shares.people, left_out, shares.log_likelihood))
    return Prevalence(
        guarantee=answers.guarantee,
        figures=tuple(figures),
        fits=tuple(fits),
        shown=frozenset(pair for id in ids for pair in _shown(answers, id)),
        method=method,
        sample=sample.design,
        people=answers.people,
        by=by or "",
    )


def _shown(answers: InterviewAnswers, id: str) -> Iterator[tuple[str, str]]:
    """Yield the answers that tables show: all of them, or those that count as 1 of two numbers."""
    item = answers.survey.item(id)
    values = item.question.values
    for place, answer in enumerate(item.design.answers):
        if values is None or len(values) != 2 or values[place]:
            yield id, answer


def intervals(
    shares: ItemShares, item: ReportedItem, sample: SampleArrays, method: EstimationMethod
) -> Iterator[tuple[float, float]]:
    """Yield the 95% interval of each parameter of one item."""
    half = half_width(shares.used, sample.clusters)
    if method == "moments":
        for value, error in zip(shares.parameters, shares.standard_errors, strict=True):
            yield float(value - half * error), float(value + half * error)
        return
    effects = design_effects([item], sample.weights, sample.clusters)
    for place, effect in enumerate(effects):
        yield profile_interval(shares, place, effect=float(effect), half=half)


def _figures(
    answers: InterviewAnswers,
    id: str,
    group: str,
    item: ReportedItem,
    shares: ItemShares,
    sample: SampleArrays,
    method: EstimationMethod,
) -> Iterator[PrevalenceFigure]:
    design = answers.survey.item(id).design
    names = (*design.answers, *shares.mixture.names)
    unknown = (translatable("interviews.unknown", name=name) for name in shares.mixture.names)
    labels = (*answer_labels(answers, id), *unknown)
    ends = intervals(shares, item, sample, method)
    for place, (name, label, (low, high)) in enumerate(zip(names, labels, ends, strict=True)):
        yield PrevalenceFigure(
            question=id,
            group=group,
            answer=name,
            label=label,
            estimate=float(shares.parameters[place]),
            standard_error=float(shares.standard_errors[place]),
            low=low,
            high=high,
            people=shares.people,
            at_end=bool(shares.at_end[place]),
            unknown=place >= shares.mixture.cells,
        )
