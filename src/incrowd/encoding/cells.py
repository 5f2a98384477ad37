"""Cells as texts: what a value of Python, of a spreadsheet or of a data frame is in a CSV file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.survey import NONE, SEPARATOR, AnyQuestion, Codes

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


# Cells that are written in codes: what they stand for.


class Decoded(NamedTuple):
    """A column of answers. unknown: the rows that hold neither a code nor an answer."""

    column: pa.Array
    unknown: np.ndarray


def decoded(question: AnyQuestion, codes: Codes, column: pa.Array) -> Decoded:
    """The answers that the codes of a column stand for; no answer is null."""
    if not (codes.values or codes.missing):
        return Decoded(column, np.zeros(len(column), bool))
    if is_list(column.type):
        return _items(question, codes, column)
    texts = texts_of(column)
    gone = pc.fill_null(_among(texts, codes.missing), False)
    kept = pc.if_else(gone, pa.scalar(None, texts.type), texts)
    if not question.exclusive:
        return _items(question, codes, split(_with_semicolons(question, codes, kept)))
    return _replaced(question, codes, kept)


def code_list(codes: Codes, most: int = 12) -> str:
    """What may stand in a file, for a message."""
    shown = ", ".join(f"{code} ({answer})" for code, answer in list(codes.values.items())[:most])
    return shown if len(codes.values) <= most else f"{shown}, ... ({len(codes.values)} codes)"


def _with_semicolons(question: AnyQuestion, codes: Codes, texts: pa.Array) -> pa.Array:
    """Codes with spaces between them, as XLSForm's software writes them, as 1;2.

    Cells that hold something else stay as they are, and so does an option that reads like codes.
    """
    one = "|".join(map(re.escape, codes.values))
    several = pc.match_substring_regex(texts, rf"^(?:{one})(?:\s+(?:{one}))+$")
    option = pc.is_in(texts, value_set=pa.array([*question.choices, *codes.values], pa.string()))
    apart = pc.replace_substring_regex(texts, r"\s+", SEPARATOR)
    return pc.if_else(pc.and_not(several, option), apart, texts) if one else texts


def _items(question: AnyQuestion, codes: Codes, column: pa.Array) -> Decoded:
    """Every option of every list; a list in which a code stands for no answer is none."""
    flat, rows = items(column)
    flat = texts_of(flat)
    gone = pc.fill_null(_among(flat, codes.missing), False).to_numpy(zero_copy_only=False)
    missing = column.is_null().to_numpy(zero_copy_only=False).copy()
    missing[rows[gone]] = True
    kept = ~missing[rows]
    found = _replaced(question, codes, flat.filter(pa.array(kept)))
    sizes = np.bincount(rows[kept], minlength=len(column))
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    unknown = np.zeros(len(column), bool)
    unknown[rows[kept][found.unknown]] = True
    return Decoded(pa.ListArray.from_arrays(offsets, found.column, mask=pa.array(missing)), unknown)


def _replaced(question: AnyQuestion, codes: Codes, texts: pa.Array) -> Decoded:
    place = _place(texts, tuple(codes.values))
    answers = pa.array(list(codes.values.values()), pa.string())
    read = pc.if_else(pc.is_valid(place), pc.take(answers, place), texts) if codes.values else texts
    if not codes.values or not question.named:
        return Decoded(read, np.zeros(len(texts), bool))
    told = pc.utf8_lower(read) if question.any_case else read
    answered = pc.is_in(told, value_set=pa.array(question.substantive, pa.string()))
    unknown = pc.and_(pc.is_valid(texts), pc.invert(answered))
    return Decoded(read, unknown.to_numpy(zero_copy_only=False))


def _among(texts: pa.Array, codes: tuple[str, ...]) -> pa.Array:
    return pc.is_valid(_place(texts, codes))


def _place(texts: pa.Array, codes: tuple[str, ...]) -> pa.Array:
    """Which code a text is, as it stands or as a whole number written with a point; null if none.

    What pandas writes for 1 in a column with gaps is 1.0.
    """
    known = pa.array(codes, pa.string())
    exact = pc.index_in(texts, value_set=known)
    return pc.if_else(pc.is_valid(exact), exact, pc.index_in(without_point(texts), value_set=known))
