"""Opening sealed reports, side by side in processes, in the order of the release."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from incrowd.collection.wire.bundle import Bundle
from incrowd.collection.wire.plaintext import Opened
from incrowd.collection.wire.sealed import unseal
from incrowd.errors import InWords, ProtocolError, ReportsError

AHEAD = 4  # pieces that wait for each process
# Why a sealed report is rejected: what its ProtocolError is about.
UNREADABLE = {
    "sealed.header": "another key",
    "sealed.ciphertext": "does not open",
    "plaintext": "not well-formed",
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
        packed: list[list[bytes]] = [[] for _ in self.bundle.plan.messages]
        dummies, rejected = 0, Counter[str]()
        size = self.bundle.sealed_length
        for at in range(0, len(sealed), size):
            try:
                found = self._opened(sealed[at : at + size])
            except ProtocolError as error:
                rejected[UNREADABLE[error.problems[0].field]] += 1
                continue
            if found.message is None:
                dummies += 1
            else:
                packed[found.message].append(found.packed)
        return Piece(tuple(map(self._matrix, range(len(packed)), packed)), dummies, dict(rejected))

    def _opened(self, sealed: bytes) -> Opened:
        bundle = self.bundle
        return bundle.shape.read(unseal(sealed, self.private, bundle.key, bundle.digest))

    def _matrix(self, message: int, packed: list[bytes]) -> np.ndarray:
        width = self.bundle.shape.width(message)
        return np.frombuffer(b"".join(packed), np.uint8).reshape(-1, width)


def cores() -> int:
    """How many processes can work at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def opened(
    pieces: Iterable[bytes], bundle: Bundle, private: X25519PrivateKey, workers: int
) -> Iterator[Piece]:
    """What is in pieces of a release, in their order; with one worker in this process.

    Raises ReportsError if a process is lost; nothing is then.
    """
    if workers == 1:
        yield from map(Opener(bundle, private), pieces)
        return
    context = multiprocessing.get_context("spawn")
    given = (bundle.encoded, private.private_bytes_raw())
    try:
        with ProcessPoolExecutor(workers, context, _begin, given) as pool:
            yield from _in_order(pool, pieces, AHEAD * workers)
    except BrokenProcessPool:
        found = InWords("a process that opened them was lost")
        raise ReportsError.of("release", found, "nothing is; open it again") from None


def _in_order(pool: ProcessPoolExecutor, pieces: Iterable[bytes], most: int) -> Iterator[Piece]:
    """At most so many pieces are on their way."""
    waiting: deque[Future[Piece]] = deque()
    for piece in pieces:
        waiting.append(pool.submit(_work, piece))
        if len(waiting) == most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


_openers: list[Opener] = []  # of this process, if it is a worker


def _begin(bundle: bytes, private: bytes) -> None:
    _openers.append(Opener(Bundle.parse(bundle), X25519PrivateKey.from_private_bytes(private)))


def _work(sealed: bytes) -> Piece:
    return _openers[0](sealed)
