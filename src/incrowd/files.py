"""Atomic writing of files: complete or not at all, and on disk when a function returns.

A file is written under a temporary name in its destination folder, flushed to disk, and renamed. An
exception, Ctrl-C included, removes the temporary file; a process that is killed leaves files whose
names begin with `BEGUN`.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import stat
import tempfile
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from incrowd.catalog.sentences import system_words
from incrowd.errors import UsageError

_log = logging.getLogger(__name__)
PRIVATE = 0o600
PRIVATE_FOLDER = 0o700
BEGUN = ".incrowd-"
_DEFAULT = 0o666  # before the umask
_UMASK = threading.Lock()
_KINDS = {
    stat.S_IFDIR: "shared.is-folder",
    stat.S_IFSOCK: "shared.is-socket",
    stat.S_IFBLK: "shared.is-disk",
}


# --- files and folders that are still being written ----------------------------------------------


class NewFile(NamedTuple):
    """A file that is being written: its temporary path (mode 0600), open for writing."""

    path: Path
    file: BinaryIO

    def publish(self, path: Path, *, mode: int = PRIVATE, overwrite: bool = True) -> None:
        """Rename the file to `path`, after its content has reached the disk.

        Raises FileExistsError if the file exists and may not be overwritten.
        """
        settle(self.file)
        if mode != PRIVATE:
            self.path.chmod(mode)
        if overwrite:
            self.path.replace(path)
        else:
            _rename_to_new(self.path, path)
        settle_names(path.parent)


@contextmanager
def new_file(folder: Path) -> Iterator[NewFile]:
    """Create a file in a folder; at the end of the block it is removed unless it was published."""
    path = _temporary(folder)  # named before it is created, so that no signal can come between
    try:
        with open(path, "x+b", opener=lambda name, flags: os.open(name, flags, PRIVATE)) as file:
            yield NewFile(path, file)
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Create a temporary folder; it is renamed to `path` if the block succeeds, otherwise removed.

    The caller makes sure that the files in it reach the disk.
    """
    temporary = _temporary(path.parent)
    try:
        temporary.mkdir(mode=PRIVATE_FOLDER)
        yield temporary
        settle_names(temporary)
        temporary.rename(path)
        settle_names(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _temporary(folder: Path) -> Path:
    return folder / f"{BEGUN}{secrets.token_hex(8)}"


def _rename_to_new(temporary: Path, path: Path) -> None:
    """Rename a file. Raises FileExistsError if the new name exists."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # the disk has no links: an empty file reserves the name until it is replaced
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        try:
            temporary.replace(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def settle(file: BinaryIO) -> None:
    """Flush what was written to a file to disk."""
    file.flush()
    os.fsync(file.fileno())


def settle_names(folder: Path) -> None:
    """Flush the names in a folder to disk, which only POSIX supports."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- secrets and files of services: errors are those of the operating system ---------------------


def write_bytes(path: Path, content: bytes, *, mode: int = PRIVATE, overwrite: bool = True) -> None:
    """Write a file into an existing folder.

    Raises FileExistsError if the file exists and may not be overwritten.
    """
    with new_file(path.parent) as new:
        new.file.write(content)
        new.publish(path, mode=mode, overwrite=overwrite)
    _log.info("wrote %s", path)


def write_private(path: Path, content: bytes, *, overwrite: bool = False) -> None:
    """Write a file with mode 0600; a missing folder is created with mode 0700.

    Raises FileExistsError if the file exists, unless it may be overwritten.
    """
    private_folder(path.parent)
    write_bytes(path, content, overwrite=overwrite)


def private_folder(path: Path) -> Path:
    """Return the folder; it and its parents are created with mode 0700 if they are missing."""
    if not path.parent.exists():
        private_folder(path.parent)
    path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    return path


def is_taken(path: Path) -> bool:
    """Return whether a name is in use: also by a link to a file that does not exist."""
    return os.path.lexists(path)


def check_room(folder: Path, size: int) -> None:
    """Raise OSError unless a file of this many bytes can be written into a folder."""
    with new_file(folder) as new:
        new.file.write(os.urandom(size))
        settle(new.file)


def destroy(path: Path) -> None:
    """Overwrite a file in place and remove it; does nothing if it does not exist.

    If the path is a link, its target is overwritten and removed, too.

    Flash memory and copy-on-write file systems keep older blocks: such a file belongs on a volume
    in memory, or on an encrypted volume whose key is thrown away.
    """
    with suppress(FileNotFoundError), path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))
        settle(file)
    target = Path(os.path.realpath(path))
    for each in dict.fromkeys((target, path)):
        each.unlink(missing_ok=True)
        if each.parent.exists():
            settle_names(each.parent)
    _log.info("removed %s", path)


# --- outputs that a user names: errors say what would work ---------------------------------------


@contextmanager
def replaced(path: str | Path, *, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary path whose content becomes that of `path` if the block succeeds.

    mode: the mode of the file; by default that of the file it replaces, or what the umask leaves.
    If `path` is a link, its target is replaced. A pipe, a terminal, /dev/null and names of open
    files such as /dev/stdout are written to instead, after the block. Raises UsageError for
    anything else, if the folder does not exist, or if the file cannot be written.
    """
    with _writable(path), ExitStack() as stack:
        target = Path(os.path.realpath(path))
        through = stack.enter_context(_opened(path)) if is_stream(path) else None
        folder = Path(tempfile.gettempdir()) if through else target.parent
        new = stack.enter_context(new_file(folder))
        yield new.path
        if through:
            with new.path.open("rb") as content:
                shutil.copyfileobj(content, through)
            through.flush()
        else:
            new.publish(target, mode=mode_of(target) if mode is None else mode)
        _log.info("wrote %s", path)


def write_text(path: str | Path, text: str, *, mode: int | None = None) -> None:
    """Write a text file, as `replaced` does."""
    with replaced(path, mode=mode) as temporary:
        temporary.write_text(text, encoding="utf-8")


def checked_ending(path: str | Path, endings: Collection[str]) -> str:
    """Return the ending of the path, in lower case. Raises UsageError if it is not one of these."""
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise UsageError.of("path", "shared.other-ending", value=str(path), endings=list(endings))
    return ending


def is_stream(path: str | Path) -> bool:
    """Return whether the path is written to, not replaced: a pipe, a device, a process's open file.

    Raises UsageError for a folder, a socket or a disk.
    """
    if _descriptor(path):
        return True
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except OSError:
        return False  # it does not exist, or creating a file beside it will say what is wrong
    if kind in _KINDS:
        raise UsageError.of("path", _KINDS[kind], value=str(path))
    return kind in (stat.S_IFIFO, stat.S_IFCHR)


def _descriptor(path: str | Path) -> Path | None:
    """Return the open file of a process that the path, or a link on its way, names;
    otherwise None."""
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
    """Open a stream for writing; an open file of this process continues at its position."""
    descriptor = _descriptor(path)
    if descriptor and descriptor.parts[2] == str(os.getpid()):
        return open(os.dup(int(descriptor.name)), "wb")
    return open(os.open(path, os.O_WRONLY | os.O_NOCTTY), "wb")


def mode_of(target: Path) -> int:
    """Return the mode of the file that is replaced, or what the umask leaves for a new file."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        with _UMASK:  # which can only be read by setting it, for all threads
            mask = os.umask(0o077)
            os.umask(mask)
        return _DEFAULT & ~mask


@contextmanager
def _writable(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = system_words(error)
        raise UsageError.of("path", "shared.not-written", value=str(path), reason=why) from None
