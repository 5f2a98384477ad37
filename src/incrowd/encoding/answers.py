"""Answers from files of every supported format and from data frames, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from incrowd.encoding.formats.reader import Data, Pieces, Request, check_names, check_once, reader
from incrowd.encoding.frames import as_table, is_frame
from incrowd.encoding.sources import Source, readable, source_of
from incrowd.errors import AnswersError, InWords
from incrowd.survey import Survey

PIECE_BYTES = 1 << 22  # of answers at a time; while they are encoded they take more


def load_answers(
    answers: str | Path | IO[bytes] | Any,
    survey: Survey,
    *,
    id: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> pa.Table:
    """Read the columns of a survey's questions from a file or a data frame, one row per person.

    answers: a file (CSV, JSON lines, Parquet, Arrow, SPSS, Stata, Excel), a file object open for
    reading, or a data frame of pandas, polars, duckdb, Arrow or any that narwhals supports. id: a
    text column that identifies people, read as well. format, encoding: of a file, if its name and
    content do not show them. sheet: of a workbook, by default the first. Cells of CSV and JSON stay
    text; an empty cell is a missing answer. Other columns are ignored. Raises AnswersError if the
    answers cannot be read, are empty, or lack a question's column.
    """
    if is_frame(answers):
        table = as_table(answers, lambda names: check_names(names, survey, id))
        return check_columns(table, survey, id)
    source = source_of(answers, format, encoding, sheet)
    with readable(source.name):
        pieces = [piece for piece, _ in read(source, survey, id)]
    check_rows(sum(piece.num_rows for piece in pieces))
    return check_columns(pa.Table.from_batches(pieces), survey, id)


def read(source: Source, survey: Survey, id: str | None = None, rows: int = 1 << 17) -> Pieces:
    """Yield the wanted columns in pieces of at most `rows` rows and about PIECE_BYTES.

    With each piece comes how much was read up to its end: bytes of CSV, rows of other formats. CSV
    and Parquet are read lazily, other formats at once.
    """
    return reader(source.kind).pieces(source, Request(survey, id), rows, PIECE_BYTES)


def column_names(source: Source, survey: Survey, id: str | None = None) -> list[str]:
    """Return the names of all columns of a file. Raises AnswersError if it cannot be read."""
    with readable(source.name):
        return reader(source.kind).columns(source, Request(survey, id))


def check_columns(table: pa.Table, survey: Survey, id: str | None = None) -> pa.Table:
    """Return the columns of the survey's questions, in order, and that of the ids.

    Raises AnswersError if a column is missing or occurs twice, or if there are no rows.
    """
    names = check_names(table.column_names, survey, id)
    check_rows(table.num_rows)
    return table.select(names)


def check_rows(rows: int) -> None:
    """Raises AnswersError if there are no rows."""
    if rows == 0:
        raise AnswersError.of("answers", InWords("no rows"), "at least one answered row is needed")


def texts(answers: pa.Table, id: str) -> pa.Array:
    """Return the ids of the rows, byte for byte as in the file; whole numbers as digits.

    Raises AnswersError unless there is one such column, with an id in every row, and of a type
    whose values have a unique text: floating-point numbers do not distinguish 1.10 from 1.1.
    """
    check_once("id", [id], answers.column_names)
    kind = answers.schema.field(id).type
    if not _has_one_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        allowed = f"the column has type {kind}; save the ids as text"
        raise AnswersError.of("id", id, allowed)
    names = pc.cast(answers[id], pa.string()).combine_chunks()
    missing = pc.equal(pc.fill_null(names, ""), "").to_numpy(zero_copy_only=False)
    if missing.any():
        field = f"row {int(np.argmax(missing)) + 1}, {id}"
        raise AnswersError.of(field, InWords("no id"), "should identify the person")
    return names


def _has_one_text(kind: pa.DataType) -> bool:
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_integer(kind) or types.is_null(kind))


# Files of any size, a bounded number of rows at a time.


class Batches(NamedTuple):
    """Answers in pieces.

    size, unit: how much there is to read, in bytes (CSV) or rows. tables: the questions' columns,
    each table with how much was read since the previous one.
    """

    size: int
    unit: str
    tables: Iterator[tuple[pa.Table, int]]


def load_batches(
    answers: str | Path | IO[bytes] | Source,
    survey: Survey,
    rows: int,
    *,
    format: str | None = None,
    encoding: str | None = None,
) -> Batches:
    """Read a file of answers, `rows` at a time; the last table may be shorter.

    If answers are long, a table has fewer rows. Cells and errors are as in `load_answers`; an error
    further back in the file is raised when the iteration reaches it.
    """
    source = source_of(answers, format, encoding)
    with readable(source.name):
        whole, unit = reader(source.kind).size(source)
        pieces = read(source, survey, rows=rows)
    return Batches(whole, unit, _tables(source.name, rows, pieces))


def _tables(name: str, rows: int, read: Pieces) -> Iterator[tuple[pa.Table, int]]:
    """Regroup pieces into tables of `rows` rows, or of PIECE_BYTES; the last may be shorter."""
    held, seen, position = pa.table({}), 0, 0
    with readable(name):
        for batch, position in read:
            table = pa.Table.from_batches([batch])
            held = pa.concat_tables([held, table]) if held.num_rows else table
            while held.num_rows >= rows or held.nbytes >= PIECE_BYTES:
                yield held.slice(0, rows), position - seen
                held, seen = held.slice(rows), position
    check_rows(held.num_rows + seen)
    if held.num_rows:
        yield held, position - seen


# All columns of a file or a data frame, with their labels.


def load_data(answers: Source | Any) -> Data:
    """Load all of a file, or of a data frame, into memory. Raises AnswersError as
    `load_answers`."""
    if is_frame(answers):
        return Data(as_table(answers))
    source: Source = answers
    with readable(source.name):
        return reader(source.kind).data(source)
