"""Ratios of estimates, with intervals that cover even where the denominator is near zero.

A value r is a possible ratio of A to B if the data do not reject A - r B = 0. The estimate of
A - r B is nearly normal even where B is near zero and the ratio of the estimates is not. The
interval holds all values that the test does not reject (Fieller 1954). It has its level at any
size, so nothing is left out; leaving out noisy figures would show mainly overestimates. The price
is that the interval has no end where the data set no limit.

Differences and odds ratios of two groups are ratios of quadratic forms of four shares. There the
standard error by the delta method is itself small wherever A and B came out small by chance, and
Fieller's intervals miss too often on one side. So a value r is tested by the profile likelihood:
the distance, in standard errors, from the estimate to the nearest shares with A = r B.
Proof: docs/mathematics.md#ratios-and-lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy

from incrowd.estimation.delta_method import Shares, Term
from incrowd.estimation.tables import LEVEL

TINY = 1e-300
EXACT = 1e-9  # the standard error of a share that is known exactly
INSIDE = 1e-9  # of the largest share: the least distance of a starting point from zero
STEPS = [0.1 * 2.0**power for power in range(13)]  # in the search for an end
TOLERANCE = 1e-8  # of an end, relative; of a logarithm, absolute
HALVINGS = 30
Scale = Literal["linear", "log"]
Unbounded = Literal["no", "above", "below", "everywhere"]


@dataclass(frozen=True)
class Comparison:
    """A figure computed from a table: estimate, standard error, interval.

    low, high: the interval; -inf, inf where the data set no limit. unbounded: "above" if there is
    no upper limit, "below" if there is no lower one, "everywhere" if no possible value is excluded.
    scale: "log" if the standard error is that of the estimate's logarithm, else "linear"; the error
    is nan if the interval is unbounded or the logarithm is of zero. If `estimable` is false, there
    is no estimate (nan), but the interval is still valid. reason: why an end is open, or a figure
    is missing or left out. errors: whether the people are treated as a sample or as fixed.
    """

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float
    scale: Scale
    level: float
    errors: str
    estimable: bool = True
    reason: str = ""
    unbounded: Unbounded = "no"


@dataclass(frozen=True)
class Quotient:
    """A / B with B >= 0, estimates that are jointly nearly normal; positive: A >= 0 as well."""

    over: float
    under: float
    over_variance: float
    covariance: float
    under_variance: float
    positive: bool

    @property
    def estimate(self) -> float:
        """The possible ratio that fits the data best; nan if it is not finite."""
        if self.under <= 0:
            return math.nan
        return max(self.over / self.under, 0.0 if self.positive else -math.inf)

    @property
    def spread(self) -> float:
        """The standard error of A - r B at the estimate r."""
        r = self.estimate
        variance = self.over_variance - 2 * r * self.covariance + r * r * self.under_variance
        return math.sqrt(max(variance, 0.0))

    def interval(self, level: float) -> tuple[float, float]:
        """All possible r with (A - r B)^2 <= c Var(A - r B), c the chi-square quantile.

        An A or B below zero is impossible; its square in standard errors (the likelihood ratio
        against the possible values) is added to c, so that no noise makes an interval empty or too
        short. Where B may be zero, r has no limit on the side of A's sign.
        """
        c = float(scipy.special.ndtri((1 + level) / 2)) ** 2 + _below_zero(
            self.under, self.under_variance
        )
        c += _below_zero(self.over, self.over_variance) if self.positive else 0.0
        a = self.under**2 - c * self.under_variance
        b = self.over * self.under - c * self.covariance
        d = self.over**2 - c * self.over_variance
        bounded = a > 0 < self.under
        low, high = _between_roots(a, b, d) if bounded else _beyond_root(a, b, d, self.over)
        return (max(low, 0.0), high) if self.positive else (low, high)


def _below_zero(value: float, variance: float) -> float:
    return min(value, 0.0) ** 2 / variance if variance > 0 else 0.0


def _between_roots(a: float, b: float, d: float) -> tuple[float, float]:
    """Where a r^2 - 2 b r + d <= 0, for a > 0; both roots are computed without cancellation."""
    far = b + math.copysign(math.sqrt(max(b * b - a * d, 0.0)), b)
    roots = (far / a, d / far if far else 0.0)
    return min(roots), max(roots)


def _beyond_root(a: float, b: float, d: float, over: float) -> tuple[float, float]:
    """The same where B may be zero, a <= 0: all r, or those beyond a root, on the side of A.

    If A is not zero (d > 0), neither is r, and it has the sign of A.
    """
    if d <= 0:
        return -math.inf, math.inf
    far = b + math.copysign(math.sqrt(max(b * b - a * d, 0.0)), over)
    root = d / far if far else math.copysign(math.inf, over)
    return (root, math.inf) if over > 0 else (-math.inf, root)


def quotient(
    name: str,
    over: Term,
    under: Term,
    shares: Shares,
    factors: Mapping[str, np.ndarray],
    ratio: Ratio | None = None,
) -> Comparison:
    """over / under as a figure, with Fieller's interval, or by the profile likelihood of a ratio.

    shares: of people who are in one of these groups only. factors: sums of shares, with names; if
    one of them is zero, so is `under`. ratio: over / under as quadratic forms of the shares; a
    positive one is on the log scale.
    """
    scale: Scale = "log" if ratio and ratio.positive else "linear"
    covariance = shares.with_few()
    parts = Quotient(
        over=over.value,
        under=under.value,
        over_variance=float(over.gradient @ covariance @ over.gradient),
        covariance=float(over.gradient @ covariance @ under.gradient),
        under_variance=float(under.gradient @ covariance @ under.gradient),
        positive=scale == "log",
    )
    if ratio:
        low, high = Profile(shares.values, covariance).interval(ratio, LEVEL)
    else:
        low, high = parts.interval(LEVEL)
    unbounded: Unbounded = "below" if math.isinf(low) else "no"
    if math.isinf(high):
        unbounded = "everywhere" if low <= (0.0 if scale == "log" else -math.inf) else "above"
    unit = parts.over if scale == "log" else parts.under
    bounded = unbounded == "no"
    return Comparison(
        name=name,
        estimate=min(max(parts.estimate, low), high) if parts.under > 0 else math.nan,
        standard_error=parts.spread / unit if bounded and unit > 0 else math.nan,
        low=low,
        high=high,
        scale=scale,
        level=LEVEL,
        errors=shares.errors,
        estimable=not math.isnan(parts.estimate),
        reason="" if bounded else _nearest_to_zero(shares, factors),
        unbounded=unbounded,
    )


def _nearest_to_zero(shares: Shares, factors: Mapping[str, np.ndarray]) -> str:
    """The factor that is the fewest standard errors above zero, as a reason."""
    sums = shares.combined(np.array(list(factors.values())))
    errors = np.sqrt(np.maximum(np.diagonal(sums.covariance), TINY))
    place = int(np.argmin(sums.values / errors))
    return (
        f"the share of {list(factors)[place]} is {sums.values[place]:.2%}, standard error "
        f"{errors[place]:.2%}: it cannot be distinguished from zero; collect more reports"
    )


# --- by the profile likelihood ----------------------------------------------------------------


class Ratio(NamedTuple):
    """A / B, the symmetric matrices of two quadratic forms; a positive ratio is tested by its
    logarithm.

    low_faces, high_faces: sets of shares; if all shares of a set are zero, the ratio has no lower
    limit (a positive one reaches zero), or no upper one.
    """

    over: np.ndarray
    under: np.ndarray
    positive: bool
    low_faces: tuple[tuple[int, ...], ...]
    high_faces: tuple[tuple[int, ...], ...]

    def at(self, shares: np.ndarray) -> float:
        """The ratio at some shares."""
        return float(shares @ self.over @ shares) / float(shares @ self.under @ shares)


@dataclass(frozen=True)
class Profile:
    """Shares that cannot be negative: an estimate and its covariance."""

    values: np.ndarray
    covariance: np.ndarray

    def interval(self, ratio: Ratio, level: float) -> tuple[float, float]:
        """All values of a ratio whose distance exceeds that of the nearest possible shares by at
        most the chi-square quantile."""
        exact = EXACT**2 * np.eye(len(self.values))
        factor = np.linalg.cholesky(self.covariance + exact)
        whitened = np.linalg.solve(factor, self.values)
        design = np.linalg.inv(factor)
        nearest, distance = scipy.optimize.nnls(design, whitened)
        limit = float(scipy.special.ndtri((1 + level) / 2)) ** 2 + float(distance) ** 2

        def reached(faces: tuple[tuple[int, ...], ...]) -> bool:
            designs = [np.delete(design, face, axis=1) for face in faces]
            distances = [float(scipy.optimize.nnls(each, whitened)[1]) ** 2 for each in designs]
            return min(distances) <= limit

        def excess(place: float) -> float:
            value = math.exp(place) if ratio.positive else place
            form = factor.T @ (ratio.over - value * ratio.under) @ factor
            return distance_to(form, whitened) - limit

        start = ratio.at(np.maximum(nearest, INSIDE * nearest.max()))
        start = math.log(start) if ratio.positive else start

        def end(faces: tuple[tuple[int, ...], ...], sign: float) -> float:
            for step in () if reached(faces) else STEPS:
                if excess(start + sign * step) > 0:
                    ends = start, start + sign * step
                    return float(
                        scipy.optimize.brentq(excess, *ends, xtol=TOLERANCE, rtol=TOLERANCE)
                    )
            return sign * math.inf

        low, high = end(ratio.low_faces, -1.0), end(ratio.high_faces, 1.0)
        return (math.exp(low), math.exp(high)) if ratio.positive else (low, high)


def distance_to(form: np.ndarray, point: np.ndarray) -> float:
    """The squared distance of a point y from the nearest z with z' Q z = 0.

    With Q = U diag(m) U' and Lagrange's multiplier t, z = U (1 + t m)^-1 U' y; z' Q z falls with t
    where 1 + t m > 0: its one zero there is the nearest point.
    """
    curvatures, directions = np.linalg.eigh(form)
    squares: list[float] = ((directions.T @ point) ** 2).tolist()
    bends: list[float] = curvatures.tolist()
    pairs = list(zip(bends, squares, strict=True))

    def value(t: float) -> float:
        return math.fsum(m * s / (1 + t * m) ** 2 for m, s in pairs)

    def distance(t: float) -> float:
        return math.fsum(s * (t * m / (1 + t * m)) ** 2 for m, s in pairs)

    side = value(0.0)
    edge = bends[0] if side > 0 else bends[-1]
    if side == 0:
        return 0.0
    if edge * side >= 0:  # z' Q z has one sign everywhere: only zero is on the surface
        return math.fsum(squares)
    near = 0.0
    for power in range(1, HALVINGS):
        far = -(1 - 0.5**power) / edge
        if value(far) * side <= 0:
            return distance(
                float(scipy.optimize.brentq(value, near, far, xtol=TOLERANCE * abs(far)))
            )
        near = far
    return distance(near) - value(near) / edge  # the rest lies along the edge's direction
