"""Binary digits of thresholds, from integers alone: every digit given is a digit of the number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from incrowd.channels.bit_flip import DENOMINATOR

# About 128 digits are certain at this precision for every power used here: see `power_bounds`.
FIRST_PRECISION = 192
DENOMINATOR_BITS = DENOMINATOR.bit_length() - 1

Bounds = tuple[int, int]


def fraction_digits(numerator: int, bits: int = DENOMINATOR_BITS) -> tuple[int, ...]:
    """The binary digits of numerator / 2^bits, first the half, up to the last that is set."""
    text = f"{numerator:0{bits}b}".rstrip("0")
    return tuple(map(int, text))


def power_bounds(numerator: int, squarings: int, precision: int) -> Bounds:
    """Integers around 2^precision x, x = (1 - numerator / 2^32)^(2^squarings).

    Rounds down on one side and up on the other, so that x lies between. A squaring at most
    doubles the distance and adds two units: it stays below 2^(squarings + 2).
    """
    exact = (DENOMINATOR - numerator) << precision
    lower, upper = exact >> DENOMINATOR_BITS, -(-exact >> DENOMINATOR_BITS)
    for _ in range(squarings):
        lower, upper = lower * lower >> precision, -(-upper * upper >> precision)
    return lower, upper


def share_bounds(numerator: int, squarings: int, precision: int) -> Bounds:
    """Integers around 2^precision x / (1 + x), x as in `power_bounds`."""
    lower, upper = power_bounds(numerator, squarings, precision)
    one = 1 << precision
    return (lower << precision) // (one + lower), -(-(upper << precision) // (one + upper))


def certain_digits(bounds: Bounds, precision: int) -> tuple[int, ...]:
    """The leading digits on which both bounds agree, which are those of every number between."""
    lower, upper = bounds
    doubtful = (lower ^ upper).bit_length()
    return tuple(lower >> place & 1 for place in range(precision - 1, doubtful - 1, -1))


@dataclass(frozen=True)
class LazyDigits:
    """All binary digits of a number in (0, 1): iterating computes more of them when asked.

    `bounds(precision)` gives integers around 2^precision times the number.
    """

    bounds: Callable[[int], Bounds]

    def __iter__(self) -> Iterator[int]:
        known = 0
        for doubling in count():
            precision = FIRST_PRECISION << doubling
            digits = certain_digits(self.bounds(precision), precision)
            yield from digits[known:]
            known = max(known, len(digits))
