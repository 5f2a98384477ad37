"""Files with one writer at a time: lock, read again, write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from incrowd.catalog.sentences import system_words
from incrowd.errors import UsageError
from incrowd.files import write_text

PATIENCE = 60.0  # seconds
PAUSE = 0.01


@contextmanager
def locked(path: str | Path, patience: float = PATIENCE) -> Iterator[Path]:
    """Lock a file: no other block with the same file runs meanwhile, in any process or thread.

    The kernel holds the lock on a separate file beside it, which is removed at the end. The lock
    ends with the process, however that ends, and does not depend on what happens to the file
    itself. Yields the path without symbolic links. patience: seconds to wait. Raises UsageError if
    the file is still locked then.
    """
    real = Path(path).resolve()
    place = real.with_name(f".{real.name}.lock")
    handle = _acquired(place, path, time.monotonic() + patience)
    try:
        yield real
    finally:
        try:
            with suppress(OSError):  # if an open file cannot be removed, it stays, empty
                place.unlink()  # still locked: waiting processes see that it is gone
        finally:  # also if an interrupt comes
            os.close(handle)


def rewrite(path: str | Path, change: Callable[[Path], str], *, mode: int | None = None) -> None:
    """Replace a file with the result of `change`, excluding any other `rewrite` of it meanwhile.

    change: takes the path, reads the file again, and returns the new text. mode: as for `replaced`.
    Raises UsageError if the file cannot be locked or written, and whatever `change` raises; then
    the file stays unchanged.
    """
    with locked(path) as real:
        write_text(real, change(real), mode=mode)


def _acquired(place: Path, path: str | Path, deadline: float) -> int:
    """Return an open handle that holds the lock on the file that is now at that path."""
    while True:
        try:
            handle = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise UsageError.of(
                "file", "reports.not-locked", value=str(path), reason=system_words(error)
            ) from None
        if _try_lock(handle) and _is_at(handle, place):
            return handle
        os.close(handle)
        if time.monotonic() > deadline:
            raise UsageError.of("file", "reports.in-use", value=str(path))
        time.sleep(PAUSE)


def _is_at(handle: int, place: Path) -> bool:
    """Return whether the open file still has that name,
    and was not removed by the previous holder."""
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
