"""Privacy curves that can be combined: copies, messages, rounds.

A pair of neighboring collections is described by its privacy loss ln(P/Q) under P, in both
orders. The law is built from delta(epsilon) on a grid by connecting the dots (Doroshenko, Ghazi,
Kamath, Kumar, Manurangsi 2022): the curve between grid points is replaced by its chord in
e^epsilon, which lies above it. Composition adds losses; every rounding goes up.
Proof: docs/mathematics.md#composition.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.fft import irfft, rfft

from incrowd.accountant.channels.base import rounded_up
from incrowd.accountant.codes import NOT_PROVED, AnalysisName, AssumptionCode
from incrowd.accountant.displays import (
    CurveLine,
    CurveTitle,
    Displayed,
    DisplayRows,
    PlotLibrary,
    curves_plot,
)
from incrowd.accountant.numerics.arrays import FloatArray, NumberArray, elementwise
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
from incrowd.arguments import checked_class, presentable
from incrowd.errors import ArgumentError, PrivacyError

TAIL = 1e-18  # a tail of this mass is treated as infinite loss
SPARSE, WIDER = 4, 16  # after the dense part, steps of 4 points, or of a 16th of the index if more
MOST_POINTS = 1 << 17
COARSEST = 64.0  # on a coarser lattice nearly every loss is raised by a whole step
MOST_COLLECTIONS = 10**9  # that are composed: `_reach` overflows above about 1e11
SHOWN = 1e-6  # the delta in the text of a curve
POINTS, LEAST_DELTA = 120, 1e-12  # those in its picture, and the delta where it ends
LISTED = (1e-4, 1e-6, 1e-8, 1e-10)  # those in its table
MOST_TILT = 12.0  # over the spread: a normal sum of 9 spreads is bounded best by a tilt of 9


@dataclass(frozen=True, eq=False)
class LossLaw:
    """The law of the privacy loss in one order: masses on (first + i) * step, and at infinity."""

    step: float
    first: int
    mass: np.ndarray
    infinite: float

    def __repr__(self) -> str:
        low, high = self.losses[0], self.losses[-1]
        return f"LossLaw({len(self.mass)} losses from {low:.4g} to {high:.4g})"

    @property
    def losses(self) -> np.ndarray:
        """The points of the lattice."""
        return self.step * (float(self.first) + np.arange(len(self.mass)))

    def delta(self, epsilon: float) -> float:
        """Return P[loss > epsilon] minus e^epsilon Q[loss > epsilon], plus an allowance for
        rounding."""
        excess = -np.expm1(np.minimum(epsilon - self.losses, 0.0))
        return float(min(excess @ self.mass + self.doubt, 1.0))

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        """Return `delta` at each epsilon, in time that hardly depends on their number.

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
    """Return (low, high), in steps: the sum is above `high` with probability e^-41, and below `low`
    about as rarely.

    P[sum >= x] <= E exp(t sum) exp(-t x) for every t > 0; t goes over a grid. Places are counted
    from near the mean of each law, so that neither the step nor distant places cause rounding.
    """
    middles = [_middle(law.mass) for law, _ in laws]
    counted = [
        (np.arange(len(law.mass)) - middle, law.mass, count)
        for (law, count), middle in zip(laws, middles, strict=True)
    ]
    lowest = sum(count * int(places[0]) for places, _, count in counted)
    highest = sum(count * int(places[-1]) for places, _, count in counted)
    spread = math.sqrt(sum(count * float(mass @ places**2) for places, mass, count in counted))
    t = np.geomspace(MOST_TILT / 64, MOST_TILT, 25) / max(spread, 1.0)
    bounds = []
    for sign in (1, -1):
        cumulant = sum(count * _cumulant(mass, sign * places, t) for places, mass, count in counted)
        bounds.append(math.ceil(float(np.min((cumulant + LOG_TAIL) / t))))
    low, high = max(lowest, -bounds[1]), min(highest, max(bounds[0], 0))
    start = sum(
        count * (law.first + place) for (law, count), place in zip(laws, middles, strict=True)
    )
    return start + low, start + max(low, high)  # hardly any loss is finite if the bounds cross


def _middle(mass: np.ndarray) -> int:
    """Return the index that is next to the mean; 0 without mass."""
    return round(float(mass @ np.arange(len(mass))) / max(float(mass.sum()), SMALLEST))


def _cumulant(mass: np.ndarray, places: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return ln E exp(t place); a law without mass has a place of zero."""
    exponents = np.outer(t, places)
    top = exponents.max(axis=1)
    total = np.exp(exponents - top[:, None]) @ mass
    return np.asarray(top + np.log(np.maximum(total, SMALLEST)))


class CurveOrigin(NamedTuple):
    """What a privacy curve is a bound for.

    analysis, assumption: how it was computed, and the code of what it depends on. crowd: the number
    of honest people in each collection; None if it relies on none. collections: how many such
    collections are composed.
    """

    analysis: AnalysisName | Literal["laws from elsewhere"]
    assumption: AssumptionCode | Literal["not-stated"]
    crowd: int | None
    collections: int = 1

    def __str__(self) -> str:
        people = "" if self.crowd is None else f", {self.crowd:,} people"
        times = "" if self.collections == 1 else f", {self.collections:,} collections"
        return f"{self.analysis}{people}{times}"


ELSEWHERE = CurveOrigin("laws from elsewhere", "not-stated", None)


def _added(origins: Sequence[tuple[tuple[CurveOrigin, ...], int]]) -> tuple[CurveOrigin, ...]:
    """Return the origins of a composition: (origins of a curve, how often it occurs).

    () only if that is all there is: otherwise `ELSEWHERE` says that laws of unknown origin are in
    it.
    """
    if not any(each for each, _ in origins):
        return ()
    counted: Counter[CurveOrigin] = Counter()
    for each, count in origins:
        for origin in each or (ELSEWHERE,):
            counted[origin._replace(collections=1)] += origin.collections * count
    return tuple(one._replace(collections=number) for one, number in counted.items())


def _check_count(count: int) -> None:
    """Raise PrivacyError unless this number of collections can be composed."""
    if not 1 <= count <= MOST_COLLECTIONS:
        raise PrivacyError.of(
            "count", "accountant.whole-between", value=count, low=1, high=MOST_COLLECTIONS
        )


@checked_class
@dataclass(frozen=True, eq=False, repr=False)
class PrivacyCurve(Displayed):
    """An upper bound of delta as a function of epsilon, which can be composed.

    `one * other` is the curve of two independent collections, and `curve**k` of k alike.
    `privacy_curve` creates curves; a notebook shows a table of some values, and `plot()` draws
    the curve.

    Attributes
    ----------
    forward, backward : LossLaw
        The law of the privacy loss in either order of the two neighbors; the same object if they
        are alike.
    origins : tuple of CurveOrigin
        The analyses, assumptions, crowds, and numbers of collections that the curve is a bound
        for; () if it was made of laws from elsewhere.

    References
    ----------
    Doroshenko, Ghazi, Kamath, Kumar, and Manurangsi (2022).

    Examples
    --------
    >>> from incrowd import accountant
    >>> flip = accountant.BitFlip.from_epsilon(2.0)
    >>> week = accountant.privacy_curve("seat", flip, crowd=10_000)
    >>> week**52  # doctest: +ELLIPSIS
    PrivacyCurve(epsilon=0.7... at delta=1e-06; seat, 10,000 people, 52 collections; whole-crowd)
    >>> (week**52).delta([0.7, 1.0]) < [1e-4, 1e-6]
    array([ True,  True])
    """

    forward: LossLaw
    backward: LossLaw
    origins: tuple[CurveOrigin, ...] = ()

    def __repr__(self) -> str:
        origin = "; ".join(filter(None, (self._origin, self._assumed)))
        return f"PrivacyCurve({self._value}{f'; {origin}' if origin else ''})"

    @property
    def _value(self) -> str:
        """Epsilon at a usual delta, or delta at epsilon 1 if the curve does not reach that."""
        try:
            return f"epsilon={rounded_up(self.epsilon(SHOWN))} at delta={SHOWN:g}"
        except PrivacyError:
            return f"delta={rounded_up(self.delta(1.0))} at epsilon=1"

    @property
    def _origin(self) -> str:
        if len(self.origins) > 2:
            number = sum(each.collections for each in self.origins)
            return f"{number:,} collections of {len(self.origins)} kinds"
        return " and ".join(map(str, self.origins))

    @property
    def _assumed(self) -> str:
        codes = " and ".join(dict.fromkeys(each.assumption for each in self.origins))
        return codes if self.proved else f"{codes}, not a guarantee"

    @property
    def proved(self) -> bool:
        """Whether the curve is a bound for every crowd, as far as its origins say."""
        return not any(each.analysis in NOT_PROVED for each in self.origins)

    @property
    def label(self) -> str:
        """What the curve is, in the legend of a picture."""
        bound = "upper bound" if self.proved else "lower bound for the worst crowd"
        return ": ".join(filter(None, (bound, self._origin)))

    @property
    def _title(self) -> CurveTitle:
        """The title of a picture of the curve."""
        assumed = f"assumption: {self._assumed}" if self._assumed else ""
        return CurveTitle(self._origin or "privacy curve", assumed)

    def rows(self) -> DisplayRows:
        """Return epsilon at some values of delta, and what the curve is a bound for."""
        values = ((f"epsilon at delta = {each:g}", self._epsilon_text(each)) for each in LISTED)
        return (
            *values,
            ("bound", self._origin or "of these laws of the privacy loss"),
            ("assumption", self._assumed or "not stated"),
        )

    def _epsilon_text(self, delta: float) -> str:
        return rounded_up(self.epsilon(delta)) if delta >= 2 * self.doubt else "below rounding"

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
            If there are none, or more than a billion collections.
        """
        if not curves:
            raise PrivacyError.of("curves", "accountant.no-curves", value=curves)
        for _, count in curves:
            _check_count(count)
        forward = composed([(curve.forward, count) for curve, count in curves])
        origins = _added([(curve.origins, count) for curve, count in curves])
        if all(curve.backward is curve.forward for curve, _ in curves):
            return cls(forward, forward, origins)
        backward = composed([(curve.backward, count) for curve, count in curves])
        return cls(forward, backward, origins)

    def __mul__(self, other: PrivacyCurve) -> PrivacyCurve:
        """Compose two independent collections."""
        forward = self.forward.times(other.forward)
        origins = _added([(self.origins, 1), (other.origins, 1)])
        if self.backward is self.forward and other.backward is other.forward:
            return PrivacyCurve(forward, forward, origins)
        return PrivacyCurve(forward, self.backward.times(other.backward), origins)

    def __rmul__(self, other: object) -> PrivacyCurve:
        """Raise ArgumentError: only curves can be composed."""
        raise ArgumentError.of("other", "accountant.times-curve", value=presentable(other))

    def __pow__(self, count: int) -> PrivacyCurve:
        """Compose `count` collections of the same kind.

        Raises
        ------
        PrivacyError
            Unless count is from 1 to a billion.
        """
        _check_count(count)
        return PrivacyCurve.of([(self, count)])

    @overload
    def delta(self, epsilon: float) -> float: ...

    @overload
    def delta(self, epsilon: NumberArray) -> FloatArray: ...

    def delta(self, epsilon: float | NumberArray) -> float | FloatArray:
        """Return an upper bound of delta at epsilon, for the worse of the two orders.

        Parameters
        ----------
        epsilon : float or array of float
            Of any shape; each value of an array gives the same result as by itself.

        Raises
        ------
        PrivacyError
            If epsilon is not a number.
        """
        return elementwise(self._delta, epsilon=epsilon)

    def _delta(self, epsilon: float) -> float:
        if math.isnan(epsilon):
            raise PrivacyError.of("epsilon", "accountant.no-epsilon", value=epsilon)
        return max(self.forward.delta(epsilon), self.backward.delta(epsilon))

    @property
    def doubt(self) -> float:
        """The part of the bound that only allows for rounding and for tails that were cut."""
        return max(self.forward.doubt, self.backward.doubt)

    @overload
    def epsilon(self, delta: float) -> float: ...

    @overload
    def epsilon(self, delta: NumberArray) -> FloatArray: ...

    def epsilon(self, delta: float | NumberArray) -> float | FloatArray:
        """Return the smallest epsilon at which the bound of delta is at most `delta`.

        Parameters
        ----------
        delta : float or array of float
            Of any shape; each value of an array gives the same result as by itself.

        Raises
        ------
        PrivacyError
            If no finite epsilon reaches it, or unless 0 < delta < 1.
        """
        return elementwise(self._epsilon, delta=delta)

    def _epsilon(self, delta: float) -> float:
        if not 0 < delta < 1:
            raise PrivacyError.of("delta", "shared.between-0-and-1", value=delta)
        highest = max(self.forward.losses[-1], self.backward.losses[-1])
        if self._delta(highest) > delta:
            least = self._delta(highest)
            raise PrivacyError.of(
                "delta", "accountant.delta-of-composition", value=delta, least=least
            )
        if self._delta(0.0) <= delta:
            return 0.0
        epsilon = root(lambda e: self._delta(e) - delta, 0.0, highest, close=1e-12)
        while self._delta(epsilon) > delta:
            epsilon = epsilon * (1 + 1e-12) + 1e-12
        return float(epsilon)

    def plot(self, *others: PrivacyCurve, library: PlotLibrary | None = None) -> Any:
        """Draw delta against epsilon, down to a delta of 1e-12, on a logarithmic scale.

        The title names what this curve is a bound for, and what it assumes.

        Parameters
        ----------
        *others : PrivacyCurve
            Curves to draw in the same picture, such as that of "outlier", which no bound for every
            crowd can be below.
        library : "altair", "matplotlib", or None
            What draws it. None for altair if it is installed, and otherwise matplotlib.

        Returns
        -------
        altair.Chart or matplotlib.axes.Axes
            The picture, which a notebook shows; its methods change and save it.

        Raises
        ------
        UsageError
            If the library, or with None either, is not installed.
        """
        return curves_plot([each._line for each in (self, *others)], self._title, library)

    @property
    def _line(self) -> CurveLine:
        """The points of the curve in a picture."""
        last = max(self.epsilon(max(LEAST_DELTA, 2 * self.doubt)), math.ulp(1.0))
        epsilons = np.linspace(0.0, last, POINTS)
        return CurveLine(self.label, epsilons.tolist(), self.delta(epsilons).tolist())


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
