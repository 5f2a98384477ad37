"""P[X_0 + X_1 + ... + X_M > 0], the probability behind eta: exact for few values, otherwise
estimated.

An indicator is not convex, so splitting values between lattice points gives no bound here: on a
lattice the result is an ESTIMATE. Half weight at zero makes its error of second order if the
possible sums are dense; if few sums are likely and many of them lie very close to zero, the error
can be several percent.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from incrowd.accountant.numerics.lattice import (
    Discretization,
    Lattice,
    TiltedLaw,
    discretize,
    split,
)
from incrowd.accountant.numerics.laws import Law, at_least, outcomes, ways
from incrowd.accountant.numerics.positive_part import separated, sum_limits
from incrowd.accountant.numerics.precision import LOG_SMALLEST, MOST_EXPONENT, NO_MASS, TIED_SUM

MOST_OUTCOMES = 2_000_000  # about a second
TOLERANCE = 2e-5  # of the estimate; clusters of sums can cause a larger error
MOST_HALVINGS = 9
FEW_POINTS = 1 << 18  # milliseconds
NEGLIGIBLE, ROUGH = 1e-30, 1e-3  # for smaller probabilities three digits are enough
LEAST_TILT = 1e-3  # over the sum's standard deviation, where the search for a tilt begins


def positive_chance(first: Law, law: Law, count: int, tolerance: float = TOLERANCE) -> float:
    """Return P[X_0 + X_1 + ... + X_count > 0] for independent X, X_0 of law `first`, the others of
    `law`.

    Exact up to rounding if the others have only two values, or at most two million combinations of
    values; otherwise an ESTIMATE (0 if below 1e-300): the lattice step is halved until the relative
    change is less than `tolerance` (1e-3 for results below 1e-30). Sums within 1e-12 of zero,
    relative to their terms, count as zero.
    """
    value, log_mass = law.with_zero()
    start, chance = first.with_zero()
    if len(value) == 2:
        beyond = _of_two(value, log_mass, count, start)
    elif ways(len(value), count) <= MOST_OUTCOMES:
        beyond = _of_few(value, log_mass, count, start)
    else:
        return _on_lattice(first, law, count, tolerance)
    return float(np.exp(chance) @ beyond)


def _of_two(value: np.ndarray, log_mass: np.ndarray, count: int, start: np.ndarray) -> np.ndarray:
    """Return P[start + sum > 0] for each start, if the draws have two values: the count is
    binomial."""
    low, high = sorted(value)
    if low == high:
        return np.where(start + count * low > 0, 1.0, 0.0)
    needed = -(start + count * low) / (high - low)  # of the higher value, more than this
    more = np.floor(needed + TIED_SUM * np.maximum(np.abs(needed), count)) + 1
    return at_least(count, float(np.exp(log_mass[value.argmax()])), more)


def _of_few(value: np.ndarray, log_mass: np.ndarray, count: int, start: np.ndarray) -> np.ndarray:
    """Return P[start + sum > 0] for each start, by enumerating the combinations of values."""
    total, scale, log_chance = outcomes(value, log_mass, count)
    safe = total - TIED_SUM * scale
    order = np.argsort(safe)
    beyond = np.append(np.cumsum(np.exp(log_chance[order[::-1]]))[::-1], 0.0)
    limit = -start + TIED_SUM * np.abs(start)
    return np.asarray(beyond[np.searchsorted(safe[order], limit, side="right")])


def _on_lattice(first: Law, law: Law, count: int, tolerance: float) -> float:
    """Return the estimate: decisive values make the sum positive; the rest is tilted and folded."""
    ordinary, _ = separated(law, count)
    bottom, top = sum_limits(ordinary, count)
    sure = float(first.mass[first.value > top].sum())
    lost = float(first.mass[first.value < bottom].sum())
    near = first.where((first.value >= bottom) & (first.value <= top), first.total - sure - lost)
    some_decisive = -math.expm1(count * math.log1p(ordinary.total - law.total))
    certain = sure + (first.total - sure) * some_decisive
    tilted = _tilted(near, ordinary, count)
    return certain if tilted is None else _refined(certain, near, tilted, tolerance)


def _tilted(first: Law, law: Law, count: int) -> TiltedLaw | None:
    """Return the law tilted by the theta of the lowest Chernoff bound; None if that is below
    1e-300."""

    def bound(theta: float) -> float:
        with np.errstate(divide="ignore"):  # ln 0 on the way to a safe formula
            return float(count * law.cumulant(theta) + first.cumulant(theta))

    if first.total <= NO_MASS:
        return None
    theta = LEAST_TILT / math.sqrt(count * law.second_moment)
    while bound(2 * theta) < bound(theta):
        theta *= 2
        if bound(theta) < LOG_SMALLEST:
            return None
    theta = float(
        scipy.optimize.minimize_scalar(bound, bounds=(theta / 2, 2 * theta), method="bounded").x
    )
    return TiltedLaw.at(law, count, theta)


def _refined(certain: float, first: Law, tilted: TiltedLaw, tolerance: float) -> float:
    """Return the probability, with the step halved until it no longer changes; it includes
    `certain`."""
    lattice = discretize(tilted, tilted.spare_variance())
    fine = certain + _folded(lattice, first, 0)
    for halvings in range(1, min(MOST_HALVINGS, lattice.most_halvings) + 1):
        coarse, fine = fine, certain + _folded(lattice, first, halvings)
        wanted = tolerance if fine > NEGLIGIBLE else max(tolerance, ROUGH)
        cheap = lattice.points * 2**halvings < FEW_POINTS  # only fine lattices show clusters
        if abs(fine - coarse) <= wanted * fine and not cheap:
            break
    return fine


def _folded(lattice: Discretization, first: Law, halvings: int) -> float:
    """Return P[X_0 + sum > 0] from the lattice law of the sum, with the step halved `halvings`
    times."""
    total, cumulant = lattice.sum(halvings)
    first_cumulant = float(first.cumulant(total.theta))
    start = split(first, total.step, total.theta, first_cumulant)
    beyond = _beyond(total)
    at_zero = (first.total - float(first.mass.sum())) * math.exp(-first_cumulant)
    index = np.append(np.arange(start.first, start.first + len(start.mass)), 0)
    mass = np.append(start.mass, at_zero) * _untilt(total.theta, total.step * index)
    place = np.clip(-index - total.first, 0, len(beyond) - 1)
    return math.exp(cumulant + first_cumulant) * float(mass @ beyond[place])


def _beyond(lattice: Lattice) -> np.ndarray:
    """Return the untilted mass beyond each point plus half the mass at it; zero after the last."""
    mass = lattice.mass * _untilt(lattice.theta, lattice.points)
    return np.append(np.cumsum(mass[::-1])[::-1] - mass / 2, 0.0)


def _untilt(theta: float, points: np.ndarray) -> np.ndarray:
    """Return exp(-theta point), limited where it would overflow, far below zero."""
    return np.asarray(np.exp(np.minimum(-theta * points, MOST_EXPONENT)))
