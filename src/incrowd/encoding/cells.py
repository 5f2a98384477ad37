"""Columns of cells as text, and the codes in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.encoding.spelling import as_text
from incrowd.survey import NONE, SEPARATOR, AnyQuestion, Codes


def text_column(values: Sequence[Any]) -> pa.Array:
    """Return a column of texts, or of lists if the values contain any. None is missing."""
    if any(isinstance(value, list | tuple) for value in values):
        return pa.array([_list(value) for value in values], pa.list_(pa.string()))
    return pa.array([as_text(value) for value in values], pa.string())


def _list(value: Any) -> list[str | None] | None:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        value = split(pa.array([as_text(value)]))[0].as_py()
    return [as_text(item) for item in value]


def texts_of(column: pa.Array) -> pa.Array:
    """Return the cells as text without surrounding white space."""
    return pc.utf8_trim_whitespace(pc.cast(column, pa.string()))


def by_value(
    column: pa.Array, function: Callable[[pa.Array], np.ndarray], missing: object
) -> np.ndarray:
    """Apply a function to each row, computed once per distinct value."""
    rows, values = distinct(column)
    return np.asarray(np.concatenate([function(values), [missing]])[rows])


def distinct(column: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """Return the index of each row's value among the distinct values (-1 for null), and these."""
    encoded = column.dictionary_encode()
    places = encoded.indices
    if not pa.types.is_signed_integer(places.type):  # of other libraries
        places = pc.cast(places, pa.int64())
    return pc.fill_null(places, -1).to_numpy(zero_copy_only=False), encoded.dictionary


def index(text: pa.Array, values: Sequence[str]) -> np.ndarray:
    """Return the index of each text among the values, -1 if it is not one of them.

    1.0 counts as 1, since pandas writes columns with gaps so; but not beside a value such as 1.1.
    """
    places = _place_of_answer(text, values)
    return np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False))


def without_point(text: pa.Array) -> pa.Array:
    """Return texts with whole numbers such as 1.0 written without a point."""
    return pc.replace_substring_regex(text, r"^(-?\d+)\.0+$", r"\1")


def split(column: pa.Array, separator: str = SEPARATOR, options: Collection[str] = ()) -> pa.Array:
    """Split texts with several options into lists. Separators at the ends, which some software
    writes after every option, separate nothing. A space is any white space.

    options: those that may contain the separator, and are not split.
    """
    text = texts_of(column)
    if separator == " ":
        text = pc.replace_substring_regex(text, r"\s+", separator)
    inside = sorted((each for each in options if separator in each), key=len, reverse=True)
    for option in inside:
        text = pc.replace_substring(text, option, option.replace(separator, HELD))
    if not separator.strip().isalpha():  # a word such as "and"
        text = pc.utf8_trim(text, f"{separator} \t\r\n")
    empty = pc.is_in(text, value_set=pa.array(["", NONE], pa.string()))
    nothing = pa.scalar([], pa.list_(pa.string()))
    lists = pc.if_else(empty, nothing, pc.split_pattern(text, separator))
    return _with_separator(lists, separator) if inside else lists


HELD = "\ufdd0"  # no character; in the place of a separator within an option


def _with_separator(lists: pa.Array, separator: str) -> pa.Array:
    flat, rows = items(lists)
    sizes = np.bincount(rows, minlength=len(lists))
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    whole = pc.replace_substring(flat, HELD, separator)
    return pa.ListArray.from_arrays(offsets, whole, mask=lists.is_null())


def items(column: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Return the items of the lists of a column, and the row of each; null lists have no items."""
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    return pc.list_flatten(column), np.repeat(np.arange(len(column)), sizes)


def is_list(kind: pa.DataType) -> bool:
    """Return whether each cell of that type is a list."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


# Cells with codes.


class Decoded(NamedTuple):
    """A column of answers. unknown: a mask of the rows with neither a code nor an answer."""

    column: pa.Array
    unknown: np.ndarray


def decoded(question: AnyQuestion, codes: Codes, column: pa.Array) -> Decoded:
    """Replace the codes of a column with answers; codes for no answer become null."""
    if not (codes.values or codes.missing):
        return Decoded(column, np.zeros(len(column), bool))
    if is_list(column.type):
        return _items(question, codes, column)
    texts = texts_of(column)
    gone = pc.fill_null(_among(texts, codes.missing), False)
    present = pc.if_else(gone, pa.scalar(None, texts.type), texts)
    if not question.exclusive:
        return _items(question, codes, split(_with_semicolons(question, codes, present)))
    return _replaced(question, codes, present)


def code_list(codes: Codes, most: int = 12) -> Sentence | list[str]:
    """Return the allowed codes, for a message."""
    listed = [f"{code} ({answer})" for code, answer in codes.values.items()]
    if len(listed) <= most:
        return listed
    return sentence("encoding.first-codes", codes=listed[:most], number=len(listed))


def _with_semicolons(question: AnyQuestion, codes: Codes, texts: pa.Array) -> pa.Array:
    """Replace the spaces between codes, as XLSForm software writes them, with semicolons.

    Cells with anything else stay unchanged, and so does an option that looks like codes.
    """
    one = "|".join(map(re.escape, codes.values))
    several = pc.match_substring_regex(texts, rf"^(?:{one})(?:\s+(?:{one}))+$")
    option = pc.is_in(texts, value_set=pa.array([*question.choices, *codes.values], pa.string()))
    joined = pc.replace_substring_regex(texts, r"\s+", SEPARATOR)
    return pc.if_else(pc.and_not(several, option), joined, texts) if one else texts


def _items(question: AnyQuestion, codes: Codes, column: pa.Array) -> Decoded:
    """Replace the codes in lists; a list with a code for no answer is missing."""
    flat, rows = items(column)
    flat = texts_of(flat)
    gone = pc.fill_null(_among(flat, codes.missing), False).to_numpy(zero_copy_only=False)
    missing = column.is_null().to_numpy(zero_copy_only=False).copy()
    missing[rows[gone]] = True
    present = ~missing[rows]
    replaced = _replaced(question, codes, flat.filter(pa.array(present)))
    sizes = np.bincount(rows[present], minlength=len(column))
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    unknown = np.zeros(len(column), bool)
    unknown[rows[present][replaced.unknown]] = True
    return Decoded(
        pa.ListArray.from_arrays(offsets, replaced.column, mask=pa.array(missing)), unknown
    )


def _replaced(question: AnyQuestion, codes: Codes, texts: pa.Array) -> Decoded:
    place = _place(texts, tuple(codes.values))
    answers = pa.array(list(codes.values.values()), pa.string())
    read = pc.if_else(pc.is_valid(place), pc.take(answers, place), texts) if codes.values else texts
    if not codes.values or not question.named:
        return Decoded(read, np.zeros(len(texts), bool))
    folded = pc.utf8_lower(read) if question.any_case else read
    answered = pc.is_valid(_place_of_answer(folded, question.substantive))
    unknown = pc.and_(pc.is_valid(texts), pc.invert(answered))
    return Decoded(read, unknown.to_numpy(zero_copy_only=False))


def _among(texts: pa.Array, codes: tuple[str, ...]) -> pa.Array:
    return pc.is_valid(_place(texts, codes))


_WITH_POINT = re.compile(r"-?\d*\.\d+")


def _place_of_answer(texts: pa.Array, answers: Sequence[str]) -> pa.Array:
    if any(map(_WITH_POINT.fullmatch, answers)):
        return pc.index_in(texts, value_set=pa.array(answers, pa.string()))
    return _place(texts, answers)


def _place(texts: pa.Array, codes: Sequence[str]) -> pa.Array:
    """Return the index of each text among the codes, null if it is not a code.

    1.0 counts as 1, since pandas writes columns with gaps so.
    """
    code_array = pa.array(codes, pa.string())
    exact = pc.index_in(texts, value_set=code_array)
    return pc.if_else(
        pc.is_valid(exact), exact, pc.index_in(without_point(texts), value_set=code_array)
    )
