"""P[X_0 + X_1 + ... + X_M > 0]: the probability behind eta. Exact for few values, else estimated.

An indicator is not convex, so that splitting values between lattice points bounds nothing here:
on a lattice the result is an ESTIMATE. Half weight at zero makes its error of second order where
sums lie close together; where few sums are likely and many of them lie just beside zero, some per
cent can be wrong.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betainc

from incrowd.numerics.aim import Aim, allowed_variance, sum_of, take_aim
from incrowd.numerics.compositions import compositions, ways, with_zero
from incrowd.numerics.heavy import SAFE, set_apart
from incrowd.numerics.lattice import Lattice, split
from incrowd.numerics.law import Law
from incrowd.numerics.positive_part import LOG_SMALLEST

MOST_COMPOSITIONS = 2_000_000
TOLERANCE = 2e-5
MOST_HALVINGS = 9
FEW_POINTS = 1 << 18
ROUNDOFF = 1e-12  # a sum this small beside its terms is zero, and so much mass is none
OVERFLOW = 700.0
NEGLIGIBLE = 1e-30  # of smaller probabilities three digits are enough


def positive_chance(first: Law, law: Law, count: int, tolerance: float = TOLERANCE) -> float:
    """P[X_0 + X_1 + ... + X_count > 0], X_0 of the law `first`, the others of `law`, independent.

    Exact up to roundoff if the others' values occur in at most two million ways, or if they are
    two; else an ESTIMATE (0 if below 1e-300): the lattice step is halved until that changes it by
    less than `tolerance` of it (1e-3 below 1e-30). Sums within 1e-12 of zero, relative to their
    terms, count as zero.
    """
    value, log_mass = with_zero(law)
    start, chance = with_zero(first)
    if len(value) == 2:
        beyond = _of_two(value, log_mass, count, start)
    elif ways(len(value), count) <= MOST_COMPOSITIONS:
        beyond = _of_few(value, log_mass, count, start)
    else:
        return _on_lattice(first, law, count, tolerance)
    return float(np.exp(chance) @ beyond)


def _of_two(value: np.ndarray, log_mass: np.ndarray, count: int, start: np.ndarray) -> np.ndarray:
    """P[start + sum > 0] for each start, if the sum is determined by a binomial number."""
    low, high = sorted(value)
    if low == high:
        return np.where(start + count * low > 0, 1.0, 0.0)
    needed = -(start + count * low) / (high - low)  # of the higher value, more than this
    more = np.floor(needed + ROUNDOFF * np.maximum(np.abs(needed), count)) + 1
    inside = np.clip(more, 1, count)
    chance = betainc(inside, count + 1 - inside, np.exp(log_mass[value.argmax()]))
    return np.where(more <= 0, 1.0, np.where(more > count, 0.0, chance))


def _of_few(value: np.ndarray, log_mass: np.ndarray, count: int, start: np.ndarray) -> np.ndarray:
    """P[start + sum > 0] for each start, over all compositions of the count."""
    total, scale, log_chance = compositions(value, log_mass, count)
    safe = total - ROUNDOFF * scale
    order = np.argsort(safe)
    beyond = np.append(np.cumsum(np.exp(log_chance[order[::-1]]))[::-1], 0.0)
    limit = -start + ROUNDOFF * np.abs(start)
    return np.asarray(beyond[np.searchsorted(safe[order], limit, side="right")])


def _on_lattice(first: Law, law: Law, count: int, tolerance: float) -> float:
    """Heavy values make the sum positive; the rest is folded, tilted to its saddlepoint."""
    light, _ = set_apart(law, count)
    spread = SAFE * math.sqrt(count * light.second_moment)
    drift = count * light.mean
    top, bottom = spread + max(0.0, -drift), -spread - max(0.0, drift)
    sure = float(first.mass[first.value > top].sum())
    lost = float(first.mass[first.value < bottom].sum())
    near = first.where((first.value >= bottom) & (first.value <= top), first.total - sure - lost)
    some_heavy = -math.expm1(count * math.log1p(light.total - law.total))
    certain = sure + (first.total - sure) * some_heavy
    theta = _tilt(near, light, count)
    if theta is None:
        return certain
    cumulant = float(light.cumulant(theta))
    allowed = allowed_variance(light, count, theta, cumulant)
    aim = take_aim(light, count, theta, cumulant, allowed)
    coarse = certain + _folded(aim, near, 0)
    for halvings in range(1, min(MOST_HALVINGS, aim.most_halvings) + 1):
        fine = certain + _folded(aim, near, halvings)
        wanted = tolerance if fine > NEGLIGIBLE else max(tolerance, 1e-3)
        cheap = aim.points * 2**halvings < FEW_POINTS  # clusters of sums show on fine lattices only
        if abs(fine - coarse) <= wanted * fine and not cheap:
            break
        coarse = fine
    return fine


def _tilt(first: Law, law: Law, count: int) -> float | None:
    """The theta of the lowest Chernoff bound; None if that is below 1e-300 anyway."""

    def bound(theta: float) -> float:
        with np.errstate(divide="ignore"):  # ln 0 on the way to a safe formula
            return float(count * law.cumulant(theta) + first.cumulant(theta))

    if first.total <= ROUNDOFF:
        return None
    theta = 1e-3 / math.sqrt(count * law.second_moment)
    while bound(2 * theta) < bound(theta):
        theta *= 2
        if bound(theta) < LOG_SMALLEST:
            return None
    return float(minimize_scalar(bound, bounds=(theta / 2, 2 * theta), method="bounded").x)


def _folded(aim: Aim, first: Law, halvings: int) -> float:
    """P[X_0 + sum > 0] from the lattice law of the sum, the step halved some times."""
    total, cumulant = sum_of(aim, halvings)
    own = float(first.cumulant(aim.theta))
    start = split(first, total.step, aim.theta, own)
    beyond = _beyond(total, aim.theta)
    at_zero = (first.total - float(first.mass.sum())) * math.exp(-own)
    index = np.append(np.arange(start.first, start.first + len(start.mass)), 0)
    mass = np.append(start.mass, at_zero) * _untilt(aim.theta, total.step * index)
    place = np.clip(-index - total.first, 0, len(beyond) - 1)
    return math.exp(aim.count * cumulant + own) * float(mass @ beyond[place])


def _beyond(lattice: Lattice, theta: float) -> np.ndarray:
    """Untilted mass beyond each point, half of its own with it; zero after the last."""
    mass = lattice.mass * _untilt(theta, lattice.points)
    return np.append(np.cumsum(mass[::-1])[::-1] - mass / 2, 0.0)


def _untilt(theta: float, points: np.ndarray) -> np.ndarray:
    """exp(-theta point), cut far below zero, where it multiplies nothing that counts."""
    return np.asarray(np.exp(np.minimum(-theta * points, OVERFLOW)))
