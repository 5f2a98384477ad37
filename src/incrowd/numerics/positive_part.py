"""E[max(0, X_1 + ... + X_N)]: the one number behind every crowd guarantee.

X is zero with some probability and else one of finitely many values. The method keeps the result
an upper bound at every step: values are split between lattice points so that the mean is kept
(max(0, .) is convex), values far below are raised, values too heavy for the lattice are treated
by (a + b)_+ <= a_+ + b_+ around a safe distance, and what leaves the window is bounded by
Chernoff. Splitting comes first and the exponential tilt after it, so that 1e-80 has as many right
digits as 1e-3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from incrowd.numerics.folding import Tilted, fold
from incrowd.numerics.lattice import Lattice, split
from incrowd.numerics.law import Law, saddlepoint
from incrowd.numerics.tails import LOG_TAIL, Reach

TOLERANCE = 1e-4  # relative looseness aimed at; the result is an upper bound whatever it is
COARSEST = 1e-3  # relative rise of the bound that the first lattice step may cause, roughly
MOST_HALVINGS = 12
SAFE = 12.0  # standard deviations that the sum of the light values does not leave
ROUNDOFF = 2.0**-50
FEW_POINTS, MOST_POINTS = 1 << 15, 1 << 22
SMALLEST = 1e-300
LOG_SMALLEST = math.log(SMALLEST)


@dataclass(frozen=True)
class Bounds:
    """upper is certified; estimate and lower are numerical (halved step, extrapolated)."""

    lower: float
    estimate: float
    upper: float

    def scaled(self, factor: float) -> Bounds:
        """All three times a factor."""
        return Bounds(self.lower * factor, self.estimate * factor, self.upper * factor)


def positive_part(law: Law, count: int, tolerance: float = TOLERANCE) -> Bounds:
    """Lower, estimate and certified upper bound of E[max(0, X_1 + ... + X_count)].

    The lattice step is halved until that lowers the bound by less than `tolerance` of it. The
    lattices are nested and the error is of second order, so a third of the last drop remains.
    """
    coarse = upper_bound(law, count)
    for halvings in range(1, MOST_HALVINGS + 1):
        fine = upper_bound(law, count, halvings)
        drop = max(coarse - fine, 0.0)
        if drop <= tolerance * fine:
            break
        coarse = fine
    lower = max(fine - drop - fine * _roundoff(law, count), 0.0)
    return Bounds(lower, max(fine - drop / 3, lower), fine)


def upper_bound(law: Law, count: int, halvings: int = 0) -> float:
    """A certified upper bound of E[max(0, X_1 + ... + X_count)].

    halvings: how often the coarsest useful lattice step is halved; never raises the bound by more
    than roundoff.
    """
    light, heavy = _set_apart(law, count)
    value = _light_part(light, count, halvings)
    if len(heavy.value):
        value += _heavy_part(light, heavy, count)
    return max(value * (1 + _roundoff(law, count)), SMALLEST)


def _set_apart(law: Law, count: int) -> tuple[Law, Law]:
    """Split a law into values the lattice can hold and values too heavy for it.

    A heavy value lifts the sum above zero wherever the light ones are. Values so low that the sum
    stays below zero whatever the light ones are, are raised to where that still holds.
    """
    top, bottom = math.inf, -math.inf
    while True:
        core = law.where((law.value <= top) & (law.value >= bottom), 1.0)
        reach = SAFE * math.sqrt(count * core.second_moment)
        new_top = reach + max(0.0, -count * core.mean)
        new_bottom = -reach - max(0.0, count * core.mean)
        if new_top >= top * (1 - 1e-9) and new_bottom <= bottom * (1 - 1e-9):
            break
        top, bottom = min(top, new_top), max(bottom, new_bottom)
    light, heavy = law.value <= top, law.value > top
    heavy_mass = float(law.mass[heavy].sum())
    raised = Law(np.maximum(law.value, bottom), law.log_mass)
    return raised.where(light, law.total - heavy_mass), law.where(heavy, 1.0)


def _light_part(law: Law, count: int, halvings: int) -> float:
    """E[max(0, S)] for values that fit a lattice. If the mean is positive, of -S instead:
    max(0, s) = s + max(0, -s)."""
    if not (law.value > 0).any():
        return 0.0
    if law.mean > 0:
        kept = math.pow(law.total, count - 1)
        mirrored = _light_part(law.negated(), count, halvings)
        return count * law.mean * kept + mirrored
    theta = max(saddlepoint(law), 1e-3 / math.sqrt(count * law.second_moment))
    cumulant = float(law.cumulant(theta))
    if count * cumulant - 1 - math.log(theta) < LOG_SMALLEST:  # (s)_+ <= exp(theta s - 1) / theta
        return SMALLEST
    tilted, log_scale, block = _prepare(law, count, theta, cumulant, halvings)
    total = fold(tilted, count, block)
    positive = total.points > 0
    values = total.points[positive]
    mean = float(np.sum(values * np.exp(-theta * values) * total.mass[positive]))
    outside = math.exp(-LOG_TAIL) * (count / block + 1) / (math.e * theta)
    return math.exp(log_scale) * (mean + outside)


def _prepare(
    law: Law, count: int, theta: float, cumulant: float, halvings: int
) -> tuple[Tilted, float, int]:
    """The tilted lattice law of one draw, ln E[exp(theta S)], and the size of the first block.

    Extra variance of a draw, from splitting, raises ln E[exp(theta S)] by N theta^2 / 2 times it.
    """
    weight = np.exp(law.log_mass + theta * law.value - cumulant)
    variance = float(weight @ law.value**2)
    allowed = COARSEST * variance / (1 + count * theta**2 * variance / 2)
    step = _step(law.value, weight, allowed)
    while True:
        draw, excess = _draw(law, step, theta, cumulant, weight)
        reach = Reach.of(draw, count, 2 * allowed)
        block = _block(reach, count, step, allowed)
        if reach.width(block) <= MOST_POINTS * step:
            break
        step *= 2
    if halvings:
        draw, excess = _draw(law, step / 2**halvings, theta, cumulant, weight)
    return Tilted(draw, theta, reach), count * (cumulant + math.log1p(excess)), block


def _draw(
    law: Law, step: float, theta: float, cumulant: float, weight: np.ndarray
) -> tuple[Lattice, float]:
    """One draw on the lattice, tilted to total mass one, and by how much splitting raised it."""
    draw = split(law, step, theta, cumulant)
    excess = float(draw.mass.sum() - weight.sum())
    return Lattice(step, draw.first, draw.mass / (1 + excess)), excess


def _step(value: np.ndarray, weight: np.ndarray, allowed: float) -> float:
    """The largest step whose splits add no more than the allowed variance to one draw.

    Splitting v over a step h adds f (1 - f) h^2, f the fractional part: at most h^2 / 4, and at
    most |v| h.
    """
    size = np.abs(value)
    largest = float(size.max())
    low, high = 1e-12 * largest, 4 * largest
    for _ in range(60):
        middle = math.sqrt(low * high)
        added = float(weight @ np.minimum(middle**2 / 4, size * middle))
        low, high = (middle, high) if added <= allowed else (low, middle)
    return low


def _block(reach: Reach, count: int, step: float, allowed: float) -> int:
    """How many draws the first lattice holds.

    Each doubling of the step adds h^2 / 2 to a block of b draws and the next, with twice the h
    and four times the b, as much for each draw: levels h^2 / (2 b) in all. More draws than that
    needs are taken as long as the lattice stays small.
    """
    levels = max(1.0, math.log(count, 4))
    block = math.ceil(levels * step**2 / (2 * allowed))
    while block < count and reach.width(2 * block) <= FEW_POINTS * step:
        block *= 2
    return min(block, count)


def _heavy_part(light: Law, heavy: Law, count: int) -> float:
    """An upper bound of E[max(0, S); some value is heavy].

    There max(0, S) = S + max(0, -S) <= S + max(0, -(L + top)), L the sum of the light values and
    top the lightest heavy one; the last term is bounded by Chernoff: (-x)_+ <= exp(-t x - 1) / t.
    """
    chance = float(heavy.mass.sum())
    some = -math.expm1((count - 1) * math.log1p(-chance))
    mean = count * heavy.mean + count * light.mean * some
    top = float(heavy.value.min())
    t = np.geomspace(1e-2, 1e3, 40) / top
    log_miss = (count - 1) * light.cumulant(-t) - t * top - 1 - np.log(t)
    return max(mean, 0.0) + count * chance * math.exp(min(float(log_miss.min()), 700.0))


def _roundoff(law: Law, count: int) -> float:
    """Relative allowance for double precision: N times that of one draw's mass, plus the FFTs."""
    return ROUNDOFF * (1000 + count * float(law.mass.sum()))
