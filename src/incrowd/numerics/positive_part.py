"""E[max(0, X_1 + ... + X_N)]: the one number behind every crowd guarantee.

X is zero with some probability and else one of finitely many values. The method keeps the result
an upper bound at every step: values are split between lattice points so that the mean is kept
(max(0, .) is convex), values far below are raised, values too heavy for the lattice are treated
by max(0, s) = s + max(0, -s), and what leaves the window is bounded by Chernoff. Splitting comes
first and the exponential tilt after it, so that 1e-80 has as many right digits as 1e-3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from incrowd.numerics.aim import (
    COARSEST,
    FEW_POINTS,
    Aim,
    allowed_variance,
    bounded_exp,
    chernoff,
    log_chernoff,
    positive_mean,
    sum_of,
    take_aim,
    wanted_step,
)
from incrowd.numerics.compositions import compositions, ways, with_zero
from incrowd.numerics.law import Law, saddlepoint
from incrowd.numerics.two_scales import mean_in_two

TOLERANCE = 1e-4  # relative looseness always reached; the result is an upper bound whatever it is
EXACT = 1e-7  # relative looseness reached while the lattice stays small
SAFE = 12.0  # standard deviations that the sum of the light values does not leave
ROUNDOFF = 2.0**-50
FEW_WAYS = 400_000
EXACT_ROUNDOFF = 1e-12
SMALL_CROWD = 2000
HEAVY_POINTS = 1 << 14  # across all values, at the coarsest step
EXACT_POINTS = 1 << 19  # of a crowd so small that one lattice holds it
SMALLEST = 1e-300
LOG_SMALLEST = math.log(SMALLEST)
LOG_NEVER = math.log(1e-14)


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

    The lattice step is halved until that lowers the bound by less than `tolerance` of it, and
    further while the lattice is small. The lattices are nested and the error is of second order,
    so that a third of the last drop remains. Where the draws can fall in few ways all are tried.
    """
    if ways(len(with_zero(law)[0]), count) <= FEW_WAYS:
        return _exact(law, count)
    constant, aim = _prepare(law, count, beside=EXACT)
    slack = _roundoff(law, count)
    if aim is None:
        return Bounds(constant * (1 - slack), constant, constant * (1 + slack))
    coarse = constant + _quickest(aim, 0)
    for halvings in range(1, aim.most_halvings + 1):
        fine = constant + _quickest(aim, halvings)
        drop, coarse = max(coarse - fine, 0.0), fine
        most = EXACT_POINTS if aim.block >= count else FEW_POINTS
        cheap = aim.points * 2**halvings < most
        if drop <= (EXACT if cheap else tolerance) * fine:
            break
    lower = max(fine - drop - fine * slack, 0.0)
    return Bounds(lower, max(fine - drop / 3, lower), max(fine * (1 + slack), SMALLEST))


def _exact(law: Law, count: int) -> Bounds:
    """Every way in which the draws can fall; what remains is rounding, of sums and logarithms."""
    total, scale, log_chance = compositions(*with_zero(law), count)
    chance = np.exp(log_chance)
    value = float(chance @ np.maximum(total, 0.0))
    relative = EXACT_ROUNDOFF + ROUNDOFF * math.lgamma(count + 2)
    slack = relative * (value + float(chance @ np.where(total > -scale * 1e-9, scale, 0.0)))
    upper = value + slack
    return Bounds(max(value - slack, 0.0), value, max(upper, SMALLEST) if upper else 0.0)


def upper_bound(law: Law, count: int, sharp: bool = True) -> float:
    """A certified upper bound of E[max(0, X_1 + ... + X_count)], quickly: the coarsest lattice.

    sharp: keep the bound itself within a few thousandths; else only the spread of the sum, which
    is enough and quicker where the bound is far out in the tail and will hardly count.
    """
    constant, aim = _prepare(law, count, sharp, beside=COARSEST)
    value = constant if aim is None else max(constant + _quickest(aim, 0), SMALLEST)
    return value * (1 + _roundoff(law, count))


def chernoff_bound(law: Law, count: int) -> float:
    """A certified upper bound of E[max(0, X_1 + ... + X_count)] in closed form, for a first look.

    theta is the saddlepoint.
    """
    constant, light, theta, cumulant = _saddle(law, count)
    if light is None:
        return constant * (1 + _roundoff(law, count))
    return (constant + chernoff(count, theta, cumulant)) * (1 + _roundoff(law, count))


def _saddle(law: Law, count: int) -> tuple[float, Law | None, float, float]:
    """What is known in closed form, the law of the rest (if any), its tilt and its cumulant.

    The sum of a law of positive mean is mirrored: max(0, s) = s + max(0, -s).
    """
    light, heavy = set_apart(law, count)
    if len(heavy.value) and _fits(law, count):
        light, heavy = law, law.where(law.value > math.inf, 1.0)
    constant = heavy_part(light, heavy, count) if len(heavy.value) else 0.0
    if light.mean > 0:
        constant += count * light.mean * math.pow(light.total, count - 1)
        light = light.negated()
    if not (light.value > 0).any():
        return constant, None, 0.0, 0.0
    theta, cumulant = _tilt(light, count)
    raised = _raised(light, count, theta, cumulant)
    return constant, raised, theta, float(raised.cumulant(theta))


def _raised(law: Law, count: int, theta: float, cumulant: float) -> Law:
    """Values that a tilted sum never meets are raised to where it still hardly does."""
    below = max(float(law.mass[law.value < 0].sum()), SMALLEST)
    bottom = (LOG_NEVER + cumulant - math.log(count * below)) / theta
    return Law(np.maximum(law.value, min(bottom, 0.0)), law.log_mass, law.total)


def _tilt(law: Law, count: int) -> tuple[float, float]:
    """The saddlepoint, but above zero, and the cumulant there."""
    theta = max(saddlepoint(law), 1e-3 / math.sqrt(count * law.second_moment))
    return theta, float(law.cumulant(theta))


def _fits(law: Law, count: int) -> bool:
    """Whether a lattice of moderate size holds the heavy values too: then nothing is set apart.

    Asked of small crowds only, in which a dozen standard deviations are not yet safe.
    """
    law = law.negated() if law.mean > 0 else law
    if count > SMALL_CROWD or not ((law.value < 0).any() and (law.value > 0).any()):
        return False
    theta, cumulant = _tilt(law, count)
    step = wanted_step(law, theta, cumulant, allowed_variance(law, count, theta, cumulant))
    return float(np.ptp(law.value)) <= HEAVY_POINTS * step


def _prepare(
    law: Law, count: int, sharp: bool = True, beside: float = 0.0
) -> tuple[float, Aim | None]:
    """What is known in closed form, and how to compute the rest, if it counts.

    beside: the share of what is known up to which a bound of the rest is good enough.
    """
    constant, light, theta, cumulant = _saddle(law, count)
    if light is None:
        return constant, None
    log_rest = log_chernoff(count, theta, cumulant)
    if log_rest < max(LOG_SMALLEST, _log(beside * constant)):
        return constant + max(math.exp(log_rest), SMALLEST), None
    allowed = allowed_variance(light, count, theta, cumulant, sharp)
    return constant, take_aim(light, count, theta, cumulant, allowed)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def set_apart(law: Law, count: int) -> tuple[Law, Law]:
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


def heavy_part(light: Law, heavy: Law, count: int) -> float:
    """An upper bound of E[max(0, S); some value is heavy].

    There max(0, S) = S + max(0, -S) <= S + max(0, -(L + top)), L the sum of the light values and
    top the lightest heavy one; the last term is bounded by Chernoff: (-x)_+ <= exp(-t x - 1) / t.
    """
    chance = float(heavy.mass.sum())
    some = -math.expm1((count - 1) * math.log1p(-chance))
    mean = count * heavy.mean + count * light.mean * some
    top = float(heavy.value.min())
    t = np.geomspace(1e-2, 1e3, 40) / top
    others = np.logaddexp(light.cumulant(-t), math.log(chance) - t * top)
    log_miss = (count - 1) * others - t * top - 1 - np.log(t)
    return max(mean, 0.0) + count * chance * math.exp(min(float(log_miss.min()), 700.0))


def _quickest(aim: Aim, halvings: int) -> float:
    """E[max(0, S)] from one lattice, or from two if one is large and they are small.

    Where no lattice is fine enough the closed form is better.
    """
    in_two = mean_in_two(aim, halvings) if aim.points > FEW_POINTS else None
    mean = _folded(aim, halvings) if in_two is None else in_two
    return min(mean, aim.chernoff)


def _folded(aim: Aim, halvings: int) -> float:
    """E[max(0, S)] from the lattice law of the sum, the step halved some times."""
    total, cumulant = sum_of(aim, halvings)
    return bounded_exp(aim.count * cumulant) * (positive_mean(total, aim.theta) + aim.outside)


def _roundoff(law: Law, count: int) -> float:
    """Relative allowance for double precision: N times that of one draw's mass, plus the FFTs."""
    return ROUNDOFF * (1000 + count * float(law.mass.sum()))
