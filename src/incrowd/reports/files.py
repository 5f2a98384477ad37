"""Outputs: a file appears whole or not at all; what is no file is written to, never replaced."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from incrowd.errors import UsageError

_log = logging.getLogger(__name__)
PRIVATE = 0o600  # until it is complete
DEFAULT = 0o666  # less what the umask takes
_KINDS = {
    stat.S_IFDIR: "it is a folder",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFBLK: "it is a disk",
}


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """A temporary path, whose content is at `path` if the block succeeds; removed in any case.

    A file is replaced in one step, with the mode that it had; of a link what it leads to. A pipe,
    a terminal, /dev/null and names of open files as /dev/stdout are written to instead, when the
    block has ended. Raises UsageError for anything else, if the folder does not exist, or if it
    cannot be written.
    """
    with _writable(path), ExitStack() as stack:
        target = Path(os.path.realpath(path))
        through = stack.enter_context(_opened(path)) if is_stream(path) else None
        folder = Path(tempfile.gettempdir()) if through else target.parent
        temporary = stack.enter_context(_temporary(folder))
        yield temporary
        if through:
            with temporary.open("rb") as content:
                shutil.copyfileobj(content, through)
            through.flush()
        else:
            temporary.chmod(_mode(target))
            temporary.replace(target)
        _log.info("wrote %s", path)


def write_text(path: str | Path, text: str) -> None:
    """Write a file of text, whole or not at all. Raises UsageError as `replaced`."""
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def checked_ending(path: str | Path, endings: Collection[str]) -> str:
    """The ending of the path, in lower case. Raises UsageError if it is none of these."""
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise UsageError.of("path", str(path), f"should end in one of {', '.join(endings)}")
    return ending


def is_stream(path: str | Path) -> bool:
    """Whether the path is written to, and not replaced: no file, or an open file of a process.

    Raises UsageError for what is neither a file nor can be written to.
    """
    if _descriptor(path):
        return True
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except OSError:
        return False  # it does not exist, or making a file beside it will say what is wrong
    if kind in _KINDS:
        raise UsageError.of("path", str(path), f"{_KINDS[kind]}; name a file")
    return kind in (stat.S_IFIFO, stat.S_IFCHR)


def _descriptor(path: str | Path) -> Path | None:
    """What the path or a link on its way names among the open files of a process, if so."""
    name, seen = Path(path), set[Path]()
    while name not in seen:
        seen.add(name)
        name = Path(os.path.realpath(name.parent), name.name)
        if name.parts[1:2] == ("proc",) and name.parent.name == "fd":
            return name
        if not name.is_symlink():
            return None
        name = name.parent / os.readlink(name)
    return None


def _opened(path: str | Path) -> BinaryIO:
    """What is written through; an open file of this process goes on where it is."""
    found = _descriptor(path)
    if found and found.parts[2] == str(os.getpid()):
        return open(os.dup(int(found.name)), "wb")
    return open(os.open(path, os.O_WRONLY | os.O_NOCTTY), "wb")


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A new, empty file in a folder. It has a name before it is made: no signal comes between."""
    path = folder / f".incrowd-{secrets.token_hex(8)}"
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        yield path
    finally:
        path.unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """Of the file that is replaced, or what a new file gets."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return DEFAULT & ~mask


@contextmanager
def _writable(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        allowed = f"it cannot be written: {error.strerror or error}; name another file"
        raise UsageError.of("path", str(path), allowed) from None
