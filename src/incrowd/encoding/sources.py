"""Where answers come from: a file, or bytes that can be read once only."""

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

from incrowd.encoding.kinds import FORMATS, HEAD_BYTES, NAME_ONE, SPOKEN, codec, kind_of
from incrowd.errors import AnswersError, IncrowdError, UsageError, unreadable

_log = logging.getLogger(__name__)
ROW_BYTES = 1 << 20  # of the longest row of a CSV file
TOO_LONG, NO_UTF8 = "straddling object", "invalid UTF8"  # the reader's words for it
OTHER_ENCODING = "it is in another encoding; save it as UTF-8, or name it, as encoding='latin-1'"


@dataclass(frozen=True)
class Source:
    """A file, or what was read of a pipe: its name, its kind, and how it is compressed.

    content: the bytes of what cannot be read twice, such as standard input. sheet: of a workbook.
    """

    name: str
    path: Path
    kind: str
    compression: str | None
    encoding: str | None
    content: bytes | None = None
    sheet: str | None = None

    def open(self) -> pa.NativeFile:
        """Its bytes as they are stored."""
        if self.content is None:
            return pa.OSFile(str(self.path))
        return pa.BufferReader(self.content)

    @property
    def stored(self) -> int:
        """How many bytes that are."""
        return self.path.stat().st_size if self.content is None else len(self.content)

    def whole(self) -> bytes:
        """Its bytes, decompressed."""
        with self.open() as file:
            return bytes(pa.input_stream(file, compression=self.compression).read())


def source_of(
    data: str | Path | IO[bytes] | IO[str] | Source,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Source:
    """The source that a path, or a file open for reading, stands for.

    Raises AnswersError if it cannot be read, or is of another kind than its name or `format` says.
    """
    if isinstance(data, Source):
        return data
    _check_encoding(encoding)
    if format not in (None, *FORMATS):
        raise UsageError.of("format", format, f"use one of {', '.join(FORMATS)}")
    name = _named(data)
    with readable(name):
        content = _read_once(data, encoding)
        path = Path(name)
        with pa.BufferReader(content) if content is not None else pa.OSFile(name) as file:
            head, compression = _head(file)
    if not head:
        raise refused(name, f"it cannot be read: it is empty; {NAME_ONE}")
    kind = kind_of(name, head, format, encoding)
    if compression and kind not in ("csv", "jsonl"):
        allowed = "it is compressed, and no text; decompress it, and name what comes out"
        raise AnswersError.of("answers", name, allowed)
    if sheet is not None and kind != "xlsx":
        raise UsageError.of("sheet", sheet, f"{name} has no sheets; leave it out")
    _log.info("reading %s as %s", name, SPOKEN[kind])
    return Source(name, path, kind, compression, encoding, content, sheet)


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
    """The bytes of what cannot be read twice, also if it was opened as text; None of a file."""
    if hasattr(data, "read"):
        content = data.read()
        return content.encode(encoding or "utf-8") if isinstance(content, str) else bytes(content)
    mode = os.stat(data).st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    return Path(data).read_bytes()


def _head(file: pa.NativeFile) -> tuple[bytes, str | None]:
    start = file.read(HEAD_BYTES)
    found = codec(start)
    if not found:
        return start, None
    file.seek(0)
    return pa.input_stream(file, compression=found).read(HEAD_BYTES), found


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Whatever goes wrong with a file of answers becomes an AnswersError."""
    try:
        yield
    except OSError as error:
        raise AnswersError.of("answers", name, f"{unreadable(error)}; {NAME_ONE}") from None
    except UnicodeError:
        raise refused(name, OTHER_ENCODING) from None
    except pa.ArrowException as error:
        raise refused(name, _reason(str(error))) from None


def _reason(said: str) -> str:
    if TOO_LONG in said:
        most = f"{ROW_BYTES >> 20} MiB"
        return f"it has a row of more than {most}; should be a CSV file with a line for each person"
    if NO_UTF8 in said:
        return OTHER_ENCODING
    return f"it cannot be read: {said}; correct it, or name another file"


def refused(name: str, allowed: str) -> IncrowdError:
    """The error for a file of that name."""
    return AnswersError.of("answers", name, allowed)
