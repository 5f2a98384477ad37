"""The store's key: without it, nothing in the database, its log or its backups can be linked.

The key is in a file outside the database. A row of the database contains two values made with it:
a tag, by which equal bytes are recognized, and a box, in which they are encrypted. Without the key
both look random, so destroying 32 bytes destroys whatever heap pages, write-ahead logs and replicas
still contain.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from incrowd.errors import IncrowdError
from incrowd.files import write_private

# Errors of a store. No message contains a row, a code or an address.


FULL = {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "53100"}  # codes of SQLite and PostgreSQL
DAMAGED = {"SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002"}
BUSY = {"SQLITE_BUSY", "SQLITE_LOCKED", "40001", "40P01", "55P03", "57014"}


class StoreError(IncrowdError):
    """The store cannot be used, or belongs to another bundle."""


class FullError(StoreError):
    """The disk is full; nothing was stored."""


class DamagedError(StoreError):
    """The database is not complete."""


class BusyError(StoreError):
    """Other transactions blocked this one for too long; nothing was stored."""


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn database errors into StoreError: the originals could print a statement's values."""
    try:
        yield
    except SQLAlchemyError as error:
        kind, state = _kind(error), state_of(error) or type(error).__name__
    else:
        return
    raise kind.of("database", _CODES[kind], state=state)


def _kind(error: SQLAlchemyError) -> type[StoreError]:
    state = state_of(error)
    kinds = ((FullError, FULL), (BusyError, BUSY), (DamagedError, DAMAGED))
    return next((kind for kind, states in kinds if state in states), StoreError)


def state_of(error: SQLAlchemyError) -> str:
    """Return the database's name of an error."""
    cause = error.orig if isinstance(error, DBAPIError) else None
    name = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    return str(name or "")


_CODES = {
    FullError: "collection.database-full",
    BusyError: "collection.database-busy",
    DamagedError: "collection.database-damaged",
    StoreError: "collection.database-fails",
}


KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 32
MARK_BYTES = 16
LABEL = b"incrowd store 1 "


@dataclass(frozen=True)
class Secrets:
    """The keys derived from the store's key, one for each use (HKDF-SHA256).

    mark: identifies the key, and reveals nothing of it or of the others.
    """

    mark: bytes
    _tag: bytes = field(repr=False)
    _code: bytes = field(repr=False)
    _upload: bytes = field(repr=False)
    _box: AESGCM = field(repr=False)

    @classmethod
    def of(cls, key: bytes) -> Secrets:
        """Derive the keys from a key of 32 bytes. Raises StoreError for another length."""
        if len(key) != KEY_BYTES:
            raise StoreError.of(
                "secret", "collection.secret-length", bytes=len(key), right=KEY_BYTES
            )
        labels = b"mark", b"tag", b"code", b"upload"
        mark, tag, code, upload = (_derived(key, label) for label in labels)
        return cls(mark, tag, code, upload, AESGCM(_derived(key, b"box")))

    def tag(self, sealed: bytes) -> bytes:
        """Return HMAC-SHA256 of a sealed report; senders cannot choose its order or value."""
        return hmac.digest(self._tag, sealed, hashlib.sha256)

    def code_tag(self, code: bytes) -> bytes:
        """Return HMAC-SHA256 of an invitation's code."""
        return hmac.digest(self._code, code, hashlib.sha256)

    def upload_id(self, encoded: bytes) -> bytes:
        """Return HMAC-SHA256 of bytes that no two uploads, or requests for tokens, share."""
        return hmac.digest(self._upload, encoded, hashlib.sha256)

    def rows(self, sealed: Sequence[bytes], lanes: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
        """Return tag and box of each report: AES-256-GCM with a random nonce, bound to the tag.

        lanes: what precedes each report in its box. The nonces are drawn together: a system call
        for each takes as long as its encryption.
        """
        random, rows = os.urandom(NONCE_BYTES * len(sealed)), []
        for at, report, lane in zip(count(0, NONCE_BYTES), sealed, lanes, strict=False):
            nonce, tag = random[at : at + NONCE_BYTES], self.tag(report)
            rows.append((tag, nonce + self._box.encrypt(nonce, lane + report, tag)))
        return rows

    def unbox(self, box: bytes, tag: bytes) -> bytes:
        """Decrypt a box. Raises StoreError if the row was changed."""
        try:
            return self._box.decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], tag)
        except InvalidTag:
            raise StoreError.of("database", "collection.row-changed") from None


def marks(upload: bytes, count: int) -> list[bytes]:
    """Return the marks that tie the reports of an upload to its id, but not to each other.

    The id is secret and looks random, so marks are random for everybody else (SHAKE256).
    """
    stream = hashlib.shake_256(upload).digest(MARK_BYTES * count)
    return [stream[at : at + MARK_BYTES] for at in range(0, len(stream), MARK_BYTES)]


def _derived(key: bytes, label: bytes) -> bytes:
    return HKDF(SHA256(), KEY_BYTES, None, LABEL + label).derive(key)


def new_secret(path: Path) -> None:
    """Create a random key in a new file that only its owner can read.

    Raises FileExistsError if the file exists.
    """
    write_private(path, os.urandom(KEY_BYTES))


def load_secret(path: Path) -> Secrets:
    """Return the keys of a key file. Raises StoreError if it is missing or unreadable."""
    try:
        return Secrets.of(path.read_bytes())
    except OSError:
        raise StoreError.of("secret", "collection.secret-unreadable", file=str(path)) from None
