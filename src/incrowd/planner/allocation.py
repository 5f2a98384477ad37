"""The allocation of the leak to messages: the noise and the copies with the smallest inflation.

The inflation of a table is its variance over that of sampling alone: the people over the effective
sample size. Messages of cells estimate tables together, by least squares, so that the inflation of
a table exceeds 1 by a convex function of all their leaks, for which steps are made
(docs/mathematics.md#inflation). A table that one message alone estimates depends only on that one's
noise and copies, which are tried, at a price for the leak (docs/mathematics.md#large-crowds).
Certificates come later.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from incrowd.accountant.numerics.extrema import root
from incrowd.estimation.precision import relative_noise
from incrowd.planner.loads import Clique, Load, Vector

TINY = 1e-9  # reports, in place of a limit of none


class PlanLimits(NamedTuple):
    """The limits for all messages of one person together.

    leak: mu^2 N of the guarantee; local_epsilon: the local epsilon of everything, if no crowd hides
    it. reports: the expected number for a person who sets as many bits as possible. slots: the
    places in an upload, which all messages share; a person's reports exceed them with probability
    `tail`. Leaks and the local epsilon are those of all rows and rounds, reports and slots those of
    one.
    """

    leak: float
    local_epsilon: float = math.inf
    reports: float = math.inf
    slots: float = math.inf
    tail: float = 1e-14


# Messages of cells, which are combined by least squares.

CLOSE = 1e-4  # relative error of the excess, of which a lower bound is known
STEPS = 2000
NEWTON, ENOUGH = 30, 1e-12  # the largest number of steps; the relative change that ends them


class CellsLoad(NamedTuple):
    """The loads of all messages of cells, in units of messages whose leaks grow together.

    cliques: the first units, each of one message of parities and its single bits. times, bits,
    ones: as of a `Load`, arrays of shape (messages,): the parities first, then the single bits of
    all cliques; from `alone` on each message is a unit.
    """

    cliques: tuple[Clique, ...]
    alone: int
    times: Vector
    bits: Vector
    ones: Vector

    @classmethod
    def of(cls, cliques: Sequence[Clique], loads: Sequence[Load]) -> CellsLoad:
        """Group the loads of some messages into units."""
        alone = len(cliques) + sum(len(each.singles) for each in cliques)
        columns = ([getattr(load, name) for load in loads] for name in ("times", "bits", "ones"))
        return cls(tuple(cliques), alone, *map(np.array, columns))

    @property
    def prices(self) -> Vector:
        """The largest number of bits that change, in units of the leak per bit, of each unit."""
        return np.append(
            [each.worst(1.0, each.ratio) for each in self.cliques], self.times[self.alone :]
        )

    @property
    def columns(self) -> Vector:
        """The leak of each message per unit of each unit's leak, shape (messages, units)."""
        units = len(self.cliques) + len(self.times) - self.alone
        parities = np.eye(len(self.cliques), units)
        singles = [
            np.tile(each.ratio * row, (len(each.singles), 1))
            for each, row in zip(self.cliques, parities, strict=True)
        ]
        return np.vstack([parities, *singles, np.eye(units)[len(self.cliques) :]])

    def cost(self, costs: Vector) -> float:
        """Return the largest cost of the bits that change together. costs: the costs of one bit of
        each message."""
        total, start = 0.0, len(self.cliques)
        for clique, parity in zip(self.cliques, costs.tolist(), strict=False):
            total += clique.worst(parity, float(costs[start]) if clique.ratio else 0.0)
            start += len(clique.singles)
        return total + float(self.times[start:] @ costs[start:])

    def local_prices(self, leaks: Vector) -> Vector:
        """Return the increase of the local epsilon per unit of leak:
        the derivative of ln(p / q)."""
        return np.asarray(self.times / np.sqrt(leaks * (leaks + 4)))

    def scaled(self, leaks: Vector, limits: PlanLimits) -> float:
        """Return the factor by which leaks can grow until the leak or local epsilon reaches its
        limit."""
        most = limits.leak / self.cost(leaks)

        def beyond(scale: float) -> float:
            return self.cost(log_odds(scale * leaks)) - limits.local_epsilon

        return most if beyond(most) <= 0 else root(beyond, 0.0, most, relative=1e-12)

    def use(self, leaks: Vector, tail: float) -> LimitsUse:
        """Return what is used of the limits. leaks: the leaks of each bit that can change, per
        message."""
        odds = log_odds(leaks)
        flips = 1 / (1 + np.exp(odds))
        reports = float(np.sum(self.ones + self.bits * flips))
        slots = self.ones.sum() + _most_flips(float(self.bits @ flips), tail)
        return LimitsUse(
            self.cost(leaks), self.cost(odds), reports, min(slots, float(self.bits.sum()))
        )


class LimitsUse(NamedTuple):
    """The part of the limits that some messages of cells use, per person."""

    leak: float
    local_epsilon: float
    reports: float
    slots: float

    def volume(self, limits: PlanLimits) -> float:
        """Return the larger of reports and slots, relative to their limits:
        at most 1 if they fit."""
        reports, slots = (max(most, TINY) for most in (limits.reports, limits.slots))
        return max(self.reports / reports, self.slots / slots)


def log_odds(leaks: Vector) -> Vector:
    """Return ln(p / q) of bits with the leak 1 / v = (p - q)^2 / (p q) = 4 sinh(ln(p /
    q) / 2)^2."""
    return np.asarray(2 * np.arcsinh(np.sqrt(leaks) / 2))


def smallest_excess(
    precisions: Vector,
    weights: Vector,
    prices: Vector,
    *,
    mean: bool,
    start: Vector,
    steps: int = STEPS,
    useful: float = math.inf,
) -> tuple[Vector, float]:
    """Return the leaks with the smallest inflation of the tables, and by how much it exceeds 1.

    precisions: the precisions of each term by each message at leak 1, shape (terms, messages).
    weights: the weights of each term in each table, shape (tables, terms). prices: the prices of a
    unit of leak, shape (messages,); all messages together cost 1. mean: whether to minimize the
    mean of the tables' inflations rather than the largest. The excess is within the relative error
    `CLOSE` of the smallest, unless that is above `useful` or takes more than `steps` steps.

    Steps are multiplicative. With multipliers m of the tables, f = sum of m times their excess and
    g its derivatives, no leaks that cost 1 make f smaller than f^2 / max(-g / prices): f is a sum
    of k / (a linear form), so that Cauchy's inequality bounds it.
    Proof: docs/mathematics.md#inflation.
    """
    # Methods: for arrays this small, calling `@` and `max` takes longer than computing them.
    leaks = start / prices.dot(start)
    best, best_leaks, bound = math.inf, leaks, 0.0
    multipliers = np.full(len(weights), 1 / len(weights))
    for step in range(steps):
        precision = precisions.dot(leaks)
        excess = weights.dot(1 / precision)
        if not mean:
            multipliers = multipliers * excess if step else excess
            multipliers = multipliers / multipliers.sum()
        weighted = float(multipliers.dot(excess))
        reached = weighted if mean else float(excess[excess.argmax()])
        if reached < best:
            best, best_leaks = reached, leaks
        slopes = (multipliers.dot(weights) / precision**2).dot(precisions) / prices
        bound = max(bound, weighted**2 / float(slopes[slopes.argmax()]))
        if best <= bound * (1 + CLOSE) or bound > useful:
            break
        leaks = leaks * np.sqrt(slopes)
        leaks = leaks / prices.dot(leaks)
    return best_leaks, best


def _most_flips(mean: float, tail: float) -> float:
    """Return an integer that a sum of independent bits exceeds with probability at most `tail`.

    Chernoff: P[X >= k] <= exp(k - m - k ln(k / m)) for k above the mean m. With k = m exp(t) that
    is the tail where 1 + (t - 1) exp(t) = -ln(tail) / m. The left side is convex and at least
    t^2 / 2, so that Newton's steps come down to t from above.
    """
    mean = max(mean, 1e-300)
    wanted = -math.log(tail) / mean
    t = min(math.sqrt(2 * wanted), 1 + math.log1p(wanted))
    for _ in range(NEWTON):
        step = ((1 - wanted) * math.exp(-t) + t - 1) / t
        t -= step
        if step <= ENOUGH * t:
            break
    return float(math.ceil(mean * math.exp(t)))


# Messages from which a table is estimated alone: their copies and noise, at a price for the leak.

LEAST_V, MOST_V = 1e-7, 1e8
COARSE, FINE = 300, 4000  # values of v to try: steps of 12 percent in a search, 1 percent at last
# The ranges of the price; to minimize the largest excess, it is the excess itself.
PRICES = {"largest": (1e-15, 1e15), "mean": (1e-20, 1e20)}
TOLLS = (1e-20, 1e20)
SLACK = 1.01  # of the largest excess


class Effort(NamedTuple):
    """The duration and fineness of a search.

    work: the work of evaluating messages of cells, in terms times messages. points: values of v to
    try for other messages. steps: bisections of each of their prices.
    """

    work: float = 6e7
    points: int = COARSE
    steps: int = 40


FULL = Effort()


class MessageAllocation(NamedTuple):
    """The copies of one message, and v = p q / (p - q)^2 of its noise."""

    copies: int
    v: float


class Allocation(NamedTuple):
    """The share of each message, and by how much the largest or mean inflation exceeds 1."""

    shares: tuple[MessageAllocation, ...]
    excess: float


def allocate(
    loads: Sequence[Load],
    limits: PlanLimits,
    *,
    mean: bool = False,
    effort: Effort = FULL,
    useful: float = math.inf,
) -> Allocation | None:
    """Return the best copies and noise, or None if these messages leak too much or are too many.

    mean: whether to minimize the mean of the tables' inflations rather than the largest. useful:
    the largest has no result either if its excess is above this.

    Bisection determines a price for the leak and, for each price, a toll on copies. The largest
    excess may come from a fixed randomizer, and reducing it by the last percent would take all of
    the leak. That percent is left to the other tables; in the end all leaks grow in proportion.
    """
    kinds = Counter(loads)
    if sum(min(load.copies) * count for load, count in kinds.items()) > limits.reports:
        return None
    choices = Choices.of(kinds, limits.reports, mean, effort)
    low, high = PRICES["mean" if mean else "largest"]
    most = high if mean else min(useful, high)
    if choices.leak_at(most) > limits.leak:
        return None
    for _ in range(effort.steps):
        middle = math.sqrt(low * high)
        if middle >= most or choices.leak_at(middle) <= limits.leak:
            high = middle
        else:
            low = middle
    number, noise = choices.best(high)
    excess = choices.excess[np.arange(len(number)), number, noise]
    if not mean:
        return Allocation(choices.shares(loads, SLACK * high), float(excess.max()))
    tables = sum(len(load.tables) for load in loads)
    return Allocation(choices.shares(loads, high), float(choices.counts @ excess) / max(tables, 1))


class Choices(NamedTuple):
    """All choices of all kinds of messages as arrays.

    counts: messages of each kind. copies: shape (kinds, choices of copies). leak, excess: shape
    (kinds, choices of copies, values of v); excess is the largest of the tables, or their sum.
    """

    budget: float
    mean: bool
    effort: Effort
    counts: np.ndarray
    copies: np.ndarray
    leak: np.ndarray
    excess: np.ndarray

    @classmethod
    def of(cls, kinds: Mapping[Load, int], budget: float, mean: bool, effort: Effort) -> Choices:
        """Compute the choices. A kind with fewer choices of copies repeats its last one."""
        most = max(len(load.copies) for load in kinds)
        copies = [load.copies + load.copies[-1:] * (most - len(load.copies)) for load in kinds]
        same = [load._replace(copies=k) for load, k in zip(kinds, copies, strict=True)]
        return cls(
            budget,
            mean,
            effort,
            np.array(list(kinds.values())),
            np.array(copies),
            np.stack([leaks(load, effort.points) for load in same]),
            np.stack([excesses(load, effort.points, mean) for load in same]),
        )

    def best(self, price: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the cheapest choices of copies and of v within the budget, one for each kind.

        The cost of a choice for the mean is the sum of its excesses plus the price times its leak;
        for the largest, its leak, if its excess is at most the price.
        """
        if self.mean:
            cost = self.excess + price * self.leak
        else:
            cost = np.where(self.excess <= price, self.leak, np.inf)
        noise = cost.argmin(axis=2)
        kinds, numbers = np.ogrid[: len(cost), : cost.shape[1]]
        number = self._within_budget(cost[kinds, numbers, noise])
        return number, noise[np.arange(len(noise)), number]

    def _within_budget(self, cost: np.ndarray) -> np.ndarray:
        """Return the cheapest copies of each kind: the least toll on each copy that keeps the
        budget."""
        places = np.arange(len(cost))

        def at(toll: float) -> tuple[np.ndarray, int]:
            number: np.ndarray = (cost + toll * self.copies).argmin(axis=1)
            return number, int(self.counts.dot(self.copies[places, number]))

        number, used = at(0.0)
        if used <= self.budget:
            return number
        low, high = TOLLS
        for _ in range(self.effort.steps):
            middle = math.sqrt(low * high)
            number, used = at(middle)
            if used == self.budget:  # a larger toll leaves fewer copies: these are the cheapest
                return number
            low, high = (low, middle) if used < self.budget else (middle, high)
        return at(high)[0]

    def shares(self, loads: Sequence[Load], price: float) -> tuple[MessageAllocation, ...]:
        """Return the share of each message at a price. loads: the messages of these kinds."""
        number, noise = self.best(price)
        copies = self.copies[np.arange(len(number)), number]
        shares = map(MessageAllocation, copies.tolist(), grid(self.effort.points)[noise].tolist())
        each = dict(zip(Counter(loads), shares, strict=True))
        return tuple(each[load] for load in loads)

    def leak_at(self, price: float) -> float:
        """Return the sum of all leaks at a price."""
        number, noise = self.best(price)
        return float(self.counts @ self.leak[np.arange(len(number)), number, noise])


@lru_cache(maxsize=4)
def grid(points: int) -> np.ndarray:
    """Return the values of v = p q / (p - q)^2 that are tried."""
    return np.geomspace(LEAST_V, MOST_V, points)


@lru_cache(maxsize=512)
def leaks(load: Load, points: int) -> np.ndarray:
    """Return mu^2 N = k (phi^d - 1), phi = 1 + 1 / v: shape (copies, v).

    Infinite beyond precision, and where v is too large.
    """
    exponent = load.distance * np.log1p(1 / grid(points)) + load.fixed
    with np.errstate(over="ignore"):
        leak = np.outer(load.times * np.array(load.copies), np.expm1(exponent))
    return np.where(grid(points) <= load.most_v, leak, np.inf)


@lru_cache(maxsize=512)
def excesses(load: Load, points: int, mean: bool) -> np.ndarray:
    """Return how much the inflations of a load's tables are above 1: shape (copies, v).

    The largest, or the sum, whose mean over all loads is wanted.
    """
    copies, v = np.array(load.copies)[:, None], grid(points)
    total = np.zeros((len(load.copies), len(v)))
    for axes in load.tables:
        excess = np.broadcast_to(relative_noise(axes, v), v.shape) / copies
        total = total + excess if mean else np.maximum(total, excess)
    return total
