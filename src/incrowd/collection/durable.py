"""Files that nobody else reads, and that are on the disk when a function returns."""

from __future__ import annotations

import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_log = logging.getLogger(__name__)
PRIVATE = 0o600
PRIVATE_FOLDER = 0o700
BEGUN = ".incrowd-"  # so begin the names of what is not wholly there yet


def new_file(folder: Path) -> BinaryIO:
    """A new file of mode 0600 in a folder, under a random name."""
    folder.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    path = folder / f"{BEGUN}{secrets.token_hex(8)}"
    return open(path, "x+b", opener=lambda name, flags: os.open(name, flags, PRIVATE))


def put(file: BinaryIO, path: Path) -> None:
    """Give a new file its name, after its content is on the disk."""
    settle(file)
    Path(file.name).rename(path)
    settle_names(path.parent)
    _log.info("wrote %s", path)


def lasting(path: Path, content: bytes) -> None:
    """A file that is wholly there, and on the disk, or not there at all."""
    with new_file(path.parent) as file:
        try:
            file.write(content)
            put(file, path)
        finally:
            Path(file.name).unlink(missing_ok=True)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file of mode 0600. Raises FileExistsError if there is one."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with open(handle, "wb") as file:
        file.write(content)
        settle(file)
    settle_names(path.parent)
    _log.info("wrote %s", path)


def destroy(path: Path) -> None:
    """Overwrite a file on its place and remove it; nothing happens if it is gone.

    Flash memory and copying file systems keep older blocks: such a file belongs on a volume in
    memory, or on one whose own key is thrown away.
    """
    with suppress(FileNotFoundError), path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))
        settle(file)
    path.unlink(missing_ok=True)
    settle_names(path.parent)
    _log.info("removed %s", path)


def settle(file: BinaryIO) -> None:
    """What was written to a file is on the disk when this returns."""
    file.flush()
    os.fsync(file.fileno())


def settle_names(folder: Path) -> None:
    """The names in a folder are on the disk when this returns."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
