"""The law of a sum of many draws, on a lattice whose step grows with the spread.

A single lattice for N draws would need about 1000 sqrt(N) points. Instead the law of a block of
draws is found on a fine lattice, then four times as many on one twice as coarse, and so on; the
draws left over (the digits of N in base 4) are added on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from incrowd.numerics.chernoff import Reach
from incrowd.numerics.convolution import circle_size, power
from incrowd.numerics.lattice import Lattice


def fold(draw: Lattice, reach: Reach, count: int, block: int) -> Lattice:
    """The law of the sum of `count` draws; exact up to the lattice if block >= count.

    draw: what lies off zero, the rest at zero. reach: how far such sums lie from zero.
    """
    if block >= count:
        return _direct(draw, reach, [count], count)[0]
    blocks, rest = divmod(count, block)
    total, unit = _direct(draw, reach, [rest, block], block)
    for digit, size in _digits(blocks, block):
        rest += digit * size
        last = rest == count
        circle = Circle.around(reach, rest if last else 4 * size, total.step)
        total, unit = _add(circle, total, unit, digit, last)
    return total


@dataclass(frozen=True)
class Circle:
    """Points of a lattice from index `low` on, closed to a circle for Fourier transforms."""

    low: int
    size: int

    @classmethod
    def around(cls, reach: Reach, count: int, step: float) -> Circle:
        """Wide enough for the sum of `count` draws."""
        low, high = reach.bounds(max(count, 1))
        first, last = int(np.floor(low / step)) - 2, int(np.ceil(high / step)) + 2
        return cls(first, circle_size(first, last))


def _digits(number: int, size: int) -> Iterator[tuple[int, int]]:
    """Digits in base 4 from the lowest, and how many draws each stands for."""
    while number:
        number, digit = divmod(number, 4)
        yield digit, size
        size *= 4


def _direct(draw: Lattice, reach: Reach, counts: list[int], most: int) -> list[Lattice]:
    """The sums of so many draws on the finest lattice, on a circle that holds `most` draws."""
    circle = Circle.around(reach, most, draw.step)
    one, mass = draw.transform(circle.size), float(draw.mass.sum())
    return [draw.inverse(power(one, mass, count), circle.low, circle.size) for count in counts]


def _add(
    circle: Circle, total: Lattice, unit: Lattice, digit: int, last: bool
) -> tuple[Lattice, Lattice]:
    """Add `digit` units to the total; unless it is the last time, make the unit four times as
    large and double the step of both."""
    low, size = circle.low, circle.size
    one = unit.transform(size)
    two = one * one
    if digit:
        powers = (one, two, two * one)
        total = total.inverse(total.transform(size) * powers[digit - 1], low, size)
    if last:
        return total, unit
    return total.coarsened(), unit.inverse(two * two, low, size).coarsened()
