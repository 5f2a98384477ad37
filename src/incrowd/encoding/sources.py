"""Where answers come from: a file, or bytes that can be read only once."""

from __future__ import annotations

import codecs
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from incrowd.encoding.formats.registry import FORMATS, name_one
from incrowd.encoding.limits import MEMORY, limit
from incrowd.errors import AnswersError, IncrowdError, InWords, UsageError, unreadable

# The format of a file, from its first bytes and its name.


HEAD_BYTES = 1 << 16  # of a file, inspected to detect its format
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_ZIP = b"PK\x03\x04"
_OLD_STATA = {version: b"\x01" for version in range(0x69, 0x74)}  # then the order of bytes, 1
_SAVE = "save its table as CSV, Parquet or .xlsx"
# Other file formats that people have, and what would work instead.
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": ("an old Excel file", "save it as .xlsx or CSV"),
    b"%PDF": ("a PDF file", ""),
    b"\x89PNG": ("a picture", ""),
    b"\xff\xd8\xff": ("a picture", ""),
    b"SQLite format 3": ("an SQLite database", _SAVE),
    b"\x93NUMPY": ("a NumPy array", _SAVE),
    b"\x89HDF": ("an HDF5 file", _SAVE),
    b"RDX": ("an R file", _SAVE),
    b"X\n\x00\x00": ("an R file", _SAVE),
    b"HEADER RECORD*": ("a SAS file", _SAVE),
    b"\x00" * 12 + b"\xc2\xea\x81\x60": ("a SAS file", _SAVE),
    b"\x80\x04\x95": ("a Python pickle, which can run programs", _SAVE),
    b"\x80\x05\x95": ("a Python pickle, which can run programs", _SAVE),
    b"<!": ("a web page", _SAVE),
    b"<html": ("a web page", _SAVE),
    b"<?xml": ("an XML file", _SAVE),
    b"FEA1": ("a Feather file of the first version", "save it again, as .feather or .parquet"),
}


def codec(head: bytes) -> str | None:
    """Return how a file is compressed, from its first bytes."""
    return next((name for magic, name in COMPRESSED.items() if head.startswith(magic)), None)


def kind_of(name: str, head: bytes, format: str | None, encoding: str | None) -> str:
    """Return the format of a file, from its name and its first (decompressed) bytes.

    format: the one declared by the user. Raises AnswersError for unsupported files, and if the
    content does not match the name or the declared format.
    """
    content = _by_content(name, head)
    declared = format or _by_name(name)
    if content is None and declared in (None, "csv", "jsonl"):
        _check_text(name, head, encoding)
        return _text_kind(name, head, declared, format)
    if content is None and head and FORMATS[declared or "csv"].magic:
        raise _disagrees(name, declared, format, "text" if _is_text(head) else "binary data")
    if content and declared and declared != content:
        raise _disagrees(name, declared, format, f"{FORMATS[content].spoken} data")
    return content or declared or "csv"


def _by_name(name: str) -> str | None:
    path = Path(name)
    ending = path.suffix.lower()
    if ending in (".gz", ".bz2", ".zst", ".lz4"):
        ending = path.with_suffix("").suffix.lower()
    return next((each.kind for each in FORMATS.values() if ending in each.endings), None)


def _by_content(name: str, head: bytes) -> str | None:
    """Return the format of a binary file; None for text. Raises AnswersError if it is not
    supported."""
    if head.startswith(_ZIP):
        return _in_zip(name, head)
    for format in FORMATS.values():
        if any(head.startswith(magic) for magic in format.magic):
            return format.kind
    if len(head) > 3 and head[0] in _OLD_STATA and head[1] in (1, 2) and head[2] == 1:
        return "dta"
    for magic, (what, allowed) in _FOREIGN.items():
        if head.startswith(magic):
            raise AnswersError.of("answers", name, f"it is {what}; {allowed or name_one()}")
    if b"SPSS PORT FILE" in head[:500]:
        raise AnswersError.of("answers", name, "it is a portable SPSS file; save it as .sav")
    return None


def _in_zip(name: str, head: bytes) -> str:
    if b"xl/" in head or b"[Content_Types].xml" in head:
        return "xlsx"
    if b"opendocument.spreadsheet" in head[:200]:
        raise AnswersError.of("answers", name, "it is an OpenDocument table; save it as .xlsx")
    raise AnswersError.of("answers", name, "it is a zip archive; unpack it, and name a file in it")


def _is_text(head: bytes) -> bool:
    return b"\x00" not in head


def _check_text(name: str, head: bytes, encoding: str | None) -> None:
    """Raise AnswersError for bytes that are not text, or whose encoding has to be named."""
    if encoding is None and head.startswith((b"\xff\xfe", b"\xfe\xff")):
        allowed = "it is text in UTF-16; save it as UTF-8, or use encoding='utf-16'"
        raise AnswersError.of("answers", name, allowed)
    if encoding is None and not _is_text(head):
        raise AnswersError.of("answers", name, f"the file format is not recognized; {name_one()}")


def _text_kind(name: str, head: bytes, declared: str | None, format: str | None) -> str:
    """Return "csv", or "jsonl" for text that begins with a brace, or a bracket if it is one
    list."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    begins = b"".join(start.split())[:2] in (b'{"', b"[{", b"{}")
    content = "jsonl" if begins else "csv"
    if declared is None or not start or format == declared == "csv":
        return declared or content
    if declared != content:
        raise _disagrees(name, declared, format, "JSON" if begins else "other text")
    return declared


def _disagrees(name: str, declared: str | None, format: str | None, content: str) -> IncrowdError:
    spoken = FORMATS[declared or "csv"].spoken
    if format:
        shown = InWords(f"is declared as {spoken}, but contains {content}")
        return AnswersError.of(name, shown, "leave out the format, or name another file")
    shown = InWords(f"ends in {Path(name).suffix}, but contains {content}")
    return AnswersError.of(name, shown, "rename it, or name another file")


_log = logging.getLogger(__name__)
ROW_BYTES = 1 << 20  # of the longest row of a CSV file
TOO_LONG, NO_UTF8 = "straddling object", "invalid UTF8"  # in Arrow's error messages
OTHER_ENCODING = (
    "it is in another encoding; save it as UTF-8, or name its encoding, such as encoding='latin-1'"
)


@dataclass(frozen=True)
class AnswersSource:
    """A file, or the bytes read from a pipe: its name, format and compression.

    kind: the format. content: the bytes of input that cannot be read twice, such as standard input.
    sheet: of a workbook. state: of the file on disk, when it was first opened.
    """

    name: str
    path: Path
    kind: str
    compression: str | None
    encoding: str | None
    content: bytes | None = None
    sheet: str | None = None
    state: tuple[int, ...] | None = None

    def open(self) -> pa.NativeFile:
        """Open its bytes as stored. Raises AnswersError if they have changed."""
        if self.content is not None:
            return pa.BufferReader(self.content)
        self.check()
        return pa.OSFile(str(self.path))

    def check(self) -> None:
        """Raise AnswersError if the file on disk was changed or replaced since it was opened: a
        part of it would be read from one version, and the rest from another."""
        if self.state is not None and state_of(self.path) != self.state:
            allowed = "it was changed while it was read; run the command again"
            raise AnswersError.of("answers", self.name, allowed)

    @property
    def stored(self) -> int:
        """The number of stored bytes."""
        return self.path.stat().st_size if self.content is None else len(self.content)

    def whole(self) -> bytes:
        """Return its bytes, decompressed."""
        with self.open() as file:
            return bytes(pa.input_stream(file, compression=self.compression).read())


def state_of(path: Path) -> tuple[int, ...]:
    """Return what changes if a file is replaced or written."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def source_of(
    data: str | Path | IO[bytes] | IO[str] | AnswersSource,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> AnswersSource:
    """Return the source for a path or an open file.

    Raises AnswersError if it cannot be read, or its content does not match its name or `format`.
    """
    if isinstance(data, AnswersSource):
        return data
    _check_encoding(encoding)
    if format not in (None, *FORMATS):
        raise UsageError.of("format", format, f"use one of {', '.join(FORMATS)}")
    name = _named(data)
    with readable(name):
        content = _read_once(data, encoding)
        path = Path(name)
        state = state_of(path) if content is None else None
        with pa.BufferReader(content) if content is not None else pa.OSFile(name) as file:
            head, compression = _head(file)
    if not head:
        raise refused(name, f"it cannot be read: it is empty; {name_one()}")
    kind = kind_of(name, head, format, encoding)
    if compression and not FORMATS[kind].compressed:
        allowed = "only text files may be compressed; decompress it, and name the result"
        raise AnswersError.of("answers", name, allowed)
    if sheet is not None and not FORMATS[kind].sheets:
        raise UsageError.of("sheet", sheet, f"{name} has no sheets; leave it out")
    _log.info("reading %s as %s", name, FORMATS[kind].spoken)
    return AnswersSource(name, path, kind, compression, encoding, content, sheet, state)


def _named(data: Any) -> str:
    if not hasattr(data, "read"):
        return str(data)
    name = str(getattr(data, "name", "these bytes"))
    return "standard input" if name == "<stdin>" else name


def _check_encoding(encoding: str | None) -> None:
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        allowed = "should be the name of an encoding, such as latin-1, cp1252 or utf-16"
        raise UsageError.of("encoding", encoding, allowed) from None


def _read_once(data: Any, encoding: str | None) -> bytes | None:
    """Return the bytes of input that cannot be read twice, also if opened as text; None for a
    file."""
    most = limit(MEMORY) << 20
    if hasattr(data, "read"):
        piped = data.read(most + 1)
        content = piped.encode(encoding or "utf-8") if isinstance(piped, str) else bytes(piped)
    else:
        mode = os.stat(data).st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            return None
        with open(data, "rb") as file:
            content = file.read(most + 1)
    if len(content) > most:
        held = f"it is not a file on a disk, so at most {most >> 20:,} MiB of it are read"
        allowed = f"{held}; save it as a file, or set the variable {MEMORY} to more"
        raise AnswersError.of("answers", _named(data), allowed)
    return content


def _head(file: pa.NativeFile) -> tuple[bytes, str | None]:
    start = file.read(HEAD_BYTES)
    compression = codec(start)
    if not compression:
        return start, None
    file.seek(0)
    return pa.input_stream(file, compression=compression).read(HEAD_BYTES), compression


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Turn any failure to read a file of answers into an AnswersError."""
    try:
        yield
    except OSError as error:
        raise AnswersError.of("answers", name, f"{unreadable(error)}; {name_one()}") from None
    except UnicodeError:
        raise refused(name, OTHER_ENCODING) from None
    except MemoryError:
        raise
    except pa.ArrowException as error:
        raise refused(name, _reason(str(error))) from None


def _reason(text: str) -> str:
    if TOO_LONG in text:
        most = f"{ROW_BYTES >> 20} MiB"
        return f"it has a row of more than {most}; should be a CSV file with one line per person"
    if NO_UTF8 in text:
        return OTHER_ENCODING
    return f"it cannot be read: {text}; correct it, or name another file"


def refused(name: str, allowed: str) -> IncrowdError:
    """Return the error for a file of that name."""
    return AnswersError.of("answers", name, allowed)
