"""A file or a data frame of answers -> a draft of the survey that they answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.drafts import redcap, xlsform
from incrowd.drafts.columns import Column, Found, LeftOut, question_of
from incrowd.drafts.draft import Draft
from incrowd.encoding.answers import load_data
from incrowd.encoding.cells import by_value, is_list, texts_of, without_point
from incrowd.encoding.formats import excel
from incrowd.encoding.formats.reader import Data
from incrowd.encoding.frames import is_frame
from incrowd.encoding.sources import Source, readable, source_of
from incrowd.errors import AnswersError, InWords

MADE_OF_DATA = (
    "options and edges are facts about the data: look at them before anybody else reads the survey"
)
SMALL = 1000  # people, below which tables are of little use


def draft_of(name: str, data: Data) -> Draft:
    """A question for each column, as far as its values tell. Raises AnswersError without rows."""
    table = data.table
    if table.num_rows < 2:
        rows = InWords("one row" if table.num_rows else "no rows")
        raise AnswersError.of("answers", rows, "at least two answered rows are needed")
    found = tuple(_found(data, place) for place in range(table.num_columns))
    few = f"{table.num_rows:,} people are few: `incrowd plan` says how large the errors are"
    notes = (MADE_OF_DATA, few) if table.num_rows < SMALL else (MADE_OF_DATA,)
    return Draft(name, table.num_rows, found, notes)


def _found(data: Data, place: int) -> Found:
    """What a column makes: nothing, if others have its name."""
    names = data.table.column_names
    if names.count(names[place]) > 1:
        return LeftOut(names[place], f"{names.count(names[place])} columns have this name: rename")
    return question_of(_column(data, place))


def _column(data: Data, place: int) -> Column:
    name, cells = data.table.column_names[place], data.table.column(place).combine_chunks()
    lists = is_list(cells.type)
    items = pc.list_flatten(cells) if lists else cells
    counts = _counts(items)
    nothing = cells.null_count if lists else len(cells) - sum(counts.values())
    most = int(pc.max(pc.list_value_length(cells)).as_py() or 1) if lists else 0
    about = (data.texts.get(name, ""), data.labels.get(name, {}), data.missing.get(name, ()))
    return Column(name, counts, len(cells), nothing, most, *about)


def _counts(cells: pa.Array) -> Mapping[str, int]:
    """In how many rows each text stands; empty ones are no answer."""
    kind = cells.type
    if pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_binary(kind):
        return {}
    texts = pa.array(by_value(cells, _texts, None), pa.string())
    found = pc.value_counts(pc.drop_null(texts))
    values, counts = found.field("values").to_pylist(), found.field("counts").to_pylist()
    return {value: n for value, n in zip(values, counts, strict=True) if value}


def _texts(distinct: pa.Array) -> np.ndarray:
    return np.array(without_point(texts_of(distinct)).to_pylist(), object)


# Answers, or a questionnaire of other software -> a draft of a survey.


NAME = "Survey"


def draft(
    answers: str | Path | IO[bytes] | Any,
    *,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Draft:
    """A survey written from data, or from a questionnaire: `toml` is its text.

    answers, format, encoding, sheet: as for `load_answers`. Of data the values decide (of SPSS and
    Stata files the labels, wording and codes for no answer too); an XLSForm workbook and a REDCap
    data dictionary are known by their columns. `undecided` says what nobody could know. Raises
    AnswersError if the file cannot be read, or nothing in it makes a question.
    """
    if is_frame(answers):
        return _asking(draft_of(NAME, load_data(answers)))
    source = source_of(answers, format, encoding, sheet)
    name = source.path.name.split(".")[0] or NAME
    return _asking(_form(name, source) or _data(name, source))


def _asking(made: Draft) -> Draft:
    """The draft. Raises AnswersError if there is no question in it."""
    if not made.asked:
        reasons = "; ".join(f"{gone.id} {gone.reason}" for gone in made.left_out[:3])
        works = f"name another file: {reasons}" if reasons else "name another file"
        raise AnswersError.of("answers", InWords("no column makes a question"), works)
    return made


def _form(name: str, source: Source) -> Draft | None:
    if source.kind != "xlsx" or source.sheet is not None:
        return None
    with readable(source.name):
        sheets = excel.sheets(source)
    return xlsform.draft_of(name, sheets) if xlsform.is_xlsform(sheets) else None


def _data(name: str, source: Source) -> Draft:
    found = load_data(source)
    if redcap.is_dictionary(found.table.column_names):
        return redcap.draft_of(name, found.table.to_pylist())
    return draft_of(name, found)
