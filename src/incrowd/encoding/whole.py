"""All columns of a file or a data frame, with what it says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from incrowd.encoding.formats import arrow, csv, excel, json_lines, labelled
from incrowd.encoding.frames import as_table, is_frame
from incrowd.encoding.sources import Source, readable


@dataclass(frozen=True)
class Data:
    """Every column as it stands, and of some their wording, labels and codes for no answer."""

    table: pa.Table
    texts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def load_data(answers: Source | Any) -> Data:
    """All of a file, held in memory, or of a data frame. Raises AnswersError as `load_answers`."""
    if is_frame(answers):
        return Data(as_table(answers))
    source: Source = answers
    with readable(source.name):
        if source.kind in ("sav", "dta"):
            found = labelled.labelled(source)
            return Data(pa.table(found.columns), found.texts, found.labels, found.missing)
        return Data(_table(source))


def _table(source: Source) -> pa.Table:
    if source.kind == "csv":
        layout = csv.layout(source)
        pieces = [piece for piece, _ in csv.pieces(source, layout)]
        empty = pa.schema([(name, pa.string()) for name in layout.columns])
        table = pa.Table.from_batches(pieces, None if pieces else empty)
        return csv.with_points(table) if layout.separator == ";" else table
    if source.kind == "parquet":
        with source.open() as file:
            return pa.parquet.read_table(file)
    readers = {"jsonl": json_lines.table, "feather": arrow.table, "xlsx": excel.table}
    return readers[source.kind](source)
