"""The sources of answers: a file, or bytes that can be read only once."""

from __future__ import annotations

import codecs
import logging
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from incrowd.catalog.sentences import Keyword, Sentence, sentence
from incrowd.characters import cleaned
from incrowd.encoding.formats.registry import FORMATS, name_one
from incrowd.encoding.limits import MEMORY, limit
from incrowd.errors import AnswersError, IncrowdError, UsageError, unreadable

# The format of a file, from its first bytes and its name.


HEAD_BYTES = 1 << 16  # of a file, inspected to detect its format
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
_ZIP = b"PK\x03\x04"
_XML = b"<?xml"
FORM = "form"  # the kind of a text that only a form can be
_OLD_STATA = {version: b"\x01" for version in range(0x69, 0x74)}  # then the order of bytes, 1
_SAVE = sentence("encoding.save-table")
_PICTURE, _R = sentence("encoding.picture"), sentence("encoding.r")
_SAS, _PICKLE = sentence("encoding.sas"), sentence("encoding.pickle")
_PAGE = sentence("encoding.web-page")
# Other file formats that people have, and what would work instead.
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": (sentence("encoding.old-excel"), sentence("encoding.save-as-excel")),
    b"%PDF": (sentence("encoding.pdf"), name_one()),
    b"\x89PNG": (_PICTURE, name_one()),
    b"\xff\xd8\xff": (_PICTURE, name_one()),
    b"SQLite format 3": (sentence("encoding.sqlite"), _SAVE),
    b"\x93NUMPY": (sentence("encoding.numpy"), _SAVE),
    b"\x89HDF": (sentence("encoding.hdf5"), _SAVE),
    b"RDX": (_R, _SAVE),
    b"X\n\x00\x00": (_R, _SAVE),
    b"HEADER RECORD*": (_SAS, _SAVE),
    b"\x00" * 12 + b"\xc2\xea\x81\x60": (_SAS, _SAVE),
    b"\x80\x04\x95": (_PICKLE, _SAVE),
    b"\x80\x05\x95": (_PICKLE, _SAVE),
    b"<!": (_PAGE, _SAVE),
    b"<html": (_PAGE, _SAVE),
    _XML: (sentence("encoding.xml"), _SAVE),
    b"FEA1": (sentence("encoding.old-feather"), sentence("encoding.save-as-feather")),
}


def codec(head: bytes) -> str | None:
    """Return how a file is compressed, from its first bytes."""
    return next((name for magic, name in COMPRESSED.items() if head.startswith(magic)), None)


def kind_of(
    name: str, head: bytes, format: str | None, encoding: str | None, forms: bool = False
) -> str:
    """Return the format of a file, from its name and its first (decompressed) bytes.

    format: the one declared by the user. forms: whether it may be a form in XML. Raises
    AnswersError for unsupported files, and if the content does not match the name or the declared
    format.
    """
    if forms and format is None and head.removeprefix(b"\xef\xbb\xbf").startswith(_XML):
        return FORM
    content = _by_content(name, head)
    declared = format or _by_name(name)
    if content is None and declared in (None, "csv", "jsonl"):
        _check_text(name, head, encoding)
        return _text_kind(name, head, declared, format)
    if content is None and head and FORMATS[declared or "csv"].magic:
        kind = "encoding.text" if _is_text(head) else "encoding.binary"
        raise _disagrees(name, declared, format, sentence(kind))
    if content and declared and declared != content:
        data = sentence("encoding.data", format=FORMATS[content].spoken)
        raise _disagrees(name, declared, format, data)
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
    for magic, (thing, advice) in _FOREIGN.items():
        if head.startswith(magic):
            raise AnswersError.of(
                "answers", "encoding.foreign", value=name, thing=thing, advice=advice
            )
    if b"SPSS PORT FILE" in head[:500]:
        raise AnswersError.of("answers", "encoding.portable-spss", value=name)
    return None


def _in_zip(name: str, head: bytes) -> str:
    if b"xl/" in head or b"[Content_Types].xml" in head:
        return "xlsx"
    if b"opendocument.spreadsheet" in head[:200]:
        raise AnswersError.of("answers", "encoding.open-document", value=name)
    raise AnswersError.of("answers", "encoding.zip", value=name)


def _is_text(head: bytes) -> bool:
    return b"\x00" not in head


def _check_text(name: str, head: bytes, encoding: str | None) -> None:
    """Raise AnswersError for bytes that are not text."""
    if encoding is None and not _is_text(head):
        raise AnswersError.of("answers", "encoding.not-recognized", value=name, advice=name_one())


def _text_kind(name: str, head: bytes, declared: str | None, format: str | None) -> str:
    """Return "csv", or "jsonl" for text that begins with a brace, or a bracket if it is one
    list."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    begins = b"".join(start.split())[:2] in (b'{"', b"[{", b"{}")
    content = "jsonl" if begins else "csv"
    if declared is None or not start or format == declared == "csv":
        return declared or content
    if declared != content:
        kind = "encoding.json" if begins else "encoding.other-text"
        raise _disagrees(name, declared, format, sentence(kind))
    return declared


def _disagrees(
    name: str, declared: str | None, format: str | None, content: Sentence
) -> IncrowdError:
    if format:
        spoken = FORMATS[declared or "csv"].spoken
        return AnswersError.of(name, "encoding.declared", format=spoken, content=content)
    return AnswersError.of(name, "encoding.ending", ending=Path(name).suffix, content=content)


# Text that is not UTF-8.

BOMS = {  # in this order: that of UTF-32 begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
WINDOWS = "cp1252"  # has all letters of latin-1, and quotation marks, dashes and the euro sign
_UNDEFINED = re.compile(b"[\x81\x8d\x8f\x90\x9d]")  # in Windows-1252
_SIGN_IN_WORD = re.compile(r"(?<=[^\W\d_])[^\x00-\x7f](?=[^\W\d_])")
_WORD = re.compile(r"[^\W\d_]+(?:\u2019[^\W\d_]+)*")
# What people write in the languages of western Europe, apart from ASCII.
_LETTERS = frozenset("äöüÄÖÜßéèêëàâáãåçîïíìñôóòõúùûæøœÉÈÊÀÂÁÃÅÇÎÍÑÔÓÕÚÆØŒÿ")
_SIGNS = frozenset("‘’‚“”„–—…•€£§°«»´·¡¿½¼²³™©®\xa0\xad×±")
_SIGNS_IN_WORDS = frozenset("’·\xad–—…\xa0")
SAMPLE = 40  # characters


def marked_encoding(head: bytes) -> str | None:
    """Return the encoding that the first bytes of a text state; None for UTF-8 and others."""
    return next((name for mark, name in BOMS.items() if head.startswith(mark)), None)


def likely_encoding(content: bytes) -> tuple[str, bool]:
    """Return the encoding of a text that is not UTF-8, and whether it is certain.

    Windows-1252 is certain if every letter is one of western Europe and in a word with others, and
    no sign is inside a word: in other encodings of one byte, the same bytes are other letters.
    """
    if _UNDEFINED.search(content):
        return "latin-1", False
    text = content.decode(WINDOWS)
    others = {each for each in text if each > "\x7f"}
    certain = others <= _LETTERS | _SIGNS and not _sign_in_word(text)
    return WINDOWS, certain and all(map(_is_western, _WORD.findall(text)))


def _sign_in_word(text: str) -> bool:
    inside = _SIGN_IN_WORD.findall(text)
    return any(not each.isalpha() and each not in _SIGNS_IN_WORDS for each in inside)


def _is_western(word: str) -> bool:
    """Return whether a word has mostly ASCII letters, and no capital letter after a small one."""
    others = [letter for letter in word if letter > "\x7f" and letter != "\u2019"]
    odd = any(b in _LETTERS and b.isupper() and a.islower() for a, b in pairwise(word))
    return not others or (2 * len(others) <= len(word) and not odd)


def sample_of(content: bytes, encoding: str) -> str:
    """Return a few words of a text that only the encoding makes readable, for messages."""
    for line in content.splitlines():
        if not line.isascii():
            text = line.decode(encoding, errors="replace")
            place = next(n for n, each in enumerate(text) if each > "\x7f")
            return cleaned(text[max(0, place - SAMPLE // 2) : place + SAMPLE // 2])
    return ""


_log = logging.getLogger(__name__)
ROW_BYTES = 1 << 20  # of the longest row of a CSV file
TOO_LONG, NO_UTF8 = "straddling object", "invalid UTF8"  # in Arrow's error messages


@dataclass(frozen=True)
class AnswersSource:
    """A file, or the bytes read from a pipe: its name, format and compression.

    kind: the format. content: the bytes of input that cannot be read twice, such as standard input.
    sheet: the sheet of a workbook. state: the state of the file on disk, when it was first opened.
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
            raise AnswersError.of("answers", "encoding.changed", value=self.name)

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
    *,
    forms: bool = False,
) -> AnswersSource:
    """Return the source for a path or an open file. forms: whether it may be a form in XML.

    Raises AnswersError if it cannot be read, or its content does not match its name or `format`.
    """
    if isinstance(data, AnswersSource):
        return data
    _check_encoding(encoding)
    if format not in (None, *FORMATS):
        raise UsageError.of("format", "shared.use-one-of", value=format, choices=[*FORMATS])
    name = _named(data)
    with readable(name):
        content = _read_once(data, encoding)
        path = Path(name)
        state = state_of(path) if content is None else None
        with pa.BufferReader(content) if content is not None else pa.OSFile(name) as file:
            head, compression = _head(file)
    encoding = encoding or marked_encoding(head)
    if not head:
        raise AnswersError.of("answers", "encoding.empty", value=name, advice=name_one())
    kind = kind_of(name, head, format, encoding, forms)
    if kind == FORM:
        return AnswersSource(name, path, kind, compression, encoding, content, sheet, state)
    if compression and not FORMATS[kind].compressed:
        raise AnswersError.of("answers", "encoding.compressed", value=name)
    if sheet is not None and not FORMATS[kind].sheets:
        raise UsageError.of("sheet", "encoding.no-sheets", value=sheet, file=name)
    _log.info("reading %s as %s", name, FORMATS[kind].spoken)
    return AnswersSource(name, path, kind, compression, encoding, content, sheet, state)


def certain_encoding(path: Path) -> str | None:
    """Return the encoding of a text that is not UTF-8, if it is certain; otherwise None."""
    try:
        source = source_of(path)
        content = b"" if FORMATS[source.kind].magic or source.encoding else source.whole()
        content.decode()
    except UnicodeDecodeError:
        encoding, certain = likely_encoding(content)
        return encoding if certain else None
    except (IncrowdError, OSError):  # the reader says so
        return None
    return None


def _named(data: Any) -> str:
    if not hasattr(data, "read"):
        return str(data)
    name = str(getattr(data, "name", "these bytes"))
    return "standard input" if name == "<stdin>" else name


def _check_encoding(encoding: str | None) -> None:
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise UsageError.of("encoding", "encoding.no-encoding", value=encoding) from None


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
        raise AnswersError.of(
            "answers",
            "encoding.not-on-disk",
            value=_named(data),
            memory=most >> 20,
            variable=MEMORY,
        )
    return content


def _head(file: pa.NativeFile) -> tuple[bytes, str | None]:
    start = file.read(HEAD_BYTES)
    compression = codec(start)
    if not compression:
        return start, None
    file.seek(0)
    return pa.input_stream(file, compression=compression).read(HEAD_BYTES), compression


@contextmanager
def readable(name: str, source: AnswersSource | None = None) -> Iterator[None]:
    """Turn any failure to read a file of answers into an AnswersError.

    source: its text, of which a message shows a few words if the encoding has to be named.
    """
    try:
        yield
    except OSError as error:
        raise AnswersError.of(
            "answers",
            "encoding.unreadable",
            value=name,
            reason=unreadable(error),
            advice=name_one(),
        ) from None
    except UnicodeError:
        raise AnswersError.of(
            "answers", "encoding.refused", value=name, why=_other_encoding(source)
        ) from None
    except MemoryError:
        raise
    except pa.ArrowException as error:
        raise AnswersError.of(
            "answers", "encoding.refused", value=name, why=_reason(str(error), source)
        ) from None


def _other_encoding(source: AnswersSource | None) -> Sentence:
    content = source.whole() if source is not None else b""
    if source is not None and source.encoding is not None:
        return sentence("encoding.not-in-encoding", encoding=source.encoding)
    encoding, _ = likely_encoding(content)
    option, text = Keyword("encoding", encoding), sample_of(content, encoding)
    if not text:
        return sentence("encoding.other-encoding", option=option)
    return sentence("encoding.other-encoding-sample", option=option, text=text)


def _reason(text: str, source: AnswersSource | None) -> Sentence:
    if TOO_LONG in text:
        return sentence("encoding.long-row", most=ROW_BYTES >> 20)
    if NO_UTF8 in text:
        return _other_encoding(source)
    return sentence("encoding.not-parsed", reason=text)
