"""The file formats of answers: how they are recognized, and which module reads them.

A module is loaded when a file of its format is read.
"""

from __future__ import annotations

from typing import NamedTuple

from incrowd.catalog.sentences import Sentence, sentence


class FileFormat(NamedTuple):
    """One file format.

    kind: its name in options. spoken: its name in messages. endings: the suffixes of file names, in
    lower case. module: the module that defines its `READER`. magic: the possible first bytes of its
    files, if they are fixed. compressed: whether its files may be compressed. sheets: whether they
    have several named tables.
    """

    kind: str
    spoken: str
    endings: tuple[str, ...]
    module: str
    magic: tuple[bytes, ...] = ()
    compressed: bool = False
    sheets: bool = False


_HERE = "incrowd.encoding.formats"
_ARROW = (b"ARROW1", b"\xff\xff\xff\xff")  # a file, and a stream
FORMATS: dict[str, FileFormat] = {
    each.kind: each
    for each in (
        FileFormat("csv", "CSV", (".csv", ".tsv", ".tab", ".txt"), f"{_HERE}.csv", compressed=True),
        FileFormat(
            "jsonl",
            "JSON lines",
            (".jsonl", ".ndjson", ".json"),
            f"{_HERE}.json_lines",
            compressed=True,
        ),
        FileFormat("parquet", "Parquet", (".parquet", ".pq"), f"{_HERE}.parquet", (b"PAR1",)),
        FileFormat(
            "feather", "Arrow", (".feather", ".arrow", ".arrows", ".ipc"), f"{_HERE}.arrow", _ARROW
        ),
        FileFormat("sav", "SPSS", (".sav", ".zsav"), f"{_HERE}.labeled", (b"$FL2", b"$FL3")),
        FileFormat("dta", "Stata", (".dta",), f"{_HERE}.labeled", (b"<stata_dta>",)),
        FileFormat(
            "xlsx", "Excel", (".xlsx", ".xlsm"), f"{_HERE}.excel", (b"PK\x03\x04",), sheets=True
        ),
    )
}


def name_one() -> Sentence:
    """Return the advice for a file that cannot be read: the formats that can."""
    *others, last = (each.spoken for each in FORMATS.values())
    return sentence("encoding.name-one", formats=others, last=last)
