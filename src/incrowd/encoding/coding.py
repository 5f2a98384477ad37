"""Cells that are written in codes: what they stand for."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.encoding.cells import is_list, items, split, texts_of, without_point
from incrowd.survey import SEPARATOR, AnyQuestion, Codes


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
