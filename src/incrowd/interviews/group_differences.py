"""Differences between groups of people in interviews: the result, and its function."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, translatable
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.contrasts import WaldTest, holm, homogeneity, shares_by_group
from incrowd.interviews.cross_table import wald_words
from incrowd.interviews.influence import half_width, two_sided
from incrowd.interviews.item_prevalence import FIGURE_NAMES, Prevalence, prevalence
from incrowd.interviews.promise import InterviewPromise
from incrowd.interviews.selection import SampleArrays, estimator, people_groups
from incrowd.interviews.shares import moments
from incrowd.methods import EstimationMethod
from incrowd.number_text import between, percent, places_of
from incrowd.views import IntervalPlot, LabeledInterval, Line, Numbers, Sheet, View


@dataclass(frozen=True)
class GroupDifference:
    """The share of an answer in one group of people less that in another, with a 95% interval.

    p_value: of the test that the difference is 0. adjusted: the same, valid for all differences
    together by Holm's method. All are nan if a share is at an end of its range.
    """

    first: str
    second: str
    answer: str
    label: str
    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float
    adjusted: float = math.nan


@dataclass(frozen=True)
class GroupDifferences(views.Result):
    """The differences of an item's shares between groups of people.

    Attributes
    ----------
    shares : Prevalence
        The shares in each group.
    differences : tuple of GroupDifference
        Of all pairs of groups, for each answer that tables show.
    test : WaldTest
        The test that all groups have the same shares, by moments.

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
    >>> data = {"smokes": ["yes", "no"] * 50 + ["no"] * 100, "sex": ["f"] * 100 + ["m"] * 100}
    >>> answers = incrowd.read_answers(survey, pyarrow.table(data))
    >>> result = interviews.compare(answers, "smokes", "sex")
    >>> round(result.differences[0].estimate, 2), result.test.p_value < 0.001
    (-0.75, True)
    """

    shares: Prevalence
    differences: tuple[GroupDifference, ...]
    test: WaldTest
    guarantee: InterviewPromise | None = None
    layout: ClassVar[str] = "pictured"

    def __repr__(self) -> str:
        return f"GroupDifferences(by={self.shares.by!r}, differences={len(self.differences)})"

    def facts(self) -> dict[str, Any]:
        """Return the shares, the differences, and the test."""
        return self.shares.facts() | {
            "guarantee": self.guarantee,
            "differences": self.differences,
            "test": self.test,
        }

    def long_table(self) -> Sheet:
        """Return a row for each difference."""
        names = ("first", "second", "answer", *FIGURE_NAMES, "p_value", "adjusted")
        rows = tuple(tuple(getattr(each, name) for name in names) for each in self.differences)
        return Sheet("differences", names, rows, FIGURE_NAMES)

    def sheets(self) -> Sequence[Sheet]:
        """Return the differences and the shares."""
        return (self.long_table(), self.shares.long_table())

    def view(self) -> View:
        """Return the shares of each group, and all differences."""
        shares = self.shares.view()
        errors = [e.standard_error for e in self.differences if math.isfinite(e.standard_error)]
        places = places_of(errors)
        title = translatable("interviews.differences-title")
        headings = (
            translatable("interviews.difference-column", by=self.shares.by),
            translatable("estimation.answer-column"),
            translatable("estimation.percentage-points"),
            translatable("estimation.error-column"),
            translatable("estimation.column-interval"),
            translatable("interviews.p-column"),
        )
        lines = tuple(_line(each, places) for each in self.differences)
        question = self.shares.figures[0].question
        return replace(
            shares,
            title=translatable("interviews.compare-title", question=question, by=self.shares.by),
            lines=(wald_words("interviews.equal-groups", self.test),),
            tables=(*shares.tables, Numbers(title, headings, lines)),
            notes=(*shares.notes, *self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        if len(self.differences) > 1:
            yield translatable("interviews.adjusted", number=len(self.differences))
        if self.shares.method == "likelihood":
            yield translatable("interviews.test-by-moments")

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the shares, and the differences."""
        groups: dict[str, list[LabeledInterval]] = {}
        for each in self.differences:
            if math.isfinite(each.standard_error):
                line = LabeledInterval(_pair(each), each.estimate, each.low, each.high)
                groups.setdefault(each.label, []).append(line)
        title = translatable("interviews.differences-title")
        axis = translatable("interviews.points-axis")
        return (*self.shares.plots(), IntervalPlot(title, axis, list(groups.items())))


def _pair(each: GroupDifference) -> str:
    return translatable("interviews.less", first=each.first, second=each.second)


def _line(each: GroupDifference, places: int) -> Line:
    estimate = percent(each.estimate, places)
    if math.isnan(each.standard_error):
        return _pair(each), each.label, estimate, "-", "-", "-"
    ends = between(percent(each.low, places), percent(each.high, places))
    error = percent(each.standard_error, places)
    p_value = "-" if math.isnan(each.adjusted) else NumberText(f"{each.adjusted:.3g}")
    return _pair(each), each.label, estimate, error, ends, p_value


def compare(
    answers: InterviewAnswers,
    of: str,
    by: str,
    *,
    threshold: float | None = None,
    method: EstimationMethod = "moments",
    weighted: bool = True,
) -> GroupDifferences:
    """Compare the shares of the true answers to a question between groups of people.

    Parameters
    ----------
    answers : InterviewAnswers
        What `incrowd.read_answers` returned.
    of : str
        The id of a question.
    by : str
        An open column with levels, or with numbers.
    threshold : float, optional
        Divides the numbers of the column `by` into those below it and the others.
    method : {"moments", "likelihood"}
        How the shares of each group are estimated. The test that all groups are equal uses moments.
    weighted : bool
        Whether the weights of the survey are used.

    Returns
    -------
    GroupDifferences
        The p-values of the differences are adjusted by Holm's method.

    Raises
    ------
    UsageError
        For an unknown question or column, and groups with fewer than two reports.

    References
    ----------
    .. [1] S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian
           Journal of Statistics 6.

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
    >>> data = {"smokes": ["yes", "no"] * 50 + ["no"] * 100, "age": [*range(20, 70)] * 4}
    >>> answers = incrowd.read_answers(survey, pyarrow.table(data))
    >>> result = interviews.compare(answers, "smokes", "age", threshold=45)
    >>> [each.group for each in result.shares.figures if each.answer == "yes"]
    ['age below 45', 'age 45 or more']
    """
    shares = prevalence(answers, of, by=by, threshold=threshold, method=method, weighted=weighted)
    sample, groups = SampleArrays.of(answers, weighted), people_groups(answers, by, threshold)
    item, levels = answers.item(of), len(groups.labels)
    arrays = (sample.weights, sample.clusters)
    by_group = shares_by_group(item, groups.codes, levels, estimator(method), *arrays)
    by_moments = by_group
    if method != "moments":
        by_moments = shares_by_group(item, groups.codes, levels, moments, *arrays)
    pairs = [(second, first) for first, second in combinations(range(levels), 2)]
    names = answers.survey.item(of).design.answers
    labels = {each.answer: each.label for each in shares.figures}
    differences: list[GroupDifference] = []
    values, errors = by_group.differences(pairs)
    used = np.any([part.used for part in by_group.each], axis=0)
    half = half_width(used, sample.clusters)
    for (first, second), estimates, spreads in zip(pairs, values, errors, strict=True):
        for answer, estimate, error in zip(names, estimates, spreads, strict=True):
            if (of, answer) in shares.shown:
                differences.append(
                    GroupDifference(
                        first=groups.labels[first],
                        second=groups.labels[second],
                        answer=answer,
                        label=labels[answer],
                        estimate=float(estimate),
                        standard_error=float(error),
                        low=float(estimate - half * error),
                        high=float(estimate + half * error),
                        p_value=two_sided(estimate / error, used, sample.clusters)
                        if error > 0
                        else np.nan,
                    )
                )
    adjusted = _adjusted([each.p_value for each in differences])
    return GroupDifferences(
        guarantee=answers.guarantee,
        shares=shares,
        differences=tuple(
            replace(each, adjusted=p) for each, p in zip(differences, adjusted, strict=True)
        ),
        test=homogeneity(by_moments, sample.clusters),
    )


def _adjusted(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p-values; those that are missing stay so, and are counted as 1."""
    values = np.array(p_values)
    missing = np.isnan(values)
    adjusted = holm(np.where(missing, 1.0, values))
    adjusted[missing] = np.nan
    return [float(each) for each in adjusted]
