"""Open releases into collections, with the receipt and the bundle in the same folder."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from operator import add
from pathlib import Path

import numpy as np

from incrowd.collection.claims import release_of
from incrowd.collection.collector.opening import REPEATED, OpenedPiece, Opener
from incrowd.collection.collector.places import BUNDLE
from incrowd.collection.collector.receipt import (
    OpenedCollection,
    Receipt,
    accepted,
    check,
    check_files,
    collection_name,
    names_of,
    people_at_most,
    receipt_of,
    save_receipt,
)
from incrowd.collection.parallel import in_processes
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.mixing import AnyRelease, MixedRelease
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.collection.protocol.signed import Signed, check_body
from incrowd.collection.rows import message_counts, repeated
from incrowd.errors import ProtocolError, ReportsError
from incrowd.files import PRIVATE, new_folder, private_folder, settle, write_bytes
from incrowd.plans.claims import ClaimedRelease
from incrowd.plans.strata import StratumNames
from incrowd.reports.collection import Collection, parts, write_reports
from incrowd.reports.folder import Bucket
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import Advance, Disk, mixed

# The rows of a release: sealed reports, or with two mixers reports with their tokens.


def check_rows(header: AnyRelease, rows: np.ndarray) -> None:
    """Raise ProtocolError unless there are as many reports of each message as its header states.

    rows: uint8, shape (reports, bytes), perhaps memory-mapped.
    """
    if not isinstance(header, MixedRelease):
        return
    reports = message_counts(rows)
    stated = np.pad(np.array(header.tokens, np.int64), (0, len(reports) - len(header.tokens)))
    for message in np.flatnonzero(reports != stated)[:1].tolist():
        raise ProtocolError.of(
            ("release", "body"),
            "collection.reports-of-message",
            reports=int(reports[message]),
            message=message + 1,
            stated=int(stated[message]),
        )


def check_body_file(bundle: Bundle, header: AnyRelease, body: Path) -> None:
    """Raise ProtocolError as `check_rows`, for a file with a body of the right length."""
    check_rows(header, _rows(body, 0, bundle))


def _rows(path: Path, start: int, bundle: Bundle) -> np.ndarray:
    """Return the rows in a file, from byte `start` on: uint8, memory-mapped."""
    if path.stat().st_size == start:
        return np.empty((0, bundle.row_length), np.uint8)
    return np.memmap(path, np.uint8, "r", start).reshape(-1, bundle.row_length)


PIECE_REPORTS = 2048
BUCKET_BYTES = 1 << 22
WORTH_IT = 20_000  # reports that take as long to open as a process to start
OpeningEngine = Callable[
    [np.ndarray, np.ndarray], Iterable[OpenedPiece]
]  # body, indices of rows to leave out


def open_release(
    release: Path,
    start: int,
    signed: Signed[AnyRelease],
    bundle: Bundle,
    private: PrivateKey,
    output: Path,
    *,
    workers: int,
    advance: Advance = lambda _: None,
    engine: OpeningEngine | None = None,
) -> Receipt:
    """Open a release into a new folder: a collection for each message, the receipt, the bundle.

    The reports are written in a new uniform order, so that their files do not keep that of the
    mixer. release: a file whose body begins at byte `start`. The folder appears whole or not at
    all, and only after its content was read again and verified. advance: called with the number of
    reports opened since the last call. engine: opens reports; by default processes on this machine.
    Memory is bounded. If the second of two mixers had too few tokens, there is only a receipt.
    Raises ProtocolError if the release is not what
    was signed, and ReportsError if the folder already exists or a process ends unexpectedly.
    """
    signed.check(bundle)
    if output.exists():
        raise ReportsError.of("path", "collection.folder-exists", folder=str(output))
    private_folder(output.parent)
    with new_folder(output) as folder:
        body = _body(release, start, signed, bundle)
        opener = Opener(bundle, private, signed.header.number)
        receipt = _written(body, signed, bundle, folder, engine or _here(opener, workers, advance))
        verify_opened(receipt, bundle, folder)
    return receipt


def _body(release: Path, start: int, signed: Signed[AnyRelease], bundle: Bundle) -> np.ndarray:
    """Return the rows as a memory-mapped uint8 array, shape (reports, bytes), checked."""
    length, digest = release.stat().st_size - start, b""
    with release.open("rb") as file:
        file.seek(start)
        if length == signed.header.length(bundle):
            digest = hashlib.file_digest(file, "sha256").digest()
    check_body(signed.header, bundle, length, digest)
    rows = _rows(release, start, bundle)
    check_rows(signed.header, rows)
    return rows


def _here(opener: Opener, workers: int, advance: Advance) -> OpeningEngine:
    """Return an engine with processes on this machine, as many as are worth starting."""

    def engine(body: np.ndarray, without: np.ndarray) -> Iterable[OpenedPiece]:
        many = min(workers, 1 + len(body) // WORTH_IT)
        return in_processes(opener, _pieces(body, without, advance), many)

    return engine


def _pieces(body: np.ndarray, without: np.ndarray, advance: Advance) -> Iterator[bytes]:
    """Yield concatenated rows without some of them."""
    for at in range(0, len(body), PIECE_REPORTS):
        rows = body[at : at + PIECE_REPORTS]
        first, last = np.searchsorted(without, (at, at + len(rows)))
        yield left(rows, without[first:last] - at)
        advance(len(rows))


def left(rows: np.ndarray, without: np.ndarray) -> bytes:
    """Return concatenated rows without some of them."""
    return np.delete(rows, without, axis=0).tobytes()


def _written(
    body: np.ndarray,
    signed: Signed[AnyRelease],
    bundle: Bundle,
    folder: Path,
    engine: OpeningEngine,
) -> Receipt:
    """Write the whole folder of a release; return the receipt."""
    rejected, dummies = Counter[str](), [0] * len(bundle.groups)
    messages: list[OpenedCollection] = []
    if len(body):  # otherwise the second mixer had too few tokens
        with ExitStack() as stack:
            widths = map(bundle.shape.width, range(len(bundle.plan.messages)))
            buckets = [stack.enter_context(closing(Bucket(folder, width))) for width in widths]
            without = repeated(body[:, -bundle.sealed_length :])
            rejected[REPEATED] = len(without)
            for piece in engine(body, without):
                for bucket, packed in zip(buckets, piece.packed, strict=True):
                    bucket.add(packed)
                rejected.update(piece.rejected)
                dummies = list(map(add, dummies, piece.dummies))
            people = people_at_most(signed, accepted(dummies, map(len, buckets), bundle), bundle)
            release, names = release_of(signed.header, bundle, people), names_of(signed, bundle)
            messages = _collections(buckets, bundle, release, names, folder)
    receipt = receipt_of(signed, bundle, rejected, dummies, messages)
    save_receipt(receipt, folder)
    write_bytes(folder / BUNDLE, bundle.encoded)
    return receipt


def _collections(
    buckets: Sequence[Bucket],
    bundle: Bundle,
    release: ClaimedRelease,
    names: StratumNames,
    folder: Path,
) -> list[OpenedCollection]:
    """Write the collection of each message, its reports in a new uniform order."""
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
        with ExitStack() as stack:
            pieces = bucket.take(max(BUCKET_BYTES // bucket.width, 1))
            keystream, disk = Keystream.from_system(), Disk(folder, stack)
            path.touch(PRIVATE)
            write_reports(header, mixed(pieces, bucket.width, keystream, disk), path)
        with path.open("r+b") as file:
            settle(file)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        messages.append(OpenedCollection(id=id, reports=reports, sha256=digest))
    return messages


def verify_opened(receipt: Receipt, bundle: Bundle, folder: Path) -> None:
    """Raise an error unless receipt and collections, read again from the folder, match what was
    opened."""
    check(receipt, bundle)
    check_files(receipt, folder)
    for number, message in enumerate(receipt.messages):
        path = folder / collection_name(number)
        reports = sum(map(len, parts(path, check=True)))
        if reports != message.reports:
            stated = message.reports
            raise ReportsError.of(
                "reports", "collection.reports-changed", reports=reports, stated=stated
            )
