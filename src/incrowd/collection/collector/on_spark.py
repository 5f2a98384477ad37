"""Open a release on Apache Spark: each task opens some rows, read from the release's file.

The reports are the same as on a single machine, and are written in a new random order. Tasks write
nothing, so a task that is lost, repeated or run twice leaves nothing behind.

The private key does not pass through Spark, which could store it on disks: each machine reads the
key from its file, like the release.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from incrowd.collection.collector.collections import OpeningEngine, cut, left
from incrowd.collection.collector.opening import OpenedPiece, Opener, SealedPiece, kinds_of
from incrowd.collection.collector.places import load_private
from incrowd.collection.machine import protect
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.errors import ReportsError
from incrowd.reports.spark import RecordBatches, in_arrow
from incrowd.sampling.shuffle import Advance

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOMAIN = b"incrowd piece of counts 1"
KEY_BYTES, NONCE_BYTES = 32, 12
ROWS_EACH = 1 << 15  # rows per task: about a second
TASKS_EACH = 4  # tasks per core at a time; their results are in memory here
RESULT = (
    "number long, packed array<binary>, dummies array<long>, rejected array<long>, cells binary"
)


class RowRange(NamedTuple):
    """Rows `first` to `end` of a release, which are all of one lane; `without`: indices from
    `first` that are left out."""

    lane: int
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

    def opened(
        body: np.ndarray, spans: Sequence[range], without: np.ndarray
    ) -> Iterator[OpenedPiece]:
        private = load_private(Path(sealed.key), bundle) if bundle.lanes else None
        rows = list(_cut(spans, without))
        for at in range(0, len(rows), together):
            wave = rows[at : at + together]
            numbers = session.range(0, len(wave), 1, len(wave))
            table = in_arrow(numbers, partial(_open_rows, sealed, wave), RESULT, "opened")
            for piece, of in zip(_pieces(table, wave, bundle, private), wave, strict=True):
                yield piece
                advance(of.end - of.first)

    return opened


def _cut(spans: Sequence[range], without: np.ndarray) -> Iterator[RowRange]:
    for lane, rows in cut(spans, ROWS_EACH):
        first, last = np.searchsorted(without, (rows.start, rows.stop))
        omitted = tuple((without[first:last] - rows.start).tolist())
        yield RowRange(lane, rows.start, rows.stop, omitted)


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
            piece = SealedPiece(rows.lane, left(body[rows.first : rows.end], without))
            yield _as_batch(number, work, work(piece.encoded))


def _as_batch(number: int, work: Opener, piece: OpenedPiece) -> pa.RecordBatch:
    bundle = work.bundle
    return pa.RecordBatch.from_pydict(
        {
            "number": [number],
            "packed": [[packed.tobytes() for packed in piece.packed]],
            "dummies": [list(piece.dummies)],
            "rejected": [[piece.rejected.get(kind, 0) for kind in kinds_of(bundle)]],
            "cells": [_hidden(work.private, piece) if bundle.lanes else b""],
        }
    )


def _pieces(
    table: pa.Table, wave: list[RowRange], bundle: Bundle, private: PrivateKey | None
) -> Iterator[OpenedPiece]:
    """Yield the pieces in the order of the release. Raises ReportsError if any is missing.

    private: None unless services add noise.
    """
    rows = sorted(table.to_pylist(), key=lambda row: row["number"])
    if [row["number"] for row in rows] != list(range(len(wave))):
        raise ReportsError.of(
            "release", "collection.parts-missing", arrived=len(rows), parts=len(wave)
        )
    width, kinds = bundle.shape.width, kinds_of(bundle)
    for row, of in zip(rows, wave, strict=True):
        packed = tuple(
            np.frombuffer(each, np.uint8).reshape(-1, width(message))
            for message, each in enumerate(row["packed"])
        )
        rejected = dict(zip(kinds, row["rejected"], strict=True))
        counted = _shown(private, row["cells"]) if private else ()
        yield OpenedPiece(packed, tuple(row["dummies"]), rejected, of.lane, *counted)


# Counts of cells on their way through Spark, which could store them: sealed with a key that follows
# from the private one. Only the collector's memory may have them.


def _aead(private: PrivateKey) -> AESGCM:
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt=None, info=DOMAIN).derive(private.secret))


def _hidden(private: PrivateKey, piece: OpenedPiece) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    counts = np.append(piece.opened, piece.cells).astype("<i8").tobytes()
    return nonce + _aead(private).encrypt(nonce, counts, None)


def _shown(private: PrivateKey, hidden: bytes) -> tuple[int, np.ndarray]:
    """Return the number of opened plaintexts, and the counts of cells."""
    counts = _aead(private).decrypt(hidden[:NONCE_BYTES], hidden[NONCE_BYTES:], None)
    opened, *cells = np.frombuffer(counts, "<i8").tolist()
    return opened, np.array(cells, np.int64)
