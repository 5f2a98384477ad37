"""How the numbers of a column are written: decided by all of its values together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from incrowd.encoding.number_forms import APOSTROPHES, SPACES, form, kind_of, plain

_WRITTEN = re.compile(rf"[+-]?\d[\d.,{APOSTROPHES}{SPACES}]*\d|[+-]?\d")
_SIGN = re.compile(rf"[.,{APOSTROPHES}{SPACES}]")
MOST_OTHERS = 4  # different words beside numbers, or a quarter of these
THOUSAND = 1000


class NumberForm(NamedTuple):
    """The signs that separate thousands and decimals; "" for none, and for a point.

    unclear: a number whose only sign may be either of them; "" if the column is clear.
    """

    thousands: str = ""
    decimal: str = ""
    unclear: str = ""

    def plain(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the rows with each value, numbers as Python writes them."""
        rows = Counter[str]()
        for value, times in counts.items():
            rows[plain(value, self.thousands, self.decimal) or value] += times
        return dict(rows)


def number_form(counts: Mapping[str, int]) -> NumberForm | None:
    """Return how numbers in a column of text are written; None if Python reads them, or if there
    are too many other values.

    counts: the rows with each value. A single comma or point before three digits, as in 12,345, can
    be either sign; the column shows which, if one of its numbers has two signs, or other decimals.
    """
    numbers = [value for value in counts if _WRITTEN.fullmatch(value)]
    others = len(counts) - len(numbers)
    kinds = {kind_of(sign) for value in numbers for sign in _SIGN.findall(value)}
    if not kinds or others > max(MOST_OTHERS, len(numbers) // 4):
        return None
    if len(kinds) == 1:
        return _of_one_sign(numbers, *kinds)
    forms = [
        NumberForm(thousands, "" if decimal == "." else decimal)
        for decimal in sorted(kinds & {".", ","})
        for thousands in kinds - {decimal}
        if len(kinds) == 2 and _all(numbers, thousands, decimal)
    ]
    if len(forms) == 2:  # 1,234 and 1.234
        return NumberForm(",", unclear=next(value for value in numbers if "," in value))
    return forms[0] if forms else None


def _of_one_sign(numbers: Collection[str], sign: str) -> NumberForm | None:
    """Return how numbers with one kind of sign are written."""
    other = "," if sign == "." else "."
    thousands = _all(numbers, sign, other)
    if sign not in (".", ","):
        return NumberForm(sign) if thousands else None
    decimal = _all(numbers, "", sign)
    if not (thousands and decimal):
        if thousands:
            return NumberForm(sign, "" if other == "." else other)
        return NumberForm("", sign) if decimal and sign == "," else None
    if sign == "." and any(_is_long(value) for value in numbers):  # thousands have no sign
        return None
    return NumberForm(sign, unclear=next(value for value in numbers if sign in value))


def _is_long(value: str) -> bool:
    return value.lstrip("+-").isdecimal() and abs(int(value)) >= THOUSAND


def _all(numbers: Collection[str], thousands: str, decimal: str) -> bool:
    return all(map(form(thousands, decimal).fullmatch, numbers))


_MEASURED = re.compile(
    rf"(?P<before>[^\w\s+-]{{0,2}}|EUR|USD|GBP|CHF)\s*[+-]?\d[\d.,{APOSTROPHES}{SPACES}]*(?P<after>[^\d]{{0,16}})"
)


def unit_of(values: Collection[str]) -> str:
    """Return the unit that all numbers are written with, such as "kg" or "%"; "" if there is none.

    The singular and the plural are one unit.
    """
    units = set[tuple[str, str]]()
    for value in values:
        if (match := _MEASURED.fullmatch(value)) is None:
            return ""
        units.add((match["before"].strip(), match["after"].strip()))
    stems = {(before, after.casefold().rstrip("sne.")) for before, after in units}
    return " ".join(filter(None, max(units))) if len(stems) == 1 else ""
