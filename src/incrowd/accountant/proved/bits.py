"""The collection of one bit: every crowd, both orders. Proof: docs/mathematics.md#enumeration."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
from flint import arb, fmpq

from incrowd.accountant.proved.balls import TimeLimit, binomial, convolved


class BitChances(NamedTuple):
    """The probabilities of a report 1 from a person whose bit is 1 (direct), or 0 (stray)."""

    direct: fmpq
    stray: fmpq

    @property
    def reversed(self) -> BitChances:
        """The same bit with zeros and ones exchanged, in answers and reports."""
        return BitChances(1 - self.stray, 1 - self.direct)

    @property
    def orders(self) -> tuple[BitChances, ...]:
        """The bit for x against x', and reversed for x' against x."""
        return (self,) if self.reversed == self else (self, self.reversed)

    @property
    def local_epsilon(self) -> float:
        """The largest loss, approximately."""
        return max(math.log(float(each.direct / each.stray)) for each in self.orders)

    def spread(self, people: int) -> float:
        """Return the approximate standard deviation of the loss in a crowd."""
        direct, stray = float(self.direct), float(self.stray)
        noise = min(direct * (1 - direct), stray * (1 - stray))
        return (direct - stray) / math.sqrt(people * noise)


class BitCollection:
    """The collection of one bit in one crowd: `same` others hold x, and `other` hold x'.

    Lemma (docs/mathematics.md, "Corners"): P(t)/Q(t) rises with t, so the sum of max(0, P - a Q) is
    that of P - a Q over all t from some place on. The place is chosen by ordinary numbers, and its
    neighbors' signs are proved; a term whose sign is not clear counts if it can be above 0. A
    window of a binomial law is log-concave too, so the lemma holds for windows.
    """

    def __init__(self, bit: BitChances, same: int, other: int, cut: float) -> None:
        law = convolved(binomial(same, bit.direct, cut), binomial(other, bit.stray, cut))
        at, before = [*law.masses, arb(0)], [arb(0), *law.masses]
        direct, lost = arb(bit.direct), arb(1 - bit.direct)
        stray, rest = arb(bit.stray), arb(1 - bit.stray)
        self.p = [direct * b + lost * a for a, b in zip(at, before, strict=True)]
        self.q = [stray * b + rest * a for a, b in zip(at, before, strict=True)]
        self.missing = law.missing
        self._p_from, self._q_from = _sums_from(self.p), _sums_from(self.q)
        p, q = (np.array([float(mass.mid()) for mass in masses]) for masses in (self.p, self.q))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where((p > 0) & (q > 0), p / q, 0.0)
        self._ratio = np.maximum.accumulate(ratio)

    def above(self, alpha: arb) -> arb:
        """Return a bound of the sum of max(0, P - alpha Q): what is missing counts in full."""
        return self._excess(alpha) + self.missing

    def below(self, alpha: arb) -> arb:
        """Return a lower bound: P has no more than in the window, Q all that is missing."""
        return self._excess(alpha) - alpha * self.missing

    def _excess(self, alpha: arb) -> arb:
        size = len(self.p)
        place = int(np.searchsorted(self._ratio, float(alpha.mid())))
        low, high = max(place - 1, 0), min(place + 1, size)
        while low > 0 and not self._term(low - 1, alpha) <= 0:
            low -= 1
        while high < size and not self._term(high, alpha) >= 0:
            high += 1
        total = self._p_from[high] - alpha * self._q_from[high] if high < size else arb(0)
        for t in range(low, high):
            total += self._term(t, alpha).nonnegative_part()
        return total

    def _term(self, t: int, alpha: arb) -> arb:
        return self.p[t] - alpha * self.q[t]


def _sums_from(masses: Sequence[arb]) -> list[arb]:
    sums, total = list[arb](), arb(0)
    for mass in reversed(masses):
        total = total + mass
        sums.append(total)
    return sums[::-1]


def pieces(others: int, number: int) -> Iterator[tuple[int, int]]:
    """Return intervals of nearly equal length that cover 0, ..., others."""
    number = min(number, others + 1)
    edges = [i * (others + 1) // number for i in range(number + 1)]
    return ((edges[i], edges[i + 1] - 1) for i in range(number))


def halves(first: int, last: int) -> tuple[tuple[int, int], ...]:
    """Return the two halves of an interval; one that cannot be halved is returned as it is."""
    middle = (first + last) // 2
    return ((first, middle), (middle + 1, last)) if first < last else ((first, last),)


class Sweep:
    """Bounds of the sums of max(0, P - alpha Q) at some alphas, for every crowd and both orders.

    Lemma ("Many people"): if first <= m <= last of the others hold x, the crowd in which only
    `first` hold x and others - last hold x' reveals at least as much. The intervals cover every m.
    """

    def __init__(
        self,
        bit: BitChances,
        people: int,
        alphas: Sequence[arb],
        cut: float,
        clock: TimeLimit,
        start: int,
    ) -> None:
        self._others, self._alphas, self._cut, self._clock = people - 1, alphas, cut, clock
        probes = sorted({round(i * (people - 1) / 8) for i in range(9)})
        self._attained = np.zeros(len(alphas))
        for order in bit.orders:
            for m in probes:
                heights = self._curve(order, m, m)
                self._attained = np.maximum(self._attained, _floats(heights))
        self._parts = [
            (order, interval, self._curve(order, *interval))
            for order in bit.orders
            for interval in pieces(people - 1, start)
        ]

    def _curve(self, order: BitChances, first: int, last: int) -> list[arb]:
        self._clock.check()
        crowd = BitCollection(order, first, self._others - last, self._cut)
        return [crowd.above(alpha).upper() for alpha in self._alphas]

    @property
    def heights(self) -> list[arb]:
        """The largest bound at each alpha, exact numbers."""
        heights = [arb(0)] * len(self._alphas)
        for _, _, curve in self._parts:
            heights = [one.max(other) for one, other in zip(heights, curve, strict=True)]
        return heights

    def refine(self) -> bool:
        """Halve the intervals whose bound exceeds what some crowd has; False if there is none."""
        parts, halved = [], False
        for order, interval, curve in self._parts:
            if interval[0] == interval[1] or not np.any(_floats(curve) > self._attained * 1.0001):
                parts.append((order, interval, curve))
                continue
            halved = True
            parts += [(order, half, self._curve(order, *half)) for half in halves(*interval)]
        self._parts = parts
        return halved


def _floats(heights: Sequence[arb]) -> np.ndarray:
    return np.array([float(height.mid()) for height in heights])


def one_bit(
    bit: BitChances, people: int, epsilon: arb, cut: float, clock: TimeLimit
) -> tuple[arb, arb]:
    """Return (low, high) of delta of a collection of one bit, over every crowd and both orders.

    Lemma ("Many people"), as in Sweep; the interval with the largest bound is halved until some
    crowd attains it up to a ten-millionth, or half of the time is over.
    """
    others, alpha, low, number = people - 1, epsilon.exp(), arb(0), count()
    heap: list[tuple[float, int, BitChances, tuple[int, int], arb]] = []

    def consider(order: BitChances, first: int, last: int) -> None:
        crowd = BitCollection(order, first, others - last, cut)
        high = crowd.above(alpha).upper()
        heapq.heappush(heap, (-float(high), next(number), order, (first, last), high))

    def attain(order: BitChances, m: int) -> arb:
        return low.max(BitCollection(order, m, others - m, cut).below(alpha).lower())

    for order in bit.orders:
        for first, last in pieces(others, 16):
            consider(order, first, last)
            low = attain(order, first)
        low = attain(order, others)
    while True:
        _, _, order, (first, last), high = heap[0]
        if first == last or high <= low * (1 + arb("1e-7")) or 2 * clock.elapsed > clock.seconds:
            break
        heapq.heappop(heap)
        for half in halves(first, last):
            consider(order, *half)
        low = attain(order, (first + last) // 2)
    # Equal numbers in double precision can hide a larger bound: all of the heap counts.
    for *_, bound in heap:
        high = high.max(bound)
    if first == last:
        low = attain(order, first)
    return low.nonnegative_part(), high
