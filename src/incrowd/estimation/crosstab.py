"""A crosstab of two questions: counts, and percentages of the people, of each row and column."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self, Unpack

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, translatable
from incrowd.estimation.compare import conditional_share, joint_table
from incrowd.estimation.estimate import Reports
from incrowd.estimation.options import WeightedOptions
from incrowd.estimation.ratios import Comparison, GroupPrecision, precision_of
from incrowd.estimation.tables import FIGURES, TableEstimate
from incrowd.estimation.weighting.margins import weights_facts, weights_words
from incrowd.estimation.wording import (
    PERCENT,
    among_each,
    people_words,
    percent_lines,
    precision_tables,
    with_error,
)
from incrowd.number_text import percent, places_of
from incrowd.plans import Guarantee, Plan
from incrowd.survey import Survey
from incrowd.views import IntervalPlot, Line, Numbers, Sheet, Value, View

ANY = translatable("estimation.any-answer")
ENDLESS = "-"  # a figure without an estimate, or the error of an interval without an end
HEADINGS = (
    *("count", "count_error", "share", "share_error"),
    *("of_row", "of_row_error", "of_row_low", "of_row_high"),
    *("of_column", "of_column_error", "of_column_low", "of_column_high"),
)


@dataclass(frozen=True)
class Crosstab(views.Result):
    """A crosstab of two questions; the first one's answers are the rows.

    table: proportions of the people who answered both questions or, if requested, of all people;
    shape (rows + 1, columns + 1), the last entry of each axis is "any answer". counts,
    count_errors: the estimated number of these people in each cell and margin, in the same shape,
    with standard errors. of_rows, of_columns: the share of each cell among the people of its row,
    or of its column, row by row. precision: the precision of the answers to the second question
    within each row, as in `TwoWay`. answered, wording, weighted_to, error_ratio: as in `TwoWay`.
    """

    questions: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    table: TableEstimate
    counts: np.ndarray
    count_errors: np.ndarray
    of_rows: tuple[Comparison, ...]
    of_columns: tuple[Comparison, ...]
    guarantee: Guarantee
    precision: tuple[GroupPrecision, ...] = ()
    seed: int | None = None
    answered: float | None = None
    wording: tuple[str, ...] = ()
    weighted_to: tuple[str, ...] = ()
    error_ratio: float | None = None

    def __repr__(self) -> str:
        shape = f"{len(self.rows)} × {len(self.columns)}"
        return f"Crosstab({' × '.join(self.questions)}, {shape}{views.simulated(self.seed)})"

    @property
    def people(self) -> float:
        """The number of people in the crosstab; estimated if not all answered."""
        return float(self.counts.flat[-1])

    @property
    def in_r(self) -> str:
        """Lines of R that use the figures."""
        return """
            t <- incrowd$sheets$crosstab
            xtabs(count ~ t[[1]] + t[[2]], t)
            """

    def facts(self) -> dict[str, Any]:
        """Return all figures; the last row and column are "any answer"."""
        return {
            "questions": self.questions,
            "rows": self.rows,
            "columns": self.columns,
            "people": self.people,
            "answered": self.answered,
            "counts": self.counts,
            "count_errors": self.count_errors,
            "shares": self.table.estimate,
            "share_errors": self.table.standard_error,
            "of_rows": self.of_rows,
            "of_columns": self.of_columns,
            "precision": self.precision,
            "errors": self.table.error.includes,
            "guarantee": self.guarantee,
            **({"wording": self.wording} if self.wording else {}),
            **weights_facts(self.weighted_to, self.error_ratio),
        }

    def long_table(self) -> Sheet:
        """Return a row for each cell and margin: both answers, and the figures under `HEADINGS`.

        Shares are proportions; a margin has no shares of rows and columns, None.
        """
        rows, width = [], len(self.columns) + 1
        names = product((*self.rows, ANY), (*self.columns, ANY))
        grids = self.counts, self.count_errors, self.table.estimate, self.table.standard_error
        whole = zip(*(grid.ravel().tolist() for grid in grids), strict=True)
        for place, (answers, figures) in enumerate(zip(names, whole, strict=True)):
            row, column = divmod(place, width)
            within: tuple[Value, ...] = (None,) * 8
            if row < len(self.rows) and column < len(self.columns):
                cell = row * len(self.columns) + column
                pair = self.of_rows[cell], self.of_columns[cell]
                within = tuple(getattr(each, name) for each in pair for name in FIGURES)
            rows.append((*answers, *figures, *within))
        return Sheet("crosstab", (*self.questions, *HEADINGS), tuple(rows), HEADINGS[2:])

    def view(self) -> View:
        """Return counts, then percentages of the people, of rows and of columns.

        Every figure is followed by its standard error in parentheses.
        """
        first, second = self.questions
        return View(
            title=f"{first} × {second}",
            legend=self.wording,
            lines=people_words((*self.rows, *self.columns), self.answered),
            tables=(*self._tables(), *precision_tables(first, self.precision)),
            notes=tuple(self._notes()),
        )

    def _tables(self) -> Iterator[Numbers]:
        first, second = self.questions
        heading, lines = (first, *self.columns, ANY), (*self.rows, ANY)
        counts = zip(self.counts.flat, self.count_errors.flat, strict=True)
        counted = [
            with_error(NumberText(f"{count:,.0f}"), NumberText(f"{error:,.0f}"))
            for count, error in counts
        ]
        yield _numbers(translatable("estimation.number-of-people"), heading, lines, counted)
        code = "estimation.percent-of-both-answered"
        code = "estimation.percent-of-all" if self.answered is None else code
        errors = self.table.standard_error
        shares = _percentages([*zip(self.table.estimate.flat, errors.flat, strict=True)])
        yield _numbers(translatable(code), heading, lines, shares)
        names = {"first": first, "second": second}
        for title, figures in (
            (translatable("estimation.percent-of-rows", **names), self.of_rows),
            (translatable("estimation.percent-of-columns", **names), self.of_columns),
        ):
            within = _percentages([(each.estimate, each.standard_error) for each in figures])
            yield _numbers(title, heading[:-1], lines[:-1], within)

    def _notes(self) -> Iterator[str]:
        yield translatable("estimation.in-parentheses", errors=self.table.error.includes)
        if weights := weights_words(self.weighted_to, self.error_ratio):
            yield weights
        figures = (*self.of_rows, *self.of_columns)
        yield from dict.fromkeys(each.reason for each in figures if each.reason)

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the shares of each row."""
        first, second = self.questions
        lines = percent_lines(self.rows, self.columns, self.of_rows)
        axis = translatable("estimation.percent-of-row")
        return (IntervalPlot(among_each(second, first), axis, lines, PERCENT),)

    def worded(self, survey: Survey) -> Self:
        """Return the same figures with a survey's wording of the questions."""
        return replace(self, wording=survey.legend(*self.questions))


def _percentages(pairs: Sequence[tuple[float, float]]) -> list[str]:
    """Return proportions with their standard errors, as percentages."""
    places = places_of(error for _, error in pairs if math.isfinite(error))
    shown = (
        [percent(each, places) if math.isfinite(each) else ENDLESS for each in pair]
        for pair in pairs
    )
    return [with_error(share, error) for share, error in shown]


def _numbers(title: str, headings: Line, names: Line, cells: Sequence[str]) -> Numbers:
    width = len(headings) - 1
    lines = [(name, *cells[n * width : (n + 1) * width]) for n, name in enumerate(names)]
    return Numbers(title, headings, tuple(lines))


def crosstab(
    plan: Plan,
    reports: Reports,
    first: str,
    second: str,
    *,
    of_those_who_answered: bool = True,
    **options: Unpack[WeightedOptions],
) -> Crosstab:
    """Cross the answers to two questions. Arguments and errors are those of `compare`."""
    joint = joint_table(
        plan, reports, (first, second), of_those_who_answered=of_those_who_answered, **options
    )
    rows, columns = joint.table.answers
    cells = [((first, row), (second, column)) for row in rows for column in columns]
    return Crosstab(
        questions=(first, second),
        rows=rows,
        columns=columns,
        table=joint.table,
        counts=joint.population * joint.cells.estimate,
        count_errors=joint.population * joint.cells.standard_error,
        of_rows=tuple(conditional_share(joint.table, column, row) for row, column in cells),
        of_columns=tuple(conditional_share(joint.table, row, column) for row, column in cells),
        guarantee=joint.guarantee,
        precision=precision_of(joint.table, joint.unweighted),
        seed=joint.seed,
        answered=joint.answered,
        wording=joint.plan.survey.legend(first, second),
        weighted_to=joint.weighted_to,
        error_ratio=joint.error_ratio,
    )
