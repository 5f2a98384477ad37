"""Results as an Excel workbook: a sheet on the guarantee, then one for each table and matrix.

The same result gives the same bytes. No cell is a formula: text of a survey that begins like one
stays text, also when a person edits the cell.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.characters import visible
from incrowd.errors import UsageError, needing
from incrowd.presentation.archives import reproducible
from incrowd.presentation.receipts import all_notes, promised
from incrowd.views import Result, Sheet, Value

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet lets a formula begin
LETTERS = 31  # of the name of a sheet
MOST_LETTERS = 32_767  # in a cell
WIDEST = 60  # of a column, in letters
GUARANTEE = "Guarantee"
_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")


def workbook(result: Result) -> bytes:
    """Return the bytes of an .xlsx file. Figures are numbers; a missing one is an empty cell.

    Raises UsageError if openpyxl is not installed.
    """
    with needing("stats", UsageError, "path"):
        from openpyxl import Workbook
    book = Workbook()
    about = book.active
    about.title = GUARANTEE
    view = result.view()
    for row, text in enumerate((view.title, *promised(result), *all_notes(view)), 1):
        _write(about, row, 1, text)
        _wrap(about, row, bold=row == 1)
    about.column_dimensions["A"].width = 2 * WIDEST
    sheets = list(_sheets(result))
    names = sheet_names([sheet.name for sheet in sheets])
    for sheet, name in zip(sheets, names, strict=True):
        _fill(book.create_sheet(name), sheet)
    content = io.BytesIO()
    book.save(content)
    return reproducible(content.getvalue())


def _sheets(result: Result) -> Iterator[Sheet]:
    """Yield all sheets; a matrix has its labels in the first row and column."""
    yield from result.sheets()
    for square in result.squares():
        lines = zip(square.labels, square.values.tolist(), strict=True)
        yield Sheet(square.name, ("", *square.labels), tuple((name, *row) for name, row in lines))


def sheet_names(names: Sequence[str]) -> list[str]:
    """Return names that Excel accepts: at most 31 letters, none twice, without []:*?/\\."""
    taken = {GUARANTEE.casefold(), "history"}  # Excel has a sheet History of its own
    accepted = []
    for name in names:
        stem = _FORBIDDEN.sub("_", visible(name)).strip("' ") or "sheet"
        candidate, number = stem[:LETTERS].strip("' "), 2
        while not candidate or candidate.casefold() in taken:
            ending = f" {number}"
            candidate, number = stem[: LETTERS - len(ending)] + ending, number + 1
        taken.add(candidate.casefold())
        accepted.append(candidate)
    return accepted


def _fill(page: Worksheet, sheet: Sheet) -> None:
    from openpyxl.utils import get_column_letter

    for column, heading in enumerate(sheet.headings, 1):
        _write(page, 1, column, heading)
        page.cell(1, column).font = _font()
        texts = [str(heading), *(row[column - 1] for row in sheet.rows[:100])]
        longest = max(len(text) for text in texts if isinstance(text, str))
        width = min(max(longest + 2, 12), WIDEST)
        page.column_dimensions[get_column_letter(column)].width = width
    for number, row in enumerate(sheet.rows, 2):
        for column, value in enumerate(row, 1):
            _write(page, number, column, value)
    page.freeze_panes = "A2"


def _write(page: Worksheet, row: int, column: int, value: Value) -> None:
    """Write a number as a number, and text as text, whatever it begins with; nothing for nan."""
    if value is None or value == "" or value != value:
        return
    cell: Any = page.cell(row, column)
    if isinstance(value, float) and not math.isfinite(value):
        value = "Inf" if value > 0 else "-Inf"  # a spreadsheet has no infinity
    if not isinstance(value, str):
        cell.value = value
        return
    cell.value = visible(value)[:MOST_LETTERS]
    cell.data_type = "s"
    cell.quotePrefix = value.startswith(FORMULA)


def _wrap(page: Worksheet, row: int, bold: bool) -> None:
    from openpyxl.styles import Alignment

    cell = page.cell(row, 1)
    cell.alignment = Alignment(wrap_text=True, vertical="top")
    if bold:
        cell.font = _font()


def _font() -> Any:
    from openpyxl.styles import Font

    return Font(bold=True)


def table_workbook(name: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> bytes:
    """Return the bytes of an .xlsx file with one table of text.

    Raises UsageError if openpyxl is not installed.
    """
    with needing("stats", UsageError, "path"):
        from openpyxl import Workbook
    book = Workbook()
    page = book.active
    page.title = name
    _fill(page, Sheet(name, tuple(columns), tuple(rows)))
    content = io.BytesIO()
    book.save(content)
    return reproducible(content.getvalue())
