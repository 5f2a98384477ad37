"""Open sealed reports in parallel processes, in the order of the release."""

from __future__ import annotations

import multiprocessing
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import NamedTuple, cast

import numpy as np

from incrowd.collection.machine import protect
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.sealed import PrivateKey, unseal
from incrowd.collection.protocol.tokens import TokenReport
from incrowd.errors import InWords, ProtocolError, ReportsError

AHEAD = 4  # pieces queued for each process
# The field of the ProtocolError of a rejected report -> the kind of rejection.
UNREADABLE = {
    "sealed.header": "another-key",
    "sealed.ciphertext": "unopened",
    "plaintext": "malformed",
}
MALFORMED, REPEATED = UNREADABLE["plaintext"], "repeated"
TOKEN, ANOTHER = "token", "another-message"  # without a valid token; not of its token's message


def kinds_of(bundle: Bundle) -> tuple[str, ...]:
    """Return the kinds of rejection that are counted for a bundle."""
    with_tokens = (TOKEN, ANOTHER) if isinstance(bundle, MixersBundle) else ()
    return (*UNREADABLE.values(), REPEATED, *with_tokens)


class Piece(NamedTuple):
    """The content of some sealed reports.

    packed: the reports of each message, uint8, shape (reports, bytes). dummies: their number in
    each of the bundle's `groups`. rejected: the number of other reports by kind.
    """

    packed: tuple[np.ndarray, ...]
    dummies: tuple[int, ...]
    rejected: dict[str, int]


@dataclass(frozen=True)
class Opener:
    """Opens pieces of a release of a stratum: concatenated rows, which are sealed reports, or with
    two mixers reports with their tokens. Of merged strata, any one is named."""

    bundle: Bundle
    private: PrivateKey
    stratum: int

    def __call__(self, rows: bytes) -> Piece:
        """Return their content, in their order."""
        rejected, shape, groups = Counter[str](), self.bundle.shape, self.bundle.groups
        plaintexts: list[list[bytes]] = [[] for _ in groups]
        for group, plaintext in self._plaintexts(rows, rejected):
            plaintexts[group].append(plaintext)
        packed, dummies = dict[int, np.ndarray](), []
        for (messages, _), some in zip(groups, plaintexts, strict=True):
            every = np.frombuffer(b"".join(some), np.uint8).reshape(-1, shape.length)
            reports, empty = shape.read_many(every)
            packed |= {message: reports[message] for message in messages}
            dummies.append(empty)
            readable = empty + sum(map(len, reports))
            rejected[MALFORMED] += len(every) - readable
            rejected[ANOTHER] += readable - empty - sum(len(reports[n]) for n in messages)
        in_order = tuple(packed[message] for message in range(len(packed)))
        return Piece(in_order, tuple(dummies), dict(+rejected))

    def _plaintexts(self, rows: bytes, rejected: Counter[str]) -> Iterator[tuple[int, bytes]]:
        """Yield the group and the plaintext of reports that can be opened."""
        bundle, size = self.bundle, self.bundle.row_length
        binding = bundle.binding(self.stratum)
        for at in range(0, len(rows), size):
            group, sealed = self._sealed(rows[at : at + size])
            if group is None:
                rejected[TOKEN] += 1
                continue
            try:
                yield group, unseal(sealed, self.private, bundle.key, binding, bundle.label)
            except ProtocolError as error:
                rejected[UNREADABLE[error.problems[0].field]] += 1

    def _sealed(self, row: bytes) -> tuple[int | None, bytes]:
        """Return the group of a row, None without a valid token, and its sealed report."""
        if not isinstance(self.bundle, MixersBundle):
            return 0, row
        report = TokenReport.parse(row)
        valid = report.is_valid(self.bundle, self.stratum)
        return report.message if valid else None, report.inner


def opened(pieces: Iterable[bytes], opener: Opener, workers: int) -> Iterator[Piece]:
    """Yield the content of pieces of a release, in their order; one worker runs in this process.

    Each process has a thread here that passes it one piece at a time. Raises ReportsError if a
    process ends unexpectedly; nothing is written then.
    """
    if workers == 1:
        yield from map(opener, pieces)
        return
    free: SimpleQueue[Connection] = SimpleQueue()

    def work(piece: bytes) -> Piece:
        pipe = free.get()
        try:
            pipe.send_bytes(piece)
            return cast(Piece, pipe.recv())
        finally:
            free.put(pipe)

    given = opener.bundle.encoded, opener.private.secret, opener.stratum
    with ExitStack() as stack:
        for _ in range(workers):
            free.put(stack.enter_context(_process(*given)))
        threads = ThreadPoolExecutor(workers)
        stack.callback(threads.shutdown, cancel_futures=True)
        try:
            yield from _in_order(threads, work, pieces, AHEAD * workers)
        except (EOFError, OSError):
            lost = InWords("a process that was opening reports ended unexpectedly")
            raise ReportsError.of(
                "release", lost, "nothing was written; run the same command again"
            ) from None


def _in_order(
    threads: ThreadPoolExecutor,
    work: Callable[[bytes], Piece],
    pieces: Iterable[bytes],
    most: int,
) -> Iterator[Piece]:
    """Yield results in order. most: pieces in progress at a time."""
    waiting: deque[Future[Piece]] = deque()
    for piece in pieces:
        waiting.append(threads.submit(work, piece))
        if len(waiting) == most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@contextmanager
def _process(bundle: bytes, secret: bytes, stratum: int) -> Iterator[Connection]:
    """Start a process that opens the pieces it receives through a pipe, until it is closed."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, bundle, secret, stratum), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.join()


def _serve(pipe: Connection, bundle: bytes, secret: bytes, stratum: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    protect()  # a new program does not inherit the protection
    parsed = Bundle.parse(bundle)
    work = Opener(parsed, PrivateKey(parsed.key.kem, secret), stratum)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(work(pipe.recv_bytes()))
