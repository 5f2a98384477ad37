"""Answers from CSV or Parquet files, as Arrow tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from incrowd.errors import AnswersError, InWords, unreadable
from incrowd.survey import Survey

PIECE_BYTES = 1 << 22  # of answers at a time; while they are encoded they take more
CELL_BYTES = 8  # of a cell beside what is in it
ROW_BYTES = 1 << 20  # of the longest row of a CSV file
TOO_LONG = "straddling object"  # the reader's word for it

Read = Iterator[tuple[pa.RecordBatch, int]]  # and how much was read up to there


def load_answers(path: str | Path, survey: Survey, *, id: str | None = None) -> pa.Table:
    """Read the columns of a survey's questions from a CSV or Parquet file, one row a person.

    id: a column of text that says whose row it is, to be read as well. CSV cells are kept as
    text; an empty cell is a missing answer. Other columns are ignored.
    Raises AnswersError if the file cannot be read, is empty, or lacks a question's column.
    """
    path = Path(path)
    with readable(path):
        pieces = [piece for piece, _ in read(path, survey, id)]
    check_rows(sum(piece.num_rows for piece in pieces))
    return check_columns(pa.Table.from_batches(pieces), survey, id)


def read(path: Path, survey: Survey, id: str | None = None, rows: int = 1 << 17) -> Read:
    """The wanted columns piece by piece, at most so many rows and about PIECE_BYTES in each.

    Beside a piece stands how much was read up to its end: rows of Parquet, bytes of CSV.
    """
    return _parquet(path, survey, id, rows) if _is_parquet(path) else _csv(path, survey, id)


def size(path: Path) -> tuple[int, str]:
    """How much there is to read, and in what."""
    if _is_parquet(path):
        return pa.parquet.read_metadata(path).num_rows, "rows"
    return path.stat().st_size, "bytes"


def _is_parquet(path: Path) -> bool:
    return path.suffix == ".parquet"


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever goes wrong with a file of answers becomes an AnswersError."""
    try:
        yield
    except OSError as error:
        allowed = f"{unreadable(error)}; name a CSV or .parquet file"
        raise AnswersError.of("answers", str(path), allowed) from None
    except UnicodeDecodeError:
        raise AnswersError.of("answers", str(path), "it is not UTF-8; save it as UTF-8") from None
    except pa.ArrowException as error:
        raise AnswersError.of("answers", str(path), _reason(str(error))) from None


def _reason(error: str) -> str:
    if TOO_LONG in error:
        most = f"{ROW_BYTES >> 20} MiB"
        return f"it has a row of more than {most}; should be a CSV file with a line for each person"
    return f"it cannot be read: {error}; correct it, or name another file"


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
        _check_once("answers", name, columns)
    return wanted


def _check_once(field: str, name: str, columns: Sequence[str]) -> None:
    """Raises AnswersError unless one column has that name."""
    if columns.count(name) != 1:
        times = columns.count(name)
        found = InWords(f"{times} columns {name!r}" if times else f"no column {name!r}")
        known = ", ".join(columns) or "none"
        raise AnswersError.of(field, found, f"there should be exactly one; the columns are {known}")


def texts(answers: pa.Table, id: str) -> pa.Array:
    """The ids of the rows, byte for byte as they stand in the file; whole numbers as digits.

    Raises AnswersError unless there is one such column, with an id in every row, and of a type
    whose values have one text only: a floating-point number does not tell 1.10 from 1.1.
    """
    _check_once("id", id, answers.column_names)
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


def _parquet(path: Path, survey: Survey, id: str | None, rows: int) -> Read:
    with pa.parquet.ParquetFile(path) as file:
        wanted = check_names(file.schema_arrow.names, survey, id)
        metadata = file.metadata
    leaves = [metadata.schema.column(place).path for place in range(len(metadata.schema))]
    most, done = _most_rows(path, metadata, wanted, rows), 0
    # As dictionaries, repeated texts take no more memory than in the file; reading ahead would
    # keep whole row groups.
    with pa.parquet.ParquetFile(
        path, memory_map=True, pre_buffer=False, read_dictionary=leaves
    ) as file:
        for batch in file.iter_batches(batch_size=most, columns=wanted):
            batch.validate(full=True)
            done += batch.num_rows
            yield batch, done


def _most_rows(
    path: Path, metadata: pa.parquet.FileMetaData, wanted: Sequence[str], rows: int
) -> int:
    """How many rows take about PIECE_BYTES, by what the file says of its row groups.

    Raises AnswersError if one takes more.
    """
    each = max(
        (_row_bytes(metadata.row_group(n), wanted) for n in range(metadata.num_row_groups)),
        default=1.0,
    )
    if each > PIECE_BYTES:
        shown = f"it has rows of {each / 1e6:,.0f} MB; should be a file with a row for each person"
        raise AnswersError.of("answers", str(path), shown)
    return min(rows, int(PIECE_BYTES // each))


def _row_bytes(group: pa.parquet.RowGroupMetaData, wanted: Sequence[str]) -> float:
    """Of the wanted columns of one row on average, unpacked."""
    columns = [group.column(place) for place in range(group.num_columns)]
    taken = sum(
        column.total_uncompressed_size + CELL_BYTES * column.num_values
        for column in columns
        if any(f"{column.path_in_schema}.".startswith(f"{name}.") for name in wanted)
    )
    return float(max(1.0, taken / max(1, group.num_rows)))


def _csv(path: Path, survey: Survey, id: str | None) -> Read:
    block = pa.csv.ReadOptions(block_size=ROW_BYTES)
    with pa.csv.open_csv(path, read_options=block) as header:
        wanted = check_names(header.schema.names, survey, id)
    with pa.OSFile(str(path)) as file:
        cells = pa.input_stream(file, compression=_codec(path))
        for batch in pa.csv.open_csv(cells, read_options=block, convert_options=_as_text(wanted)):
            yield batch, file.tell()


def _as_text(columns: Sequence[str]) -> pa.csv.ConvertOptions:
    """Every cell as the text that it is: nobody guesses what it means."""
    return pa.csv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def _codec(path: Path) -> str | None:
    """How a file is compressed, by its name."""
    endings = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
    return endings.get(path.suffix)
