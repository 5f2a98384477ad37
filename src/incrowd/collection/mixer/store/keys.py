"""The store's own key: without it nothing in the database, its log or its backups can be linked.

It lies in a file beside the database, never in it. A row of the database holds two things that it
makes: a tag, by which the same bytes are found again, and a box, in which they are sealed. Both
are noise to whoever has not the key, so that destroying 32 bytes destroys all that heap pages,
write-ahead logs and replicas still hold.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from incrowd.errors import IncrowdError, InWords
from incrowd.files import write_private

# What can go wrong with a store. No message holds a row, a code or an address.


FULL = {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "53100"}  # of SQLite, of PostgreSQL
BUSY = {"SQLITE_BUSY", "SQLITE_LOCKED", "40001", "40P01", "55P03", "57014"}


class StoreError(IncrowdError):
    """The store cannot be used, or is not the one of this bundle."""


class FullError(StoreError):
    """There is no room left; nothing was stored."""


class BusyError(StoreError):
    """Others were in the way for too long; nothing was stored."""


@contextmanager
def told() -> Iterator[None]:
    """Errors of the database as ours: theirs could print what a statement was given."""
    try:
        yield
    except SQLAlchemyError as error:
        found = InWords(f"fails with {_state(error) or type(error).__name__}")
        kind = _kind(error)
    else:
        return
    raise kind.of("database", found, _ALLOWED[kind])


def _kind(error: SQLAlchemyError) -> type[StoreError]:
    state = _state(error)
    return FullError if state in FULL else BusyError if state in BUSY else StoreError


def _state(error: SQLAlchemyError) -> str:
    """The name that the database has for it."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    found = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    return str(found or "")


_ALLOWED = {
    FullError: "make room on its disk, or wait",
    BusyError: "try again",
    StoreError: "look whether it runs, and whether this is its address",
}


KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 32
MARK_BYTES = 16
LABEL = b"incrowd store 1 "


@dataclass(frozen=True)
class Secrets:
    """What the store's key is used for, each with a key of its own (HKDF-SHA256)."""

    _tag: bytes = field(repr=False)
    _code: bytes = field(repr=False)
    _upload: bytes = field(repr=False)
    _box: AESGCM = field(repr=False)

    @classmethod
    def of(cls, key: bytes) -> Secrets:
        """Those of a key of 32 bytes. Raises StoreError for another length."""
        if len(key) != KEY_BYTES:
            allowed = f"should have {KEY_BYTES}; without the right one nothing can be read"
            raise StoreError.of("secret", InWords(f"has {len(key)} bytes"), allowed)
        tag, code, upload = (_derived(key, label) for label in (b"tag", b"code", b"upload"))
        return cls(tag, code, upload, AESGCM(_derived(key, b"box")))

    def tag(self, sealed: bytes) -> bytes:
        """HMAC-SHA256 of a sealed report: nobody can choose where it sorts, or what it equals."""
        return hmac.digest(self._tag, sealed, hashlib.sha256)

    def code_tag(self, code: bytes) -> bytes:
        """HMAC-SHA256 of an invitation's code."""
        return hmac.digest(self._code, code, hashlib.sha256)

    def upload_id(self, encoded: bytes) -> bytes:
        """HMAC-SHA256 of all bytes of an upload: its code, its stratum, its reports in order."""
        return hmac.digest(self._upload, encoded, hashlib.sha256)

    def rows(self, sealed: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        """The tag and the box of each: AES-256-GCM with a random nonce, bound to the tag.

        The nonces are drawn together: asking the system for each takes as long as its box.
        """
        random, found = os.urandom(NONCE_BYTES * len(sealed)), []
        for at, each in zip(count(0, NONCE_BYTES), sealed, strict=False):
            nonce, tag = random[at : at + NONCE_BYTES], self.tag(each)
            found.append((tag, nonce + self._box.encrypt(nonce, each, tag)))
        return found

    def unbox(self, box: bytes, tag: bytes) -> bytes:
        """What the box was made of. Raises StoreError if the row was changed."""
        try:
            return self._box.decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], tag)
        except InvalidTag:
            allowed = "should be as it was stored; the database or the secret was changed"
            raise StoreError.of("database", InWords("has a row that does not open"), allowed) from (
                None
            )


def mark(upload: bytes, tag: bytes) -> bytes:
    """What says that a report is of the upload with an id, and joins it with no other report."""
    return hmac.digest(upload, tag, hashlib.sha256)[:MARK_BYTES]


def _derived(key: bytes, label: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, None, LABEL + label).derive(key)


def new_secret(path: Path) -> None:
    """Make a key, random from the system, in a new file that nobody else reads.

    Raises FileExistsError if there is one.
    """
    write_private(path, os.urandom(KEY_BYTES))


def load_secret(path: Path) -> Secrets:
    """The key in a file. Raises StoreError if it is not there, or cannot be read."""
    try:
        return Secrets.of(path.read_bytes())
    except OSError:
        allowed = "it cannot be read; put it back, without it the store cannot be opened"
        raise StoreError.of("secret", str(path), allowed) from None
