"""What can go wrong with a store. No message holds a row, a code or an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from incrowd.errors import IncrowdError, InWords

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
