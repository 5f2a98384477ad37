"""Answers from files of every supported format and from data frames, as Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from incrowd.catalog.sentences import Sentence, closest, likely, sentence
from incrowd.encoding.cells import is_list
from incrowd.encoding.chosen import chosen
from incrowd.encoding.formats.isolated import content
from incrowd.encoding.formats.reader import Content, Pieces, Request
from incrowd.encoding.frames import as_table, is_frame
from incrowd.encoding.labels import with_labels
from incrowd.encoding.sources import AnswersSource, readable, source_of
from incrowd.errors import AnswersError, Place, Problem
from incrowd.survey import AnyQuestion, Survey

PIECE_BYTES = 1 << 22  # of answers at a time; while they are encoded they take more
SHOWN = 5  # missing columns that are listed; the rest is counted


def load_answers(
    answers: str | Path | IO[bytes] | Any,
    survey: Survey,
    *,
    id: str | None = None,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> pa.Table:
    """Read the columns of a survey's questions, one row per person.

    Parameters
    ----------
    answers : str, Path, file object, or data frame
        A file (CSV, JSON lines, Parquet, Arrow, SPSS, Stata, Excel), a file object open for
        reading, or a data frame of pandas, polars, duckdb, Arrow, or any other library that
        narwhals supports. Columns that do not belong to a question are ignored.
    survey : Survey
        Names the columns.
    id : str, optional
        A text column that identifies people; it is read as well.
    format, encoding : str, optional
        Of a file, if its name and content do not show them.
    sheet : str, optional
        Of a workbook; by default the first.

    Returns
    -------
    pyarrow.Table
        A column for each question. Cells of CSV and JSON are text; an empty cell is a missing
        answer.

    Raises
    ------
    AnswersError
        If the answers cannot be read, are empty, or lack the column of a question.

    Examples
    --------
    >>> import incrowd
    >>> survey = incrowd.Survey.load("examples/health.toml")
    >>> incrowd.load_answers("examples/rand_hie.csv", survey).num_rows
    20190
    """
    if is_frame(answers):
        table = as_table(answers, lambda names: check_names(names, survey, id))
        return check_columns(table, survey, id)
    source = source_of(answers, format, encoding, sheet)
    with readable(source.name, source):
        pieces = [piece for piece, _ in read(source, survey, id).pieces]
    check_rows(sum(piece.num_rows for piece in pieces))
    return check_columns(pa.Table.from_batches(pieces), survey, id)


def read(
    source: AnswersSource, survey: Survey, id: str | None = None, rows: int = 1 << 17
) -> Content:
    """Return the wanted columns in pieces of at most `rows` rows and about PIECE_BYTES.

    With each piece comes how much was read up to its end: bytes of CSV, rows of other formats. CSV
    and Parquet are read lazily, other formats at once. Raises AnswersError if a column is missing.
    """
    numbers = [question for question in survey.questions if not _has_commas(survey, question)]
    columns, decimals = _possible(survey, survey.questions, id), _possible(survey, numbers)
    parsed = content(source, Request(columns, decimals, rows, PIECE_BYTES))
    check_names(parsed.names, survey, id)
    return replace(parsed, pieces=_chosen(parsed, survey, id))


def _wanted(survey: Survey, id: str | None, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the columns of the survey's questions, in order, and the column of ids; each by the
    name that it will have, which for a question is the question's id."""
    names = {each.id: columns_of(survey, each.id, columns) for each in survey.questions}
    return names | ({id: (id,)} if id and id not in names else {})


def columns_of(survey: Survey, id: str, columns: Collection[str]) -> tuple[str, ...]:
    """Return the names of the columns of a question: those that the survey states; or the
    question's id, if the survey states none or the answers have been loaded already."""
    stated = _stated(survey, id)
    return (id,) if not stated or (id in columns and {*stated}.isdisjoint(columns)) else stated


def _stated(survey: Survey, id: str) -> tuple[str, ...]:
    codes = survey.codes_of(id)
    return (*codes.columns, *((codes.column,) if codes.column else ()))


def _one_column(survey: Survey, id: str, names: Sequence[str], cells: list[pa.Array]) -> pa.Array:
    """Return the answers to a question as one column: lists of options, if each option has a column
    of its own."""
    codes = survey.codes_of(id)
    loaded = [*names] == [id] and (id not in codes.columns or is_list(cells[0].type))
    return chosen(codes, names, cells) if codes.columns and not loaded else cells[0]


def _possible(
    survey: Survey, questions: Sequence[AnyQuestion], id: str | None = None
) -> tuple[str, ...]:
    """Return the names that the columns of questions may have in a file, and the column of ids."""
    names = [name for each in questions for name in (each.id, *_stated(survey, each.id))]
    return tuple(dict.fromkeys(filter(None, [*names, id])))


def _has_commas(survey: Survey, question: AnyQuestion) -> bool:
    """Return whether an answer to a question, or a code for one, may contain a comma, or the survey
    states how its numbers are written."""
    codes = survey.codes_of(question.id)
    if codes.thousands or codes.decimal:
        return True
    written = [*codes.values, *codes.missing, *question.choices]
    return not question.one_value or any("," in each for each in written)


def _chosen(parsed: Content, survey: Survey, id: str | None) -> Pieces:
    """Yield the wanted columns in their order, with codes replaced with their labels."""
    wanted = _wanted(survey, id, parsed.names)
    for piece, done in parsed.pieces:
        columns = {
            name: _one_column(survey, name, sources, [piece.column(each) for each in sources])
            for name, sources in wanted.items()
        }
        for question in survey.questions:
            codes, cells = survey.codes_of(question.id), columns[question.id]
            labels = parsed.labels.get(wanted[question.id][0])
            if labels and not codes.columns:
                columns[question.id] = with_labels(cells, question, codes, labels)
        yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)), done


def column_names(source: AnswersSource, survey: Survey, id: str | None = None) -> list[str]:
    """Return the names of all columns of a file. Raises AnswersError if it cannot be read."""
    with readable(source.name, source):
        request = Request(_possible(survey, survey.questions, id), names_only=True)
        return list(content(source, request).names)


def check_names(columns: Sequence[str], survey: Survey, id: str | None = None) -> list[str]:
    """Return the names of the columns of the survey's questions, in order, and of the ids.

    Raises AnswersError that lists all missing and duplicate columns.
    """
    wanted = dict.fromkeys(chain.from_iterable(_wanted(survey, id, columns).values()))
    texts = {each.id: each.text for each in survey.questions}

    def advice(name: str) -> Sentence | str:
        """Name the column that seems to have the answers to a question: spreadsheets of forms have
        its text above them."""
        if name not in texts:
            return likely(name, columns)
        column = closest(texts[name] or name, columns) or closest(name, columns)
        return sentence("encoding.other-column", column=column) if column else ""

    return check_once("answers", list(wanted), columns, advice)


def check_once(
    field: str,
    names: list[str],
    columns: Sequence[str],
    advice: Callable[[str], Sentence | str] | None = None,
) -> list[str]:
    """Return the names. Raises AnswersError unless there is exactly one column of each name.

    advice: what to do about a missing one; by default, the name that seems to be meant.
    """
    if wrong := [name for name in names if list(columns).count(name) != 1]:
        advised = advice or (lambda name: likely(name, columns))
        raise AnswersError(*_not_once(field, wrong, columns, advised))
    return names


def _not_once(
    field: str,
    wrong: Sequence[str],
    columns: Sequence[str],
    advice: Callable[[str], Sentence | str],
) -> Iterator[Problem]:
    """Yield a problem for the first few wrong names; the last one lists the columns."""
    listed = sentence("encoding.columns", columns=[*columns] or sentence("shared.none"))
    for name in wrong[:SHOWN]:
        end = listed if name == wrong[-1] else ""
        if times := list(columns).count(name):
            yield Problem(field, "encoding.repeated-column", name=name, times=times, columns=end)
        else:
            hint = advice(name)
            yield Problem(field, "encoding.missing-column", name=name, hint=hint, columns=end)
    if (more := len(wrong) - SHOWN) > 0:
        yield Problem(field, "encoding.more-columns", more=more, columns=listed)


def check_columns(table: pa.Table, survey: Survey, id: str | None = None) -> pa.Table:
    """Return the columns of the survey's questions, in order, and that of the ids.

    Raises AnswersError if a column is missing or occurs twice, or if there are no rows.
    """
    check_names(table.column_names, survey, id)
    check_rows(table.num_rows)
    columns = {
        name: _one_column(survey, name, sources, [_cells(table, each) for each in sources])
        for name, sources in _wanted(survey, id, table.column_names).items()
    }
    return pa.table(columns)


def _cells(table: pa.Table, name: str) -> pa.Array:
    return table[name].combine_chunks()


def check_rows(rows: int) -> None:
    """Raise AnswersError if there are no rows."""
    if rows == 0:
        raise AnswersError.of("answers", "encoding.no-rows")


def texts(answers: pa.Table, id: str) -> pa.Array:
    """Return the ids of the rows, byte for byte as in the file; whole numbers as digits.

    Raises AnswersError unless there is one such column, with an id in every row, and of a type
    whose values have a unique text: floating-point numbers do not distinguish 1.10 from 1.1.
    """
    check_once("id", [id], answers.column_names)
    kind = answers.schema.field(id).type
    if not _has_one_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        raise AnswersError.of("id", "encoding.type-of-ids", value=id, type=str(kind))
    names = pc.cast(answers[id], pa.string()).combine_chunks()
    missing = pc.equal(pc.fill_null(names, ""), "").to_numpy(zero_copy_only=False)
    if missing.any():
        row = Place("row", int(np.argmax(missing)) + 1)
        raise AnswersError.of((row, id), "encoding.no-id")
    return names


def _has_one_text(kind: pa.DataType) -> bool:
    types = pa.types
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return bool(text or types.is_integer(kind) or types.is_null(kind))


# Files of any size, a bounded number of rows at a time.


class AnswerBatches(NamedTuple):
    """Answers in pieces.

    size, unit: how much there is to read, in bytes (CSV) or rows. tables: the questions' columns,
    each table with how much was read since the previous one.
    """

    size: int
    unit: str
    tables: Iterator[tuple[pa.Table, int]]


def load_batches(
    answers: str | Path | IO[bytes] | AnswersSource,
    survey: Survey,
    rows: int,
    *,
    format: str | None = None,
    encoding: str | None = None,
) -> AnswerBatches:
    """Read a file of answers, `rows` at a time; the last table may be shorter.

    If answers are long, a table has fewer rows. Cells and errors are as in `load_answers`; an error
    further back in the file is raised when the iteration reaches it.
    """
    source = source_of(answers, format, encoding)
    with readable(source.name, source):
        parsed = read(source, survey, rows=rows)
    return AnswerBatches(parsed.size, parsed.unit, _tables(source, rows, parsed.pieces))


def _tables(source: AnswersSource, rows: int, read: Pieces) -> Iterator[tuple[pa.Table, int]]:
    """Regroup pieces into tables of `rows` rows, or of PIECE_BYTES; the last may be shorter."""
    held, seen, position = pa.table({}), 0, 0
    with readable(source.name, source):
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


@dataclass(frozen=True)
class Data:
    """All columns unchanged, and for some of them wording, labels, and codes for no answer.

    skipped, doubtful, unnamed, others, sets: what the file has besides, as in `Content`.
    """

    table: pa.Table
    texts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    skipped: Sequence[str] = ()
    doubtful: bool = False
    unnamed: Sequence[str] = ()
    others: Sequence[str] = ()
    sets: Mapping[str, str] = field(default_factory=dict)


def load_data(answers: AnswersSource | Any, *, form: bool = False) -> Data:
    """Load all of a file, or of a data frame, into memory. Raises AnswersError as `load_answers`.

    form: whether a sheet is a part of a form, with the names of its columns in the first row.
    """
    if is_frame(answers):
        return Data(as_table(answers))
    source: AnswersSource = answers
    with readable(source.name, source):
        parsed = content(source, Request(form=form))
        table = pa.Table.from_batches([piece for piece, _ in parsed.pieces])
    about = (parsed.texts, parsed.labels, parsed.missing)
    return Data(
        table, *about, parsed.skipped, parsed.doubtful, parsed.unnamed, parsed.others, parsed.sets
    )


def load_columns(source: AnswersSource, names: Sequence[str]) -> pa.Table:
    """Load some columns of a file. Raises AnswersError if it cannot be read."""
    with readable(source.name, source):
        parsed = content(source, Request(tuple(names)))
        return pa.Table.from_batches([piece for piece, _ in parsed.pieces]).select(list(names))


def sheet_names(source: AnswersSource) -> tuple[str, ...]:
    """Return the names of the sheets of a workbook. Raises AnswersError if it cannot be read."""
    with readable(source.name, source):
        return tuple(content(source, Request(names_only=True, form=True)).sheets)


def load_sheet(source: AnswersSource, name: str) -> list[list[Any]]:
    """Return the cells of a sheet of a workbook, row by row, without empty rows."""
    table = load_data(replace(source, sheet=name), form=True).table
    columns = [column.to_pylist() for column in table.columns]
    return [*map(list, zip(*columns, strict=True))]
