"""Data frames of any library that narwhals supports, as Arrow tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from incrowd.encoding.cells import text_column
from incrowd.encoding.sources import AnswersSource
from incrowd.errors import AnswersError, IncrowdError

ColumnChoice = Callable[[Sequence[str]], list[str]]  # of the names of all columns


def is_frame(answers: object) -> bool:
    """Return whether the answers are in memory, and not a path or a file to read."""
    return not (isinstance(answers, str | os.PathLike | AnswersSource) or hasattr(answers, "read"))


def as_table(frame: Any, chosen: ColumnChoice | None = None) -> pa.Table:
    """Return a data frame as an Arrow table, all columns or those that `chosen` picks by name.

    Raises AnswersError for anything but a data frame, and for columns that cannot be converted.
    """
    if isinstance(frame, pa.Table):
        return frame.select(chosen(frame.column_names)) if chosen else frame
    if isinstance(frame, pa.RecordBatch):
        return as_table(pa.Table.from_batches([frame]), chosen)
    if isinstance(frame, Mapping | Sequence):
        raise _no_frame(frame)
    try:
        read = nw.from_native(frame)
    except TypeError:
        return as_table(_stream(frame), chosen)
    except DuplicateError:
        raise _twice(frame) from None
    if isinstance(read, nw.LazyFrame):
        read = (read.select(chosen(read.collect_schema().names())) if chosen else read).collect(
            "pyarrow"
        )
    return _eager(read, chosen)


def _eager(frame: nw.DataFrame[Any], chosen: ColumnChoice | None) -> pa.Table:
    names = list(map(str, frame.columns))  # numbers in pandas
    wanted = chosen(names) if chosen else names
    named = dict(zip(names, frame.columns, strict=True))
    return pa.table({name: _column(frame.get_column(named[name])) for name in wanted})


def _column(series: nw.Series[Any]) -> pa.Array | pa.ChunkedArray:
    """Return a column; if its types are mixed, as text, written as in a CSV file."""
    try:
        column = series.to_arrow()
    except (pa.ArrowException, TypeError, ValueError):
        missing = series.is_null().to_list()
        cells = zip(series.to_list(), missing, strict=True)
        return text_column([None if gone else cell for cell, gone in cells])
    view = pa.types.is_string_view(column.type)
    return column.cast(pa.large_string()) if view else column


def _stream(frame: Any) -> pa.Table:
    """Read an object that exports an Arrow stream."""
    if not hasattr(frame, "__arrow_c_stream__"):
        raise _no_frame(frame)
    return pa.RecordBatchReader.from_stream(frame).read_all()


def _no_frame(frame: object) -> IncrowdError:
    return AnswersError.of("answers", "encoding.no-frame", type=type(frame).__name__)


def _twice(frame: Any) -> IncrowdError:
    names = list(map(str, frame.columns))
    name = next(name for name in names if names.count(name) > 1)
    return AnswersError.of("answers", "encoding.column-twice", name=name, times=names.count(name))
