"""Proportions as text for people, with as many digits as the errors justify."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from incrowd.accountant.channels.base import rounded_down, rounded_up
from incrowd.catalog.sentences import NumberText, Sentence, sentence, translatable

POWERS = {
    10**6: ("promises.one-in-a-million", "promises.one-in-millions"),
    10**9: ("promises.one-in-a-billion", "promises.one-in-billions"),
    10**12: ("promises.one-in-a-trillion", "promises.one-in-trillions"),
}


class HasError(Protocol):
    """Anything with a standard error, a proportion."""

    @property
    def standard_error(self) -> float:
        """The standard error."""


def digits(cells: Sequence[HasError]) -> int:
    """Return decimals of a percentage that show two significant digits of the largest standard
    error.

    At least 1 and at most 6, the same for a whole table so that its columns line up.
    """
    return places_of(cell.standard_error for cell in cells)


def places_of(errors: Iterable[float]) -> int:
    """Return decimals as `digits` gives them, for standard errors that are proportions."""
    largest = 100 * max(errors, default=0.0)
    if not 0 < largest < math.inf:
        return 2
    return min(max(1 - math.floor(math.log10(largest)), 1), 6)


def percent(proportion: float, digits: int) -> NumberText:
    """Return a proportion as a percentage, without the sign %: 0.1234 with 1 digit is "12.3"."""
    text = f"{100 * proportion:.{digits}f}"
    return NumberText(text.removeprefix("-") if float(text) == 0 else text)


def short_percent(proportion: float) -> str:
    """Return a proportion with two significant digits and the sign %: 0.00001234 is "0.0012%"."""
    percentage = 100 * proportion
    if not 0 < percentage < math.inf:
        return "0%" if percentage == 0 else "-"
    return f"{percentage:.{max(1 - math.floor(math.log10(percentage)), 0)}f}%"


def bound(value: float, significant: int = 3) -> str:
    """Return a bound on a loss, such as epsilon or delta, rounded up: "1e-06" for 1e-6."""
    return rounded_up(value, significant)


def chance(delta: float) -> Sentence:
    """Return a small probability for people, rounded up: "one in a million", "one in 2,500",
    "0.3"."""
    if not 0 < delta <= 0.01:
        return sentence("promises.number", value=bound(delta))
    times = float(rounded_down(float(1 / Decimal(repr(delta))), 3))
    if times >= 1e15:
        return sentence("promises.one-in-a-quadrillion")
    unit = max((power for power in POWERS if power <= times), default=1)
    if unit == 1:
        return sentence("promises.one-in", number=int(times))
    one, several = POWERS[unit]
    return sentence(one) if times == unit else Sentence(several, {"many": f"{times / unit:g}"})


LARGEST_LOG_FACTOR = 10.0  # beyond this epsilon, odds that grow by a factor mean nothing to people


def factor(log_ratio: float) -> str | None:
    """Return e^log_ratio for people, rounded up: "7.39", "2,981".

    None if the factor is so large that practically no protection is left: words say that better
    than a number.
    """
    return written_out(math.exp(log_ratio)) if log_ratio <= LARGEST_LOG_FACTOR else None


def written_out(value: float) -> NumberText:
    """Return a bound, rounded up, with three digits or all before the decimal point: "2,981"."""
    return NumberText(rounded_up(value, 3, whole=True))


def noise(q: float, significant: int = 4) -> str:
    """Return a probability that protects, such as q, rounded down."""
    return rounded_down(q, significant)


def times(ratio: float) -> NumberText:
    """Return a number with three significant digits, or all digits before the decimal point."""
    return NumberText(f"{ratio:,.0f}" if 1000 <= ratio < 1e6 else f"{ratio:.3g}")


def between(low: str, high: str) -> str:
    """Return an interval, such as "0.2 to 0.3"."""
    return translatable("shared.to", low=low, high=high)


def finite(value: Any) -> Any:
    """Make a value JSON-ready: null for nan and infinity, and plain numbers instead of numpy's."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
