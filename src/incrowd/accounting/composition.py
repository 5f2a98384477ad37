"""Privacy curves that can be combined: copies, messages, rounds.

A pair of neighboring collections is described by its privacy loss ln(P/Q) under P, in both
orders. The law is built from delta(epsilon) on a grid by connecting the dots (Doroshenko, Ghazi,
Kamath, Kumar, Manurangsi 2022): the curve between grid points is replaced by its chord in
e^epsilon, which lies above it. Composition adds losses; every rounding goes up.
Proof: docs/mathematics.md#composition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from incrowd.errors import PrivacyError
from incrowd.numerics.convolution import convolution_error, convolved
from incrowd.numerics.lattice import Split, gathered, neighbors
from incrowd.numerics.precision import UNIT

TAIL = 1e-18  # losses beyond are called infinite
SPARSE, WIDER = 4, 16  # beyond the dense part every 4th point, and wider by a 16th of its place
MOST_POINTS = 1 << 17


@dataclass(frozen=True)
class LossLaw:
    """Privacy loss of one order: masses on (first + i) * step, and what counts as infinite loss."""

    step: float
    first: int
    mass: np.ndarray
    infinite: float

    @property
    def losses(self) -> np.ndarray:
        """The points of the lattice."""
        return self.step * np.arange(self.first, self.first + len(self.mass))

    def delta(self, epsilon: float) -> float:
        """P[loss > epsilon] less e^epsilon Q[loss > epsilon], with an allowance for roundoff."""
        excess = -np.expm1(np.minimum(epsilon - self.losses, 0.0))
        return float(min(excess @ self.mass + self.doubt, 1.0))

    @property
    def doubt(self) -> float:
        """How much of delta only allows for rounding and for tails that were cut."""
        return self.infinite + UNIT * math.sqrt(len(self.mass))

    def times(self, other: LossLaw) -> LossLaw:
        """The loss of two independent collections, on the coarser of their lattices."""
        step = max(self.step, other.step)
        one, other = self.on(step), other.on(step)
        mass = convolved(one.mass, other.mass)
        infinite = one.infinite + other.infinite + convolution_error(one.mass, other.mass)
        return _trimmed(step, one.first + other.first, mass, infinite)

    def power(self, count: int) -> LossLaw:
        """The loss of `count` >= 1 independent collections, by repeated squaring."""
        if count == 1:
            return self
        half = self.power(count // 2)
        squared = half.times(half)
        return squared.times(self) if count % 2 else squared

    def on(self, step: float) -> LossLaw:
        """The same law on another lattice; each mass goes to its two neighbors so that P and Q
        both keep their mass, which can only raise delta."""
        if step == self.step:
            return self
        below, lower, upper = neighbors(self.losses, step, rate=-1.0)
        first, mass = gathered(Split(below, self.mass * lower, self.mass * upper))
        return LossLaw(step, first, mass, self.infinite)


def _trimmed(step: float, first: int, mass: np.ndarray, infinite: float) -> LossLaw:
    """Cut tails that weigh nothing: high losses become infinite, low ones are raised."""
    above = np.cumsum(mass[::-1])[::-1]
    keep = max(int(np.searchsorted(-above, -TAIL)), 1)
    infinite += float(above[keep]) if keep < len(above) else 0.0
    mass = mass[:keep]
    start = min(int(np.searchsorted(np.cumsum(mass), TAIL)), len(mass) - 1)
    raised = mass[start:].copy()
    raised[0] += mass[:start].sum()
    law = LossLaw(step, first + start, raised, min(infinite, 1.0))
    return law if len(raised) <= MOST_POINTS else law.on(2 * step)


@dataclass(frozen=True)
class PrivacyCurve:
    """The privacy of a pair of neighbors, both orders kept apart."""

    forward: LossLaw
    backward: LossLaw

    def __mul__(self, other: PrivacyCurve) -> PrivacyCurve:
        """Both collections published."""
        return PrivacyCurve(self.forward.times(other.forward), self.backward.times(other.backward))

    def __pow__(self, count: int) -> PrivacyCurve:
        """So many collections of the same kind published."""
        return PrivacyCurve(self.forward.power(count), self.backward.power(count))

    def delta(self, epsilon: float) -> float:
        """An upper bound of delta at epsilon, the worse of the two orders."""
        return max(self.forward.delta(epsilon), self.backward.delta(epsilon))

    @property
    def doubt(self) -> float:
        """How much of the bound of delta only allows for rounding and for tails that were cut."""
        return max(self.forward.doubt, self.backward.doubt)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon at which the bound of delta is at most `delta`.

        Raises PrivacyError if no finite epsilon reaches it.
        """
        highest = max(self.forward.losses[-1], self.backward.losses[-1])
        if self.delta(highest) > delta:
            reachable = (
                f"should be at least {self.delta(highest):.3g}, which this composition reaches"
            )
            raise PrivacyError.of("delta", delta, reachable)
        if self.delta(0.0) <= delta:
            return 0.0
        root = brentq(lambda e: self.delta(e) - delta, 0.0, highest, xtol=1e-12)
        while self.delta(root) > delta:
            root = root * (1 + 1e-12) + 1e-12
        return float(root)


Delta = Callable[[float], float]


def connect_the_dots(forward: np.ndarray, backward: np.ndarray, step: float) -> PrivacyCurve:
    """A privacy curve from bounds of delta at 0, step, 2 step, ... in both orders.

    forward, backward: equally long. Below zero each order follows from the other:
    delta_PQ(-e) = 1 - exp(-e) + exp(-e) delta_QP(e).
    """
    return PrivacyCurve(_loss_law(forward, backward, step), _loss_law(backward, forward, step))


def _loss_law(forward: np.ndarray, backward: np.ndarray, step: float) -> LossLaw:
    count = len(forward) - 1
    negative = np.exp(-step * np.arange(count, 0, -1))
    below = -np.expm1(-step * np.arange(count, 0, -1)) + negative * backward[:0:-1]
    curve = np.concatenate([below, forward])
    ratio = np.exp(step * np.arange(-count, count + 1))
    curve = _convex_envelope(np.append(0.0, ratio), np.append(1.0, curve))
    slope = np.diff(curve) / np.diff(np.append(0.0, ratio))
    mass = ratio * np.diff(np.append(slope, 0.0))
    return LossLaw(step, -count, np.maximum(mass, 0.0), float(curve[-1]))


def _convex_envelope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The largest convex function below the points: still above the convex curve they bound."""
    hull = [0]
    for i in range(1, len(x)):
        while len(hull) > 1 and _bends_down(x, y, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    return np.asarray(np.interp(x, x[hull], y[hull]))


def _bends_down(x: np.ndarray, y: np.ndarray, a: int, b: int, c: int) -> bool:
    return bool((y[b] - y[a]) * (x[c] - x[b]) >= (y[c] - y[b]) * (x[b] - x[a]))


def sampled(delta: Delta, step: float, dense: int, enough: float, most: int) -> np.ndarray:
    """Bounds of delta at 0, step, 2 step, ... until one is at most `enough`, `most` at the most.

    After `dense` points only every fourth is computed, and ever fewer farther out; the chord in
    e^epsilon bounds the others.
    """
    index, found = [0], [delta(0.0)]
    while found[-1] > enough and index[-1] < most:
        wide = max(SPARSE, index[-1] // WIDER)
        index.append(index[-1] + (1 if index[-1] < dense else wide))
        found.append(min(delta(index[-1] * step), found[-1]))
    every = np.arange(index[-1] + 1)
    chords = np.interp(np.exp(step * every), np.exp(step * np.array(index)), found)
    return np.asarray(chords)
