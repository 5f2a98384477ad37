"""Answers to packed records: bit i of a record stands in byte i // 8 at place i % 8."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.errors import AnswersError, Problem
from incrowd.survey import NO_ANSWER, Choice, Multi, Number, YesNo

SHOWN = 5  # mistakes listed for each column; the rest is counted
SEPARATOR = ";"
NONE = "none"
YES, NO = ("yes", "true", "1"), ("no", "false", "0")

AnyQuestion = YesNo | Choice | Multi | Number


def encode(questions: Sequence[AnyQuestion], answers: pa.Table) -> np.ndarray:
    """Records of the questions' bits, in order.

    Returns uint8, shape (rows, ceil(L / 8)). Raises AnswersError with the rows and values of
    every kind of mistake: unknown options, missing answers, values below the first edge.
    """
    problems: list[Problem] = []
    blocks = [_bits(question, answers[question.id], problems) for question in questions]
    if problems:
        raise AnswersError(*problems)
    return np.packbits(np.hstack(blocks), axis=1, bitorder="little")


def _bits(question: AnyQuestion, column: pa.ChunkedArray, problems: list[Problem]) -> np.ndarray:
    """One question's bits, shape (rows, bits); adds what is wrong to `problems`."""
    column = column.combine_chunks()
    missing = column.is_null().to_numpy(zero_copy_only=False)
    try:
        bits, wrong, allowed = _ENCODERS[type(question)](question, column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        problems.append(Problem(question.id, str(column.type), f"cannot be encoded: {error}"))
        return np.zeros((len(column), question.domain.bits), bool)
    _report(question.id, column, wrong & ~missing, allowed, problems)
    if question.optional:
        bits[:, -1] = missing
    else:
        _report(question.id, column, missing, _MISSING, problems)
    return bits


_MISSING = "is a missing answer; drop the row, or set optional = true in the survey"


def _report(
    id: str, column: pa.Array, wrong: np.ndarray, allowed: str, problems: list[Problem]
) -> None:
    """Add the first few wrong rows, counted from 1 without the header, and how many more."""
    rows = np.flatnonzero(wrong)
    for row in islice(rows, SHOWN):
        problems.append(Problem(f"row {row + 1}, {id}", column[int(row)].as_py(), allowed))
    if len(rows) > SHOWN:
        problems.append(Problem(id, len(rows), f"rows in all have this mistake: {allowed}"))


Encoded = tuple[np.ndarray, np.ndarray, str]


def _one_hot(question: AnyQuestion, codes: np.ndarray) -> np.ndarray:
    """Codes (-1: none) as one bit for each answer."""
    return np.asarray(codes[:, None] == np.arange(len(question.answers)))


def _codes(column: pa.Array, values: Sequence[str]) -> np.ndarray:
    """Index of each text among the values, -1 where it is none of them."""
    found = pc.index_in(pc.cast(column, pa.string()), value_set=pa.array(values, pa.string()))
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False))


def _yesno(question: YesNo, column: pa.Array) -> Encoded:
    text = pc.utf8_lower(pc.utf8_trim_whitespace(pc.cast(column, pa.string())))
    codes = _codes(text, NO + YES)
    answer = np.where(codes < 0, -1, codes // len(NO))
    bits = _one_hot(question, answer) if question.optional else (answer == 1)[:, None]
    return bits, codes < 0, "use yes or no, true or false, 1 or 0"


def _choice(question: Choice, column: pa.Array) -> Encoded:
    codes = _codes(column, question.options)
    return _one_hot(question, codes), codes < 0, f"use one of {_listed(question.options)}"


def _multi(question: Multi, column: pa.Array) -> Encoded:
    """A list column, or text with the options between semicolons; "none" means none."""
    if not pa.types.is_list(column.type) and not pa.types.is_large_list(column.type):
        text = pc.cast(column, pa.string())
        nothing = [""] if NONE in question.options else ["", NONE]
        empty = pc.is_in(text, value_set=pa.array(nothing, pa.string()))
        column = pc.if_else(empty, pa.scalar([], pa.list_(pa.string())), _split(text))
    rows = pc.list_parent_indices(column).to_numpy(zero_copy_only=False)
    items = pc.utf8_trim_whitespace(pc.cast(pc.list_flatten(column), pa.string()))
    codes = _codes(items, question.options)
    bits = np.zeros((len(column), len(question.answers)), bool)
    bits[rows[codes >= 0], codes[codes >= 0]] = True
    wrong = bits.sum(axis=1) > question.at_most
    wrong[rows[codes < 0]] = True
    allowed = f"use at most {question.at_most} of {_listed(question.options)}"
    return bits, wrong, f'{allowed}; "{SEPARATOR}" between them, "{NONE}" for none'


def _split(text: pa.Array) -> pa.Array:
    return pc.split_pattern(text, SEPARATOR)


def _number(question: Number, column: pa.Array) -> Encoded:
    """The bin of each number; text that is no number is as wrong as one below the first edge."""
    numbers = _floats(column)
    bins = np.searchsorted(question.edges, numbers, side="right") - 1
    wrong = (bins < 0) | ~np.isfinite(numbers)
    bits = _one_hot(question, np.where(wrong, -1, bins))
    return bits, wrong, f"use a number from {question.edges[0]:g} up"


def _floats(column: pa.Array) -> np.ndarray:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array([_float(text) for text in column.to_pylist()], float)
    return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False))


def _float(text: str | None) -> float:
    try:
        return float(text) if text is not None else np.nan
    except ValueError:
        return np.nan


def _listed(options: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(options[:most])
    return shown if len(options) <= most else f"{shown}, ... ({len(options)} options)"


_ENCODERS: dict[type, Callable[..., Encoded]] = {
    YesNo: _yesno,
    Choice: _choice,
    Multi: _multi,
    Number: _number,
}

__all__ = ["NO_ANSWER", "encode"]
