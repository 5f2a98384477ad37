"""Results as an Excel workbook: a sheet on the guarantee, then one for each table and matrix.

Estimates have an overview before it, with the questions and their main results, and a sheet on the
method after it. Texts are in a language; figures are numbers, with a format to read them.

The same result gives the same bytes. No cell is a formula: text of a survey that begins like one
stays text, also when a person edits the cell.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.catalog.sentences import ENGLISH, translatable, translated
from incrowd.characters import visible
from incrowd.errors import UsageError, needing
from incrowd.estimation.results import Estimates
from incrowd.number_text import places_of
from incrowd.presentation.archives import reproducible
from incrowd.presentation.findings import finding, joined_title, method_texts
from incrowd.presentation.receipts import all_notes, promised
from incrowd.views import Result, Sheet, Value

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet lets a formula begin
LETTERS = 31  # of the name of a sheet
MOST_LETTERS = 32_767  # in a cell
WIDEST = 60  # of a column, in letters
GUARANTEE = "Guarantee"
ERROR = "standard_error"  # a column of sheets
HEADING_LETTERS = 24  # of a heading, which is wrapped if it is longer
MANY = 1000.0  # from which numbers need fewer decimals
_FIXED = (
    "presentation.overview-sheet",
    "promises.guarantee",
    "presentation.method-sheet",
)
_OVERVIEW = (
    "presentation.sheet-column",
    "estimation.questions-column",
    "presentation.method-people",
    "presentation.main-result-column",
)
# The headings of columns that programs read, for people.
_COLUMNS = {
    "estimate": translatable("estimation.column-estimate"),
    "standard_error": translatable("presentation.standard-error-column"),
    "low": translatable("presentation.low-column"),
    "high": translatable("presentation.high-column"),
    "truth": translatable("presentation.truth-column"),
    "word": translatable("presentation.word-column"),
    "question": translatable("presentation.question-column"),
    "figure": translatable("estimation.figure"),
    "share": translatable("presentation.share-column"),
    "kind": translatable("presentation.kind-column"),
    "reason": translatable("presentation.reason-column"),
    "count": translatable("presentation.count-column"),
}
_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")


def workbook(result: Result, language: str = ENGLISH) -> bytes:
    """Return the bytes of an .xlsx file. Figures are numbers; a missing one is an empty cell.

    Raises UsageError if openpyxl is not installed.
    """
    with needing("stats", UsageError, "path"):
        from openpyxl import Workbook
    book = Workbook()
    book.remove(book.active)
    sheets = list(_sheets(result))
    fixed = [str(translated(translatable(code), language)) for code in _FIXED]
    names = sheet_names([str(translated(each.name, language)) for each in sheets], fixed)
    view, (overview, guarantee, method) = result.view(), fixed
    if isinstance(result, Estimates):
        _fill(book.create_sheet(overview), _overview(result, names), "", language)
    texts = (view.title, *promised(result), *all_notes(view))
    _list(book.create_sheet(guarantee), texts, language)
    for sheet, name in zip(sheets, names, strict=True):
        _fill(book.create_sheet(name), sheet, result.invented, language)
    if isinstance(result, Estimates):
        _list(book.create_sheet(method), list(method_texts(result)), language)
    content = io.BytesIO()
    book.save(content)
    return reproducible(content.getvalue())


def _sheets(result: Result) -> Iterator[Sheet]:
    """Yield all sheets; a matrix has its labels in the first row and column."""
    if isinstance(result, Estimates):
        yield from result.sheets_as_read()
    else:
        yield from result.sheets()
    for square in result.squares():
        lines = zip(square.labels, square.values.tolist(), strict=True)
        yield Sheet(square.name, ("", *square.labels), tuple((name, *row) for name, row in lines))


def _overview(estimates: Estimates, names: Sequence[str]) -> Sheet:
    """Return a row for each table: its sheet, its questions, the people, and the main result."""
    rows: list[tuple[Value, ...]] = []
    for name, item in zip(names, estimates.displayed(estimates.plan), strict=False):
        main = finding(item, estimates.plan.survey)
        rows.append((name, joined_title(item), round(item.table.people), main.text))
    return Sheet("", tuple(map(translatable, _OVERVIEW)), tuple(rows))


def _list(page: Worksheet, texts: Sequence[str], language: str) -> None:
    """Write texts below each other; the first one is a heading."""
    for row, text in enumerate(texts, 1):
        _write(page, row, 1, translated(text, language))
        _wrap(page, row, bold=row == 1)
    page.column_dimensions["A"].width = 2 * WIDEST


def sheet_names(names: Sequence[str], fixed: Sequence[str] = (GUARANTEE,)) -> list[str]:
    """Return names that Excel accepts: at most 31 letters, none twice, without []:*?/\\.

    fixed: those of other sheets.
    """
    taken = {*(each.casefold() for each in fixed), "history"}  # Excel has a History of its own
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


def _fill(page: Worksheet, sheet: Sheet, invented: str, language: str) -> None:
    """Write a table. invented: what a column says if people are invented."""
    from openpyxl.styles import Alignment
    from openpyxl.utils import get_column_letter

    headings = [translated(_COLUMNS.get(each, each), language) for each in sheet.headings]
    if invented:
        headings.append(translated(invented, language))
    formats = [_format(sheet, column) for column in range(len(sheet.headings))]
    for column, heading in enumerate(headings, 1):
        _write(page, 1, column, heading)
        page.cell(1, column).font = _font()
        page.cell(1, column).alignment = Alignment(wrap_text=True, vertical="top")
        texts = [str(heading)[:HEADING_LETTERS]]
        texts += [str(row[column - 1]) for row in sheet.rows[:100] if _is_text(row, column)]
        width = min(max(max(map(len, texts)) + 2, 12), WIDEST)
        page.column_dimensions[get_column_letter(column)].width = width
    for number, row in enumerate(sheet.rows, 2):
        for column, value in enumerate(row, 1):
            _write(page, number, column, translated(value, language))
            if isinstance(value, float):
                page.cell(number, column).number_format = formats[column - 1]
            elif isinstance(value, str):
                page.cell(number, column).alignment = Alignment(wrap_text=True, vertical="top")
    page.freeze_panes = "A2"


def _is_text(row: Sequence[Value], column: int) -> bool:
    return column <= len(row) and isinstance(row[column - 1], str)


def _format(sheet: Sheet, column: int) -> str:
    """Return the number format of a column: shares in percent, as precise as their errors."""
    values = [row[column] for row in sheet.rows]
    if sheet.headings[column] in sheet.shares:
        errors = sheet.headings.index(ERROR) if ERROR in sheet.headings else column
        deviations = [row[errors] for row in sheet.rows]
        places = places_of(each for each in deviations if isinstance(each, float) and each > 0)
        return f"0.{'0' * places}%"
    sizes = [abs(each) for each in values if isinstance(each, float) and math.isfinite(each)]
    return "#,##0.0" if sizes and max(sizes) >= MANY else "0.0000"


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
    write_text(cell, value)


def write_text(cell: Any, text: str) -> None:
    """Write text as text, whatever it begins with."""
    cell.value = visible(text)[:MOST_LETTERS]
    cell.data_type = "s"
    cell.quotePrefix = text.startswith(FORMULA)


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
    _fill(page, Sheet(name, tuple(columns), tuple(rows)), "", ENGLISH)
    content = io.BytesIO()
    book.save(content)
    return reproducible(content.getvalue())
