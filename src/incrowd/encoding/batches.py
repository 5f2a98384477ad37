"""Answers from files of any size, a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa

from incrowd.encoding.answers import PIECE_BYTES, Read, check_rows, read, size
from incrowd.encoding.sources import Source, readable, source_of
from incrowd.survey import Survey


class Batches(NamedTuple):
    """Answers piece by piece.

    size, unit: how much there is to read, in bytes (CSV) or rows. tables: of the
    questions' columns, each with how much was read since the table before.
    """

    size: int
    unit: str
    tables: Iterator[tuple[pa.Table, int]]


def load_batches(
    answers: str | Path | IO[bytes] | Source,
    survey: Survey,
    rows: int,
    *,
    format: str | None = None,
    encoding: str | None = None,
) -> Batches:
    """Read a file of answers, `rows` at a time, at the end what is left.

    Where answers are long there are fewer rows in a table. What a cell means and what is an error
    are as in `load_answers`; an error further back in the file is raised when the tables come to
    it.
    """
    source = source_of(answers, format, encoding)
    with readable(source.name):
        whole, unit = size(source)
        pieces = read(source, survey, rows=rows)
    return Batches(whole, unit, _tables(source.name, rows, pieces))


def _tables(name: str, rows: int, read: Read) -> Iterator[tuple[pa.Table, int]]:
    """Pieces of any size as tables of `rows` rows, or of PIECE_BYTES, at the end what is left."""
    held, seen, position = pa.table({}), 0, 0
    with readable(name):
        for batch, position in read:
            table = pa.Table.from_batches([batch])
            held = pa.concat_tables([held, table]) if held.num_rows else table
            while held.num_rows >= rows or held.nbytes >= PIECE_BYTES:
                yield held.slice(0, rows), position - seen
                held, seen = held.slice(rows), position
    check_rows(held.num_rows + seen)
    if held.num_rows:
        yield held, position - seen
