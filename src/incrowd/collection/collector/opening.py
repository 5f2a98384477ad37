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
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.sealed import PrivateKey, unseal
from incrowd.errors import InWords, ProtocolError, ReportsError

AHEAD = 4  # pieces queued for each process
# The field of the ProtocolError of a rejected report -> the kind of rejection.
UNREADABLE = {
    "sealed.header": "another-key",
    "sealed.ciphertext": "unopened",
    "plaintext": "malformed",
}
REPEATED = "repeated"
KINDS = (*UNREADABLE.values(), REPEATED)


class Piece(NamedTuple):
    """The content of some sealed reports.

    packed: the reports of each message, uint8, shape (reports, bytes). rejected: their number by
    kind.
    """

    packed: tuple[np.ndarray, ...]
    dummies: int
    rejected: dict[str, int]


@dataclass(frozen=True)
class Opener:
    """Opens pieces of a release: concatenated sealed reports."""

    bundle: Bundle
    private: PrivateKey

    def __call__(self, sealed: bytes) -> Piece:
        """Return their content, in their order."""
        rejected, shape = Counter[str](), self.bundle.shape
        plaintexts = b"".join(self._plaintexts(sealed, rejected))
        every = np.frombuffer(plaintexts, np.uint8).reshape(-1, shape.length)
        packed, dummies = shape.read_many(every)
        if malformed := len(every) - dummies - sum(map(len, packed)):
            rejected[UNREADABLE["plaintext"]] = malformed
        return Piece(packed, dummies, dict(rejected))

    def _plaintexts(self, sealed: bytes, rejected: Counter[str]) -> Iterator[bytes]:
        """Yield the plaintexts of reports that can be opened. All have the same length."""
        bundle, size = self.bundle, self.bundle.sealed_length
        for at in range(0, len(sealed), size):
            try:
                yield unseal(sealed[at : at + size], self.private, bundle.key, bundle.digest)
            except ProtocolError as error:
                rejected[UNREADABLE[error.problems[0].field]] += 1


def opened(
    pieces: Iterable[bytes], bundle: Bundle, private: PrivateKey, workers: int
) -> Iterator[Piece]:
    """Yield the content of pieces of a release, in their order; one worker runs in this process.

    Each process has a thread here that passes it one piece at a time. Raises ReportsError if a
    process ends unexpectedly; nothing is written then.
    """
    if workers == 1:
        yield from map(Opener(bundle, private), pieces)
        return
    free: SimpleQueue[Connection] = SimpleQueue()

    def work(piece: bytes) -> Piece:
        pipe = free.get()
        try:
            pipe.send_bytes(piece)
            return cast(Piece, pipe.recv())
        finally:
            free.put(pipe)

    given = bundle.encoded, private.secret
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
def _process(bundle: bytes, secret: bytes) -> Iterator[Connection]:
    """Start a process that opens the pieces it receives through a pipe, until it is closed."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, bundle, secret), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.join()


def _serve(pipe: Connection, bundle: bytes, secret: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process decides
    protect()  # a new program does not inherit the protection
    parsed = Bundle.parse(bundle)
    work = Opener(parsed, PrivateKey(parsed.key.kem, secret))
    with suppress(EOFError, OSError):
        while True:
            pipe.send(work(pipe.recv_bytes()))
