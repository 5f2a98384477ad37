"""Crosstabs as text for people, and as data for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from incrowd.estimation.weighting.margins import weights_facts, weights_words
from incrowd.presentation.comparisons import people_words, precision
from incrowd.presentation.data import guarantee_facts
from incrowd.presentation.number_text import finite, percent, places_of
from incrowd.presentation.receipts import marked_table
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.view import Numbers, View

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.estimation.crosstab import Crosstab
    from incrowd.estimation.ratios import Comparison

ANY = "any answer"
ERRORS = "in parentheses: standard errors"
ENDLESS = "-"  # a figure without an estimate, or the error of an interval without an end


def view(crosstab: Crosstab) -> View:
    """The view of a crosstab: counts, then percentages of the people, of rows and of columns.

    Every figure is followed by its standard error in parentheses.
    """
    first, second = crosstab.questions
    return View(
        title=f"{first} × {second}",
        facts=_facts(crosstab),
        seed=crosstab.seed,
        legend=crosstab.wording,
        promise=guarantee_sentence(crosstab.guarantee),
        lines=people_of(crosstab),
        tables=(*_tables(crosstab), *precision(crosstab)),
        notes=tuple(notes(crosstab)),
    )


def _tables(crosstab: Crosstab) -> Iterator[Numbers]:
    first, second = crosstab.questions
    counts = zip(crosstab.counts.flat, crosstab.count_errors.flat, strict=True)
    shares = [*zip(crosstab.table.estimate.flat, crosstab.table.standard_error.flat, strict=True)]
    heading = (first, *crosstab.columns, ANY)
    lines = (*crosstab.rows, ANY)
    counted = [f"{count:,.0f} ({error:,.0f})" for count, error in counts]
    yield _numbers("Estimated number of people", heading, lines, counted)
    whose = "all people" if crosstab.answered is None else "those who answered both questions"
    yield _numbers(f"Percent of {whose}", heading, lines, _percentages(shares))
    for title, figures in (
        (f"Percent of each row: {second} among each {first}", crosstab.of_rows),
        (f"Percent of each column: {first} among each {second}", crosstab.of_columns),
    ):
        pairs = [(each.estimate, each.standard_error) for each in figures]
        yield _numbers(title, heading[:-1], lines[:-1], _percentages(pairs))


def _percentages(pairs: Sequence[tuple[float, float]]) -> list[str]:
    """Proportions with their standard errors, as percentages."""
    places = places_of(error for _, error in pairs if math.isfinite(error))
    shown = (
        [percent(each, places) if math.isfinite(each) else ENDLESS for each in pair]
        for pair in pairs
    )
    return [f"{share} ({error})" for share, error in shown]


def _numbers(
    title: str, headings: tuple[str, ...], names: tuple[str, ...], cells: Sequence[str]
) -> Numbers:
    width = len(headings) - 1
    lines = [(name, *cells[n * width : (n + 1) * width]) for n, name in enumerate(names)]
    return Numbers(title, headings, tuple(lines))


def people_of(crosstab: Crosstab) -> tuple[str, ...]:
    """State to whom the figures refer, as `people_words`."""
    return people_words((*crosstab.rows, *crosstab.columns), crosstab.answered)


def notes(crosstab: Crosstab) -> Iterator[str]:
    """The notes below the tables."""
    yield f"{ERRORS}; errors: {crosstab.table.errors}"
    if weights := weights_words(crosstab.weighted_to, crosstab.error_ratio):
        yield weights
    figures = (*crosstab.of_rows, *crosstab.of_columns)
    yield from dict.fromkeys(each.reason for each in figures if each.reason)


def _facts(crosstab: Crosstab) -> dict[str, Any]:
    """The crosstab as JSON-ready data; the last row and column are "any answer"."""
    table = crosstab.table
    return {
        "questions": list(crosstab.questions),
        "rows": list(crosstab.rows),
        "columns": list(crosstab.columns),
        "people": crosstab.people,
        "answered": crosstab.answered,
        "counts": finite(crosstab.counts),
        "count_errors": finite(crosstab.count_errors),
        "shares": finite(table.estimate),
        "share_errors": finite(table.standard_error),
        "of_rows": [finite(asdict(each)) for each in crosstab.of_rows],
        "of_columns": [finite(asdict(each)) for each in crosstab.of_columns],
        "precision": [finite(asdict(each)) for each in crosstab.precision],
        "errors": table.errors,
        "guarantee": guarantee_facts(crosstab.guarantee),
        **({"wording": list(crosstab.wording)} if crosstab.wording else {}),
        **weights_facts(crosstab.weighted_to, crosstab.error_ratio),
    }


HEADINGS = (
    *("count", "count_error", "share", "share_error"),
    *("of_row", "of_row_error", "of_row_low", "of_row_high"),
    *("of_column", "of_column_error", "of_column_low", "of_column_high"),
)


def cells(crosstab: Crosstab) -> Iterator[tuple[str, str, *tuple[float | None, ...]]]:
    """For each cell, then for the margins: both answers and the figures under `HEADINGS`.

    Shares are proportions; a margin has no shares of rows and columns, None.
    """
    table, (rows, columns) = crosstab.table, (len(crosstab.rows), len(crosstab.columns))
    names = product((*crosstab.rows, ANY), (*crosstab.columns, ANY))
    grids = crosstab.counts, crosstab.count_errors, table.estimate, table.standard_error
    whole = zip(*(grid.ravel().tolist() for grid in grids), strict=True)
    for place, (answers, figures) in enumerate(zip(names, whole, strict=True)):
        row, column = divmod(place, columns + 1)
        inside = row < rows and column < columns
        cell = row * columns + column
        within = (crosstab.of_rows[cell], crosstab.of_columns[cell]) if inside else (None, None)
        ends = map(_ends, within)
        yield (*answers, *figures, *chain.from_iterable(ends))


def _ends(figure: Comparison | None) -> tuple[float | None, ...]:
    if figure is None:
        return (None,) * 4
    return figure.estimate, figure.standard_error, figure.low, figure.high


def crosstab_table(crosstab: Crosstab) -> pa.Table:
    """An Arrow table with a row for each cell and margin: the figures of `cells`."""
    import pyarrow  # slow to load

    names = (*crosstab.questions, *HEADINGS)
    columns = zip(*cells(crosstab), strict=True)
    arrays = [pyarrow.array(list(column)) for column in columns]
    return marked_table(pyarrow.Table.from_arrays(arrays, names=list(names)), crosstab.seed)
