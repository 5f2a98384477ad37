"""The law of a sum of many draws, on a lattice whose step grows with the spread.

A single lattice for N draws would need about 1000 sqrt(N) points. Instead the law of a block of
draws is found on a fine lattice, then four times as many on one twice as coarse, and so on; the
draws left over (the digits of N in base 4) are added on the way.
"""

from __future__ import annotations

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
    blocks, added = divmod(count, block)
    total, unit = _direct(draw, reach, [added, block], block)
    while blocks:
        blocks, digit = divmod(blocks, 4)
        added += digit * block
        block *= 4
        low, size = _circle(reach, block if blocks else added, total.step)
        one = unit.transform(size)
        two = one * one
        if digit:
            more = (one, two, two * one)[digit - 1]
            total = total.inverse(total.transform(size) * more, low, size)
        if blocks:
            total, unit = total.coarsened(), unit.inverse(two * two, low, size).coarsened()
    return total


def _direct(draw: Lattice, reach: Reach, counts: list[int], most: int) -> list[Lattice]:
    """The sums of so many draws on the finest lattice, on a circle that holds `most` draws."""
    low, size = _circle(reach, most, draw.step)
    one, mass = draw.transform(size), float(draw.mass.sum())
    return [draw.inverse(power(one, mass, count), low, size) for count in counts]


def _circle(reach: Reach, count: int, step: float) -> tuple[int, int]:
    """The first point and the number of points of a circle that holds the sum of so many draws."""
    low, high = reach.bounds(max(count, 1))
    first, last = int(np.floor(low / step)) - 2, int(np.ceil(high / step)) + 2
    return first, circle_size(first, last)
