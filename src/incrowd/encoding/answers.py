"""Answers from CSV or Parquet files, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from incrowd.errors import AnswersError, InWords
from incrowd.survey import Survey


def load_answers(path: str | Path, survey: Survey, id: str | None = None) -> pa.Table:
    """Read the columns of a survey's questions from a CSV or Parquet file, one row a person.

    id: a column that says whose row it is, to be read as well. CSV cells are kept as text; an
    empty cell is a missing answer. Other columns are ignored.
    Raises AnswersError if the file cannot be read, is empty, or lacks a question's column.
    """
    path = Path(path)
    with readable(path):
        table = _parquet(path) if path.suffix == ".parquet" else _csv(path, survey)
    return check_columns(table, survey, id)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a file of answers becomes an AnswersError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "is not a complete Parquet file"
        raise AnswersError.of(
            "answers", str(path), f"{reason}; name a CSV or .parquet file"
        ) from None
    except UnicodeDecodeError:
        raise AnswersError.of("answers", str(path), "is not UTF-8; save it as UTF-8") from None
    except pa.ArrowInvalid as error:
        raise AnswersError.of("answers", str(path), f"cannot be read: {error}") from None


def check_columns(table: pa.Table, survey: Survey, id: str | None = None) -> pa.Table:
    """The columns of the survey's questions, in order, and that of the ids.

    Raises AnswersError if a column is missing or stands twice, or if there are no rows.
    """
    wanted = check_names(table.column_names, survey, id)
    check_rows(table.num_rows)
    return table.select(wanted)


def check_rows(rows: int) -> None:
    """Raises AnswersError if there are no rows."""
    if rows == 0:
        raise AnswersError.of("answers", InWords("no rows"), "at least one answered row is needed")


def check_names(columns: Sequence[str], survey: Survey, id: str | None = None) -> list[str]:
    """The columns of the survey's questions, in order, and that of the ids, by their names.

    Raises AnswersError if one is missing or stands twice.
    """
    wanted = list(dict.fromkeys([q.id for q in survey.questions] + ([id] if id else [])))
    for name in wanted:
        if columns.count(name) != 1:
            found = ", ".join(columns) or "no columns"
            raise AnswersError.of("answers", name, f"needs exactly one column; found {found}")
    return wanted


def _parquet(path: Path) -> pa.Table:
    return pa.parquet.read_table(path)


def _csv(path: Path, survey: Survey) -> pa.Table:
    return pa.csv.read_csv(path, convert_options=as_text(survey))


def as_text(survey: Survey, columns: Sequence[str] = ()) -> pa.csv.ConvertOptions:
    """Question columns as text: the survey, not the reader, says what a cell means.

    columns: to be read; by default all.
    """
    return pa.csv.ConvertOptions(
        include_columns=list(columns),
        column_types={question.id: pa.string() for question in survey.questions},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
