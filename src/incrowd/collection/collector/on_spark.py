"""Opening a release on Apache Spark: a task opens some rows of it, read where the release lies.

A release is one uniformly random permutation of everybody's sealed reports. Its pieces come back in
the order of its rows and are put behind each other, so that each message's reports are in the order
in which the release has them: the collection is the one that a single machine writes. Nothing is
written by a task, so that one that is lost, repeated or run twice leaves nothing.

The private key does not travel through Spark, which could keep it on disks: each machine reads its
file, as it reads the release.
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

ROWS_EACH = 1 << 15  # of a task: about a second
TASKS_EACH = 4  # of a core at a time: what they return is in memory here
RESULT = "number long, packed array<binary>, dummies long, rejected array<long>"


class Rows(NamedTuple):
    """Some rows of a release; of those from `first` on, `without` are left out."""

    first: int
    end: int
    without: tuple[int, ...]


@dataclass(frozen=True)
class Sealed:
    """What a task is told: files that every machine finds, where a body begins, the bundle."""

    release: str
    start: int
    bundle: bytes
    key: str


def engine(session: SparkSession, sealed: Sealed, advance: Advance) -> Engine:
    """Opens on the machines of a session. Raises ReportsError if it does not succeed there."""
    widths = _widths(Bundle.parse(sealed.bundle))
    together = TASKS_EACH * session.sparkContext.defaultParallelism

    def opened(body: np.ndarray, without: np.ndarray) -> Iterator[Piece]:
        rows = list(_cut(len(body), without))
        for at in range(0, len(rows), together):
            wave = rows[at : at + together]
            numbers = session.range(0, len(wave), 1, len(wave))
            found = in_arrow(numbers, partial(_open_rows, sealed, wave), RESULT, "opened")
            for piece, of in zip(_pieces(found, len(wave), widths), wave, strict=True):
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
    """What is in the rows whose numbers come in a partition."""
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


def _pieces(found: pa.Table, many: int, widths: list[int]) -> Iterator[Piece]:
    """In the order of the release. Raises ReportsError unless each came once."""
    rows = sorted(found.to_pylist(), key=lambda row: row["number"])
    if [row["number"] for row in rows] != list(range(many)):
        missing = InWords(f"{len(rows)} of {many} parts came")
        raise ReportsError.of("release", missing, "try it again")
    for row in rows:
        packed = tuple(
            np.frombuffer(each, np.uint8).reshape(-1, width)
            for each, width in zip(row["packed"], widths, strict=True)
        )
        yield Piece(packed, row["dummies"], dict(zip(KINDS, row["rejected"], strict=True)))
