"""Intervals of ratios of two products of shares, by the profile likelihood.

Differences and odds ratios of two groups are ratios A / B of quadratic forms of four shares, whose
estimate x is nearly normal. A value r is held against the data by the distance, in standard errors,
from x to the nearest shares with A = r B. Unlike the test of A - r B with a standard error by the
delta method at x, it knows the shape of that surface: at an x where A and B came out small by
chance, that standard error is small as well, and intervals miss too often on one side.
Proof: docs/mathematics.md#ratios-and-lengths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

EXACT = 1e-9  # the standard error of what is known
INSIDE = 1e-9  # of the largest share: how far from zero a start is at least
STEPS = [0.1 * 2.0**power for power in range(13)]  # in which an end is looked for
TOLERANCE = 1e-8  # of an end, relative; of a logarithm, absolute
HALVINGS = 30


class Ratio(NamedTuple):
    """A / B, symmetric matrices of two quadratic forms; of a positive one the logarithm is taken.

    low_faces, high_faces: sets of shares; if those of one set are all zero, there is no limit to
    the ratio below (a positive one reaches zero), or above.
    """

    over: np.ndarray
    under: np.ndarray
    positive: bool
    low_faces: tuple[tuple[int, ...], ...]
    high_faces: tuple[tuple[int, ...], ...]

    def at(self, shares: np.ndarray) -> float:
        """Its value."""
        return float(shares @ self.over @ shares) / float(shares @ self.under @ shares)


@dataclass(frozen=True)
class Profile:
    """What is known of shares that are not negative: an estimate and its covariance."""

    values: np.ndarray
    covariance: np.ndarray

    def interval(self, ratio: Ratio, level: float) -> tuple[float, float]:
        """All values of a ratio whose distance exceeds that of the nearest possible shares by no
        more than the chi-square quantile allows."""
        exact = EXACT**2 * np.eye(len(self.values))
        factor = np.linalg.cholesky(self.covariance + exact)
        whitened = np.linalg.solve(factor, self.values)
        design = np.linalg.inv(factor)
        nearest, distance = scipy.optimize.nnls(design, whitened)
        limit = float(scipy.special.ndtri((1 + level) / 2)) ** 2 + float(distance) ** 2

        def reached(faces: tuple[tuple[int, ...], ...]) -> bool:
            kept = [np.delete(design, face, axis=1) for face in faces]
            return min(float(scipy.optimize.nnls(each, whitened)[1]) ** 2 for each in kept) <= limit

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
    if edge * side >= 0:  # z' Q z has one sign everywhere: zero alone is on it
        return math.fsum(squares)
    near = 0.0
    for power in range(1, HALVINGS):
        far = -(1 - 0.5**power) / edge
        if value(far) * side <= 0:
            return distance(
                float(scipy.optimize.brentq(value, near, far, xtol=TOLERANCE * abs(far)))
            )
        near = far
    return distance(near) - value(near) / edge  # what is missing lies along the edge's direction
