"""Receive what another service signed, and the body that follows, as the bytes arrive."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.signed import Signed, Statement, check_body, prove_cheating
from incrowd.errors import ProtocolError, UsageError, unreadable
from incrowd.files import NewFile, new_file, private_folder, write_private
from incrowd.reports.locking import locked

S = TypeVar("S", bound=Statement)
LONGEST_START = 1 << 21  # more than any signature and header
PIECE = 1 << 20  # bytes that are read at a time
# Endings of files that are handed over: of a release with its body, and of the inviter's statement.
RELEASE_FILE, STATEMENT_FILE = ".release", ".statement"


def read_start(path: Path, kind: type[S]) -> tuple[Signed[S], int]:
    """Return the start of a file with a statement and its body, and its length in bytes.

    Nothing is checked. Raises UsageError if it cannot be read, ProtocolError if it is too short.
    """
    try:
        with path.open("rb") as file:
            return Signed.parse(kind, file.read(LONGEST_START))
    except OSError as error:
        raise UsageError.of(
            kind.name,
            "collection.statement-unreadable",
            file=str(path),
            reason=unreadable(error),
            kind=kind.name,
        ) from None


@dataclass(frozen=True)
class Shelf(Generic[S]):
    """The files of the statements of one kind that one service received for a bundle."""

    kind: type[S]
    root: Path

    @property
    def starts(self) -> Path:
        """The folder with the starts of all received statements, which are never deleted."""
        return self.root / "starts"

    @property
    def contradictions(self) -> Path:
        """The folder with starts that prove that the signer cheats."""
        return self.root / "contradictions"

    @property
    def waiting(self) -> Path:
        """The folder with bodies that are not processed yet."""
        return self.root / "waiting"

    @property
    def first(self) -> Path:
        """The folder with the starts of statements whose bodies may be opened, and no others."""
        return self.root / "first"

    def start(self, signed: Signed[S]) -> Path:
        """Return the file with signature and header; it exists when the body is on disk."""
        return self.starts / f"{signed.header.number}.start"

    def body(self, signed: Signed[S]) -> Path:
        """Return the file with a body that is not processed yet."""
        return self.waiting / f"{signed.header.number}.body"

    def received(self) -> list[Signed[S]]:
        """Return all received statements."""
        return self._read(self.starts)

    def proofs(self) -> list[Signed[S]]:
        """Return the statements that contradict each other."""
        return self._read(self.contradictions)

    def _read(self, folder: Path) -> list[Signed[S]]:
        files = sorted(folder.glob("*.start"))
        return [Signed.parse(self.kind, path.read_bytes())[0] for path in files]

    def is_new(self, signed: Signed[S], bundle: Bundle) -> bool:
        """Return whether a statement with a valid signature is new.

        Raises ProtocolError if it contradicts an earlier one: both are stored, as a proof that the
        signer cheats.
        """
        received = self.received()
        for earlier in (*received, *self._read(self.first)):
            if prove_cheating(earlier, signed, bundle):
                for start in (earlier, signed):
                    proof = self.contradictions / f"{start.acknowledgment}.start"
                    write_private(proof, start.encoded, overwrite=True)
                raise ProtocolError.of(
                    "contradiction", "collection.contradiction", kind=self.kind.name
                )
        return all(earlier.header != signed.header for earlier in received)

    def bind(self, signed: Signed[S], bundle: Bundle) -> None:
        """Record on disk that a statement is the first of its stratum, before anything is opened.

        From then on, no other may be opened, even if opening this one is interrupted. Raises
        ProtocolError as `is_new`.
        """
        private_folder(self.first)
        with locked(self.starts):
            self.is_new(signed, bundle)
            first = self.first / f"{bundle.digest.hex()}-{signed.header.number}.start"
            if not first.exists():
                write_private(first, signed.encoded)


class Taking(Generic[S]):
    """A statement that is arriving: `add` its pieces, then call `done`. A context manager.

    Nothing is stored before the signature is verified with the bundle's key, and never more bytes
    than the header states. A statement that was already received is checked but not stored again.
    check: raises ProtocolError for a complete body, in a file, that cannot follow its header.
    """

    def __init__(
        self,
        bundle: Bundle,
        shelf: Shelf[S],
        check: Callable[[S, Path], object] = lambda header, body: None,
    ) -> None:
        self.bundle, self.shelf, self.check = bundle, shelf, check
        self.signed: Signed[S] | None = None
        self._start, self._length, self._body = b"", 0, hashlib.sha256()
        self._new: NewFile | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Taking[S]:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, piece: bytes) -> None:
        """Add the next bytes. Raises ProtocolError as soon as the statement is invalid."""
        if self.signed is None:
            self._start += piece
            try:
                self.signed, end = Signed.parse(self.shelf.kind, self._start)
            except ProtocolError:  # still too short
                return
            self._begin(self.signed)
            piece = self._start[end:]
        self._length += len(piece)
        self._body.update(piece)
        if self._length > self.signed.header.length(self.bundle):
            check_body(self.signed.header, self.bundle, self._length, b"")
        if self._new:
            self._new.file.write(piece)

    def add_file(self, file: Path) -> None:
        """Add the bytes of a file, as `add`."""
        with file.open("rb") as opened:
            while piece := opened.read(PIECE):
                self.add(piece)

    def _begin(self, signed: Signed[S]) -> None:
        signed.check(self.bundle)
        if self.shelf.is_new(signed, self.bundle):
            folder = private_folder(self.shelf.waiting)
            self._new = self._stack.enter_context(new_file(folder))

    def done(self) -> Signed[S]:
        """Put the complete statement on disk. Raises ProtocolError if its bytes are not valid."""
        if self.signed is None:
            self.signed, _ = Signed.parse(self.shelf.kind, self._start)
        signed = self.signed
        check_body(signed.header, self.bundle, self._length, self._body.digest())
        if self._new:
            self._new.file.flush()
            self.check(signed.header, self._new.path)
            with locked(self.shelf.starts):
                if self.shelf.is_new(signed, self.bundle):
                    self._new.publish(self.shelf.body(signed))
                    start = self.shelf.start(signed)
                    write_private(start, signed.encoded, overwrite=True)
        return signed
