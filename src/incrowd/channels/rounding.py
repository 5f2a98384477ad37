"""Numbers of a channel as text, rounded to the side that promises no more than is true."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal


def rounded_down(value: float, significant: int = 4) -> str:
    """A number with so many significant digits, rounded down: noise never looks more than it is."""
    return _rounded(value, significant, ROUND_FLOOR)


def rounded_up(value: float, significant: int = 4) -> str:
    """A number with so many significant digits, rounded up: a bound never looks tighter."""
    return _rounded(value, significant, ROUND_CEILING)


def _rounded(value: float, significant: int, rounding: str) -> str:
    """The number that the shortest digits of `value` name, rounded; as "%g" writes it."""
    value = float(value)
    if not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(repr(value))
    step = Decimal(1).scaleb(exact.adjusted() - significant + 1)
    return f"{float(exact.quantize(step, rounding)):.{significant}g}"
