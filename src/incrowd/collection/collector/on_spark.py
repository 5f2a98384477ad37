"""Open a release on Apache Spark: each task opens some rows, read from the release's file.

A release is one uniformly random permutation of everybody's sealed reports. The results are put
together in the order of its rows, so the collection is the one that a single machine writes. Tasks
write nothing, so a task that is lost, repeated or run twice leaves nothing behind.

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

from incrowd.collection.collector.collections import Advance, Engine, left
from incrowd.collection.collector.opening import KINDS, Opener, Piece
from incrowd.collection.collector.places import load_private
from incrowd.collection.machine import protect
from incrowd.collection.protocol.bundle import Bundle
from incrowd.errors import InWords, ReportsError
from incrowd.reports.spark import Batches, in_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS_EACH = 1 << 15  # rows per task: about a second
TASKS_EACH = 4  # tasks per core at a time; their results are in memory here
RESULT = "number long, packed array<binary>, dummies long, rejected array<long>"


class Rows(NamedTuple):
    """Rows `first` to `end` of a release; `without`: indices from `first` that are left out."""

    first: int
    end: int
    without: tuple[int, ...]


@dataclass(frozen=True)
class Sealed:
    """Input of a task: files that every machine can read, the start of the body, the bundle."""

    release: str
    start: int
    bundle: bytes
    key: str


def engine(session: SparkSession, sealed: Sealed, advance: Advance) -> Engine:
    """Return an engine that opens reports on a Spark session. It raises ReportsError on failure."""
    widths = _widths(Bundle.parse(sealed.bundle))
    together = TASKS_EACH * session.sparkContext.defaultParallelism

    def opened(body: np.ndarray, without: np.ndarray) -> Iterator[Piece]:
        rows = list(_cut(len(body), without))
        for at in range(0, len(rows), together):
            wave = rows[at : at + together]
            numbers = session.range(0, len(wave), 1, len(wave))
            table = in_arrow(numbers, partial(_open_rows, sealed, wave), RESULT, "opened")
            for piece, of in zip(_pieces(table, len(wave), widths), wave, strict=True):
                yield piece
                advance(of.end - of.first)

    return opened


def _cut(length: int, without: np.ndarray) -> Iterator[Rows]:
    for at in range(0, length, ROWS_EACH):
        end = min(at + ROWS_EACH, length)
        first, last = np.searchsorted(without, (at, end))
        yield Rows(at, end, tuple((without[first:last] - at).tolist()))


def _widths(bundle: Bundle) -> list[int]:
    return [bundle.shape.width(message) for message in range(len(bundle.plan.messages))]


def _open_rows(sealed: Sealed, wave: list[Rows], batches: Batches) -> Batches:
    """Open the rows whose numbers are in a partition."""
    protect()
    bundle = Bundle.parse(sealed.bundle)
    work = Opener(bundle, load_private(Path(sealed.key), bundle))
    body = np.memmap(sealed.release, np.uint8, "r", sealed.start).reshape(-1, bundle.sealed_length)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            rows = wave[number]
            without = np.array(rows.without, np.int64)
            yield _as_batch(number, work(left(body[rows.first : rows.end], without)))


def _as_batch(number: int, piece: Piece) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "number": [number],
            "packed": [[packed.tobytes() for packed in piece.packed]],
            "dummies": [piece.dummies],
            "rejected": [[piece.rejected.get(kind, 0) for kind in KINDS]],
        }
    )


def _pieces(table: pa.Table, many: int, widths: list[int]) -> Iterator[Piece]:
    """Yield the pieces in the order of the release. Raises ReportsError if any is missing."""
    rows = sorted(table.to_pylist(), key=lambda row: row["number"])
    if [row["number"] for row in rows] != list(range(many)):
        missing = InWords(f"{len(rows)} of {many} parts arrived")
        raise ReportsError.of("release", missing, "try again")
    for row in rows:
        packed = tuple(
            np.frombuffer(each, np.uint8).reshape(-1, width)
            for each, width in zip(row["packed"], widths, strict=True)
        )
        yield Piece(packed, row["dummies"], dict(zip(KINDS, row["rejected"], strict=True)))
