"""One writer at a time: lock, read again, write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incrowd.errors import UsageError
from incrowd.files import write_text

PATIENCE = 60.0  # seconds
PAUSE = 0.01


@contextmanager
def locked(path: str | Path, patience: float = PATIENCE) -> Iterator[Path]:
    """While the block runs, no other block of the same file does, in any process or thread.

    The lock is the kernel's, on a file beside, which is removed in the end: it ends with the
    process however that ends, and does not depend on what happens to the file itself. Yields the
    path without symbolic links. Raises UsageError if the lock is not to be had in some seconds.
    """
    real = Path(path).resolve()
    place = real.with_name(f".{real.name}.lock")
    handle = _acquired(place, path, time.monotonic() + patience)
    try:
        yield real
    finally:
        with suppress(OSError):  # where an open file cannot be removed, an empty one stays
            place.unlink()  # still locked: who waits for it sees that it is gone
        os.close(handle)


def rewrite(path: str | Path, change: Callable[[Path], str], *, mode: int | None = None) -> None:
    """Write what `change` makes of a file, which no other `rewrite` changes in the meantime.

    change: is given the path, reads it again, and returns the new text. mode: as of `replaced`.
    Raises UsageError if the file cannot be locked or written, and whatever `change` raises; then
    it stays as it was.
    """
    with locked(path) as real:
        write_text(real, change(real), mode=mode)


def _acquired(place: Path, path: str | Path, deadline: float) -> int:
    """An open handle that holds the lock on the file that is now at that place."""
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            allowed = f"it cannot be locked: {error.strerror}; name one in another folder"
            raise UsageError.of("file", str(path), allowed) from None
        if _try_lock(handle) and _is_at(handle, place):
            return handle
        os.close(handle)
        if time.monotonic() > deadline:
            allowed = "it is in use by another command; try again when that is done"
            raise UsageError.of("file", str(path), allowed)
        time.sleep(PAUSE)


def _is_at(handle: int, place: Path) -> bool:
    """Whether the open file is still the one of that name, and was not removed by who had it."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(place))
    except FileNotFoundError:
        return False


try:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

except ImportError:  # Windows
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
