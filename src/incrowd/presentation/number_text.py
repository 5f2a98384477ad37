"""Proportions as text for people, with as many digits as the errors deserve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from typing import Any, Protocol

import numpy as np

from incrowd.channels import rounding as channel_words


class HasError(Protocol):
    """Anything with a standard error, a proportion."""

    @property
    def standard_error(self) -> float:
        """The standard error."""


def digits(cells: Sequence[HasError]) -> int:
    """Decimals of a percentage that show two significant digits of the largest standard error.

    At least 1 and at most 6, the same for a whole table so that its columns line up.
    """
    largest = 100 * max((cell.standard_error for cell in cells), default=0.0)
    if not 0 < largest < math.inf:
        return 2
    return min(max(1 - math.floor(math.log10(largest)), 1), 6)


def percent(proportion: float, digits: int) -> str:
    """A proportion as a percentage, without the sign %: 0.1234 with 1 digit is "12.3"."""
    text = f"{100 * proportion:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def short_percent(proportion: float) -> str:
    """A proportion with two significant digits and the sign %: 0.00001234 is "0.0012%"."""
    percentage = 100 * proportion
    if not 0 < percentage < math.inf:
        return "0%" if percentage == 0 else "-"
    return f"{percentage:.{max(1 - math.floor(math.log10(percentage)), 0)}f}%"


def bound(value: float, significant: int = 3) -> str:
    """A bound on what is lost, as epsilon or delta: never below the real one, "1e-06" for 1e-6."""
    return channel_words.rounded_up(value, significant)


def noise(q: float, significant: int = 4) -> str:
    """A chance that protects, as q: never above the real one."""
    return channel_words.rounded_down(q, significant)


def rounded_up(value: float, significant: int = 3) -> str:
    """A positive number with so many significant digits, or all of its whole ones, rounded up.

    A privacy figure may look weaker than it is, never stronger: 2980.96 is "2,981".
    """
    exact = Decimal(value)
    step = Decimal(1).scaleb(min(exact.adjusted() - significant + 1, 0))
    return f"{exact.quantize(step, ROUND_CEILING):,f}"


def finite(value: Any) -> Any:
    """JSON-ready: null for nan and infinity, which JSON does not have, no numbers of numpy."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
