"""Columns of files of interviews: numbers, factors, and codes for missing values."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.encoding.cells import distinct, is_list
from incrowd.encoding.records import SHOWN, hint
from incrowd.encoding.spelling import as_text
from incrowd.errors import Place, Problem
from incrowd.interviews.items import MISSING
from incrowd.survey import SEPARATOR

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"^(-?\d+)\.0+$")
_TRUTH = {"false": 0.0, "true": 1.0}
_COMMA = re.compile(r"[+-]?\d+,\d+")
_THREE_DIGITS = re.compile(r"[+-]?\d{1,3},\d{3}")
# What statistics software writes for a missing value: R; pandas; SAS, SPSS, and Stata; SPSS.
NOT_AVAILABLE = frozenset({"NA", "NaN", ".", "#NULL!"})
ROWS_NAMED = 3  # of those with the same mistake; the others are counted


class Factor(NamedTuple):
    """A column of names: its levels, and the index of each interview's level.

    codes: shape (n,), from 0; `MISSING` where there is none.
    """

    levels: tuple[str, ...]
    codes: np.ndarray


OpenColumn = np.ndarray | Factor
"""Numbers, shape (n,), nan where there is none; or a factor."""


class ColumnCells(NamedTuple):
    """The cells of a column as text: the distinct texts, and the index of each row's text.

    rows: shape (n,), from 0; `MISSING` where there is none. absent: for each text that `without`
    removed, the number of rows.
    """

    name: str
    texts: tuple[str, ...]
    rows: np.ndarray
    absent: Mapping[str, int] = MappingProxyType({})

    def without(self, texts: Collection[str]) -> ColumnCells:
        """Return the cells in which some texts stand for a missing value."""
        texts_left = tuple(text for text in self.texts if text not in texts)
        if len(texts_left) == len(self.texts):
            return self
        places = {text: place for place, text in enumerate(texts_left)}
        counts = np.bincount(self.rows[self.present], minlength=len(self.texts)).tolist()
        absent = {text: n for text, n in zip(self.texts, counts, strict=True) if text in texts}
        rows = self.coded([places.get(text, MISSING) for text in self.texts])
        return ColumnCells(self.name, texts_left, rows, {**self.absent, **absent})

    @property
    def present(self) -> np.ndarray:
        """The rows that have a text: bool, shape (n,)."""
        return self.rows >= 0

    def among(self, rows: np.ndarray) -> ColumnCells:
        """Return the cells with only some rows: bool, shape (n,)."""
        return self._replace(rows=np.where(rows, self.rows, MISSING))

    def looked_up(self, values: Sequence[float]) -> np.ndarray:
        """Return the value of each row's text; nan where there is none. values: of each text."""
        return np.asarray(np.append(np.asarray(values, float), np.nan)[self.rows])

    def coded(self, codes: Sequence[int]) -> np.ndarray:
        """Return the code of each row's text; `MISSING` where there is none. codes: of each
        text."""
        return np.asarray(np.append(np.asarray(codes, np.int64), MISSING)[self.rows])

    def problems(
        self, wrong: Collection[int], allowed: Sentence, choices: Sequence[str] = ()
    ) -> Iterator[Problem]:
        """Yield a problem for each of the first wrong texts, with its rows, counted from 1 without
        the header. wrong: the indices of the texts. choices: one of which may have been meant."""
        rows = np.flatnonzero(np.isin(self.rows, list(wrong)))
        places = list(dict.fromkeys(self.rows[rows].tolist()))
        for place in places[:SHOWN]:
            text, at = self.texts[place], np.flatnonzero(self.rows == place)
            stated = {"value": text, "hint": hint(text, choices), "advice": allowed}
            if len(at) == 1:
                path = (Place("row", int(at[0]) + 1), self.name)
                yield Problem(path, "encoding.wrong-answer", **stated)
            else:
                yield Problem(self.name, "interviews.wrong-rows", rows=_rows(at), **stated)
        if len(places) > SHOWN:
            more = int(np.sum(np.isin(self.rows, places[SHOWN:])))
            yield Problem(self.name, "encoding.more-rows", rows=more, advice=allowed)

    def gaps(self, advice: Sentence) -> Iterator[Problem]:
        """Yield a problem with the rows without a text, if there are any."""
        at = np.flatnonzero(~self.present)
        if len(at) == 1:
            path = (Place("row", int(at[0]) + 1), self.name)
            yield Problem(path, "encoding.answer-missing", advice=advice)
        elif len(at):
            yield Problem(self.name, "interviews.empty-rows", rows=_rows(at), advice=advice)


def _rows(at: np.ndarray) -> Sentence:
    """Return the numbers of some rows, as text. at: at least two, from 0."""
    named = [f"{row + 1:,}" for row in at[:ROWS_NAMED].tolist()]
    if len(at) <= ROWS_NAMED:
        return sentence("interviews.rows", rows=named)
    return sentence("interviews.rows-and-more", rows=named, more=len(at) - ROWS_NAMED)


def cells_of(name: str, column: pa.Array, missing: Collection[str] = ()) -> ColumnCells:
    """Return the cells of a column. missing: codes that stand for no value.

    Empty cells have no value. Whole numbers have no point: pandas and SPSS write 1.0 for 1.
    """
    rows, values = distinct(_flat(column))
    texts = [_text(value) for value in values.to_pylist()]
    gone = {"", *missing}
    present = [text for text in dict.fromkeys(texts) if text not in gone]
    places = {text: place for place, text in enumerate(present)}
    index = [places.get(text, MISSING) for text in texts]
    return ColumnCells(name, tuple(places), np.append(np.asarray(index, np.int64), MISSING)[rows])


def _flat(column: pa.Array) -> pa.Array:
    """Return a column whose cells have one value each; lists become text."""
    if not is_list(column.type):
        return column
    joined = (cell and SEPARATOR.join(map(str, cell)) for cell in column.to_pylist())
    return pa.array(joined, pa.string())


def _text(value: Any) -> str:
    return _WHOLE.sub(r"\1", (as_text(value) or "").strip())


def number(text: str) -> float:
    """Return a number; nan for a text that is not one."""
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def numbers(cells: ColumnCells) -> np.ndarray | None:
    """Return the number of each row, nan for missing ones; None if some texts are not numbers.

    True counts as 1 and false as 0. A comma is a decimal comma if no number could have it between
    thousands instead.
    """
    for read in (number, _truth, _with_comma):
        values = [read(text) for text in cells.texts]
        if not any(map(math.isnan, values)) and (read is not _with_comma or _decimal(cells.texts)):
            return cells.looked_up(values)
    return None


def _truth(text: str) -> float:
    return _TRUTH.get(text.lower(), math.nan)


def _with_comma(text: str) -> float:
    return number(text.replace(",", ".") if _COMMA.fullmatch(text) else text)


def _decimal(texts: Sequence[str]) -> bool:
    """Return whether the commas in some numbers cannot be between thousands."""
    return any(_COMMA.fullmatch(text) and not _THREE_DIGITS.fullmatch(text) for text in texts)


def factor(cells: ColumnCells, labels: Mapping[str, str]) -> Factor:
    """Return the names in a column, as a factor. labels: names of codes.

    Levels are in the order of their codes: that of numbers if all are, otherwise the alphabet.
    """
    codes = sorted(cells.texts, key=lambda text: (_or_infinite(number(text)), text))
    levels = tuple(dict.fromkeys(labels.get(code, code) for code in codes))
    return Factor(levels, cells.coded([levels.index(labels.get(t, t)) for t in cells.texts]))


def _or_infinite(value: float) -> float:
    return math.inf if math.isnan(value) else value


def without_unavailable(cells: ColumnCells) -> ColumnCells:
    """Return the cells of a column of numbers without texts such as NA; other cells as they are."""
    others = cells.without(NOT_AVAILABLE)
    mistakes = sum(math.isnan(_with_comma(text)) for text in others.texts)
    is_numeric = 2 * mistakes < len(others.texts) or numbers(others) is not None
    return others if is_numeric else cells


def open_column(cells: ColumnCells, labels: Mapping[str, str]) -> tuple[OpenColumn, list[Problem]]:
    """Return a column that is not a question, and what is wrong with it.

    It is a factor if every code has a label, or not all cells are numbers. labels: names of codes.
    """
    labeled = bool(cells.texts) and labels.keys() >= {*cells.texts}
    values = None if labeled else numbers(cells)
    if values is not None:
        return values, []
    others = [place for place, text in enumerate(cells.texts) if math.isnan(_with_comma(text))]
    if labels or 2 * len(others) >= len(cells.texts):
        return factor(cells, labels), []
    wrong = others or [n for n, text in enumerate(cells.texts) if "," in text]
    code = "interviews.among-numbers" if others else "interviews.comma-in-numbers"
    return factor(cells, labels), [*cells.problems(wrong, sentence(code, name=cells.name))]
