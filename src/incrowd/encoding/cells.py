"""Cells as texts: what a value of Python, of a spreadsheet or of a data frame is in a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.survey import NONE, SEPARATOR

EXACT = 2.0**53  # whole numbers below are their own floating-point numbers


def text_column(values: Sequence[Any]) -> pa.Array:
    """A column of texts; of lists, if there are any. None is missing."""
    if any(isinstance(value, list | tuple) for value in values):
        return pa.array([_list(value) for value in values], pa.list_(pa.string()))
    return pa.array([as_text(value) for value in values], pa.string())


def _list(value: Any) -> list[str | None] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        value = split(pa.array([as_text(value)]))[0].as_py()
    return [as_text(item) for item in value]


def as_text(value: Any) -> str | None:
    """One value as it stands in a CSV file: numbers without a needless point, true and false."""
    if value is None or (isinstance(value, float | np.floating) and value != value):
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and _is_whole_number(float(value)):
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def _is_whole_number(value: float) -> bool:
    return value.is_integer() and abs(value) < EXACT


def texts_of(column: pa.Array) -> pa.Array:
    """The cells as texts without space around them."""
    return pc.utf8_trim_whitespace(pc.cast(column, pa.string()))


def by_value(
    column: pa.Array, function: Callable[[pa.Array], np.ndarray], missing: object
) -> np.ndarray:
    """A function of each row, worked out once for every value that there is."""
    rows, values = distinct(column)
    return np.asarray(np.concatenate([function(values), [missing]])[rows])


def distinct(column: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Of each row the place of its value among the values that there are, -1 for null."""
    found = column.dictionary_encode()
    places = found.indices
    if not pa.types.is_signed_integer(places.type):  # of other libraries
        places = pc.cast(places, pa.int64())
    return pc.fill_null(places, -1).to_numpy(zero_copy_only=False), found.dictionary


def index(text: pa.Array, values: Sequence[str]) -> np.ndarray:
    """The place of each text among the values, -1 where it is none of them.

    Where all values are whole numbers, 1.0 is 1: pandas writes a column with gaps like that.
    """
    if values and all(map(is_whole, values)):
        text = without_point(text)
    found = pc.index_in(text, value_set=pa.array(values, pa.string()))
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False))


def is_whole(text: str) -> bool:
    """Whether a text is a whole number."""
    return text.removeprefix("-").isdecimal()


def without_point(text: pa.Array) -> pa.Array:
    """Whole numbers that are written with a point, as 1.0, without it."""
    return pc.replace_substring_regex(text, r"^(-?\d+)\.0+$", r"\1")


def split(column: pa.Array) -> pa.Array:
    """Texts with several options in them as lists."""
    text = texts_of(column)
    empty = pc.is_in(text, value_set=pa.array(["", NONE], pa.string()))
    nothing = pa.scalar([], pa.list_(pa.string()))
    return pc.if_else(empty, nothing, pc.split_pattern(text, SEPARATOR))


def items(column: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """What is in the lists of a column, and in which row each stands; null lists have nothing."""
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    return pc.list_flatten(column), np.repeat(np.arange(len(column)), sizes)


def is_list(kind: pa.DataType) -> bool:
    """Whether each cell of that type is a list."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))
