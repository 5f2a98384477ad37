"""Excel workbooks: one sheet, with names of columns above the answers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import pyarrow as pa

from incrowd.catalog.sentences import Keyword, likely
from incrowd.encoding.formats.header import TableHeader, header_of, is_total, looked_at, shortened
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
    if request.form:
        names = next((_texts(row) for row in head if any(row)), [])
        header = TableHeader(tuple(name or "" for name in names))
    else:
        header = header_of([_texts(row) for row in head], request.columns or ())
    if header.answers:
        raise AnswersError.of(source.name, "encoding.no-header", value=header.answers)
    chosen = request.chosen(header.names)
    cells: dict[int, list[Any]] = {
        place: [] for place, name in enumerate(header.names) if name and name in chosen
    }
    last, beyond, totals = _LastRows(), set[int](), list[int]()
    for number, row in enumerate(
        islice(chain(head, rows), header.first, None) if cells else (), start=header.first + 1
    ):
        filled = [place for place, cell in enumerate(row) if cell is not None and cell != ""]
        named = [place for place in filled if place < len(header.names) and header.names[place]]
        beyond.update(place for place in filled if place not in named)
        last = last.after(number, [row[place] for place in named])
        if named and is_total([as_text(row[named[0]]) or ""]):
            totals.append(number)
        for place, column in cells.items() if named else ():
            column.append(row[place] if place < len(row) else None)
    if sum(map(bool, header.names)) >= FEWEST and not request.form:
        if totals == [last.number]:
            raise AnswersError.of(source.name, "encoding.total", value=last.text)
        if last.alone:
            raise AnswersError.of(
                source.name, "encoding.stray-cell", value=last.text, row=last.first
            )
    return _Sheet(header, cells, [_letter(place) for place in sorted(beyond)])


class _LastRows(NamedTuple):
    """The rows after the last gap: the numbers of the first and the last, the text of the last, and
    whether each of them has a single cell."""

    first: int = 0
    number: int = 0
    text: str = ""
    alone: bool = False
    gap: bool = False

    def after(self, number: int, cells: Sequence[Any]) -> _LastRows:
        """Return the same after another row."""
        if not cells:
            return self._replace(gap=True)
        text = shortened([as_text(cell) or "" for cell in cells])
        if self.gap and self.number:
            return _LastRows(number, number, text, len(cells) == 1)
        return _LastRows(self.first, number, text, self.alone and len(cells) == 1)


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
