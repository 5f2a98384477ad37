"""Numbers as people and software write them: separators of thousands, and decimal commas."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa

from incrowd.encoding.cells import by_value, texts_of
from incrowd.survey import Codes

SPACES = " \u00a0\u2009\u202f"
APOSTROPHES = "'\u2019\u02bc\u00b4`"
_LIKE_A_NUMBER = re.compile(rf"[+-]?\d[\d.,{APOSTROPHES}{SPACES}]*")


def kind_of(sign: str) -> str:
    """Return a sign between digits, with one for all spaces and one for all apostrophes."""
    return " " if sign in SPACES else "'" if sign in APOSTROPHES else sign


@cache
def form(thousands: str, decimal: str) -> re.Pattern[str]:
    """Return a pattern of numbers whose thousands and decimals are separated by signs.

    Groups have three digits; in numbers of India, all but the last have two.
    """
    whole = r"\d+"
    if thousands:
        sign = f"[{re.escape({' ': SPACES, chr(39): APOSTROPHES}.get(thousands, thousands))}]"
        whole = rf"[1-9]\d{{0,2}}(?:{sign}\d{{3}})+|[1-9]\d?(?:{sign}\d\d)+{sign}\d{{3}}|\d+"
    return re.compile(rf"(?P<whole>[+-]?(?:{whole}))(?:{re.escape(decimal)}(?P<part>\d+))?")


def plain(text: str, thousands: str, decimal: str) -> str | None:
    """Return a number as Python writes it; None if it is not written in this form."""
    match = form(thousands, decimal or ".").fullmatch(text)
    if match is None:
        return None
    whole = re.sub(r"[^\d+-]", "", match["whole"])
    return f"{whole}.{match['part']}" if match["part"] else whole


def plain_numbers(codes: Codes, cells: pa.Array) -> pa.Array:
    """Return the cells with numbers as Python writes them, if the survey states another form.

    A number in any other form than the stated one is not a number.
    """
    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    if not _stated(codes) or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return cells
    read = _reading(codes)

    def of_values(values: pa.Array) -> np.ndarray:
        return np.array([read(text) for text in texts_of(values).to_pylist()], object)

    return pa.array(by_value(cells, of_values, None), pa.string())


def with_plain_numbers(codes: Codes) -> Codes:
    """Return codes whose numbers are as Python writes them, like those of `plain_numbers`."""
    if not _stated(codes):
        return codes
    read = _reading(codes)
    values = {read(code): answer for code, answer in codes.values.items()}
    return codes.model_copy(update={"values": values, "missing": tuple(map(read, codes.missing))})


def _stated(codes: Codes) -> bool:
    return bool(codes.thousands or codes.decimal)


def _reading(codes: Codes) -> Callable[[str], str]:
    def read(text: str) -> str:
        number = plain(text, codes.thousands, codes.decimal)
        if number is None and _LIKE_A_NUMBER.fullmatch(text):
            return f"other form: {text}"
        return text if number is None else number

    return read
