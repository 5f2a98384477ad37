"""SPSS and Stata files: codes, their labels, and the codes that mean no answer."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from incrowd.encoding.formats.reader import Content, Reader, Request, pieces_of
from incrowd.encoding.sources import AnswersSource
from incrowd.encoding.spelling import as_text
from incrowd.errors import AnswersError, needing


def _read(source: AnswersSource, **options: Any) -> tuple[Any, Mapping[str, Sequence[Any]]]:
    """Return the metadata of a file, and the cells of its columns."""
    with needing("stats", AnswersError, source.name):
        import pyreadstat
    read: Any = pyreadstat.read_sav if source.kind == "sav" else pyreadstat.read_dta
    file = io.BytesIO(source.whole())
    values, about = read(file, output_format="dict", encoding=source.encoding, **options)
    return about, values


def _texts(labels: Mapping[Any, str]) -> dict[str, str]:
    return {as_text(code) or "": label.strip() for code, label in labels.items()}


def _column(cells: Sequence[Any]) -> pa.Array:
    """Return a column of codes as text; with fractions, of numbers, which have many spellings."""
    if any(isinstance(cell, float) and not cell.is_integer() for cell in cells):
        return pa.array(cells, pa.float64())
    return pa.array([None if cell == "" else as_text(cell) for cell in cells], pa.string())


def _missing(about: Any, name: str) -> tuple[str, ...]:
    """Return the codes that a column declares missing: single ones, and labeled ones in ranges."""
    ranges = about.missing_ranges.get(name, ())
    labeled = about.variable_value_labels.get(name, {})
    single = [each["lo"] for each in ranges if each["lo"] == each["hi"]]
    within = [
        code
        for code in labeled
        for each in ranges
        if isinstance(code, type(each["lo"])) and each["lo"] <= code <= each["hi"]
    ]
    user = about.missing_user_values.get(name, ())
    return tuple(dict.fromkeys(as_text(code) or "" for code in [*single, *within, *user]))


class _Labeled(Reader):
    def table(self, source: AnswersSource) -> pa.Table:
        """Return all columns, as codes."""
        return pa.Table.from_batches([piece for piece, _ in self.content(source, Request()).pieces])

    def content(self, source: AnswersSource, request: Request) -> Content:
        """Return the content: codes as text (fractions as numbers), without those that the file
        declares missing; the wording, labels and codes for no answer."""
        about, _ = _read(source, metadataonly=True, user_missing=True)
        names = tuple(name for name in about.column_names if name)
        chosen = request.chosen(names)
        values = _read(source, usecols=chosen)[1] if chosen else {}
        table = pa.table({name: _column(cells) for name, cells in values.items()})
        return Content(
            names,
            table.num_rows,
            pieces_of(table, request),
            texts={name: text for name, text in about.column_names_to_labels.items() if text},
            labels={name: _texts(labels) for name, labels in about.variable_value_labels.items()},
            missing={name: _missing(about, name) for name in chosen},
        )


READER = _Labeled()
