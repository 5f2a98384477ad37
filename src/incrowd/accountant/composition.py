"""Privacy curves that can be combined: copies, messages, rounds.

A pair of neighboring collections is described by its privacy loss ln(P/Q) under P, in both
orders. The law is built from delta(epsilon) on a grid by connecting the dots (Doroshenko, Ghazi,
Kamath, Kumar, Manurangsi 2022): the curve between grid points is replaced by its chord in
e^epsilon, which lies above it. Composition adds losses; every rounding goes up.
Proof: docs/mathematics.md#composition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import ClassVar

import numpy as np
from numpy.fft import irfft, rfft

from incrowd.accountant.numerics.extrema import root
from incrowd.accountant.numerics.lattice import (
    LOG_TAIL,
    Split,
    convolution_error,
    convolved,
    fast_length,
    gathered,
    neighbors,
    power,
)
from incrowd.accountant.numerics.precision import SMALLEST, UNIT
from incrowd.arguments import checked_class
from incrowd.errors import PrivacyError
from incrowd.views import Plotted

TAIL = 1e-18  # a tail of this mass is treated as infinite loss
SPARSE, WIDER = 4, 16  # after the dense part, steps of 4 points, or of a 16th of the index if more
MOST_POINTS = 1 << 17
COARSEST = 64.0  # on a coarser lattice nearly every loss is raised by a whole step
SHOWN = (0.1, 0.5, 1.0)  # values of epsilon in the text of a curve
MOST_TILT = 12.0  # over the spread: a normal sum of 9 spreads is bounded best by a tilt of 9


@dataclass(frozen=True)
class LossLaw:
    """The law of the privacy loss in one order: masses on (first + i) * step, and at infinity."""

    step: float
    first: int
    mass: np.ndarray
    infinite: float

    @property
    def losses(self) -> np.ndarray:
        """The points of the lattice."""
        return self.step * np.arange(self.first, self.first + len(self.mass))

    def delta(self, epsilon: float) -> float:
        """Return P[loss > epsilon] minus e^epsilon Q[loss > epsilon], plus an allowance for
        rounding."""
        excess = -np.expm1(np.minimum(epsilon - self.losses, 0.0))
        return float(min(excess @ self.mass + self.doubt, 1.0))

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        """Return `delta` at each epsilon, in a time that hardly depends on their number.

        With a mass A above epsilon, and the next point a gap g above it, where delta is d, delta is
        A (1 - e^-g) + d e^-g. All terms are positive, so the relative error of d grows with the
        number of points only, and is added.
        """
        above, dots = self._beyond
        place = np.searchsorted(self.losses, epsilons)
        gap = np.maximum(np.append(self.losses, -np.inf)[place] - epsilons, 0.0)
        sums = above[place] * -np.expm1(-gap) + dots[place] * np.exp(-gap)
        return np.asarray(np.minimum(sums * (1 + 4 * UNIT * len(above)) + self.doubt, 1.0))

    @cached_property
    def _beyond(self) -> tuple[np.ndarray, np.ndarray]:
        """The mass at or above each point, and delta there without `doubt`; zero after the last."""
        above = np.append(np.cumsum(self.mass[::-1])[::-1], 0.0)
        rise, fade = -math.expm1(-self.step) * above[:0:-1], math.exp(-self.step)
        dots = accumulate(rise.tolist(), lambda dot, more: fade * dot + more)
        return above, np.append([*dots][::-1], 0.0)

    @property
    def doubt(self) -> float:
        """The part of delta that only allows for rounding and for tails that were cut."""
        return self.infinite + UNIT * math.sqrt(len(self.mass))

    def times(self, other: LossLaw) -> LossLaw:
        """Return the loss of two independent collections, on the coarser of their lattices."""
        step = max(self.step, other.step)
        one, other = self.on(step), other.on(step)
        mass = convolved(one.mass, other.mass)
        infinite = one.infinite + other.infinite + convolution_error(one.mass, other.mass)
        return _trimmed(step, one.first + other.first, mass, infinite)

    def on(self, step: float) -> LossLaw:
        """Return the same law on another lattice.

        Each mass is split between its two neighbors so that P and Q both keep their mass; delta can
        only rise.
        """
        if step == self.step:
            return self
        below, lower, upper = neighbors(self.losses, step, rate=-1.0)
        first, mass = gathered(Split(below, self.mass * lower, self.mass * upper))
        return LossLaw(step, first, mass, self.infinite)


def _trimmed(step: float, first: int, mass: np.ndarray, infinite: float) -> LossLaw:
    """Cut negligible tails: high losses become infinite, low losses are raised."""
    above = np.cumsum(mass[::-1])[::-1]
    keep = max(int(np.searchsorted(-above, -TAIL)), 1)
    infinite += float(above[keep]) if keep < len(above) else 0.0
    mass = mass[:keep]
    start = min(int(np.searchsorted(np.cumsum(mass), TAIL)), len(mass) - 1)
    raised = mass[start:].copy()
    raised[0] += mass[:start].sum()
    law = LossLaw(step, first + start, raised, min(infinite, 1.0))
    return law if len(raised) <= MOST_POINTS else law.on(2 * step)


def composed(laws: Sequence[tuple[LossLaw, int]]) -> LossLaw:
    """Return the loss of independent collections: (law, how many of it), on the coarsest lattice.

    One transform for each law, on a circle that holds the sum except for a tail that is treated as
    infinite loss; low losses that wrap around the circle are raised. Proof:
    docs/mathematics.md#composition.
    """
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0]
    step = max(law.step for law, _ in laws)
    laws = [(law.on(step), count) for law, count in laws]
    low, high = _reach(laws)
    while high - low >= MOST_POINTS:
        if step > COARSEST:
            return LossLaw(step, 0, np.zeros(1), 1.0)
        step *= 2
        laws = [(law.on(step), count) for law, count in laws]
        low, high = _reach(laws)
    size = fast_length(high - low + 1)
    spectrum, errors = np.ones(size // 2 + 1, complex), np.zeros(size // 2 + 1)
    for law, count in laws:
        total, norm = max(float(law.mass.sum()), SMALLEST), math.sqrt(float(law.mass @ law.mass))
        one = _transform(law, size) / total
        modulus = np.maximum(np.abs(one), UNIT)
        errors += UNIT + UNIT * count * (norm / modulus - np.log(modulus))
        spectrum *= power(one, 1.0, count) * total**count
    mass = np.maximum(np.roll(irfft(spectrum, size), -(low % size)), 0.0)
    infinite = math.exp(-LOG_TAIL) + sum(count * law.infinite for law, count in laws)
    infinite += _tail_error(np.abs(spectrum) * errors)
    return LossLaw(step, low, mass, min(infinite, 1.0))


def _transform(law: LossLaw, size: int) -> np.ndarray:
    """Return the Fourier transform of the masses on a circle, zero at index 0."""
    turns = np.pad(law.mass, (0, -len(law.mass) % size)).reshape(-1, size)
    return np.asarray(rfft(np.roll(turns.sum(axis=0), law.first % size)))


def _tail_error(errors: np.ndarray) -> float:
    """Return a bound of the error of the mass beyond any point, given bounds of a transform's
    errors.

    A wave of frequency k sums to at most size / (2 k) times its height over any interval.
    """
    return float(errors[0] + (errors[1:] / np.arange(1, len(errors))).sum())


def _reach(laws: Sequence[tuple[LossLaw, int]]) -> tuple[int, int]:
    """Return (low, high): the sum is above `high` with probability e^-41, and below `low` about as
    rarely.

    P[sum >= x] <= E exp(t sum) exp(-t x) for every t > 0; t goes over a grid.
    """
    step = laws[0][0].step
    lowest = sum(count * law.first for law, count in laws)
    highest = sum(count * (law.first + len(law.mass) - 1) for law, count in laws)
    spread = math.sqrt(sum(count * _second_moment(law) for law, count in laws))
    t = np.geomspace(MOST_TILT / 64, MOST_TILT, 25) / max(spread, step)
    bounds = []
    for sign in (1, -1):
        cumulant = sum(count * _cumulant(law, sign * t) for law, count in laws)
        bounds.append(math.ceil(float(np.min((cumulant + LOG_TAIL) / t)) / step))
    low, high = max(lowest, -bounds[1]), min(highest, max(bounds[0], 0))
    return low, max(low, high)  # hardly any loss is finite if the bounds cross


def _second_moment(law: LossLaw) -> float:
    return float(law.mass @ law.losses**2)


def _cumulant(law: LossLaw, t: np.ndarray) -> np.ndarray:
    """Return ln E exp(t loss); a law without mass has a loss of zero."""
    exponents = np.outer(t, law.losses)
    top = exponents.max(axis=1)
    total = np.exp(exponents - top[:, None]) @ law.mass
    return np.asarray(top + np.log(np.maximum(total, SMALLEST)))


@checked_class
@dataclass(frozen=True)
class PrivacyCurve(Plotted):
    """An upper bound of delta as a function of epsilon, which can be composed.

    `one * other` is the curve of two independent collections, and `curve**k` of k alike.
    `privacy_curve` creates curves; a notebook shows `plot()`.

    Attributes
    ----------
    forward, backward : LossLaw
        The law of the privacy loss in either order of the two neighbors; the same object if they
        are alike.

    References
    ----------
    Doroshenko, Ghazi, Kamath, Kumar, and Manurangsi (2022).

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> week = accountant.privacy_curve("seat", flip, crowd=10_000)
    >>> (week**52).delta(1.0) < 1e-6  # a year of weekly collections
    True
    """

    forward: LossLaw
    backward: LossLaw
    drawn_by: ClassVar[str] = "incrowd.presentation.plots:of_curve"

    def __repr__(self) -> str:
        at = ", ".join(f"delta={self.delta(each):.3g} at epsilon {each:g}" for each in SHOWN)
        return f"PrivacyCurve({at})"

    @classmethod
    def of(cls, curves: Sequence[tuple[PrivacyCurve, int]]) -> PrivacyCurve:
        """Return the curve of independent collections that are all published.

        Parameters
        ----------
        curves : sequence of (PrivacyCurve, int)
            Each curve and how often it occurs. The lattice of the result is the coarsest of
            theirs.

        Raises
        ------
        PrivacyError
            If there are none.
        """
        if not curves:
            raise PrivacyError.of("curves", "accountant.no-curves", value=curves)
        forward = composed([(curve.forward, count) for curve, count in curves])
        if all(curve.backward is curve.forward for curve, _ in curves):
            return cls(forward, forward)
        return cls(forward, composed([(curve.backward, count) for curve, count in curves]))

    def __mul__(self, other: PrivacyCurve) -> PrivacyCurve:
        """Compose two independent collections."""
        forward = self.forward.times(other.forward)
        if self.backward is self.forward and other.backward is other.forward:
            return PrivacyCurve(forward, forward)
        return PrivacyCurve(forward, self.backward.times(other.backward))

    def __pow__(self, count: int) -> PrivacyCurve:
        """Compose `count` collections of the same kind.

        Raises
        ------
        PrivacyError
            If count < 1.
        """
        if count < 1:
            raise PrivacyError.of("count", "accountant.whole-from-1", value=count)
        return PrivacyCurve.of([(self, count)])

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of delta at epsilon, for the worse of the two orders.

        Raises
        ------
        PrivacyError
            If epsilon is not a number.
        """
        if math.isnan(epsilon):
            raise PrivacyError.of("epsilon", "accountant.no-epsilon", value=epsilon)
        return max(self.forward.delta(epsilon), self.backward.delta(epsilon))

    @property
    def doubt(self) -> float:
        """The part of the bound that only allows for rounding and for tails that were cut."""
        return max(self.forward.doubt, self.backward.doubt)

    def epsilon(self, delta: float) -> float:
        """Return the smallest epsilon at which the bound of delta is at most `delta`.

        Raises
        ------
        PrivacyError
            If no finite epsilon reaches it, or unless 0 < delta < 1.
        """
        if not 0 < delta < 1:
            raise PrivacyError.of("delta", "shared.between-0-and-1", value=delta)
        highest = max(self.forward.losses[-1], self.backward.losses[-1])
        if self.delta(highest) > delta:
            least = self.delta(highest)
            raise PrivacyError.of(
                "delta", "accountant.delta-of-composition", value=delta, least=least
            )
        if self.delta(0.0) <= delta:
            return 0.0
        epsilon = root(lambda e: self.delta(e) - delta, 0.0, highest, close=1e-12)
        while self.delta(epsilon) > delta:
            epsilon = epsilon * (1 + 1e-12) + 1e-12
        return float(epsilon)


DeltaFunction = Callable[[float], float]


def connect_the_dots(forward: np.ndarray, backward: np.ndarray, step: float) -> PrivacyCurve:
    """Return a privacy curve from bounds of delta at 0, step, 2 step, ... in both orders.

    forward, backward: equally long. Below zero each order follows from the other:
    delta_PQ(-e) = 1 - exp(-e) + exp(-e) delta_QP(e).
    """
    law = _loss_law(forward, backward, step)
    if forward is backward:
        return PrivacyCurve(law, law)
    return PrivacyCurve(law, _loss_law(backward, forward, step))


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
    """Return the largest convex function below the points;
    it is still above the curve they bound."""
    hull = [0]
    for i in range(1, len(x)):
        while len(hull) > 1 and _bends_down(x, y, hull[-2], hull[-1], i):
            hull.pop()
        hull.append(i)
    return np.asarray(np.interp(x, x[hull], y[hull]))


def _bends_down(x: np.ndarray, y: np.ndarray, a: int, b: int, c: int) -> bool:
    return bool((y[b] - y[a]) * (x[c] - x[b]) >= (y[c] - y[b]) * (x[b] - x[a]))


def sampled(delta: DeltaFunction, step: float, dense: int, enough: float, most: int) -> np.ndarray:
    """Return bounds of delta at 0, step, 2 step, ... until one is at most `enough`; at most `most`
    steps.

    After `dense` points only every fourth is computed, and still fewer farther out; the others are
    bounded by chords in e^epsilon.
    """
    index, bounds = [0], [delta(0.0)]
    while bounds[-1] > enough and index[-1] < most:
        wide = max(SPARSE, index[-1] // WIDER)
        index.append(index[-1] + (1 if index[-1] < dense else wide))
        bounds.append(min(delta(index[-1] * step), bounds[-1]))
    every = np.arange(index[-1] + 1)
    chords = np.interp(np.exp(step * every), np.exp(step * np.array(index)), bounds)
    return np.asarray(chords)
