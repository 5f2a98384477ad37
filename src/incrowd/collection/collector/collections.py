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
from incrowd.collection.collector.noise import published
from incrowd.collection.collector.opening import REPEATED, OpenedPiece, Opener, SealedPiece
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
from incrowd.collection.folders import BUNDLE
from incrowd.collection.parallel import in_processes
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.mixing import AnyRelease, MixedRelease
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.collection.protocol.signed import Signed, check_body
from incrowd.collection.rows import message_counts, repeated
from incrowd.collection.taking import Shelf
from incrowd.errors import ProtocolError, ReportsError
from incrowd.files import PRIVATE, new_folder, private_folder, settle, write_bytes
from incrowd.plans.message import SERVICES
from incrowd.reports.collection import Collection, parts, write_reports
from incrowd.reports.folder import Bucket
from incrowd.reports.tally import as_counts
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
# body, the rows of each lane or of everything, indices of rows to leave out
OpeningEngine = Callable[[np.ndarray, Sequence[range], np.ndarray], Iterable[OpenedPiece]]


def open_release(
    release: Path,
    start: int,
    signed: Signed[AnyRelease],
    bundle: Bundle,
    private: PrivateKey,
    output: Path,
    *,
    workers: int,
    shelf: Shelf[AnyRelease] | None = None,
    advance: Advance = lambda _: None,
    engine: OpeningEngine | None = None,
) -> Receipt:
    """Open a release into a new folder: a collection for each message, the receipt, the bundle.

    The reports are written in a new uniform order, so that their files do not keep that of the
    mixer. release: a file whose body begins at byte `start`. The folder appears whole or not at
    all, and only after its content was read again and verified. advance: called with the number of
    reports opened since the last call. engine: opens reports; by default processes on this machine.
    Memory is bounded. If the second of two mixers had too few tokens, there is only a receipt.

    If services add noise, published counts are written instead of reports, and only the first
    release of a stratum is ever opened. shelf: records which one it is, beside the private key.

    Raises ProtocolError if the release is not what was signed, or not the first of its stratum,
    and ReportsError if the folder already exists or a process ends unexpectedly.
    """
    signed.check(bundle)
    if output.exists():
        raise ReportsError.of("path", "collection.folder-exists", folder=str(output))
    private_folder(output.parent)
    with new_folder(output) as folder:
        body = _body(release, start, signed, bundle)
        if bundle.lanes:
            assert shelf, "the first release of a stratum is recorded"
            shelf.bind(signed, bundle)
        opener = Opener(bundle, private, signed.header.number)
        engine = engine or _here(opener, workers, advance)
        if bundle.lanes:
            receipt = _written_counts(body, signed, bundle, private, folder, engine)
        else:
            receipt = _written(body, signed, bundle, folder, engine)
        save_receipt(receipt, folder)
        write_bytes(folder / BUNDLE, bundle.encoded)
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

    def engine(
        body: np.ndarray, spans: Sequence[range], without: np.ndarray
    ) -> Iterable[OpenedPiece]:
        many = min(workers, 1 + len(body) // WORTH_IT)
        return in_processes(opener, _pieces(body, spans, without, advance), many)

    return engine


def cut(spans: Sequence[range], most: int) -> Iterator[tuple[int, range]]:
    """Yield the rows of each span in order, at most so many at a time, with the span's number."""
    for lane, span in enumerate(spans):
        for at in range(span.start, span.stop, most):
            yield lane, range(at, min(at + most, span.stop))


def _pieces(
    body: np.ndarray, spans: Sequence[range], without: np.ndarray, advance: Advance
) -> Iterator[bytes]:
    """Yield encoded pieces without some rows."""
    for lane, rows in cut(spans, PIECE_REPORTS):
        first, last = np.searchsorted(without, (rows.start, rows.stop))
        remaining = left(body[rows.start : rows.stop], without[first:last] - rows.start)
        yield SealedPiece(lane, remaining).encoded
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
    """Write the reports of a release; return the receipt."""
    rejected, dummies = Counter[str](), [0] * len(bundle.groups)
    messages: list[OpenedCollection] = []
    people = 0
    if len(body):  # otherwise the second mixer had too few tokens
        with ExitStack() as stack:
            buckets = [
                stack.enter_context(_bucket(bundle, message, folder))
                for message in range(len(bundle.plan.messages))
            ]
            without = repeated(body[:, -bundle.sealed_length :])
            rejected[REPEATED] = len(without)
            for piece in engine(body, [range(len(body))], without):
                for bucket, packed in zip(buckets, piece.packed, strict=True):
                    bucket.add(packed)
                rejected.update(piece.rejected)
                dummies = list(map(add, dummies, piece.dummies))
            people = people_at_most(signed, accepted(dummies, map(len, buckets), bundle), bundle)
            messages = _collections(buckets, signed, bundle, people, folder)
    return receipt_of(signed, bundle, people, rejected, dummies, messages)


def _written_counts(
    body: np.ndarray,
    signed: Signed[AnyRelease],
    bundle: Bundle,
    private: PrivateKey,
    folder: Path,
    engine: OpeningEngine,
) -> Receipt:
    """Write the published counts of a release, and the reports of messages to which devices add
    noise; return the receipt.

    Nothing here depends on the counts before the noise, and nothing but memory ever has them.
    """
    header = signed.header
    assert isinstance(header, Header), "only a shuffler adds noise"
    opened = [0] * len(bundle.lanes)
    contents: list[Bucket | np.ndarray] = []
    with ExitStack() as stack:
        for number, message in enumerate(bundle.plan.messages):
            if message.by_services:
                contents.append(np.zeros(message.record_bits, np.int64))
            else:
                contents.append(stack.enter_context(_bucket(bundle, number, folder)))
        for piece in engine(body, bundle.spans(header.people), repeated(body)):
            lane = bundle.lanes[piece.lane]
            opened[piece.lane] += piece.opened
            content = contents[lane.message]
            if isinstance(content, Bucket):
                content.add(piece.packed[lane.message])
            else:
                content[list(lane.cells)] += piece.cells
        for number, message in enumerate(bundle.plan.messages):
            counts = contents[number]
            if message.added and not isinstance(counts, Bucket):
                contents[number] = published(counts, message.added, private, header, number)
        people = people_at_most(signed, opened, bundle)
        messages = _collections(contents, signed, bundle, people, folder)
    return receipt_of(signed, bundle, people, {}, (), messages)


def _bucket(bundle: Bundle, message: int, folder: Path) -> closing[Bucket]:
    return closing(Bucket(folder, bundle.shape.width(message)))


def _collections(
    contents: Sequence[Bucket | np.ndarray],
    signed: Signed[AnyRelease],
    bundle: Bundle,
    people: int,
    folder: Path,
) -> list[OpenedCollection]:
    """Write the collection of each message: its reports in a new uniform order, or its published
    counts."""
    messages = []
    release = release_of(signed.header, bundle, people)
    strata = names_of(signed, bundle) if bundle.plan.survey.open else ()
    for number, (content, message) in enumerate(zip(contents, bundle.plan.messages, strict=True)):
        id, path = release.collection(number), folder / collection_name(number)
        reports = len(content) if isinstance(content, Bucket) else None
        header = Collection(
            plan=bundle.plan.digest,
            message=number,
            bits=message.file_bits,
            packed=np.empty((0, -(-message.file_bits // 8)), np.uint8),
            id=id,
            people=release.people,
            strata=strata,
            release=release,
            draws=SERVICES if message.by_services else 0,
        )
        with ExitStack() as stack:
            path.touch(PRIVATE)
            write_reports(header, _rows_of(content, folder, stack), path)
        with path.open("r+b") as file:
            settle(file)
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        messages.append(OpenedCollection(id=id, reports=reports, sha256=digest))
    return messages


def _rows_of(content: Bucket | np.ndarray, folder: Path, stack: ExitStack) -> Iterable[np.ndarray]:
    """Return the rows of a collection: reports in a new order, or counts in the order of cells."""
    if not isinstance(content, Bucket):
        return [as_counts(content)]
    pieces = content.take(max(BUCKET_BYTES // content.width, 1))
    return mixed(pieces, content.width, Keystream.from_system(), Disk(folder, stack))


def verify_opened(receipt: Receipt, bundle: Bundle, folder: Path) -> None:
    """Raise an error unless receipt and collections, read again from the folder, match what was
    opened."""
    check(receipt, bundle)
    check_files(receipt, folder)
    for number, message in enumerate(receipt.messages):
        path = folder / collection_name(number)
        reports = sum(map(len, parts(path, check=True)))
        of = bundle.plan.messages[number]
        stated = of.record_bits if message.reports is None else message.reports
        if reports != stated:
            raise ReportsError.of(
                "reports", "collection.reports-changed", reports=reports, stated=stated
            )
