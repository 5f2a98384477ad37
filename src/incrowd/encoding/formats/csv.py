"""CSV with commas, semicolons, tabs, or vertical bars; every cell is read as text."""

from __future__ import annotations

import codecs
import csv
import io
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from incrowd.catalog.sentences import sentence
from incrowd.encoding.formats.header import (
    LOOKED_AT,
    Row,
    TableHeader,
    header_of,
    rows_after,
    shortened,
)
from incrowd.encoding.formats.reader import Content, Pieces, Reader, Request, pieces_of
from incrowd.encoding.sources import ROW_BYTES, AnswersSource
from incrowd.errors import AnswersError, Place

SEPARATORS = ",;\t|"
LONGEST_AFTER = 1 << 16  # characters of a row below a table
_COMMA = r"^([+-]?\d+),(\d+)$"
_NUMBERS = r"^([+-]?\d+(,\d+)?)?$"
_THOUSANDS = r"^[+-]?\d{1,3},\d{3}$"
_EXCEL_HINT = re.compile(r'"?sep=([^\r\n])"?\r?\n', re.IGNORECASE)  # names the separator
_log = logging.getLogger(__name__)


class CsvLayout(NamedTuple):
    """The layout of a file: its separator, its columns, and where the answers begin.

    start: the number of bytes before the first answer, in UTF-8. fits: whether most of the first
    rows have a cell for each column. empty: whether nothing follows the header, which pyarrow would
    refuse. after: the rows at the end of the file that are not people, shortened. cut: the number
    of bytes of these and of empty rows, in UTF-8.
    """

    separator: str
    header: TableHeader
    start: int
    fits: bool = True
    empty: bool = False
    after: tuple[str, ...] = ()
    cut: int = 0

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [*self.header.names]


def layout(source: AnswersSource, wanted: Sequence[str] = ()) -> CsvLayout:
    """Return the layout that gives the most wanted columns and, among these, the most columns with
    a name: decimal commas may also divide each row into equally many cells.

    Raises AnswersError if the first row has answers and not names.
    """
    with source.open() as file:
        start = pa.input_stream(file, compression=source.compression).read(ROW_BYTES)
    if source.encoding is None:
        start.partition(b"\n")[0].decode("utf-8")  # strict; below, the last letter may be cut
    marked = start.decode(source.encoding or "utf-8", errors="ignore")
    text = marked.removeprefix("\ufeff")
    whole = len(start) < ROW_BYTES
    hint = _EXCEL_HINT.match(text)
    separators = hint[1] if hint else SEPARATORS
    layouts = [_layout(text, hint.end() if hint else 0, each, wanted, whole) for each in separators]
    best = max(
        layouts,
        key=lambda each: (
            len({*wanted} & {*each.columns}),
            each.fits,
            sum(map(bool, each.columns)),
            -len(each.header.skipped),
        ),
    )
    _log.debug("%s: CSV with %r between the cells", source.name, best.separator)
    if best.header.answers:
        raise AnswersError.of(source.name, "encoding.no-header", value=best.header.answers)
    mark = len("\ufeff".encode()) * (marked != text)
    return _without_end(source, best._replace(start=best.start + mark))


def _layout(text: str, begin: int, separator: str, wanted: Sequence[str], whole: bool) -> CsvLayout:
    """Return the layout of a text that has a certain separator. whole: whether it is not cut."""
    rows, ends = _first_rows(text, begin, separator)
    if not whole and len(rows) > 1 and ends[-1] >= len(text):
        rows.pop()
    header = header_of(rows, wanted)
    end = ends[min(header.first, len(ends)) - 1] if ends else begin
    header = replace(header, names=_for_all_cells(header.names, rows, header.first))
    fitting = [len(row) == len(header.names) for row in rows[header.first :] if row]
    fits = 2 * sum(fitting) >= len(fitting)
    empty = whole and not text[end:].strip()
    return CsvLayout(separator, header, len(text[:end].encode()), fits, empty)


def _first_rows(text: str, begin: int, separator: str) -> tuple[list[list[str]], list[int]]:
    """Return the first rows of a text, and where each of them ends."""
    lines = io.StringIO(text, newline="")
    lines.seek(begin)
    rows, ends = [], []
    with suppress(csv.Error):  # a cell of more than 128 KiB
        for row in islice(csv.reader(lines, delimiter=separator), LOOKED_AT):
            rows.append(row)
            ends.append(lines.tell())
    return rows, ends


def _for_all_cells(names: Sequence[str], rows: Sequence[Row], first: int) -> tuple[str, ...]:
    """Return a name for each cell of a row; "" for cells beyond the header, if all rows have them.

    R writes the names of rows below no name: then the first column has none, and counts the rows.
    """
    people = [row for row in rows[first:] if row]
    stated = max((len(row) for row in rows[:first]), default=0)
    lengths = {len(row) for row in people}
    width = max(lengths) if len(lengths) == 1 and max(lengths) > stated else stated
    if width == stated + 1 and any(row[-1].strip() for row in people):
        counted = [row[0].strip() for row in people] == [str(n + 1) for n in range(len(people))]
        return ("", *names[:stated]) if counted else tuple(names[:stated])
    return tuple([*names, *[""] * (width - len(names))][:width])


def _without_end(source: AnswersSource, laid_out: CsvLayout) -> CsvLayout:
    """Return the layout without the rows at the end that are not people, and without rows in which
    all cells are empty, as spreadsheets write them for rows that were cleared."""
    lines = [*io.StringIO(_end(source, laid_out.start), newline="")]
    empty = f"{laid_out.separator} \t\r\n"
    filled = next((n for n in range(len(lines), 0, -1) if lines[n - 1].strip(empty)), 0)
    rows: list[Row] = []
    for line in reversed(lines[max(0, filled - LOOKED_AT) : filled]):
        if line.count('"') % 2 or len(line) > LONGEST_AFTER:  # a part of a cell of several lines
            break
        cells = next(csv.reader([line], delimiter=laid_out.separator), [])
        rows.insert(0, [cell.strip() for cell in cells])
    after = rows_after(rows) if len(laid_out.columns) > 1 else 0
    left_out = rows[len(rows) - after :] if after else []
    texts = tuple(shortened(row) for row in left_out if any(row))
    cut = len("".join(lines[filled - after :]).encode())
    return laid_out._replace(after=texts, cut=cut)


def _end(source: AnswersSource, start: int) -> str:
    """Return the end of a text. start: the number of bytes that are never a part of it."""
    with source.open() as file:
        if source.compression or source.encoding:
            cells: Any = pa.input_stream(file, compression=source.compression)
            end = before = b""
            while piece := cells.read(ROW_BYTES):
                before, end = end, piece
            tail, whole = before + end, len(before) < ROW_BYTES
        else:
            first = max(start, file.size() - ROW_BYTES)
            file.seek(first)
            tail, whole = file.read(), False
    text = tail.decode(source.encoding or "utf-8", errors="ignore")
    return text.encode()[start:].decode() if whole else text


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
    """Yield the wanted columns of the rows of people, or all columns."""
    if laid_out.empty:
        return
    cleared = _has_cleared_rows(source, laid_out)
    with source.open() as file:
        cells = pa.input_stream(file, compression=source.compression)
        text = _people(source, laid_out, file, cells)
        batches = pa.csv.open_csv(
            text,
            read_options=pa.csv.ReadOptions(
                block_size=ROW_BYTES, column_names=laid_out.columns, use_threads=False
            ),
            parse_options=pa.csv.ParseOptions(delimiter=laid_out.separator),
            convert_options=_as_text(laid_out, () if cleared else wanted),
        )
        read = 0
        for batch in batches:
            read += batch.nbytes
            if cleared:
                batch = _without_empty(batch, wanted)
            yield batch, min(read, source.stored) if laid_out.cut else file.tell()


def _has_cleared_rows(source: AnswersSource, laid_out: CsvLayout) -> bool:
    """Return whether a line has nothing but separators, as spreadsheets write cleared rows.

    Such a row is not a person. Only then are all columns needed to know which rows are people.
    """
    separators = laid_out.separator * (len(laid_out.columns) - 1)
    if not separators:
        return False  # pyarrow leaves out empty lines
    with source.open() as file:
        cells = pa.input_stream(file, compression=source.compression)
        text, before = _people(source, laid_out, file, cells), b"\n"
        while piece := text.read(ROW_BYTES):
            searched = before + piece
            if any(f"\n{separators}{end}".encode() in searched for end in "\r\n"):
                return True
            before = searched[-len(separators) - 1 :]
    return False


def _without_empty(batch: pa.RecordBatch, wanted: Sequence[str]) -> pa.RecordBatch:
    """Return the rows that have a cell, and of these the wanted columns, or all."""
    filled = reduce(pc.or_, (column.is_valid() for column in batch.columns))
    rows = batch.filter(filled)
    return rows.select(list(wanted)) if wanted else rows


# The text is decoded before pyarrow reads it, and its cells are counted by Python's own csv module:
# pyarrow reads ahead in threads. Where these call Python, and the process ends in the meantime, it
# is aborted (apache/arrow#34314).


def _people(
    source: AnswersSource, laid_out: CsvLayout, file: pa.NativeFile, cells: pa.NativeFile
) -> pa.NativeFile:
    """Return the rows of people, in UTF-8. cells: the file, decompressed, which closes the file if
    nothing refers to it."""
    stored = not source.encoding and not (source.compression and laid_out.cut)
    text = cells if stored else _in_utf8(cells, source.encoding or "utf-8")
    if laid_out.cut:
        text = (file if stored else text).get_stream(0, text.size() - laid_out.cut)
    text.read(laid_out.start)
    return text


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
        encoded = _people(source, laid_out, file, cells)
        text = io.TextIOWrapper(encoded, "utf-8", newline="")
        rows = csv.reader(_lines(text), delimiter=laid_out.separator)
        for number, row in enumerate((row for row in rows if any(row)), start=1):
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
        return pa.Table.from_batches([piece for piece, _ in self.content(source, Request()).pieces])

    def content(self, source: AnswersSource, request: Request) -> Content:
        """Return the content; the wanted columns are read lazily, all of them at once."""
        wanted = request.columns or ()
        laid_out = layout(source, wanted)
        header, names = laid_out.header, tuple(name for name in laid_out.columns if name)
        unnamed: tuple[str, ...] = ()
        if request.columns is None:
            table = _whole(source, laid_out)
            unnamed = tuple(_unnamed(table))
            read = pieces_of(_named(table), request)
        else:
            there = [name for name in wanted if name in names]
            read = pieces(source, laid_out, there, request.numbers)
        return Content(
            names,
            source.stored,
            read,
            unit="bytes",
            texts=header.texts,
            skipped=(*header.skipped, *laid_out.after),
            doubtful=header.doubtful,
            unnamed=unnamed,
        )


def _whole(source: AnswersSource, laid_out: CsvLayout) -> pa.Table:
    read = [piece for piece, _ in pieces(source, laid_out)]
    empty = pa.schema([(name, pa.string()) for name in laid_out.columns])
    table = pa.Table.from_batches(read, None if read else empty)
    return with_points(table) if laid_out.separator == ";" else table


def _unnamed(table: pa.Table) -> Iterator[str]:
    """Yield the places of columns that have answers and no name; row numbers are no answers."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if not name and column.null_count < len(column) and not (place == 0 and _is_index(column)):
            yield str(place + 1)


def _is_index(column: pa.ChunkedArray) -> bool:
    """Return whether texts number the rows, as data frames of pandas and R do in their files."""
    rows = np.arange(len(column))
    starts = [pa.array(rows + first).cast(pa.string()) for first in (0, 1)]
    return any(pc.all(pc.equal(column, each)).as_py() for each in starts)


def _named(table: pa.Table) -> pa.Table:
    return table.select([place for place, name in enumerate(table.column_names) if name])


READER = _Csv()
