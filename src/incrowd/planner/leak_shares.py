"""How messages of cells share the leak: the shares with the smallest inflation of their tables.

In the large-N limit a message whose bits have the noise variance v leaks 1 / v per bit that can
change (docs/mathematics.md#large-crowds). The inflation of a table, its variance over that of
sampling, exceeds 1 by a convex function of the leaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from incrowd.accountant.numerics.extrema import root
from incrowd.planner.effects import Footprint

Vector = np.ndarray
CLOSE = 1e-4  # relative error of the excess, of which a lower bound is known
STEPS = 2000
NEWTON, ENOUGH = 30, 1e-12  # the largest number of steps; the relative change that ends them
TINY = 1e-9  # reports, in place of a limit of none


class LeakLimits(NamedTuple):
    """The limits for all messages of one person together.

    leak: the sum of 1 / v over the bits that can change; mu^2 N of the guarantee. local_epsilon:
    the sum of ln(p / q) over the same bits. reports: the expected number for a person who sets as
    many bits as possible. slots: the places in an upload, which all messages share; a person's
    reports exceed them with probability `tail`.
    """

    leak: float
    local_epsilon: float = math.inf
    reports: float = math.inf
    slots: float = math.inf
    tail: float = 1e-14


class Use(NamedTuple):
    """How much of the limits some messages use, per person."""

    leak: float
    local_epsilon: float
    reports: float
    slots: float

    @classmethod
    def of(cls, footprints: Sequence[Footprint], leaks: Vector, tail: float) -> Use:
        """Compute the use of some messages. leaks: of each bit that can change, per message."""
        bits, changed, ones, _ = map(np.array, zip(*footprints, strict=True))
        flips = 1 / (1 + np.exp(log_odds(leaks)))
        return cls(
            float(changed @ leaks),
            float(changed @ log_odds(leaks)),
            float(np.sum(ones + bits * flips)),
            min(ones.sum() + _most_flips(float(bits @ flips), tail), float(bits.sum())),
        )

    def volume(self, limits: LeakLimits) -> float:
        """The larger of reports and slots, relative to their limits: at most 1 if they fit."""
        reports, slots = (max(most, TINY) for most in (limits.reports, limits.slots))
        return max(self.reports / reports, self.slots / slots)


def log_odds(leaks: Vector) -> Vector:
    """ln(p / q) of bits with the leak 1 / v = (p - q)^2 / (p q) = 4 sinh(ln(p / q) / 2)^2."""
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
    """The leaks with the smallest inflation of the tables, and by how much it exceeds 1.

    precisions: of each term by each message at leak 1, shape (terms, messages). weights: of each
    term in each table, shape (tables, terms). prices: of a unit of leak, shape (messages,); all
    messages together cost 1. mean: whether to minimize the mean of the tables' inflations rather
    than the largest. The excess is within the relative error `CLOSE` of the smallest, unless that
    is above `useful` or takes more than `steps` steps.

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


def scaled(footprints: Sequence[Footprint], leaks: Vector, limits: LeakLimits) -> float:
    """The factor by which leaks can grow until the limit of leak or local epsilon is reached."""
    changed = np.array([each.changed for each in footprints], float)
    most = limits.leak / float(changed @ leaks)

    def beyond(scale: float) -> float:
        return float(changed @ log_odds(scale * leaks)) - limits.local_epsilon

    if beyond(most) <= 0:
        return most
    return root(beyond, 0.0, most, relative=1e-12)


def local_prices(footprints: Sequence[Footprint], leaks: Vector) -> Vector:
    """The increase of the local epsilon per unit of leak: the derivative of ln(p / q)."""
    changed = np.array([each.changed for each in footprints], float)
    return np.asarray(changed / np.sqrt(leaks * (leaks + 4)))


def _most_flips(mean: float, tail: float) -> float:
    """An integer that a sum of independent bits exceeds with probability at most `tail`.

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
