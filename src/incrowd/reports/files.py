"""Files appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incrowd.errors import UsageError


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it if the block succeeds, removed if not.

    Raises UsageError if the folder does not exist or cannot be written.
    """
    path = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageError.of("-o", str(path), f"cannot be written: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise UsageError.of("-o", str(path), f"cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
