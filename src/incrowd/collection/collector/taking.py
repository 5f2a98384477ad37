"""Receive a release: check its signature, store its bytes as they arrive, check its digest."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from pathlib import Path

from incrowd.collection.collector.places import Places, starts_in
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.release import NUMBER_BYTES, START, Header, check_body
from incrowd.collection.protocol.signed import SIGNATURE_BYTES, Signed, prove_cheating
from incrowd.errors import InWords, ProtocolError, UsageError
from incrowd.files import NewFile, new_file, private_folder, write_private
from incrowd.reports.locking import locked

LONGEST_START = SIGNATURE_BYTES + START.size + NUMBER_BYTES * 0xFFFF


def acknowledgement(signed: Signed[Header]) -> str:
    """Return the acknowledgment for the shuffler: SHA-256 of signature and header."""
    return hashlib.sha256(signed.encoded).hexdigest()


def read_start(release: Path) -> tuple[Signed[Header], int]:
    """Return the start of a release in a file, and its length in bytes. Nothing is checked.

    Raises UsageError if the file cannot be read, ProtocolError if it is too short.
    """
    try:
        with release.open("rb") as file:
            return Signed.parse(Header, file.read(LONGEST_START))
    except OSError as error:
        allowed = f"it cannot be read: {error.strerror}; name a release"
        raise UsageError.of("release", str(release), allowed) from None


class Taking:
    """A release that is arriving: `add` its pieces, then call `done`. A context manager.

    Nothing is stored before the signature is verified with the bundle's key, and never more bytes
    than the header states. A release that was already received is checked but not stored again.
    """

    def __init__(self, bundle: Bundle, places: Places) -> None:
        self.bundle, self.places = bundle, places
        self.signed: Signed[Header] | None = None
        self._start, self._length, self._body = b"", 0, hashlib.sha256()
        self._new: NewFile | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Taking:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, piece: bytes) -> None:
        """Add the next bytes. Raises ProtocolError as soon as the release is invalid."""
        if self.signed is None:
            self._start += piece
            try:
                self.signed, end = Signed.parse(Header, self._start)
            except ProtocolError:  # still too short
                return
            self._begin(self.signed)
            piece = self._start[end:]
        self._length += len(piece)
        self._body.update(piece)
        if self._length > self.signed.header.reports * self.bundle.sealed_length:
            check_body(self.signed.header, self.bundle, self._length, b"")
        if self._new:
            self._new.file.write(piece)

    def _begin(self, signed: Signed[Header]) -> None:
        signed.check(self.bundle)
        if is_new(signed, self.bundle, self.places):
            folder = private_folder(self.places.waiting(signed).parent)
            self._new = self._stack.enter_context(new_file(folder))

    def done(self) -> Signed[Header]:
        """Put the complete release on disk. Raises ProtocolError if its bytes are not valid."""
        if self.signed is None:
            self.signed, _ = Signed.parse(Header, self._start)
        signed = self.signed
        check_body(signed.header, self.bundle, self._length, self._body.digest())
        if self._new:
            with locked(self.places.starts):
                if is_new(signed, self.bundle, self.places):
                    self._new.publish(self.places.waiting(signed))
                    write_private(self.places.start(signed), signed.encoded, overwrite=True)
        return signed


def is_new(signed: Signed[Header], bundle: Bundle, places: Places) -> bool:
    """Return whether a release with a valid signature is new.

    Raises ProtocolError if a different release of a stratum was received: both starts are stored,
    as a proof that the shuffler cheats.
    """
    for earlier in starts_in(places.starts):
        if earlier.header == signed.header:
            return False
        if prove_cheating(earlier, signed, bundle):
            for start in (earlier, signed):
                proof = places.contradictions / f"{acknowledgement(start)}.start"
                write_private(proof, start.encoded, overwrite=True)
            allowed = "should be the release that arrived first; both are stored as proof"
            stratum = InWords(f"of stratum {signed.header.strata[0]}")
            raise ProtocolError.of("contradiction", stratum, allowed)
    return True
