"""Numbers of a channel as text, rounded to the side that promises no more than is true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def rounded_down(value: float, significant: int = 4) -> str:
    """A number with so many significant digits, rounded down: noise never looks more than it is."""
    return _rounded(value, significant, ROUND_FLOOR)


def rounded_up(value: float, significant: int = 4, whole: bool = False) -> str:
    """A number with so many significant digits, rounded up: a bound never looks tighter.

    whole: keep all digits before the point and write the rest out, 2980.96 is "2,981".
    """
    return _rounded(value, significant, ROUND_CEILING, whole)


def _rounded(value: float, significant: int, rounding: str, whole: bool = False) -> str:
    """The number that the shortest digits of `value` name, rounded; as "%g" writes it."""
    value = float(value)
    if not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(repr(value))
    place = exact.adjusted() - significant + 1
    kept = exact.quantize(Decimal(1).scaleb(min(place, 0) if whole else place), rounding)
    return f"{kept:,f}" if whole else f"{float(kept):.{significant}g}"
