"""The interface of file formats: files are read as a whole unless the format can do better."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from incrowd.encoding.sources import AnswersSource

Pieces = Iterator[tuple[pa.RecordBatch, int]]  # each piece with the amount read up to its end


class Request(NamedTuple):
    """The parts of a file to read.

    columns: the names of the wanted columns, or None for all. numbers: those in which a comma
    between digits must be a decimal comma, as in 3,5. rows: the most rows of a piece. piece_bytes:
    its approximate size. names_only: whether the pieces are not needed. form: whether a
    sheet is a part of a form, of which all rows are needed. memory: the bytes that reading
    may take.
    """

    columns: tuple[str, ...] | None = None
    numbers: tuple[str, ...] = ()
    rows: int = 1 << 17
    piece_bytes: int = 1 << 22
    names_only: bool = False
    form: bool = False
    memory: int = 1 << 31

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Return those columns of a file that are wanted, in its order."""
        if self.names_only:
            return []
        return [name for name in names if self.columns is None or name in self.columns]


@dataclass(frozen=True)
class Content:
    """The content of a file.

    names: the names of all columns, in order. size: how much there is to read, in rows or bytes
    (`unit`). pieces: the wanted columns, read while they are iterated. texts: the wording of
    columns. labels: for a column, code -> label. missing: the codes of a column that mean no
    answer. sheets: the names of all sheets of a workbook. skipped: rows above and below the
    names of the columns that are not people. doubtful: whether the first person may be such a row,
    too. unnamed: the places of columns with answers that have no name. others: the sheets with
    tables that were not read, if the user named no sheet. sets: for a column, the question that it
    answers together with other columns.
    """

    names: tuple[str, ...]
    size: int
    pieces: Pieces
    unit: str = "rows"
    texts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sheets: Sequence[str] = ()
    skipped: Sequence[str] = ()
    doubtful: bool = False
    unnamed: Sequence[str] = ()
    others: Sequence[str] = ()
    sets: Mapping[str, str] = field(default_factory=dict)


class Reader(ABC):
    """Reads files of one format. Subclasses have to define only `table`."""

    @abstractmethod
    def table(self, source: AnswersSource) -> pa.Table:
        """Return all columns of a file. Raises AnswersError if it cannot be read."""

    def content(self, source: AnswersSource, request: Request) -> Content:
        """Return what is in a file. Raises AnswersError if it cannot be read."""
        table = self.table(source)
        return Content(tuple(table.column_names), table.num_rows, pieces_of(table, request))


def pieces_of(table: pa.Table, request: Request) -> Pieces:
    """Yield the wanted columns of a table in pieces; an empty table is one piece."""
    names = table.column_names
    wanted = request.chosen(names)
    chosen = table.select([place for place, name in enumerate(names) if name in wanted])
    batches, done = chosen.to_batches(max_chunksize=request.rows), 0
    for batch in batches or [_no_rows(chosen.schema)]:
        done += batch.num_rows
        yield batch, done


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    columns = [column.chunk(0) for column in schema.empty_table().columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
