"""What kind of file holds the answers: by what it begins with, and by its name."""

from __future__ import annotations

from pathlib import Path

from incrowd.errors import AnswersError, IncrowdError, InWords

HEAD_BYTES = 1 << 16  # of a file, looked at to see what it is
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
ENDINGS = {
    "csv": (".csv", ".tsv", ".tab", ".txt"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".arrows", ".ipc"),
    "sav": (".sav", ".zsav"),
    "dta": (".dta",),
    "xlsx": (".xlsx", ".xlsm"),
}
FORMATS = tuple(ENDINGS)
SPOKEN = {
    "csv": "CSV",
    "jsonl": "JSON lines",
    "parquet": "Parquet",
    "feather": "Arrow",
    "sav": "SPSS",
    "dta": "Stata",
    "xlsx": "Excel",
}
NAME_ONE = "name a CSV, JSON lines, Parquet, Arrow, SPSS, Stata or Excel file"
_ENDING_OF = {ending: kind for kind, endings in ENDINGS.items() for ending in endings}
_ZIP = b"PK\x03\x04"
_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"\xff\xff\xff\xff": "feather",  # a stream
    b"$FL2": "sav",
    b"$FL3": "sav",
    b"<stata_dta>": "dta",
}
_OLD_STATA = {version: b"\x01" for version in range(0x69, 0x74)}  # then the order of bytes, 1
_SAVE = "save its table as CSV, Parquet or .xlsx"
# Files that people have as well, and what works in their place.
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": ("an old Excel file", "save it as .xlsx or CSV"),
    b"%PDF": ("a PDF file", NAME_ONE),
    b"\x89PNG": ("a picture", NAME_ONE),
    b"\xff\xd8\xff": ("a picture", NAME_ONE),
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
    """How a file is compressed, by what it begins with."""
    return next((name for magic, name in COMPRESSED.items() if head.startswith(magic)), None)


def kind_of(name: str, head: bytes, format: str | None, encoding: str | None) -> str:
    """One of FORMATS, for a file of that name that begins so, compression taken off.

    format: what it is said to be. Raises AnswersError for a file of another kind, also if its
    name or `format` says another one than what is in it.
    """
    found = _by_content(name, head)
    said = format or _by_name(name)
    if found is None and said in (None, "csv", "jsonl"):
        _check_text(name, head, encoding)
        return _text_kind(name, head, said, format)
    if found is None and head:
        raise _disagrees(name, said, format, "text" if _is_text(head) else "other bytes")
    if found and said and said != found:
        raise _disagrees(name, said, format, f"{SPOKEN[found]} data")
    return found or said or "csv"


def _by_name(name: str) -> str | None:
    path = Path(name)
    ending = path.suffix.lower()
    if ending in (".gz", ".bz2", ".zst", ".lz4"):
        ending = path.with_suffix("").suffix.lower()
    return _ENDING_OF.get(ending)


def _by_content(name: str, head: bytes) -> str | None:
    """What a file of bytes is; None for text. Raises AnswersError if it is none that we read."""
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            return kind
    if head.startswith(_ZIP):
        return _in_zip(name, head)
    if len(head) > 3 and head[0] in _OLD_STATA and head[1] in (1, 2) and head[2] == 1:
        return "dta"
    for magic, (what, allowed) in _FOREIGN.items():
        if head.startswith(magic):
            raise AnswersError.of("answers", name, f"it is {what}; {allowed}")
    if b"SPSS PORT FILE" in head[:500]:
        raise AnswersError.of("answers", name, "it is a portable SPSS file; save it as .sav")
    return None


def _in_zip(name: str, head: bytes) -> str:
    if b"xl/" in head or b"[Content_Types].xml" in head:
        return "xlsx"
    if b"opendocument.spreadsheet" in head[:200]:
        raise AnswersError.of("answers", name, "it is an OpenDocument table; save it as .xlsx")
    raise AnswersError.of("answers", name, "it is a zip archive; unpack it, and name what is in it")


def _is_text(head: bytes) -> bool:
    return b"\x00" not in head


def _check_text(name: str, head: bytes, encoding: str | None) -> None:
    """Raises AnswersError for bytes that are no text, or in an encoding that has to be named."""
    if encoding is None and head.startswith((b"\xff\xfe", b"\xfe\xff")):
        allowed = "it is text in UTF-16; save it as UTF-8, or use encoding='utf-16'"
        raise AnswersError.of("answers", name, allowed)
    if encoding is None and not _is_text(head):
        raise AnswersError.of("answers", name, f"it is no text, and of no known kind; {NAME_ONE}")


def _text_kind(name: str, head: bytes, said: str | None, format: str | None) -> str:
    """CSV or JSON lines, which begin with a brace, or a bracket if they are one list."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    begins = b"".join(start.split())[:2] in (b'{"', b"[{", b"{}")
    found = "jsonl" if begins else "csv"
    if said is None or not start or format == said == "csv":
        return said or found
    if said != found:
        raise _disagrees(name, said, format, "JSON" if begins else "no JSON")
    return said


def _disagrees(name: str, said: str | None, format: str | None, found: str) -> IncrowdError:
    spoken = SPOKEN[said or "csv"]
    if format:
        shown = InWords(f"is to be {spoken}, and holds {found}")
        return AnswersError.of(name, shown, "leave out the format, or name another file")
    shown = InWords(f"is called {Path(name).suffix}, and holds {found}")
    return AnswersError.of(name, shown, "rename it, or name another file")
