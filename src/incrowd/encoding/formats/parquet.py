"""Parquet files, read a bounded number of bytes at a time."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet

from incrowd.encoding.formats.reader import Content, Pieces, Reader, Request
from incrowd.encoding.sources import AnswersSource
from incrowd.errors import AnswersError

FORMAT_KEY, INTERVIEWS = b"incrowd.format", b"incrowd interviews"  # in the metadata
CELL_BYTES = 8  # per cell, in addition to its content


def pieces(source: AnswersSource, wanted: Sequence[str], request: Request) -> Pieces:
    """Yield the wanted columns, with the rows read so far."""
    with source.open() as file, pa.parquet.ParquetFile(file) as read:
        metadata = read.metadata
    leaves = [metadata.schema.column(place).path for place in range(len(metadata.schema))]
    most, done = _most_rows(source.name, metadata, wanted, request), 0
    where = str(source.path) if source.content is None else source.open()
    # Read as dictionaries, repeated texts take no more memory than in the file; reading ahead would
    # load whole row groups.
    with pa.parquet.ParquetFile(
        where, memory_map=True, pre_buffer=False, read_dictionary=leaves
    ) as file:
        for batch in file.iter_batches(batch_size=most, columns=list(wanted)):
            done += batch.num_rows
            yield batch, done


def _most_rows(
    name: str, metadata: pa.parquet.FileMetaData, wanted: Sequence[str], request: Request
) -> int:
    """Return how many rows take about `piece_bytes`, according to the metadata of the row groups.

    Raises AnswersError if a single row takes more.
    """
    each = max(
        (_row_bytes(metadata.row_group(n), wanted) for n in range(metadata.num_row_groups)),
        default=1.0,
    )
    if each > request.piece_bytes:
        raise AnswersError.of("answers", "encoding.wide-rows", value=name, megabytes=each / 1e6)
    return min(request.rows, int(request.piece_bytes // each))


def _row_bytes(group: pa.parquet.RowGroupMetaData, wanted: Sequence[str]) -> float:
    """Return the average uncompressed bytes of the wanted columns of one row."""
    columns = [group.column(place) for place in range(group.num_columns)]
    taken = sum(
        column.total_uncompressed_size + CELL_BYTES * column.num_values
        for column in columns
        if any(f"{column.path_in_schema}.".startswith(f"{name}.") for name in wanted)
    )
    return float(max(1.0, taken / max(1, group.num_rows)))


class _Parquet(Reader):
    def table(self, source: AnswersSource) -> pa.Table:
        """Return all columns."""
        with source.open() as file:
            return pa.parquet.read_table(file)

    def content(self, source: AnswersSource, request: Request) -> Content:
        """Return the content; the wanted columns are read lazily.

        Raises AnswersError for a file of interviews, whose answers are randomized already.
        """
        with source.open() as file, pa.parquet.ParquetFile(file) as read:
            metadata = read.schema_arrow.metadata or {}
        if metadata.get(FORMAT_KEY, b"").startswith(INTERVIEWS):
            raise AnswersError.of("answers", "encoding.interviews", value=source.name)
        if request.columns is None:
            return super().content(source, request)
        with source.open() as file, pa.parquet.ParquetFile(file) as read:
            names, rows = tuple(read.schema_arrow.names), int(read.metadata.num_rows)
        return Content(names, rows, pieces(source, request.chosen(names), request))


READER = _Parquet()
