"""CSV, with commas, semicolons, tabs or bars; every cell is the text that it is."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv

from incrowd.encoding.sources import ROW_BYTES, Source

SEPARATORS = ",;\t|"
EXCEL_SAYS = "sep="  # a first line that names the separator
_log = logging.getLogger(__name__)


class Layout(NamedTuple):
    """How a file is laid out: what stands between cells, lines before the header, columns."""

    separator: str
    skipped: int
    columns: list[str]


def layout(source: Source, wanted: Sequence[str] = ()) -> Layout:
    """The layout by which most of the wanted columns are found, and most columns."""
    with source.open() as file:
        start = pa.input_stream(file, compression=source.compression).read(ROW_BYTES)
    if source.encoding is None:
        start.partition(b"\n")[0].decode("utf-8")  # strictly: below, the last letter may be cut
    text = start.decode(source.encoding or "utf-8", errors="ignore").removeprefix("\ufeff")
    first, _, rest = text.partition("\n")
    if first.startswith(EXCEL_SAYS) and first[len(EXCEL_SAYS) :].strip("\r"):
        separator = first[len(EXCEL_SAYS)]
        return Layout(separator, 1, _header(rest, separator))
    found = [Layout(separator, 0, _header(text, separator)) for separator in SEPARATORS]
    best = max(found, key=lambda each: (len({*wanted} & {*each.columns}), len(each.columns)))
    _log.debug("%s: CSV with %r between the cells", source.name, best.separator)
    return best


def _header(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # a cell of more than 128 KiB
        return []


def pieces(
    source: Source, found: Layout, wanted: Sequence[str]
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The wanted columns, piece by piece, each with how many bytes were read up to its end."""
    block = pa.csv.ReadOptions(
        block_size=ROW_BYTES, encoding=source.encoding or "utf8", skip_rows=found.skipped
    )
    parsing = pa.csv.ParseOptions(delimiter=found.separator)
    with source.open() as file:
        cells = pa.input_stream(file, compression=source.compression)
        for batch in pa.csv.open_csv(
            cells, read_options=block, parse_options=parsing, convert_options=_as_text(wanted)
        ):
            yield batch, file.tell()


def _as_text(columns: Sequence[str]) -> pa.csv.ConvertOptions:
    """Every cell as the text that it is: nobody guesses what it means."""
    return pa.csv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
