"""What arrived in interviews: how many reports of each kind, beside what the design can produce."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import stats

from incrowd import views
from incrowd.catalog.sentences import NumberText, Sentence, as_translatable, sentence, translatable
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.columns import Factor, OpenColumn
from incrowd.interviews.items import MISSING, ItemMatrices
from incrowd.interviews.promise import InterviewPromise
from incrowd.number_text import between, percent
from incrowd.views import Line, Numbers, Sheet, View

RARE = 0.05  # a deviation that chance alone produces less often is pointed out
ROUNDING = 1e-12
MOST_DISTINCT = 0.9  # the share of different texts in a column that seems to identify people
_REPORT_HEADINGS = (
    "presentation.question-column",
    "interviews.report-column",
    "interviews.interviews-column",
    "interviews.share-column",
    "interviews.possible-column",
)
_COLUMN_HEADINGS = (
    "interviews.name-column",
    "presentation.kind-column",
    "interviews.interviews-column",
    "interviews.values-column",
)
MOST_LEVELS = 6  # of a factor that are shown


@dataclass(frozen=True)
class ArrivedReports:
    """How often one report to a question arrived in a group.

    share: of the reports to the question in the group. least, most: the smallest and the largest
    probability of the report, over all true answers and unknown probabilities. chance: the
    probability of a count at least so far outside, if the true share is at that limit; 1 if the
    share is within the limits.
    """

    question: str
    group: str
    report: str
    count: int
    share: float
    least: float
    most: float
    chance: float

    @property
    def outside(self) -> bool:
        """Whether no true answers explain the share."""
        return self.chance < 1


@dataclass(frozen=True)
class ColumnSummary:
    """An open column: whether it is a factor, and how many interviews have a value.

    levels: of a factor. low, high: the smallest and the largest number.
    """

    name: str
    is_factor: bool
    present: int
    levels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, eq=False)
class InterviewOverview(views.Result):
    """What arrived in interviews, before anything is estimated.

    Attributes
    ----------
    people : int
        The number of interviews.
    reports : tuple of ArrivedReports
        Of each question and group.
    missing : mapping of str to int
        For each question, the number of interviews without a report.
    columns : tuple of ColumnSummary
        All other columns.
    labels : mapping of (str, str) to str
        For each question and report, what the report is called.
    texts : mapping of str to str
        The wording of each question.

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
    >>> table = pyarrow.table({"smokes": ["yes"] * 5 + ["no"] * 95})
    >>> seen = interviews.overview(incrowd.read_answers(survey, table))
    >>> seen.reports[1].share, seen.reports[1].outside
    (0.05, True)
    """

    people: int
    reports: tuple[ArrivedReports, ...]
    missing: dict[str, int]
    columns: tuple[ColumnSummary, ...]
    labels: dict[tuple[str, str], str]
    texts: dict[str, str]
    guarantee: InterviewPromise | None = None

    def __repr__(self) -> str:
        return f"InterviewOverview(people={self.people:,}, questions={list(self.missing)})"

    def facts(self) -> dict[str, Any]:
        """Return all counts and shares."""
        return {
            "guarantee": self.guarantee,
            "people": self.people,
            "reports": self.reports,
            "missing": self.missing,
            "columns": self.columns,
            "warnings": [str(each) for each in self.warnings()],
        }

    def long_table(self) -> Sheet:
        """Return a row for each report."""
        headings = ("question", "group", "report", "count", "share", "least", "most", "chance")
        rows = tuple(tuple(getattr(each, name) for name in headings) for each in self.reports)
        return Sheet("reports", headings, rows, ("share", "least", "most"))

    def view(self) -> View:
        """Return what arrived, with warnings about shares that the design cannot produce."""
        title = translatable("interviews.overview-title", people=self.people)
        tables = [self._reports()]
        if self.columns:
            tables.append(self._columns())
        return View(
            title=title,
            warnings=tuple(map(as_translatable, self.warnings())),
            legend=tuple(f"{id}: {text}" for id, text in self.texts.items() if text != id),
            tables=tuple(tables),
            notes=(translatable("interviews.never-randomized"),),
        )

    def warnings(self) -> Iterator[Sentence]:
        """Yield what is probably wrong: impossible shares, and columns that identify people."""
        for each in self.reports:
            if each.chance < RARE:
                fewer = each.share < each.least
                yield sentence(
                    "interviews.too-few-reports" if fewer else "interviews.too-many-reports",
                    question=each.question,
                    report=self.labels[each.question, each.report],
                    share=percent(each.share, 1),
                    limit=percent(each.least if fewer else each.most, 1),
                )
        names = [each.name for each in self.columns if self._identifies(each)]
        if names:
            yield sentence("interviews.identifying", names=names)

    def _identifies(self, column: ColumnSummary) -> bool:
        """Return whether nearly every interview has a text of its own."""
        distinct = len(column.levels)
        return self.people > MOST_LEVELS and distinct > MOST_DISTINCT * self.people

    def _reports(self) -> Numbers:
        headings = tuple(map(translatable, _REPORT_HEADINGS))
        lines: list[Line] = []
        for id, number in self.missing.items():
            lines += [self._line(each) for each in self.reports if each.question == id]
            if number:
                count = NumberText(f"{number:,}")
                lines.append((id, translatable("interviews.missing"), count, "", ""))
        return Numbers(translatable("estimation.fact-reports"), headings, tuple(lines))

    def _line(self, each: ArrivedReports) -> Line:
        possible = between(percent(each.least, 1), percent(each.most, 1))
        question, label = each.question, self.labels[each.question, each.report]
        if each.group:
            question = translatable("interviews.in-group", question=question, group=each.group)
        return question, label, NumberText(f"{each.count:,}"), percent(each.share, 1), possible

    def _columns(self) -> Numbers:
        headings = tuple(map(translatable, _COLUMN_HEADINGS))
        lines = tuple(
            (
                each.name,
                translatable("interviews.factor" if each.is_factor else "interviews.number"),
                NumberText(f"{each.present:,}"),
                _values(each),
            )
            for each in self.columns
        )
        return Numbers(translatable("interviews.columns-title"), headings, lines)


def _values(column: ColumnSummary) -> str:
    """Return the values of a column for people."""
    if not column.is_factor:
        if column.low is None or column.high is None:
            return ""
        return between(NumberText(f"{column.low:.6g}"), NumberText(f"{column.high:.6g}"))
    shown = ", ".join(column.levels[:MOST_LEVELS])
    if len(column.levels) <= MOST_LEVELS:
        return shown
    return translatable("interviews.first-levels", levels=shown, number=len(column.levels))


def overview(answers: InterviewAnswers) -> InterviewOverview:
    """Count what arrived, before anything is estimated.

    Parameters
    ----------
    answers : InterviewAnswers
        From `incrowd.read_answers` or `InterviewAnswers.load`.

    Returns
    -------
    InterviewOverview
        The number and share of each report, beside the shares that the design can produce, and all
        other columns.

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
    >>> data = pyarrow.table({"smokes": ["yes", "no", None], "age": [20, 30, 40]})
    >>> arrived = interviews.overview(incrowd.read_answers(survey, data))
    >>> arrived.people, arrived.missing
    (3, {'smokes': 1})
    """
    survey = answers.survey
    columns = tuple(_summary(name, column) for name, column in answers.columns.items())
    return InterviewOverview(
        guarantee=answers.guarantee,
        people=answers.people,
        reports=tuple(each for item in survey.items for each in _arrived(answers, item.id)),
        missing={id: int(np.sum(codes == MISSING)) for id, codes in answers.reports.items()},
        columns=columns,
        labels={
            (item.id, report): survey.label_of(item.id, report)
            for item in survey.items
            for names in item.design.reports
            for report in names
        },
        texts={item.id: survey.text_of(item.id) for item in survey.items},
    )


def _arrived(answers: InterviewAnswers, id: str) -> Iterator[ArrivedReports]:
    """Yield the reports to a question, group by group."""
    item, survey = answers.item(id), answers.survey
    least, most = report_limits(item.matrices)
    for group, names in enumerate(survey.item(id).design.reports):
        reported = item.reported[(item.group == group) & (item.reported != MISSING)]
        counts, total = np.bincount(reported, minlength=len(names)), len(reported)
        for place, name in enumerate(names):
            low, high, count = least[group, place], most[group, place], int(counts[place])
            yield ArrivedReports(
                question=id,
                group=survey.groups[group] if survey.groups else "",
                report=name,
                count=count,
                share=count / total if total else float("nan"),
                least=float(low),
                most=float(high),
                chance=_chance(count, total, low, high),
            )


def report_limits(matrices: ItemMatrices) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest probability of each report, over all true answers and
    unknown probabilities, shape (groups, reported)."""
    corners = [
        matrices.at(np.array(theta)) for theta in product((0.0, 1.0), repeat=len(matrices.names))
    ]
    every = np.concatenate(corners, axis=2)
    return every.min(axis=2), every.max(axis=2)


def _chance(count: int, total: int, least: float, most: float) -> float:
    """Return the probability of a count at least so far outside of the limits, at the limit."""
    if total and count < total * least - ROUNDING:
        return float(stats.binom.cdf(count, total, least))
    if total and count > total * most + ROUNDING:
        return float(stats.binom.sf(count - 1, total, most))
    return 1.0


def _summary(name: str, column: OpenColumn) -> ColumnSummary:
    """Return what is in a column."""
    if isinstance(column, Factor):
        present = int(np.sum(column.codes != MISSING))
        return ColumnSummary(name, True, present, column.levels)
    values = column[np.isfinite(column)]
    low, high = (float(values.min()), float(values.max())) if len(values) else (None, None)
    return ColumnSummary(name, False, len(values), (), low, high)
