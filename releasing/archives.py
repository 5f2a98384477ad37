"""Wheels and source archives: what is in them, and how they become reproducible.

setuptools copies the modes of files into wheels, and their times and owners into source archives.
`normalize` replaces these by constants, so that everyone who builds a commit gets the same bytes.
"""

import gzip
import io
import re
import tarfile
import time
import zipfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

EARLIEST = 315532800  # 1980-01-01: no entry of a zip file can be older
UNWANTED = re.compile(
    r"(^|/)(__pycache__|node_modules|\.venv|\.git|\.[a-z]+_cache|\.hypothesis)(/|$)"
    r"|\.(pyc|pyo|orig|rej|swp|tmp|log)$|~$|(^|/)\.DS_Store$"
)


def normalize(archive: Path, seconds: int) -> None:
    """Rewrite a wheel or a source archive with one time, owner, and mode of files.

    Parameters
    ----------
    archive
        The file; its name says which kind it is.
    seconds
        The time of every entry, in seconds since 1970: that of the commit.
    """
    kinds = {".whl": _wheel, ".gz": _source_archive}
    content = kinds[archive.suffix](archive.read_bytes(), max(seconds, EARLIEST))
    archive.write_bytes(content)


def _wheel(content: bytes, seconds: int) -> bytes:
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in sorted(old.namelist(), key=_last_in_wheel):
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # the modes below are those of Unix
            entry.external_attr = 0o100644 << 16
            new.writestr(entry, old.read(name))
    return written.getvalue()


def _last_in_wheel(name: str) -> tuple[bool, bool, str]:
    """Sort the metadata of the wheel after its files, and its list of files last."""
    described = ".dist-info/" in name
    return described, described and name.endswith("/RECORD"), name


def _source_archive(content: bytes, seconds: int) -> bytes:
    written = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(content)) as old,
        gzip.GzipFile("", "wb", 9, written, mtime=seconds) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for entry in sorted(old.getmembers(), key=lambda each: each.name):
            if not (entry.isfile() or entry.isdir()):
                raise ValueError(f"{entry.name} is neither a file nor a folder")
            same = tarfile.TarInfo(entry.name)
            same.type, same.size, same.mtime = entry.type, entry.size, seconds
            same.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            new.addfile(same, old.extractfile(entry) if entry.isfile() else None)
    return written.getvalue()


def files_in(archive: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in an archive; of a source archive, below its one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            names = [name for name in wheel.namelist() if not name.endswith("/")]
            return {name: sha256(wheel.read(name)).hexdigest() for name in names}
    with tarfile.open(archive) as opened:
        return {
            entry.name.partition("/")[2]: sha256(content.read()).hexdigest()
            for entry in opened
            if entry.isfile() and (content := opened.extractfile(entry))
        }


def unwanted(names: Iterable[str]) -> list[str]:
    """Return the names of files that no archive should contain: caches, backups, environments."""
    return sorted(name for name in names if UNWANTED.search(name))


def differences(first: Path, second: Path) -> list[str]:
    """Return how two archives differ, one line for each difference; nothing if bytes are equal."""
    if first.read_bytes() == second.read_bytes():
        return []
    before, after = files_in(first), files_in(second)
    lines = [f"{name} is only in one of them" for name in sorted(before.keys() ^ after.keys())]
    shared = sorted(before.keys() & after.keys())
    lines += [f"{name} has another content" for name in shared if before[name] != after[name]]
    return [
        f"{first.name}: {each}" for each in lines or ["times, modes, or the compression differ"]
    ]
