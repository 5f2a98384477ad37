"""CSV with commas, semicolons, tabs, or vertical bars; every cell is read as text."""

from __future__ import annotations

import codecs
import csv
import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from incrowd.catalog.sentences import sentence
from incrowd.encoding.formats.reader import Content, Pieces, Reader, Request
from incrowd.encoding.sources import ROW_BYTES, AnswersSource
from incrowd.errors import AnswersError, Place

SEPARATORS = ",;\t|"
_COMMA = r"^([+-]?\d+),(\d+)$"
_NUMBERS = r"^([+-]?\d+(,\d+)?)?$"
_THOUSANDS = r"^[+-]?\d{1,3},\d{3}$"
EXCEL_HINT = "sep="  # the beginning of a first line that names the separator
_log = logging.getLogger(__name__)


class CsvLayout(NamedTuple):
    """The layout of a file: its separator, the number of lines before the header, its columns."""

    separator: str
    skipped: int
    columns: list[str]


def layout(source: AnswersSource, wanted: Sequence[str] = ()) -> CsvLayout:
    """Return the layout that gives the most wanted columns and, among these, the most columns."""
    with source.open() as file:
        start = pa.input_stream(file, compression=source.compression).read(ROW_BYTES)
    if source.encoding is None:
        start.partition(b"\n")[0].decode("utf-8")  # strict; below, the last letter may be cut
    text = start.decode(source.encoding or "utf-8", errors="ignore").removeprefix("\ufeff")
    first, _, rest = text.partition("\n")
    if first.startswith(EXCEL_HINT) and first[len(EXCEL_HINT) :].strip("\r"):
        separator = first[len(EXCEL_HINT)]
        return CsvLayout(separator, 1, _header(rest, separator))
    layouts = [CsvLayout(separator, 0, _header(text, separator)) for separator in SEPARATORS]
    best = max(layouts, key=lambda each: (len({*wanted} & {*each.columns}), len(each.columns)))
    _log.debug("%s: CSV with %r between the cells", source.name, best.separator)
    return best


def _header(text: str, separator: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:  # a cell of more than 128 KiB
        return []


def pieces(
    source: AnswersSource,
    laid_out: CsvLayout,
    wanted: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield the wanted columns, or all, in pieces, each with the number of bytes read so far.

    numbers: columns that may have decimal commas if semicolons separate the cells.
    """
    decimals: dict[str, bool] = dict.fromkeys(numbers if laid_out.separator == ";" else (), False)
    try:
        for batch, position in _batches(source, laid_out, wanted):
            yield _with_points(batch, decimals) if decimals else batch, position
    except pa.ArrowInvalid:
        _check_cells(source, laid_out)
        raise


def _batches(source: AnswersSource, laid_out: CsvLayout, wanted: Sequence[str]) -> Pieces:
    with source.open() as file:
        cells = pa.input_stream(file, compression=source.compression)
        for batch in pa.csv.open_csv(
            _in_utf8(cells, source.encoding) if source.encoding else cells,
            read_options=pa.csv.ReadOptions(
                block_size=ROW_BYTES, skip_rows=laid_out.skipped, use_threads=False
            ),
            parse_options=pa.csv.ParseOptions(delimiter=laid_out.separator),
            convert_options=_as_text(laid_out, wanted),
        ):
            yield batch, file.tell()


# The text is decoded before pyarrow reads it, and its cells are counted by Python's own csv module:
# pyarrow reads ahead in threads. Where these call Python, and the process ends in the meantime, it
# is aborted (apache/arrow#34314).


def _in_utf8(cells: pa.NativeFile, encoding: str) -> pa.NativeFile:
    """Return the whole text in UTF-8, in memory."""
    decoder = codecs.getincrementaldecoder(encoding)()
    text = pa.BufferOutputStream()
    while piece := cells.read(ROW_BYTES):
        text.write(decoder.decode(piece).encode())
    text.write(decoder.decode(b"", final=True).encode())
    return pa.BufferReader(text.getvalue())


def _check_cells(source: AnswersSource, laid_out: CsvLayout) -> None:
    """Raise AnswersError about the first row whose number of cells differs from the header's."""
    named = len(laid_out.columns)
    with source.open() as file, suppress(csv.Error, UnicodeDecodeError):
        cells = pa.input_stream(file, compression=source.compression)
        text = io.TextIOWrapper(cells, source.encoding or "utf-8-sig", newline="")
        rows = csv.reader(_lines(text), delimiter=laid_out.separator)
        filled = (row for row in rows if row)
        for number, row in enumerate(islice(filled, laid_out.skipped + 1, None), start=1):
            if len(row) != named:
                advice = sentence("encoding.add-cells")
                if len(row) > named:
                    advice = sentence("encoding.quote-cell", separator=laid_out.separator)
                raise AnswersError.of(
                    (source.name, Place("row", number)),
                    "encoding.number-of-cells",
                    value=laid_out.separator.join(row),
                    cells=len(row),
                    columns=named,
                    advice=advice,
                ) from None


def _lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield lines, up to the first one that is too long for a row."""
    while (line := text.readline(ROW_BYTES)) and len(line) < ROW_BYTES:
        yield line


def _with_points(batch: pa.RecordBatch, decimals: dict[str, bool]) -> pa.RecordBatch:
    """Replace decimal commas with points in the columns in which they are certain to be that.

    decimals: these columns, and whether an earlier piece has shown it; updated in place.
    """
    names, columns = batch.schema.names, dict(zip(batch.schema.names, batch.columns, strict=True))
    for name in decimals.keys() & columns.keys():
        cells = pointed(columns[name], sure=decimals[name])
        decimals[name] |= cells is not columns[name]
        columns[name] = cells
    return pa.RecordBatch.from_arrays(list(columns.values()), names=names)


def with_points(table: pa.Table) -> pa.Table:
    """Replace decimal commas in all columns that contain only numbers."""
    for place, name in enumerate(table.column_names):
        texts = pc.utf8_trim_whitespace(table.column(place))
        if pc.all(pc.match_substring_regex(texts, _NUMBERS)).as_py():
            table = table.set_column(place, name, pointed(texts))
    return table


def pointed(cells: pa.Array, *, sure: bool = False) -> pa.Array:
    """Replace decimal commas, as in 3,5, with points.

    The cells stay unchanged if a number has a point, or if all commas could separate thousands, as
    in 3,500. sure: whether the commas are already known to be decimal commas.
    """
    texts = pc.utf8_trim_whitespace(cells)
    commas = pc.match_substring_regex(texts, _COMMA)
    points = pc.match_substring_regex(texts, r"^[+-]?\d*\.\d")
    decimals = pc.and_not(commas, pc.match_substring_regex(texts, _THOUSANDS))
    if not (sure or pc.any(decimals).as_py()) or pc.any(points).as_py():
        return cells
    return pc.replace_substring_regex(texts, _COMMA, r"\1.\2")


def _as_text(laid_out: CsvLayout, wanted: Sequence[str]) -> pa.csv.ConvertOptions:
    """Return options that read every cell as text, without guessing its type."""
    return pa.csv.ConvertOptions(
        include_columns=list(wanted),
        column_types=dict.fromkeys(wanted or laid_out.columns, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


class _Csv(Reader):
    def table(self, source: AnswersSource) -> pa.Table:
        """Return all columns; with decimal commas replaced if semicolons separate the cells."""
        laid_out = layout(source)
        read = [piece for piece, _ in pieces(source, laid_out)]
        empty = pa.schema([(name, pa.string()) for name in laid_out.columns])
        table = pa.Table.from_batches(read, None if read else empty)
        return with_points(table) if laid_out.separator == ";" else table

    def content(self, source: AnswersSource, request: Request) -> Content:
        """Return the content; the wanted columns are read lazily."""
        if request.columns is None:
            return super().content(source, request)
        laid_out = layout(source, request.columns)
        there = [name for name in request.columns if name in laid_out.columns]
        read = pieces(source, laid_out, there, request.numbers)
        return Content(tuple(laid_out.columns), source.stored, read, unit="bytes")


READER = _Csv()
