"""Answers from files of every kind and from data frames, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from incrowd.encoding.formats import csv, excel, json_lines, labelled, parquet
from incrowd.encoding.frames import as_table, is_frame
from incrowd.encoding.sources import Source, readable, source_of
from incrowd.errors import AnswersError, InWords, Problem, likely
from incrowd.survey import AnyQuestion, Survey

ONCE = "there should be exactly one"
SHOWN = 5  # columns that are missing; the rest is counted
PIECE_BYTES = 1 << 22  # of answers at a time; while they are encoded they take more

_READERS = {"jsonl": json_lines.table, "feather": parquet.table, "xlsx": excel.table}

Read = Iterator[tuple[pa.RecordBatch, int]]  # and how much was read up to there


def load_answers(
    answers: str | Path | IO[bytes] | Any,
    survey: Survey,
    *,
    id: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> pa.Table:
    """Read the columns of a survey's questions from a file or a data frame, one row a person.

    answers: a file (CSV, JSON lines, Parquet, Arrow, SPSS, Stata, Excel), or one that is open for
    reading; or a data frame of pandas, polars, duckdb, Arrow or any that narwhals knows. id:
    a column of text that says whose row it is, to be read as well. format, encoding: of a file,
    where its name and content do not tell. sheet: of a workbook, by default the first. Cells of
    CSV and JSON are kept as text; an empty cell is a missing answer. Other columns are ignored.
    Raises AnswersError if it cannot be read, is empty, or lacks a question's column.
    """
    if is_frame(answers):
        table = as_table(answers, lambda names: check_names(names, survey, id))
        return check_columns(table, survey, id)
    source = source_of(answers, format, encoding, sheet)
    with readable(source.name):
        pieces = [piece for piece, _ in read(source, survey, id)]
    check_rows(sum(piece.num_rows for piece in pieces))
    return check_columns(pa.Table.from_batches(pieces), survey, id)


def wanted(survey: Survey, id: str | None = None) -> list[str]:
    """The columns of the survey's questions, in order, and that of the ids."""
    return list(dict.fromkeys([q.id for q in survey.questions] + ([id] if id else [])))


def read(source: Source, survey: Survey, id: str | None = None, rows: int = 1 << 17) -> Read:
    """The wanted columns piece by piece, at most so many rows and about PIECE_BYTES in each.

    Beside a piece stands how much was read up to its end: bytes of CSV, rows of anything else.
    CSV and Parquet are read as they are needed, the others whole.
    """
    if source.kind == "parquet":
        names = check_names(parquet.columns(source), survey, id)
        return parquet.pieces(source, names, rows, PIECE_BYTES)
    if source.kind == "csv":
        layout = csv.layout(source, wanted(survey, id))
        names = check_names(layout.columns, survey, id)
        return csv.pieces(source, layout, names, _of_numbers(survey))
    return _whole(_table(source, survey, id), rows)


def column_names(source: Source, survey: Survey, id: str | None = None) -> list[str]:
    """The names of all columns of a file, in order. Raises AnswersError if it cannot be read."""
    with readable(source.name):
        if source.kind == "parquet":
            return parquet.columns(source)
        if source.kind == "csv":
            return csv.layout(source, wanted(survey, id)).columns
        if source.kind in ("sav", "dta"):
            return list(labelled.labelled(source, ()).names)
        return list(_READERS[source.kind](source).column_names)


def _of_numbers(survey: Survey) -> list[str]:
    """The questions to which a comma between digits is no part of an answer, or of a code for one:
    it stands before decimals, as in 3,5 or, of a code, in 3,0."""
    return [question.id for question in survey.questions if not _has_commas(survey, question)]


def _has_commas(survey: Survey, question: AnyQuestion) -> bool:
    codes = survey.codes_of(question.id)
    written = [*codes.values, *codes.missing, *question.choices]
    return not question.one_value or any("," in each for each in written)


def size(source: Source) -> tuple[int, str]:
    """How much there is to read, and in what; 0 if that is known only when it was read."""
    if source.kind == "parquet":
        return parquet.rows(source), "rows"
    return (source.stored, "bytes") if source.kind == "csv" else (0, "rows")


def _table(source: Source, survey: Survey, id: str | None) -> pa.Table:
    """The wanted columns of a file that is read whole."""
    if source.kind in ("sav", "dta"):
        return _labelled(source, survey, id)
    table = _READERS[source.kind](source)
    return table.select(check_names(table.column_names, survey, id))


def _labelled(source: Source, survey: Survey, id: str | None) -> pa.Table:
    found = labelled.labelled(source, wanted(survey, id))
    names = check_names(found.names, survey, id)
    asked = {question.id: question for question in survey.questions}
    columns = {
        name: labelled.answers(
            found.columns[name], asked[name], survey.codes_of(name), found.labels.get(name, {})
        )
        if name in asked
        else found.columns[name]
        for name in names
    }
    return pa.table(columns)


def _whole(table: pa.Table, rows: int) -> Read:
    done = 0
    for batch in table.to_batches(max_chunksize=rows):
        done += batch.num_rows
        yield batch, done


def check_columns(table: pa.Table, survey: Survey, id: str | None = None) -> pa.Table:
    """The columns of the survey's questions, in order, and that of the ids.

    Raises AnswersError if a column is missing or stands twice, or if there are no rows.
    """
    names = check_names(table.column_names, survey, id)
    check_rows(table.num_rows)
    return table.select(names)


def check_rows(rows: int) -> None:
    """Raises AnswersError if there are no rows."""
    if rows == 0:
        raise AnswersError.of("answers", InWords("no rows"), "at least one answered row is needed")


def check_names(columns: Sequence[str], survey: Survey, id: str | None = None) -> list[str]:
    """The columns of the survey's questions, in order, and that of the ids, by their names.

    Raises AnswersError about all that are missing or stand twice.
    """
    return check_once("answers", wanted(survey, id), columns)


def check_once(field: str, names: list[str], columns: Sequence[str]) -> list[str]:
    """The names. Raises AnswersError unless each is that of one column."""
    if wrong := [name for name in names if list(columns).count(name) != 1]:
        raise AnswersError(*_not_once(field, wrong, columns))
    return names


def _not_once(field: str, wrong: Sequence[str], columns: Sequence[str]) -> Iterator[Problem]:
    """The first few names that are not those of one column; the last says which columns are."""
    known = f"the columns are {', '.join(columns) or 'none'}"
    for name in wrong[:SHOWN]:
        times = list(columns).count(name)
        found = InWords(f"{times} columns {name!r}" if times else f"no column {name!r}")
        meant = "" if times else likely(name, columns)
        last = name == wrong[-1]
        yield Problem(field, found, f"{ONCE}; {meant}{known}" if last else f"{meant}{ONCE}")
    if (more := len(wrong) - SHOWN) > 0:
        found = InWords(f"{more:,} more columns are not there, or twice")
        yield Problem(field, found, f"{ONCE} of each; {known}")


def texts(answers: pa.Table, id: str) -> pa.Array:
    """The ids of the rows, byte for byte as they stand in the file; whole numbers as digits.

    Raises AnswersError unless there is one such column, with an id in every row, and of a type
    whose values have one text only: a floating-point number does not tell 1.10 from 1.1.
    """
    check_once("id", [id], answers.column_names)
    kind = answers.schema.field(id).type
    if not _has_one_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        allowed = f"it is a column of {kind}, not of text; save the ids as text"
        raise AnswersError.of("id", id, allowed)
    names = pc.cast(answers[id], pa.string()).combine_chunks()
    missing = pc.equal(pc.fill_null(names, ""), "").to_numpy(zero_copy_only=False)
    if missing.any():
        field = f"row {int(np.argmax(missing)) + 1}, {id}"
        raise AnswersError.of(field, InWords("no id"), "should say whose row it is")
    return names


def _has_one_text(kind: pa.DataType) -> bool:
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_integer(kind) or types.is_null(kind))


# Answers from files of any size, a bounded number of rows at a time.


class Batches(NamedTuple):
    """Answers piece by piece.

    size, unit: how much there is to read, in bytes (CSV) or rows. tables: of the
    questions' columns, each with how much was read since the table before.
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
    """Read a file of answers, `rows` at a time, at the end what is left.

    Where answers are long there are fewer rows in a table. What a cell means and what is an error
    are as in `load_answers`; an error further back in the file is raised when the tables come to
    it.
    """
    source = source_of(answers, format, encoding)
    with readable(source.name):
        whole, unit = size(source)
        pieces = read(source, survey, rows=rows)
    return Batches(whole, unit, _tables(source.name, rows, pieces))


def _tables(name: str, rows: int, read: Read) -> Iterator[tuple[pa.Table, int]]:
    """Pieces of any size as tables of `rows` rows, or of PIECE_BYTES, at the end what is left."""
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


# All columns of a file or a data frame, with what it says of them.


@dataclass(frozen=True)
class Data:
    """Every column as it stands, and of some their wording, labels and codes for no answer."""

    table: pa.Table
    texts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def load_data(answers: Source | Any) -> Data:
    """All of a file, held in memory, or of a data frame. Raises AnswersError as `load_answers`."""
    if is_frame(answers):
        return Data(as_table(answers))
    source: Source = answers
    with readable(source.name):
        if source.kind in ("sav", "dta"):
            found = labelled.labelled(source)
            return Data(pa.table(found.columns), found.texts, found.labels, found.missing)
        return Data(_whole_table(source))


def _whole_table(source: Source) -> pa.Table:
    if source.kind == "csv":
        layout = csv.layout(source)
        pieces = [piece for piece, _ in csv.pieces(source, layout)]
        empty = pa.schema([(name, pa.string()) for name in layout.columns])
        table = pa.Table.from_batches(pieces, None if pieces else empty)
        return csv.with_points(table) if layout.separator == ";" else table
    if source.kind == "parquet":
        with source.open() as file:
            return pa.parquet.read_table(file)
    readers = {"jsonl": json_lines.table, "feather": parquet.table, "xlsx": excel.table}
    return readers[source.kind](source)
