"""Privacy losses on a lattice, and their sums. Proof: docs/mathematics.md#composition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from flint import arb, fmpq

from incrowd.accountant.proved.balls import TimeLimit, ceiling, floor, product_of
from incrowd.accountant.proved.bits import BitCollection


class DeltaCurve(NamedTuple):
    """Bounds of the sum of max(0, P - alpha Q) at alpha = e^(place step), in both orders.

    places: integers that rise from 0.
    """

    step: float
    places: list[int]
    heights: list[arb]


class Loss(NamedTuple):
    """Masses of the privacy loss at (first + i) step under P; `infinite`: the mass where Q has
    none."""

    step: float
    first: int
    masses: list[arb]
    infinite: arb

    def delta(self, epsilon: arb) -> arb:
        """Return the infinite mass, and the masses above epsilon times 1 - e^(epsilon - loss)."""
        total = self.infinite
        for i, mass in enumerate(self.masses):
            above = (self.first + i) * arb(self.step) - epsilon
            if not above <= 0:
                total += mass * (-(-above).expm1()).nonnegative_part()
        return total


def connected(curve: DeltaCurve) -> Loss:
    """Return a loss whose curve is above the given bounds and between them.

    Lemmas (docs/mathematics.md, "The curve", "Connect the dots"): below 1, delta(-e) = 1 - e^-e +
    e^-e delta(e) of the other order, and both orders are bounded by this curve. Chords of a convex
    function are above it, whichever points they connect; the points of the lower hull are taken.
    The mass of Q at a corner is the change of slope there, and that of P is alpha times as large.
    """
    places, alphas, heights = list[int](), [arb(0)], [arb(1)]
    for place, height in reversed(list(zip(curve.places[1:], curve.heights[1:], strict=True))):
        small = (-place * arb(curve.step)).exp()
        places.append(-place)
        alphas.append(small)
        heights.append(1 - small + small * height)
    for place, height in zip(curve.places, curve.heights, strict=True):
        places.append(place)
        alphas.append((place * arb(curve.step)).exp())
        heights.append(height)
    corners = _lower_hull(alphas, heights)
    slopes = [
        (heights[j] - heights[i]) / (alphas[j] - alphas[i]) for i, j in itertools.pairwise(corners)
    ]
    slopes.append(arb(0))
    masses = [arb(0)] * (2 * places[-1] + 1)
    for i, corner in enumerate(corners[1:], 1):
        change = slopes[i] - slopes[i - 1]
        masses[places[corner - 1] - places[0]] = (alphas[corner] * change).nonnegative_part()
    return Loss(curve.step, places[0], masses, heights[-1])


def _lower_hull(alphas: Sequence[arb], heights: Sequence[arb]) -> list[int]:
    """Return the corners of the lower convex hull, with slopes that are proved to rise."""
    corners = [0]
    for k in range(1, len(alphas)):
        while len(corners) > 1:
            i, j = corners[-2:]
            before = (heights[j] - heights[i]) * (alphas[k] - alphas[j])
            after = (heights[k] - heights[j]) * (alphas[j] - alphas[i])
            if before < after:
                break
            corners.pop()
        corners.append(k)
    return corners


def named_loss(noise: fmpq, step: float) -> Loss:
    """Return the loss of one flipped bit with a name on it: ln(p/q) with probability p, otherwise
    minus that.

    Lemmas ("Rounds without a shuffler", "Connect the dots"): each value is split between its
    neighbors on the lattice so that P and Q keep their totals, which raises the curve.
    """
    loss = arb((1 - noise) / noise).log()
    top = ceiling(loss / arb(step))
    masses = [arb(0)] * (2 * top + 1)
    for value, mass in ((loss, arb(1 - noise)), (-loss, arb(noise))):
        below = min(max(floor(value / arb(step)), -top), top - 1)
        low, high = ((-place * arb(step)).exp() for place in (below, below + 1))
        share = ((-value).exp() - high) / (low - high)
        masses[below + top] += mass * share.nonnegative_part()
        masses[below + top + 1] += mass * (1 - share).nonnegative_part()
    return Loss(step, -top, masses, arb(0))


Add = Callable[[Loss, Loss], Loss]


def composed(losses: Sequence[tuple[Loss, int]], cut: float, clock: TimeLimit) -> Loss:
    """Return a bound of the loss of independent collections; each (loss, how many), on one lattice.

    Lemma ("Adding losses"): the losses of independent pairs add up. Low losses may be raised to the
    lowest that remains, and high ones be called infinite: both raise delta.
    """

    def add(one: Loss, other: Loss) -> Loss:
        clock.check()
        masses = [mass.nonnegative_part() for mass in product_of(one.masses, other.masses)]
        size, least = np.array([float(mass.mid()) for mass in masses]), math.exp(-cut)
        end = len(size) - int(np.searchsorted(np.cumsum(size[::-1]), least))
        start = min(int(np.searchsorted(np.cumsum(size), least)), end - 1)
        finite, all_other = sum(one.masses, arb(0)), sum(other.masses, other.infinite)
        infinite = one.infinite * all_other + finite * other.infinite + sum(masses[end:], arb(0))
        low = sum(masses[: start + 1], arb(0))
        inner = [low, *masses[start + 1 : end]]
        return Loss(one.step, one.first + other.first + start, inner, infinite)

    return _sum(losses, add)


def composed_below(losses: Sequence[tuple[Loss, int]], cut: float, clock: TimeLimit) -> Loss:
    """Return the same from below: what is left out only lowers delta."""

    def add(one: Loss, other: Loss) -> Loss:
        clock.check()
        masses = product_of(one.masses, other.masses)
        large = np.flatnonzero(np.array([float(mass.mid()) for mass in masses]) > math.exp(-cut))
        low, high = int(large[0]), int(large[-1]) + 1
        inner = [mass.nonnegative_part() for mass in masses[low:high]]
        return Loss(one.step, one.first + other.first + low, inner, arb(0))

    return _sum(losses, add)


def _sum(losses: Sequence[tuple[Loss, int]], add: Add) -> Loss:
    return reduce(add, (_power(loss, number, add) for loss, number in losses))


def _power(loss: Loss, number: int, add: Add) -> Loss:
    if number == 1:
        return loss
    half = _power(loss, number // 2, add)
    doubled = add(half, half)
    return add(doubled, loss) if number % 2 else doubled


def lowered(crowd: BitCollection, step: float) -> Loss:
    """Return the loss of one crowd from below: each mass at the next lower point.

    Where the window of the law leaves something out, Q counts with all of it.
    """
    masses: dict[int, arb] = {}
    for p, q in zip(crowd.p, crowd.q, strict=True):
        if p > arb(2) ** -150:
            place = floor((p / (q + crowd.missing)).log() / arb(step))
            masses[place] = masses.get(place, arb(0)) + p
    first = min(masses)
    return Loss(step, first, [masses.get(k, arb(0)) for k in range(first, max(masses) + 1)], arb(0))
