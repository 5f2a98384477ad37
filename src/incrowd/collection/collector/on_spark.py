"""Open a release on Apache Spark: each task opens some rows, read from the release's file.

The reports are the same as on a single machine, and are written in a new random order. Tasks write
nothing, so a task that is lost, repeated or run twice leaves nothing behind.

The private key does not pass through Spark, which could store it on disks: each machine reads the
key from its file, like the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.collection.collector.collections import OpeningEngine, left
from incrowd.collection.collector.opening import OpenedPiece, Opener, kinds_of
from incrowd.collection.collector.places import load_private
from incrowd.collection.machine import protect
from incrowd.collection.protocol.bundle import Bundle
from incrowd.errors import ReportsError
from incrowd.reports.spark import RecordBatches, in_arrow
from incrowd.sampling.shuffle import Advance

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_EACH = 1 << 15  # rows per task: about a second
TASKS_EACH = 4  # tasks per core at a time; their results are in memory here
RESULT = "number long, packed array<binary>, dummies array<long>, rejected array<long>"


class RowRange(NamedTuple):
    """Rows `first` to `end` of a release; `without`: indices from `first` that are left out."""

    first: int
    end: int
    without: tuple[int, ...]


@dataclass(frozen=True)
class SealedRelease:
    """Input of a task: files that every machine can read, the start of the body, the bundle, and
    a stratum of the release."""

    release: str
    start: int
    bundle: bytes
    key: str
    stratum: int


def engine(session: SparkSession, sealed: SealedRelease, advance: Advance) -> OpeningEngine:
    """Return an engine that opens reports on a Spark session. It raises ReportsError on failure."""
    bundle = Bundle.parse(sealed.bundle)
    together = TASKS_EACH * session.sparkContext.defaultParallelism

    def opened(body: np.ndarray, without: np.ndarray) -> Iterator[OpenedPiece]:
        rows = list(_cut(len(body), without))
        for at in range(0, len(rows), together):
            wave = rows[at : at + together]
            numbers = session.range(0, len(wave), 1, len(wave))
            table = in_arrow(numbers, partial(_open_rows, sealed, wave), RESULT, "opened")
            for piece, of in zip(_pieces(table, len(wave), bundle), wave, strict=True):
                yield piece
                advance(of.end - of.first)

    return opened


def _cut(length: int, without: np.ndarray) -> Iterator[RowRange]:
    for at in range(0, length, ROWS_EACH):
        end = min(at + ROWS_EACH, length)
        first, last = np.searchsorted(without, (at, end))
        yield RowRange(at, end, tuple((without[first:last] - at).tolist()))


def _open_rows(
    sealed: SealedRelease, wave: list[RowRange], batches: RecordBatches
) -> RecordBatches:
    """Open the rows whose numbers are in a partition."""
    protect()
    bundle = Bundle.parse(sealed.bundle)
    work = Opener(bundle, load_private(Path(sealed.key), bundle), sealed.stratum)
    body = np.memmap(sealed.release, np.uint8, "r", sealed.start).reshape(-1, bundle.row_length)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            rows = wave[number]
            without = np.array(rows.without, np.int64)
            yield _as_batch(number, bundle, work(left(body[rows.first : rows.end], without)))


def _as_batch(number: int, bundle: Bundle, piece: OpenedPiece) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "number": [number],
            "packed": [[packed.tobytes() for packed in piece.packed]],
            "dummies": [list(piece.dummies)],
            "rejected": [[piece.rejected.get(kind, 0) for kind in kinds_of(bundle)]],
        }
    )


def _pieces(table: pa.Table, many: int, bundle: Bundle) -> Iterator[OpenedPiece]:
    """Yield the pieces in the order of the release. Raises ReportsError if any is missing."""
    rows = sorted(table.to_pylist(), key=lambda row: row["number"])
    if [row["number"] for row in rows] != list(range(many)):
        raise ReportsError.of("release", "collection.parts-missing", arrived=len(rows), parts=many)
    width, kinds = bundle.shape.width, kinds_of(bundle)
    for row in rows:
        packed = tuple(
            np.frombuffer(each, np.uint8).reshape(-1, width(message))
            for message, each in enumerate(row["packed"])
        )
        rejected = dict(zip(kinds, row["rejected"], strict=True))
        yield OpenedPiece(packed, tuple(row["dummies"]), rejected)
