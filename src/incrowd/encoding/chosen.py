"""Several columns, one for each option of a question, as one column of lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from incrowd.encoding.cells import by_value, texts_of, without_point
from incrowd.survey import Codes

WORDS = {"yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}
NO, YES, MISSING, UNKNOWN = range(4)


def chosen(codes: Codes, names: Sequence[str], columns: Sequence[pa.Array]) -> pa.Array:
    """Return the options that each row chose, as lists; null where a column has no answer.

    names, columns: the columns in a file. A cell that is neither yes nor no is in the list with the
    name of its column, so that it is a wrong answer.
    """
    cells = boxes(codes, columns)
    options = np.array([codes.columns[name] for name in names], object)
    items = np.tile(options, (len(cells), 1))
    for row, place in np.argwhere(cells == UNKNOWN):
        items[row, place] = f"{names[place]}: {columns[place][int(row)].as_py()}"
    missing = (cells == MISSING).any(axis=1)
    given = ((cells == YES) | (cells == UNKNOWN)) & ~missing[:, None]
    offsets = np.concatenate([[0], np.cumsum(given.sum(axis=1))])
    flat = pa.array(items[given].tolist(), pa.string())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat, mask=pa.array(missing))


def boxes(codes: Codes, columns: Sequence[pa.Array]) -> np.ndarray:
    """Return whether each cell is yes, no, missing, or none of these; shape (rows, columns)."""
    return np.stack([_answers(codes, column) for column in columns], axis=1)


def _answers(codes: Codes, column: pa.Array) -> np.ndarray:
    blank = _place(codes.values.get(""), MISSING)

    def of_values(values: pa.Array) -> np.ndarray:
        texts = texts_of(values)
        plain = without_point(texts)
        pairs = zip(texts.to_pylist(), plain.to_pylist(), strict=True)
        return np.array([_answer(codes, blank, text, short) for text, short in pairs], np.int8)

    return by_value(column, of_values, blank)


def _answer(codes: Codes, blank: int, text: str, plain: str) -> int:
    if text == "":
        return blank
    if text in codes.missing or plain in codes.missing:
        return MISSING
    stated = codes.values.get(text) or codes.values.get(plain) or WORDS.get(plain.lower())
    return _place(stated, UNKNOWN)


def _place(answer: str | None, otherwise: int) -> int:
    return {"yes": YES, "no": NO}.get(answer or "", otherwise)
