"""The law of a sum of many draws, on a lattice whose step grows with the spread.

A single lattice for N draws would need about 1000 sqrt(N) points. Instead the law of a block of
draws is found on a fine lattice, then four times as many on one twice as coarse, and so on; the
draws left over (the digits of N in base 4) are added on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from incrowd.numerics.lattice import Lattice, circle_size, coarsen, inverse, power, transform
from incrowd.numerics.tails import Reach


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
        return _direct(tilted, count, count)
    blocks, rest = divmod(count, block)
    total, unit, size = _direct(tilted, rest, block), _direct(tilted, block, block), block
    for digit, more in _digits(blocks):
        total = _product(tilted, [(total, 1), (unit, digit)], rest := rest + digit * size)
        if more:
            size *= 4
            unit = coarsen(_product(tilted, [(unit, 4)], size), tilted.theta)
            total = coarsen(total, tilted.theta)
    return total


def _digits(number: int) -> Iterator[tuple[int, bool]]:
    """Digits in base 4 from the lowest, and whether more follow."""
    while number:
        number, digit = divmod(number, 4)
        yield digit, number > 0


def _direct(tilted: Tilted, count: int, reach: int) -> Lattice:
    """The sum of `count` draws on the finest lattice, on a circle that holds `reach` draws."""
    step = tilted.draw.step
    low, high = tilted.span(reach, step)
    size = circle_size(low, high)
    spectrum = power(transform(tilted.draw, size), float(tilted.draw.mass.sum()), count)
    return inverse(spectrum, step, low, size)


def _product(tilted: Tilted, factors: list[tuple[Lattice, int]], count: int) -> Lattice:
    """The sum of independent lattice laws, each drawn some times; `count` draws in all."""
    step = factors[0][0].step
    low, high = tilted.span(count, step)
    size = circle_size(low, high)
    spectrum = np.ones(size // 2 + 1, complex)
    for lattice, times in factors:
        if times:
            spectrum = spectrum * transform(lattice, size) ** times
    return inverse(spectrum, step, low, size)
