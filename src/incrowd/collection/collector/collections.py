"""Open releases into collections, with the receipt and the bundle in the same folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from incrowd.collection.claims import release_of
from incrowd.collection.collector.opening import REPEATED, Piece, opened
from incrowd.collection.collector.places import BUNDLE
from incrowd.collection.collector.receipt import (
    Opened,
    Receipt,
    check,
    check_files,
    collection_name,
    names_of,
    people_at_most,
    receipt_of,
    save_receipt,
)
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.release import Signed, check_body
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.errors import ReportsError
from incrowd.files import new_folder, private_folder, settle, write_bytes
from incrowd.plans.claims import Release
from incrowd.plans.strata import Names
from incrowd.reports.collection import Collection, parts, write_reports
from incrowd.reports.folder import Bucket

# Sealed reports that occur in a release more than once: an honest shuffler sends none.


CHUNK_BYTES = 1 << 24
PASS_REPORTS = 1 << 23  # fingerprints in memory at a time


def repeated(body: np.ndarray) -> np.ndarray:
    """Return the indices, ascending, of rows that equal an earlier row.

    body: uint8, shape (reports, bytes), perhaps memory-mapped. Rows are sorted by fingerprints
    with secret random multipliers, and compared in full where fingerprints agree. Many rows take
    several passes, so that memory is bounded.
    """
    words = -(-body.shape[1] // 8)
    multipliers = np.frombuffer(os.urandom(8 * words), np.uint64) | np.uint64(1)
    passes = 1 + len(body) // PASS_REPORTS
    places = [_repeated(body, multipliers, number, passes) for number in range(passes)]
    return np.sort(np.concatenate(places))


def chunks(body: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield rows with the index of the first one, some megabytes at a time."""
    rows = max(CHUNK_BYTES // body.shape[1], 1)
    return ((at, body[at : at + rows]) for at in range(0, len(body), rows))


def _repeated(body: np.ndarray, multipliers: np.ndarray, number: int, passes: int) -> np.ndarray:
    """Return the repeats among rows whose fingerprint belongs to one pass."""
    prints, places = [], []
    for at, rows in chunks(body):
        fingerprints = _fingerprints(rows, multipliers)
        chosen = np.flatnonzero(fingerprints % np.uint64(passes) == number)
        prints.append(fingerprints[chosen])
        places.append(chosen + at)
    mark, place = np.concatenate(prints), np.concatenate(places)
    order = np.argsort(mark, kind="stable")
    mark, place = mark[order], place[order]
    same = np.flatnonzero(mark[1:] == mark[:-1])
    repeats, seen, last = [], set[bytes](), None
    for at in same.tolist():
        if mark[at] != last:
            last, seen = mark[at], {body[place[at]].tobytes()}
        row = body[place[at + 1]].tobytes()
        if row in seen:
            repeats.append(int(place[at + 1]))
        seen.add(row)
    return np.array(repeats, np.int64)


def _fingerprints(rows: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
    padded = np.zeros((len(rows), 8 * len(multipliers)), np.uint8)
    padded[:, : rows.shape[1]] = rows
    products = padded.view(np.uint64) @ multipliers
    return np.asarray(products ^ products >> np.uint64(32))


PIECE_REPORTS = 2048
BUCKET_BYTES = 1 << 22
WORTH_IT = 20_000  # reports that take as long to open as a process to start
Advance = Callable[[int], object]
Engine = Callable[[np.ndarray, np.ndarray], Iterable[Piece]]  # body, indices of rows to leave out


def open_release(
    release: Path,
    start: int,
    signed: Signed,
    bundle: Bundle,
    private: PrivateKey,
    output: Path,
    *,
    workers: int,
    advance: Advance = lambda _: None,
    engine: Engine | None = None,
) -> Receipt:
    """Open a release into a new folder: a collection for each message, the receipt, the bundle.

    release: a file whose body begins at byte `start`. The folder appears whole or not at all, and
    only after its content was read again and verified. advance: called with the number of reports
    opened since the last call. engine: opens reports, in the order of the release; by default
    processes on this machine. Memory is bounded. Raises ProtocolError if the release is not what
    was signed, and ReportsError if the folder already exists or a process ends unexpectedly.
    """
    signed.check(bundle)
    if output.exists():
        raise ReportsError.of("path", str(output), "it already exists; name a new folder")
    private_folder(output.parent)
    with new_folder(output) as folder:
        body = _body(release, start, signed, bundle)
        receipt = _written(
            body, signed, bundle, folder, engine or _here(bundle, private, workers, advance)
        )
        verify_opened(receipt, bundle, folder)
    return receipt


def _body(release: Path, start: int, signed: Signed, bundle: Bundle) -> np.ndarray:
    """Return the sealed reports as a memory-mapped uint8 array, shape (reports, bytes)."""
    length, digest = release.stat().st_size - start, b""
    with release.open("rb") as file:
        file.seek(start)
        if length == signed.header.reports * bundle.sealed_length:
            digest = hashlib.file_digest(file, "sha256").digest()
    check_body(signed.header, bundle, length, digest)
    return np.memmap(release, np.uint8, "r", start).reshape(-1, bundle.sealed_length)


def _here(bundle: Bundle, private: PrivateKey, workers: int, advance: Advance) -> Engine:
    """Return an engine with processes on this machine, as many as are worth starting."""

    def engine(body: np.ndarray, without: np.ndarray) -> Iterable[Piece]:
        many = min(workers, 1 + len(body) // WORTH_IT)
        return opened(_pieces(body, without, advance), bundle, private, many)

    return engine


def _pieces(body: np.ndarray, without: np.ndarray, advance: Advance) -> Iterator[bytes]:
    """Yield concatenated sealed reports without some rows."""
    for at in range(0, len(body), PIECE_REPORTS):
        rows = body[at : at + PIECE_REPORTS]
        first, last = np.searchsorted(without, (at, at + len(rows)))
        yield left(rows, without[first:last] - at)
        advance(len(rows))


def left(rows: np.ndarray, without: np.ndarray) -> bytes:
    """Return concatenated sealed reports without some rows."""
    return np.delete(rows, without, axis=0).tobytes()


def _written(
    body: np.ndarray,
    signed: Signed,
    bundle: Bundle,
    folder: Path,
    engine: Engine,
) -> Receipt:
    """Write the whole folder of a release; return the receipt."""
    twice = repeated(body)
    rejected, dummies = {REPEATED: len(twice)}, 0
    with ExitStack() as stack:
        widths = map(bundle.shape.width, range(len(bundle.plan.messages)))
        buckets = [Bucket(folder, width) for width in widths]
        for bucket in buckets:
            stack.callback(bucket.close)
        for piece in engine(body, twice):
            for bucket, packed in zip(buckets, piece.packed, strict=True):
                bucket.add(packed)
            for kind, count in piece.rejected.items():
                rejected[kind] = rejected.get(kind, 0) + count
            dummies += piece.dummies
        people = people_at_most(signed, dummies + sum(map(len, buckets)), bundle)
        release, names = release_of(signed.header, bundle, people), names_of(signed, bundle)
        messages = _collections(buckets, bundle, release, names, folder)
    receipt = receipt_of(signed, bundle, rejected, dummies, messages, [])
    save_receipt(receipt, folder)
    write_bytes(folder / BUNDLE, bundle.encoded)
    return receipt


def _collections(
    buckets: Sequence[Bucket], bundle: Bundle, release: Release, names: Names, folder: Path
) -> list[Opened]:
    messages = []
    strata = names if bundle.plan.survey.open else ()
    for number, (bucket, message) in enumerate(zip(buckets, bundle.plan.messages, strict=True)):
        empty = np.empty((0, bucket.width), np.uint8)
        id, reports, path = (
            release.collection(number),
            len(bucket),
            folder / collection_name(number),
        )
        header = Collection(
            plan=bundle.plan.digest,
            message=number,
            bits=message.bits,
            packed=empty,
            id=id,
            people=release.people,
            strata=strata,
            release=release,
        )
        write_reports(header, bucket.take(max(BUCKET_BYTES // bucket.width, 1)), path)
        with path.open("r+b") as file:
            settle(file)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        messages.append(Opened(id=id, reports=reports, sha256=digest))
    return messages


def verify_opened(receipt: Receipt, bundle: Bundle, folder: Path) -> None:
    """Raise unless receipt and collections, read again from the folder, are what was opened."""
    check(receipt, bundle)
    check_files(receipt, folder)
    for number, message in enumerate(receipt.messages):
        path = folder / collection_name(number)
        reports = sum(map(len, parts(path, check=True)))
        if reports != message.reports:
            allowed = f"should contain {message.reports:,}; open the release again"
            raise ReportsError.of("reports", f"{reports:,}", allowed)
