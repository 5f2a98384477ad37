"""Copies and noise for given messages: volume against precision, in the large-N limit.

k reports of a message of distance d leak mu^2 = k (phi^d - 1) / N, and with v = 1 / (phi - 1) the
noise of a table falls with k and grows with v (docs/mathematics.md#large-crowds). Here all
messages together leak a given sum, nobody sends more than a given number of reports, and the
largest inflation of the wanted tables, or their mean, is minimized: their variance over that of
sampling alone. Certificates come later.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from incrowd.estimation.precision import CellAxis, relative_noise
from incrowd.planner.cell_search import LARGE

LEAST_V, MOST_V = 1e-7, 1e8
COARSE, FINE = 300, 4000  # values of v to try: steps of 12 percent in a search, 1 percent at last
# The ranges of the price; for the objective "largest" it is the excess itself.
PRICES = {"largest": (1e-15, 1e15), "mean": (1e-20, 1e20)}
TOLLS = (1e-20, 1e20)
STEPS = 40
SLACK = 1.01  # of the largest excess


class Load(NamedTuple):
    """A message in the allocation.

    distance: the number of bits with the planner's noise in which two answers can differ. fixed: ln
    of the product of phi^d over the questions with fixed randomizers. times: the number of
    collections per copy (for cells, the distance). copies: the numbers to choose from. tables: the
    axes of every wanted table that is estimated from this message. most_v: the largest noise, since
    each bit of cells that the noise sets is a report.
    """

    distance: int
    fixed: float
    times: int
    copies: tuple[int, ...]
    tables: tuple[tuple[CellAxis, ...], ...]
    most_v: float = math.inf

    @property
    def large(self) -> bool:
        """Whether all its tables have more than 1,000 cells."""
        sizes = [math.prod(axis.cells for axis in axes) for axes in self.tables]
        return bool(sizes) and min(sizes) > LARGE

    def with_leak(self, leak: float) -> Load:
        """This message without tables, with one copy that has a given leak."""
        exponent = (math.log1p(leak / self.times) - self.fixed) / max(self.distance, 1)
        v = min(self.most_v, 1 / math.expm1(exponent)) if exponent > 0 else self.most_v
        return self._replace(copies=self.copies[:1], tables=(), most_v=v)


class MessageAllocation(NamedTuple):
    """The copies of one message, and v = p q / (p - q)^2 of its noise."""

    copies: int
    v: float


class Allocation(NamedTuple):
    """The share of each message, and by how much the largest or mean inflation exceeds 1."""

    shares: tuple[MessageAllocation, ...]
    excess: float


class AllocationLimits(NamedTuple):
    """The limits for all messages together.

    signal: mu^2 N, the sum of all leaks. budget: the number of reports that a person may send.
    objective: whether to minimize the "largest" inflation or their "mean". points: the number of
    values of v to try. steps: of each bisection.
    """

    signal: float
    budget: int
    objective: str = "largest"
    points: int = COARSE
    steps: int = STEPS


def allocate(
    loads: Sequence[Load], limits: AllocationLimits, useful: float = math.inf
) -> Allocation | None:
    """The best copies and noise, or None if these messages leak too much or are too many.

    useful: the objective "largest" has no result either if the largest excess is above this.

    Bisection determines a price for the leak and, for each price, a toll on copies. The largest
    excess may come from a fixed randomizer, and reducing it by the last percent would take all of
    the leak. That percent is left to the other tables; in the end all leaks grow in proportion.
    """
    kinds = Counter(loads)
    if sum(min(load.copies) * count for load, count in kinds.items()) > limits.budget:
        return None
    choices = Choices.of(kinds, limits)
    low, high = PRICES[limits.objective]
    most = min(useful, high) if limits.objective == "largest" else high
    if choices.leak_at(most) > limits.signal:
        return None
    price = _least(
        lambda price: price >= most or choices.leak_at(price) <= limits.signal,
        low,
        high,
        limits.steps,
    )
    number, noise = choices.best(price)
    excess = choices.excess[np.arange(len(number)), number, noise]
    tables = choices.counts @ np.array([len(load.tables) for load in kinds])
    mean = float(choices.counts @ excess) / max(int(tables), 1)
    if limits.objective == "mean":
        return Allocation(choices.shares(loads, price), mean)
    return Allocation(choices.shares(loads, SLACK * price), float(excess.max()))


class Choices(NamedTuple):
    """All choices of all kinds of messages as arrays.

    counts: messages of each kind. copies: shape (kinds, choices of copies). leak, excess: shape
    (kinds, choices of copies, values of v); excess is the largest of the tables, or their sum.
    """

    limits: AllocationLimits
    counts: np.ndarray
    copies: np.ndarray
    leak: np.ndarray
    excess: np.ndarray

    @classmethod
    def of(cls, kinds: Mapping[Load, int], limits: AllocationLimits) -> Choices:
        """Compute the choices. A kind with fewer choices of copies repeats its last one."""
        most = max(len(load.copies) for load in kinds)
        copies = [load.copies + load.copies[-1:] * (most - len(load.copies)) for load in kinds]
        same = [load._replace(copies=k) for load, k in zip(kinds, copies, strict=True)]
        return cls(
            limits,
            np.array(list(kinds.values())),
            np.array(copies),
            np.stack([leaks(load, limits.points) for load in same]),
            np.stack([excesses(load, limits.points, limits.objective) for load in same]),
        )

    def best(self, price: float) -> tuple[np.ndarray, np.ndarray]:
        """The cheapest choices of copies and of v within the budget, one for each kind.

        The cost of a choice for the objective "mean" is the sum of its excesses plus the price
        times its leak; for "largest", its leak, if its excess is at most the price.
        """
        if self.limits.objective == "largest":
            cost = np.where(self.excess <= price, self.leak, np.inf)
        else:
            cost = self.excess + price * self.leak
        noise = cost.argmin(axis=2)
        kinds, numbers = np.ogrid[: len(cost), : cost.shape[1]]
        number = self._within_budget(cost[kinds, numbers, noise])
        return number, noise[np.arange(len(noise)), number]

    def _within_budget(self, cost: np.ndarray) -> np.ndarray:
        """The cheapest copies of each kind: the least toll on each copy that keeps the budget."""

        places, budget = np.arange(len(cost)), self.limits.budget

        def at(toll: float) -> tuple[np.ndarray, int]:
            number: np.ndarray = (cost + toll * self.copies).argmin(axis=1)
            return number, int(self.counts.dot(self.copies[places, number]))

        number, used = at(0.0)
        if used <= budget:
            return number
        low, high = TOLLS
        for _ in range(self.limits.steps):
            middle = math.sqrt(low * high)
            number, used = at(middle)
            if used == budget:  # a larger toll leaves fewer copies, so these are the cheapest
                return number
            low, high = (low, middle) if used < budget else (middle, high)
        return at(high)[0]

    def shares(self, loads: Sequence[Load], price: float) -> tuple[MessageAllocation, ...]:
        """The share of each message at a price. loads: the messages of these kinds."""
        number, noise = self.best(price)
        copies = self.copies[np.arange(len(number)), number]
        shares = map(MessageAllocation, copies.tolist(), grid(self.limits.points)[noise].tolist())
        each = dict(zip(Counter(loads), shares, strict=True))
        return tuple(each[load] for load in loads)

    def leak_at(self, price: float) -> float:
        """The sum of all leaks at a price."""
        number, noise = self.best(price)
        return float(self.counts @ self.leak[np.arange(len(number)), number, noise])


@lru_cache(maxsize=4)
def grid(points: int) -> np.ndarray:
    """The values of v = p q / (p - q)^2 that are tried."""
    return np.geomspace(LEAST_V, MOST_V, points)


@lru_cache(maxsize=512)
def leaks(load: Load, points: int) -> np.ndarray:
    """mu^2 N = k (phi^d - 1), phi = 1 + 1 / v: shape (copies, v).

    Infinite beyond precision, and where v is too large.
    """
    exponent = load.distance * np.log1p(1 / grid(points)) + load.fixed
    with np.errstate(over="ignore"):
        leak = np.outer(load.times * np.array(load.copies), np.expm1(exponent))
    return np.where(grid(points) <= load.most_v, leak, np.inf)


@lru_cache(maxsize=512)
def excesses(load: Load, points: int, objective: str) -> np.ndarray:
    """How much the inflations of a load's tables are above 1: shape (copies, v).

    The largest, or the sum, whose mean over all loads is wanted.
    """
    copies, v = np.array(load.copies)[:, None], grid(points)
    total = np.zeros((len(load.copies), len(v)))
    for axes in load.tables:
        excess = np.broadcast_to(relative_noise(axes, v), v.shape) / copies
        total = np.maximum(total, excess) if objective == "largest" else total + excess
    return total


def _least(holds: Callable[[float], bool], low: float, high: float, steps: int) -> float:
    """The smallest number for which a monotone condition holds: bisection of logarithms."""
    for _ in range(steps):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
