"""Answers from CSV or Parquet files, as Arrow tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from incrowd.errors import AnswersError
from incrowd.survey import Survey


def load_answers(path: str | Path, survey: Survey) -> pa.Table:
    """Read the columns of a survey's questions from a CSV or Parquet file, one row a person.

    CSV cells are kept as text; an empty cell is a missing answer. Other columns are ignored.
    Raises AnswersError if the file cannot be read, is empty, or lacks a question's column.
    """
    path = Path(path)
    try:
        table = _parquet(path) if path.suffix == ".parquet" else _csv(path, survey)
    except OSError as error:
        reason = error.strerror or "is not a complete Parquet file"
        raise AnswersError.of(
            "answers", str(path), f"{reason}; name a CSV or .parquet file"
        ) from None
    except UnicodeDecodeError:
        raise AnswersError.of("answers", str(path), "is not UTF-8; save it as UTF-8") from None
    except pa.ArrowInvalid as error:
        raise AnswersError.of("answers", str(path), f"cannot be read: {error}") from None
    return check_columns(table, survey)


def check_columns(table: pa.Table, survey: Survey) -> pa.Table:
    """The columns of the survey's questions, in order.

    Raises AnswersError if a column is missing or stands twice, or if there are no rows.
    """
    wanted = [question.id for question in survey.questions]
    for id in wanted:
        if table.column_names.count(id) != 1:
            found = ", ".join(table.column_names) or "no columns"
            raise AnswersError.of("answers", id, f"needs exactly one column; found {found}")
    if table.num_rows == 0:
        raise AnswersError.of("answers", 0, "rows; at least one answered row is needed")
    return table.select(wanted)


def _parquet(path: Path) -> pa.Table:
    return pa.parquet.read_table(path)


def _csv(path: Path, survey: Survey) -> pa.Table:
    """Question columns as text: the survey, not the reader, says what a cell means."""
    texts = {question.id: pa.string() for question in survey.questions}
    options = pa.csv.ConvertOptions(
        column_types=texts,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return pa.csv.read_csv(path, convert_options=options)
