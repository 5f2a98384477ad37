"""Exact probabilities, written in surveys as "1/6", "0.25", or numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

from incrowd.errors import Unfit

MOST_DIGITS = 12  # of a numerator or a denominator


def probability(raw: Any) -> Fraction:
    """Return a probability as it is written: a number, or a text such as "1/6".

    Raises ValueError for anything else, and unless it is from 0 to 1.
    """
    exact = _exact(raw)
    if exact is None or not 0 <= exact <= 1 or len(str(exact.denominator)) > MOST_DIGITS:
        raise Unfit("interviews.no-probability")
    return exact


def _exact(raw: Any) -> Fraction | None:
    if isinstance(raw, Fraction):
        return raw
    if isinstance(raw, bool) or not isinstance(raw, int | float | str | Decimal):
        return None
    text = str(raw).strip()
    if len(text) > 2 * MOST_DIGITS + 1:
        return None
    try:
        numerator, slash, denominator = text.partition("/")
        exact = Fraction(Decimal(numerator)) if slash else Fraction(Decimal(text))
        return exact / Fraction(Decimal(denominator)) if slash else exact
    except (ArithmeticError, ValueError):
        return None


ExactProbability = Annotated[Fraction, BeforeValidator(probability), PlainSerializer(str)]


def log_up(ratio: Fraction) -> float:
    """Return the logarithm of a ratio of at least 1, rounded up."""
    # A correctly rounded argument and log1p err by about one unit in the last place each.
    value = math.log1p(float(ratio - 1))
    for _ in range(3):
        value = math.nextafter(value, math.inf)
    return value if ratio > 1 else 0.0
