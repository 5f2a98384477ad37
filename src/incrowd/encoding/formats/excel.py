"""Excel workbooks: one sheet, whose first row is the header."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from incrowd.catalog.sentences import likely
from incrowd.encoding.formats.reader import Content, Reader, Request, pieces_of
from incrowd.encoding.sources import AnswersSource
from incrowd.encoding.spelling import as_text
from incrowd.errors import AnswersError, UsageError, needing

SheetRows = Iterator[tuple[Any, ...]]


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
    book = load_workbook(file, read_only=True, data_only=True)
    return {sheet.title: sheet for sheet in book.worksheets}


def _rows(source: AnswersSource, sheets: dict[str, Any]) -> SheetRows:
    """Yield the rows of the named sheet, or of the first. Raises UsageError if it is unknown."""
    if source.sheet is None:
        chosen = next(iter(sheets.values()), None)
    elif source.sheet in sheets:
        chosen = sheets[source.sheet]
    else:
        raise UsageError.of(
            "sheet",
            "encoding.no-such-sheet",
            value=source.sheet,
            file=source.name,
            hint=likely(source.sheet, sheets),
            sheets=[*sheets],
        )
    if chosen is None:
        return iter(())
    chosen.reset_dimensions()  # those that are stated may be too small
    return iter(chosen.iter_rows(values_only=True))


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
        rows = _rows(source, sheets)
        header = ["" if name is None else str(name) for name in next(rows, ())]
        names = [name for name in header if name]
        chosen = request.chosen(names)
        places = [place for place, name in enumerate(header) if name in chosen]
        cells: list[list[Any]] = [[] for _ in places]
        for row in rows if places else ():
            if any(cell is not None for cell in row):
                for place, column in zip(places, cells, strict=True):
                    column.append(row[place] if place < len(row) else None)
        columns = [_column(column) for column in cells]
        table = pa.Table.from_arrays(columns, names=[header[place] for place in places])
        pieces = pieces_of(table, request)
        return Content(tuple(names), table.num_rows, pieces, sheets=tuple(sheets))


READER = _Excel()
