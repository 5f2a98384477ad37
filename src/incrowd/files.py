"""How every file is written: whole or not at all, and on the disk when a function returns.

A file is written under a temporary name in the folder where it will be, flushed to the disk, and
renamed. An exception, Ctrl-C included, removes what was begun; a process that is killed leaves
files whose names begin with `BEGUN`.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from incrowd.errors import UsageError

_log = logging.getLogger(__name__)
PRIVATE = 0o600
PRIVATE_FOLDER = 0o700
BEGUN = ".incrowd-"
_DEFAULT = 0o666  # less what the umask takes
_KINDS = {
    stat.S_IFDIR: "it is a folder",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFBLK: "it is a disk",
}


# --- files and folders that are not complete yet -------------------------------------------------


class NewFile(NamedTuple):
    """A file that is being written: its temporary path (mode 0600), open for writing."""

    path: Path
    file: BinaryIO

    def publish(self, path: Path, *, mode: int = PRIVATE, overwrite: bool = True) -> None:
        """Give the file its name, after its content has reached the disk.

        Raises FileExistsError if there is such a file and it may not be overwritten.
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
    """A new file in a folder. It is removed at the end of the block unless it was published."""
    path = _temporary(folder)  # named before it is made, so that no signal comes between
    try:
        with open(path, "x+b", opener=lambda name, flags: os.open(name, flags, PRIVATE)) as file:
            yield NewFile(path, file)
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that is at `path` if the block succeeds; removed otherwise.

    Whoever writes the files in it makes sure that they reach the disk.
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
    """Rename a file unless there is one of the new name. Raises FileExistsError if there is."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # no links on this disk: an empty file keeps the name until it is replaced
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        try:
            temporary.replace(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def settle(file: BinaryIO) -> None:
    """What was written to a file is on the disk when this returns."""
    file.flush()
    os.fsync(file.fileno())


def settle_names(folder: Path) -> None:
    """The names in a folder are on the disk when this returns; only POSIX lets us ask for it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- secrets and files of services: errors are those of the system -------------------------------


def write_bytes(path: Path, content: bytes, *, mode: int = PRIVATE, overwrite: bool = True) -> None:
    """Write a file into a folder that exists.

    Raises FileExistsError if there is such a file and it may not be overwritten.
    """
    with new_file(path.parent) as new:
        new.file.write(content)
        new.publish(path, mode=mode, overwrite=overwrite)
    _log.info("wrote %s", path)


def write_private(path: Path, content: bytes, *, overwrite: bool = False) -> None:
    """Write a file of mode 0600, into a folder that is made with mode 0700 if it is missing.

    Raises FileExistsError if there is such a file, unless it may be overwritten.
    """
    private_folder(path.parent)
    write_bytes(path, content, overwrite=overwrite)


def private_folder(path: Path) -> Path:
    """The folder, made with mode 0700 if it is missing."""
    path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    return path


def destroy(path: Path) -> None:
    """Overwrite a file in its place and remove it; nothing happens if it is gone.

    Flash memory and copying file systems keep older blocks: such a file belongs on a volume in
    memory, or on one whose own key is thrown away.
    """
    with suppress(FileNotFoundError), path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))
        settle(file)
    path.unlink(missing_ok=True)
    settle_names(path.parent)
    _log.info("removed %s", path)


# --- outputs that a user names: errors say what would work ---------------------------------------


@contextmanager
def replaced(path: str | Path, *, mode: int | None = None) -> Iterator[Path]:
    """A temporary path, whose content is at `path` if the block succeeds; removed in any case.

    mode: of the file; by default that of the file that is replaced, or what the umask leaves. Of
    a link, the target is replaced. A pipe, a terminal, /dev/null and names of open files such as
    /dev/stdout are written to instead, when the block has ended. Raises UsageError for anything
    else, if the folder does not exist, or if the file cannot be written.
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
            new.publish(target, mode=_mode(target) if mode is None else mode)
        _log.info("wrote %s", path)


def write_text(path: str | Path, text: str, *, mode: int | None = None) -> None:
    """Write a file of text, as `replaced`."""
    with replaced(path, mode=mode) as temporary:
        temporary.write_text(text, encoding="utf-8")


def checked_ending(path: str | Path, endings: Collection[str]) -> str:
    """The ending of the path, in lower case. Raises UsageError if it is another than these."""
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise UsageError.of("path", str(path), f"should end in one of {', '.join(endings)}")
    return ending


def is_stream(path: str | Path) -> bool:
    """Whether the path is written to, not replaced: a pipe, a device, an open file of a process.

    Raises UsageError for a folder, a socket or a disk.
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
    descriptor = _descriptor(path)
    if descriptor and descriptor.parts[2] == str(os.getpid()):
        return open(os.dup(int(descriptor.name)), "wb")
    return open(os.open(path, os.O_WRONLY | os.O_NOCTTY), "wb")


def _mode(target: Path) -> int:
    """Of the file that is replaced, or what a new file gets."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return _DEFAULT & ~mask


@contextmanager
def _writable(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        allowed = f"it cannot be written: {error.strerror or error}; name another file"
        raise UsageError.of("path", str(path), allowed) from None
