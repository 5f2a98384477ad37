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
from incrowd.numerics.lattice import Lattice, circle_size, coarsen, inverse, power, transform


@dataclass(frozen=True)
class Tilted:
    """One draw: tilted lattice masses off zero, the tilt, and how far sums reach."""

    draw: Lattice
    theta: float
    reach: Reach

    def span(self, count: int, step: float) -> tuple[int, int]:
        """Lattice indices between which the sum of `count` draws lies."""
        low, high = self.reach.bounds(max(count, 1))
        return int(np.floor(low / step)) - 2, int(np.ceil(high / step)) + 2


def fold(tilted: Tilted, count: int, block: int) -> Lattice:
    """The tilted law of the sum of `count` draws; exact up to the lattice if block >= count."""
    if block >= count:
        return _direct(tilted, [count], count)[0]
    blocks, rest = divmod(count, block)
    total, unit = _direct(tilted, [rest, block], block)
    for digit, size in _digits(blocks, block):
        rest += digit * size
        last = rest == count
        total, unit = _add(tilted, total, unit, digit, rest if last else 4 * size, last)
    return total


def _digits(number: int, size: int) -> Iterator[tuple[int, int]]:
    """Digits in base 4 from the lowest, and how many draws each stands for."""
    while number:
        number, digit = divmod(number, 4)
        yield digit, size
        size *= 4


def _direct(tilted: Tilted, counts: list[int], reach: int) -> list[Lattice]:
    """The sums of so many draws on the finest lattice, on a circle that holds `reach` draws."""
    step = tilted.draw.step
    low, high = tilted.span(reach, step)
    size = circle_size(low, high)
    one, mass = transform(tilted.draw, size), float(tilted.draw.mass.sum())
    return [inverse(power(one, mass, count), step, low, size) for count in counts]


def _add(
    tilted: Tilted, total: Lattice, unit: Lattice, digit: int, reach: int, last: bool
) -> tuple[Lattice, Lattice]:
    """Add `digit` units to the total; unless it is the last time, make the unit four times as
    large and double the step of both. `reach` draws fit the circle."""
    low, high = tilted.span(reach, total.step)
    size = circle_size(low, high)
    one = transform(unit, size)
    two = one * one
    if digit:
        powers = (one, two, two * one)
        total = inverse(transform(total, size) * powers[digit - 1], total.step, low, size)
    if last:
        return total, unit
    four = inverse(two * two, total.step, low, size)
    return coarsen(total, tilted.theta), coarsen(four, tilted.theta)
