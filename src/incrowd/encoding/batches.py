"""Answers from files of any size, a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from incrowd.encoding.answers import as_text, check_names, check_rows, readable
from incrowd.survey import Survey


class Batches(NamedTuple):
    """Answers piece by piece.

    size, unit: how much there is to read, in rows (Parquet) or bytes (CSV). tables: of the
    questions' columns, each with how much was read since the table before.
    """

    size: int
    unit: str
    tables: Iterator[tuple[pa.Table, int]]


def load_batches(path: str | Path, survey: Survey, rows: int) -> Batches:
    """Read a CSV or Parquet file of answers, `rows` at a time, at the end what is left.

    What a cell means and what is an error are as in `load_answers`; an error further back in the
    file is raised when the tables come to it.
    """
    path = Path(path)
    with readable(path):
        if path.suffix == ".parquet":
            size, read = pa.parquet.read_metadata(path).num_rows, _parquet(path, survey, rows)
            return Batches(size, "rows", _tables(path, rows, read))
        size = path.stat().st_size
        return Batches(size, "bytes", _tables(path, rows, _csv(path, survey)))


Read = Iterator[tuple[pa.RecordBatch, int]]  # and how much was read up to there


def _parquet(path: Path, survey: Survey, rows: int) -> Read:
    # Reading ahead would keep whole row groups in memory.
    with pa.parquet.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
        wanted, done = check_names(file.schema_arrow.names, survey), 0
        for batch in file.iter_batches(batch_size=rows, columns=wanted):
            done += batch.num_rows
            yield batch, done


def _csv(path: Path, survey: Survey) -> Read:
    with pa.csv.open_csv(path) as header:
        wanted = check_names(header.schema.names, survey)
    with pa.OSFile(str(path)) as file:
        cells = pa.input_stream(file, compression=_codec(path))
        for batch in pa.csv.open_csv(cells, convert_options=as_text(survey, wanted)):
            yield batch, file.tell()


def _codec(path: Path) -> str | None:
    """How a file is compressed, by its name, as the reader of whole files takes it."""
    endings = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
    return endings.get(path.suffix)


def _tables(path: Path, rows: int, read: Read) -> Iterator[tuple[pa.Table, int]]:
    """Batches of any size as tables of `rows` rows, at the end what is left."""
    held, seen, position = pa.table({}), 0, 0
    with readable(path):
        for batch, position in read:
            table = pa.Table.from_batches([batch])
            held = pa.concat_tables([held, table]) if held.num_rows else table
            while held.num_rows >= rows:
                yield held.slice(0, rows), position - seen
                held, seen = held.slice(rows), position
    check_rows(held.num_rows + seen)
    if held.num_rows:
        yield held, position - seen
