"""The analysis `exact` for one bit: the largest delta over all crowds, certified, to 10^9 people.

A crowd in which m of the others hold x has at least `first` with x and N - 1 - `last` with x' if
first <= m <= last. Anybody can add the reports of people whose answers are known, so that

    delta(m) <= delta(first with x, N - 1 - last with x').

Intervals of m are halved until the largest such bound agrees with a delta that was found. Where
delta hardly depends on m there are thousands of intervals, all worked out at once.
Proof: docs/mathematics.md#enumeration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.accounting.one_bit_frequencies import Order, deltas
from incrowd.accounting.schema import check_crowd, check_epsilon
from incrowd.channels.bit import Bit
from incrowd.numerics.precision import SMALLEST

TOLERANCE = 1e-4  # relative, between the bounds
FIRST_CELLS, MOST_CELLS = 64, 1 << 15  # intervals to begin with; no more are halved at once
TRIED = 64  # the intervals with the largest bounds, where delta itself is worked out


class WorstCrowd(NamedTuple):
    """The largest delta over all crowds and both orders lies between `lower` and `upper`.

    lower: delta of x against x' where so many of the others hold 1.
    """

    lower: float
    upper: float
    x: int
    ones: int


class Found(NamedTuple):
    """The same for one order of the answers; same: how many of the others hold x."""

    lower: float
    upper: float
    same: int


class Cells(NamedTuple):
    """Intervals of m, the number of others who hold x: the first and last of each."""

    first: np.ndarray
    last: np.ndarray

    @classmethod
    def cover(cls, others: int, count: int) -> Cells:
        """So many intervals that hold 0, ..., others, of about the same length."""
        count = min(count, others + 1)
        edges = np.arange(count + 1) * (others + 1) // count
        return cls(edges[:-1], edges[1:] - 1)

    def where(self, chosen: np.ndarray) -> Cells:
        """Some of them; chosen: a mask or places."""
        return Cells(self.first[chosen], self.last[chosen])

    @property
    def halves(self) -> Cells:
        """Both halves of each."""
        middle = (self.first + self.last) // 2
        first = np.concatenate([self.first, middle + 1])
        return Cells(first, np.concatenate([middle, self.last]))

    @property
    def ends(self) -> np.ndarray:
        """Their first and last m."""
        return np.unique(np.concatenate([self.first, self.last]))


def worst_crowd(
    channel: Bit, crowd: int, epsilon: float, tolerance: float = TOLERANCE
) -> WorstCrowd:
    """The largest delta(epsilon) of one bit over all crowds of N people and both orders.

    crowd: N. tolerance: relative, between the bounds; where more than 32,768 intervals would have
    to be halved, or rounding is larger, `upper` stays farther off but remains a bound. Raises
    PrivacyError unless N >= 2 and 0 <= epsilon < 700. By sub-crowds, as above.
    """
    check_crowd(crowd)
    check_epsilon(epsilon)
    found = [WorstCrowd(0.0, 0.0, 1, 0)]
    for x in (1,) if channel.symmetric else (1, 0):  # symmetric: reversed bits are the other order
        order = Order.of(channel, x, epsilon)
        if order is not None:
            lower, upper, same = _worst_same(order, crowd - 1, tolerance)
            found.append(WorstCrowd(lower, upper, x, same if x else crowd - 1 - same))
    best = max(found, key=lambda one: one.lower)
    return best._replace(upper=max(one.upper for one in found))


def _worst_same(order: Order, others: int, tolerance: float) -> Found:
    """The largest delta of one order, breadth first: every interval that may hold it is halved."""
    cells, lower, settled, same = Cells.cover(others, FIRST_CELLS), 0.0, 0.0, 0
    while True:
        bounds = deltas(order, cells.first, others - cells.last).upper
        likely = np.argsort(-bounds)[:TRIED]
        tried = cells.where(likely).ends
        values = deltas(order, tried, others - tried).lower
        if values.max() > lower:
            lower, same = float(values.max()), int(tried[values.argmax()])
        enough = max(lower * (1 + tolerance), SMALLEST)
        undecided = (bounds > enough) & (cells.last > cells.first)
        settled = max(settled, float(bounds[~undecided].max(initial=0.0)))
        left = int(undecided.sum())
        if not left or left > MOST_CELLS:
            return Found(lower, max(settled, float(bounds[undecided].max(initial=0.0))), same)
        cells = cells.where(undecided).halves
