"""Excel workbooks: one sheet, with names of columns above the answers."""

from __future__ import annotations

import io
import zipfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

import pyarrow as pa

from incrowd.catalog.sentences import Keyword, likely
from incrowd.encoding.formats.header import (
    LOOKED_AT,
    TableHeader,
    header_of,
    is_unlike,
    looked_at,
    rows_after,
    shortened,
)
from incrowd.encoding.formats.reader import Content, Reader, Request, pieces_of
from incrowd.encoding.sources import AnswersSource
from incrowd.encoding.spelling import as_text
from incrowd.errors import AnswersError, UsageError, needing

SheetRows = Iterator[tuple[Any, ...]]
STRICT = b"http://purl.oclc.org/ooxml/"  # the namespace of a variant that openpyxl does not read
FEWEST = 3  # columns of a table beside which a single cell is not a person
PEEKED = 20  # rows that show whether a sheet has a table


def _sheets(source: AnswersSource, memory: int) -> dict[str, Any]:
    """Return every sheet by its name; their cells are values, not formulas.

    Raises MemoryError for a file that takes more memory when it is unpacked.
    """
    with needing("stats", AnswersError, source.name):
        from openpyxl import load_workbook
    file = io.BytesIO(source.whole())
    with zipfile.ZipFile(file) as archive:  # it unpacks no more of a member than it declares
        if sum(member.file_size for member in archive.infolist()) > memory:
            raise MemoryError
        if "xl/workbook.bin" in archive.namelist():
            raise AnswersError.of("answers", "encoding.binary-excel", value=source.name)
        if STRICT in archive.read("xl/workbook.xml"):
            raise AnswersError.of("answers", "encoding.strict-excel", value=source.name)
    book = load_workbook(file, read_only=True, data_only=True)
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # those that are stated may be too small
    return {sheet.title: sheet for sheet in book.worksheets}


def _rows(sheet: Any, most: int | None = None) -> SheetRows:
    return islice(sheet.iter_rows(values_only=True), most)


def _chosen(source: AnswersSource, sheets: Mapping[str, Any]) -> str | None:
    """Return the name of the sheet to read, by default of the first that is not hidden.

    Raises UsageError if it is unknown, and AnswersError if it has no table but another sheet has.
    """
    if source.sheet is None:
        visible = [name for name, sheet in sheets.items() if sheet.sheet_state == "visible"]
        first = next(iter(visible or sheets), None)
        tables = [name for name in visible if _has_table(sheets[name])]
        if first not in tables and tables:
            raise AnswersError.of(
                source.name,
                "encoding.no-table",
                value=first,
                option=Keyword("sheet", tables[0]),
                sheets=[*sheets],
            )
        return first
    if source.sheet in sheets:
        return source.sheet
    raise UsageError.of(
        "sheet",
        "encoding.no-such-sheet",
        value=source.sheet,
        file=source.name,
        hint=likely(source.sheet, sheets),
        sheets=[*sheets],
    )


def _has_table(sheet: Any) -> bool:
    """Return whether a sheet has several columns of several rows."""
    head = [_texts(row) for row in _rows(sheet, PEEKED)]
    header = header_of(head)
    rows = sum(any(row) for row in head[header.first :])
    return rows > 1 and sum(map(bool, header.names)) > 1


def _texts(row: Sequence[Any]) -> list[str | None]:
    return [as_text(cell) for cell in row]


class _Sheet(NamedTuple):
    """A sheet that was read: its header, the wanted columns, and columns without a name."""

    header: TableHeader
    columns: dict[int, list[Any]]
    unnamed: list[str]


def _read(source: AnswersSource, rows: SheetRows, request: Request) -> _Sheet:
    """Read the rows of a sheet. A row is a person if a column with a name has a cell in it."""
    head = list(islice(rows, PEEKED))
    width = max(map(len, head), default=1)
    head += islice(rows, max(0, looked_at(width) - PEEKED))
    width = max(map(len, head), default=1)
    if request.form:
        header = TableHeader(tuple(str(place + 1) for place in range(width)), first=0)
    else:
        header = header_of([_texts(row) for row in head], request.columns or ())
    if header.answers:
        raise AnswersError.of(source.name, "encoding.no-header", value=header.answers)
    chosen = request.chosen(header.names)
    cells: dict[int, list[Any]] = {
        place: [] for place, name in enumerate(header.names) if name and name in chosen
    }
    last, beyond = deque[NumberedRow](maxlen=LOOKED_AT), set[int]()
    for number, row in enumerate(
        islice(chain(head, rows), header.first, None) if cells else (), start=header.first + 1
    ):
        filled = [place for place, cell in enumerate(row) if cell is not None and cell != ""]
        named = [place for place in filled if place < len(header.names) and header.names[place]]
        beyond.update(place for place in filled if place not in named)
        if named:
            last.append(NumberedRow(number, row))
        for place, column in cells.items() if named else ():
            column.append(row[place] if place < len(row) else None)
    unnamed = [_letter(place) for place in sorted(beyond)]
    if request.form:
        return _Sheet(header, cells, unnamed)
    people, texts = _people([*last], header.names)
    if sum(map(bool, header.names)) >= FEWEST:
        _check_gap(source, people)
    after = [shortened(row) for row in texts]
    left = {place: column[: len(column) - len(after)] for place, column in cells.items()}
    return _Sheet(replace(header, skipped=(*header.skipped, *after)), left, unnamed)


class NumberedRow(NamedTuple):
    """A row with cells, and its number in the sheet."""

    number: int
    cells: Sequence[Any]


def _people(
    last: Sequence[NumberedRow], names: Sequence[str]
) -> tuple[list[tuple[int, list[str]]], list[list[str]]]:
    """Divide the last rows of a sheet into those of people, each with its number, and others.

    The cells are texts, of columns with a name.
    """
    places = [place for place, name in enumerate(names) if name]
    rows = [
        [(as_text(row[n]) or "").strip() if n < len(row) else "" for n in places] for _, row in last
    ]
    after = rows_after(rows)
    people = [(number, row) for (number, _), row in zip(last, rows, strict=True)]
    return people[: len(rows) - after], rows[len(rows) - after :]


def _check_gap(source: AnswersSource, people: Sequence[tuple[int, list[str]]]) -> None:
    """Raise AnswersError if the rows after the last gap are not people: a single cell in each, or
    words below numbers."""
    gaps = [n for n in range(1, len(people)) if people[n][0] > people[n - 1][0] + 1]
    above, below = people[: gaps[-1]] if gaps else (), people[gaps[-1] :] if gaps else ()
    if not below:
        return
    columns = [[row[n] for _, row in above if row[n]] for n in range(len(below[0][1]))]
    numbers, text = [number for number, _ in below], shortened(below[0][1])
    if all(sum(map(bool, row)) == 1 for _, row in below):
        raise AnswersError.of(source.name, "encoding.stray-cell", value=text, row=numbers[0])
    if all(any(map(is_unlike, row, columns)) for _, row in below):
        raise AnswersError.of(
            source.name, "encoding.other-table", value=text, first=numbers[0], last=numbers[-1]
        )


def _letter(place: int) -> str:
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(place + 1))


def _column(cells: Sequence[Any]) -> pa.Array:
    """Return a column of text; with fractions, of numbers, since these have many spellings."""
    numbers = [cell for cell in cells if cell is not None]
    fractions = any(isinstance(cell, float) and not cell.is_integer() for cell in numbers)
    if fractions and all(isinstance(cell, int | float) for cell in numbers):
        return pa.array(cells, pa.float64())
    return pa.array([None if cell == "" else as_text(cell) for cell in cells], pa.string())


class _Excel(Reader):
    def table(self, source: AnswersSource) -> pa.Table:
        """Return the columns of a sheet, by default the first one."""
        return pa.Table.from_batches([piece for piece, _ in self.content(source, Request()).pieces])

    def content(self, source: AnswersSource, request: Request) -> Content:
        """Return the content of a sheet, by default the first one; columns need a name."""
        sheets = _sheets(source, request.memory)
        if request.form and request.names_only:
            return Content((), 0, iter(()), sheets=tuple(sheets))
        name = _chosen(source, sheets)
        read = _read(source, _rows(sheets[name]) if name else iter(()), request)
        header = read.header
        table = pa.Table.from_arrays(
            [_column(column) for column in read.columns.values()],
            names=[header.names[place] for place in read.columns],
        )
        others = [each for each in sheets if each != name and source.sheet is None]
        return Content(
            tuple(name for name in header.names if name),
            table.num_rows,
            pieces_of(table, request),
            texts=header.texts,
            sheets=tuple(sheets),
            skipped=header.skipped,
            doubtful=header.doubtful,
            unnamed=read.unnamed,
            others=[each for each in others if _has_table(sheets[each])],
        )


READER = _Excel()
