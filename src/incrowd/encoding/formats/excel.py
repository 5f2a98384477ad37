"""Excel workbooks: one sheet, whose first row is the header."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from incrowd.encoding.cells import text_column
from incrowd.encoding.formats.reader import Reader
from incrowd.encoding.sources import Source, refused
from incrowd.errors import AnswersError, UsageError, likely, needing

Sheet = list[tuple[Any, ...]]


def _sheet(source: Source) -> Sheet:
    """Return the named sheet, or the first. Raises UsageError if the name is unknown."""
    every = sheets(source)
    if source.sheet is None:
        return next(iter(every.values()), [])
    if source.sheet not in every:
        listed = f"{likely(source.sheet, every)}use one of {', '.join(every)}"
        raise UsageError.of("sheet", source.sheet, f"{source.name} has no such sheet; {listed}")
    return every[source.sheet]


def sheets(source: Source) -> dict[str, Sheet]:
    """Return the cells of every sheet by its name; values, not formulas."""
    with needing("stats", AnswersError, source.name):
        from openpyxl import load_workbook
    try:
        book = load_workbook(io.BytesIO(source.whole()), read_only=True, data_only=True)
        return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}
    except Exception:  # openpyxl and its dependencies raise a dozen kinds
        raise refused(
            source.name, "the Excel file is damaged or incomplete; save it again"
        ) from None


def _column(cells: Sequence[Any]) -> pa.Array:
    """Return a column of text; with fractions, of numbers, since these have many spellings."""
    numbers = [cell for cell in cells if cell is not None]
    fractions = any(isinstance(cell, float) and not cell.is_integer() for cell in numbers)
    if fractions and all(isinstance(cell, int | float) for cell in numbers):
        return pa.array(cells, pa.float64())
    return text_column([None if cell == "" else cell for cell in cells])


class _Excel(Reader):
    def table(self, source: Source) -> pa.Table:
        """Return the columns of a sheet, by default the first one."""
        sheet = _sheet(source)
        names = ["" if name is None else str(name) for name in (sheet[0] if sheet else ())]
        filled = [row for row in sheet[1:] if any(cell is not None for cell in row)]
        rows = [(*row, *[None] * (len(names) - len(row))) for row in filled]
        places = [place for place, name in enumerate(names) if name]
        columns = [_column([row[place] for row in rows]) for place in places]
        return pa.Table.from_arrays(columns, names=[names[place] for place in places])


READER = _Excel()
