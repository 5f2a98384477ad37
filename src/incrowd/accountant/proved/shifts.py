"""Counts that shift by one under additive noise, in rational numbers.

Proof: docs/mathematics.md#noise-from-the-services.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from flint import arb, fmpq

from incrowd.accountant.proved.balls import TimeLimit, ceiling, floor
from incrowd.accountant.proved.losses import Loss, composed

MOST_OUTCOMES = 50_000  # of a half of the counts, for an exact sum
POINTS = 40_000  # of a lattice, for more of them
CUT = 90.0  # masses below e^-90 may count as infinite losses


class ShiftedCount(NamedTuple):
    """The noise of a count: whole numbers for 0, ..., m, and for -1, ..., -m the same.

    All of them add up to `total`.
    """

    numerators: tuple[int, ...]
    total: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """P(z) and P(z - 1) for z = -m + 1, ..., m; the rest of P, at -m, has infinite loss."""
        whole = [*self.numerators[:0:-1], *self.numerators]
        return [(p, q) for q, p in pairwise(whole)]

    @property
    def largest(self) -> float:
        """The largest finite loss, approximately."""
        return max((abs(math.log(p) - math.log(q)) for p, q in self.pairs), default=0.0)

    @property
    def spread(self) -> float:
        """The approximate standard deviation of the loss."""
        squares = sum(p / self.total * (math.log(p) - math.log(q)) ** 2 for p, q in self.pairs)
        return math.sqrt(squares)

    def outcomes(self, number: int) -> int:
        """Return how many ratios P / Q so many counts can have, at most."""
        return math.comb(max(len(self.pairs), 1) + number - 1, number)


Shifts = Sequence[tuple[ShiftedCount, int]]


class Outcomes(NamedTuple):
    """Ratios P / Q that rise, the masses of P and Q there, and what both are fractions of."""

    ratios: list[fmpq]
    p: list[int]
    q: list[int]
    total: int


def shifted_delta(shifts: Shifts, epsilon: arb, clock: TimeLimit) -> tuple[arb, arb]:
    """Return (low, high) of delta of counts alone; 0 for low if there are too many to add exactly.

    Exactly: the sum of max(0, P - e^epsilon Q) over all outcomes of half of the counts with all of
    the other half, in whole numbers; only e^epsilon is a ball.
    """
    halves = _halves(shifts)
    if max(map(_number, halves)) > MOST_OUTCOMES:
        whole = sum(2 * count.largest * n for count, n in shifts)
        losses = [(split_loss(count, whole / POINTS), n) for count, n in shifts]
        return arb(0), composed(losses, CUT, clock).delta(epsilon)
    one, other = (_outcomes(half, clock) for half in halves)
    delta = _exact(one, other, epsilon.exp(), clock)
    return delta, delta


def _halves(shifts: Shifts) -> tuple[Shifts, Shifts]:
    """Return the counts in two parts with about as many outcomes."""
    one: dict[ShiftedCount, int] = {}
    other: dict[ShiftedCount, int] = {}
    for count, n in shifts:
        fewer, more = sorted((one, other), key=lambda half: _number(half.items()))
        fewer[count], more[count] = n - n // 2, n // 2
    return tuple(one.items()), tuple(other.items())


def _number(shifts: Iterable[tuple[ShiftedCount, int]]) -> int:
    return math.prod(count.outcomes(n) for count, n in shifts)


def _outcomes(shifts: Shifts, clock: TimeLimit) -> Outcomes:
    """Return all outcomes with a finite loss; those of equal ratios are added."""
    masses, total = {fmpq(1): (1, 1)}, 1
    for count, n in shifts:
        steps = [(fmpq(p, q), p, q) for p, q in count.pairs]
        for _ in range(n):
            clock.check()
            added: dict[fmpq, tuple[int, int]] = {}
            for ratio, (p, q) in masses.items():
                for step, one, other in steps:
                    at = ratio * step
                    before = added.get(at, (0, 0))
                    added[at] = before[0] + p * one, before[1] + q * other
            masses, total = added, total * count.total
    ratios = sorted(masses)
    pairs = [masses[ratio] for ratio in ratios]
    return Outcomes(ratios, [p for p, _ in pairs], [q for _, q in pairs], total)


def _exact(one: Outcomes, other: Outcomes, alpha: arb, clock: TimeLimit) -> arb:
    """Return the sum of max(0, P - alpha Q) over both, with all that has an infinite loss.

    Outcomes whose sign is clear are added as whole numbers; those that the ball of alpha leaves
    open count as balls.
    """
    ends = _rational(alpha.lower()), _rational(alpha.upper())
    p_from, q_from = (list(accumulate(reversed(m), initial=0))[::-1] for m in (other.p, other.q))
    p_sum = q_sum = 0
    unclear = arb(0)
    for ratio, p, q in zip(one.ratios, one.p, one.q, strict=True):
        first, last = (bisect_right(other.ratios, end / ratio) for end in ends)
        p_sum += p * p_from[last]
        q_sum += q * q_from[last]
        for i in range(first, last):
            unclear += (arb(p * other.p[i]) - alpha * arb(q * other.q[i])).nonnegative_part()
    clock.check()
    total = one.total * other.total
    infinite = total - sum(one.p) * sum(other.p)
    return (arb(p_sum + infinite) - alpha * arb(q_sum) + unclear) / arb(total)


def _rational(number: arb) -> fmpq:
    mantissa, exponent = (int(part) for part in number.man_exp())
    return fmpq(mantissa << exponent) if exponent >= 0 else fmpq(mantissa, 1 << -exponent)


def split_loss(count: ShiftedCount, step: float) -> Loss:
    """Return the loss of one count on a lattice.

    Lemma ("Connect the dots"): each value is split between its neighbors on the lattice so that P
    and Q keep their totals, which raises the curve.
    """
    top = ceiling(arb(count.largest) / arb(step)) + 2
    masses = [arb(0)] * (2 * top + 1)
    for p, q in count.pairs:
        loss = arb(fmpq(p, q)).log()
        below = floor(loss / arb(step))
        low, high = ((-place * arb(step)).exp() for place in (below, below + 1))
        share = (arb(fmpq(q, p)) - high) / (low - high)
        mass = arb(fmpq(p, count.total))
        masses[below + top] += mass * share.nonnegative_part()
        masses[below + top + 1] += mass * (1 - share).nonnegative_part()
    return Loss(step, -top, masses, arb(fmpq(count.numerators[-1], count.total)))
