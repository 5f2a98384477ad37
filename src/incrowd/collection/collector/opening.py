"""Opening sealed reports, side by side in processes, in the order of the release."""

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
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from incrowd.collection.machine import protect
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.sealed import unseal
from incrowd.errors import InWords, ProtocolError, ReportsError

AHEAD = 4  # pieces that wait for each process
# Why a sealed report is rejected: what its ProtocolError is about.
UNREADABLE = {
    "sealed.header": "another-key",
    "sealed.ciphertext": "unopened",
    "plaintext": "malformed",
}
REPEATED = "repeated"
KINDS = (*UNREADABLE.values(), REPEATED)


class Piece(NamedTuple):
    """What was in some sealed reports.

    packed: of each message the reports, uint8, shape (reports, bytes). rejected: how many were, by
    kind.
    """

    packed: tuple[np.ndarray, ...]
    dummies: int
    rejected: dict[str, int]


@dataclass(frozen=True)
class Opener:
    """Opens pieces of a release: sealed reports behind each other."""

    bundle: Bundle
    private: X25519PrivateKey

    def __call__(self, sealed: bytes) -> Piece:
        """What is in them, in their order."""
        rejected, shape = Counter[str](), self.bundle.shape
        plaintexts = b"".join(self._plaintexts(sealed, rejected))
        every = np.frombuffer(plaintexts, np.uint8).reshape(-1, shape.length)
        packed, dummies = shape.read_many(every)
        if malformed := len(every) - dummies - sum(map(len, packed)):
            rejected[UNREADABLE["plaintext"]] = malformed
        return Piece(packed, dummies, dict(rejected))

    def _plaintexts(self, sealed: bytes, rejected: Counter[str]) -> Iterator[bytes]:
        """Of those that open: nothing else is done for each alone. All have one length."""
        bundle, size = self.bundle, self.bundle.sealed_length
        for at in range(0, len(sealed), size):
            try:
                yield unseal(sealed[at : at + size], self.private, bundle.key, bundle.digest)
            except ProtocolError as error:
                rejected[UNREADABLE[error.problems[0].field]] += 1


def opened(
    pieces: Iterable[bytes], bundle: Bundle, private: X25519PrivateKey, workers: int
) -> Iterator[Piece]:
    """What is in pieces of a release, in their order; with one worker in this process.

    Each process has a thread here that gives it one piece at a time. Raises ReportsError if a
    process is lost; nothing is written then.
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

    given = bundle.encoded, private.private_bytes_raw()
    with ExitStack() as stack:
        for _ in range(workers):
            free.put(stack.enter_context(_process(*given)))
        threads = ThreadPoolExecutor(workers)
        stack.callback(threads.shutdown, cancel_futures=True)
        try:
            yield from _in_order(threads, work, pieces, AHEAD * workers)
        except (EOFError, OSError):
            found = InWords("a process that opened them was lost")
            raise ReportsError.of(
                "release", found, "nothing was written; use the same again"
            ) from None


def _in_order(
    threads: ThreadPoolExecutor,
    work: Callable[[bytes], Piece],
    pieces: Iterable[bytes],
    most: int,
) -> Iterator[Piece]:
    """At most so many pieces are on their way."""
    waiting: deque[Future[Piece]] = deque()
    for piece in pieces:
        waiting.append(threads.submit(work, piece))
        if len(waiting) == most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@contextmanager
def _process(bundle: bytes, private: bytes) -> Iterator[Connection]:
    """A process that opens what comes through a pipe, until the pipe is closed."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, bundle, private), daemon=True)
    process.start()
    there.close()
    try:
        yield here
    finally:
        here.close()
        process.join()


def _serve(pipe: Connection, bundle: bytes, private: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever gave the work decides
    protect()  # a new program does not inherit it
    work = Opener(Bundle.parse(bundle), X25519PrivateKey.from_private_bytes(private))
    with suppress(EOFError, OSError):
        while True:
            pipe.send(work(pipe.recv_bytes()))
