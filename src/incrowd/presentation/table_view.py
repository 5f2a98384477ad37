"""The views of a single table of estimates, and of estimates of words."""

from __future__ import annotations

from typing import Any

from incrowd.estimation.displayed import MOST_LISTED, quality, with_cells
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.words import WordEstimates
from incrowd.number_text import percent, places_of
from incrowd.presentation.view import of_view
from incrowd.views import Numbers, View


def table_parts(table: TableEstimate) -> dict[str, Any]:
    """Return a row for each cell: the answers, the percentage, its error, and its interval.

    Of a table with very many cells, the largest are listed.
    """
    item, names = with_cells(table), tuple(table.questions)
    cells = sorted(item.cells, key=lambda cell: -cell.estimate)[:MOST_LISTED]
    listed = item.cells if len(cells) == len(item.cells) else tuple(cells)
    places = places_of(cell.standard_error for cell in listed)
    lines = tuple(
        (*cell.answer, *(percent(each, places) for each in cell[1:3]), interval)
        for cell in listed
        for interval in [f"{percent(cell.low, places)} to {percent(cell.high, places)}"]
    )
    headings = (*names, f"% of {table.provenance.whose}", "standard error", item.intervals)
    left = f"the largest {len(listed):,} of {len(item.cells):,} cells"
    notes = (*([left] if len(listed) < len(item.cells) else []), quality(table))
    numbers = Numbers(" × ".join(names), headings, lines)
    people = f"{table.people:,.0f} people; errors: {table.error.includes}"
    return of_view(View(" × ".join(names), tables=(numbers,), notes=notes), people)


def words_parts(words: WordEstimates) -> dict[str, Any]:
    """Return a row for each word that is present: its percentage, its error, and its interval."""
    rows = words.present_rows
    places = places_of(row.standard_error for row in rows)
    lines = tuple(
        (row.word, *(percent(each, places) for each in row[1:3]), interval)
        for row in rows
        for interval in [f"{percent(row.low, places)} to {percent(row.high, places)}"]
    )
    headings = ("word", "% of people", "standard error", f"{words.level:.0%} interval")
    numbers = Numbers("words", headings, lines)
    return of_view(View("words", tables=(numbers,), notes=(words.present_note,)))
