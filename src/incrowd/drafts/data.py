"""A file or a data frame of answers -> a draft of the survey that they answer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.drafts.columns import Column, question_of
from incrowd.drafts.draft import Draft
from incrowd.drafts.found import Found, LeftOut
from incrowd.encoding.cells import by_value, is_list, texts_of, without_point
from incrowd.encoding.whole import Data
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
