"""E[max(0, X_1 + ... + X_N)]: the one number behind every crowd guarantee.

X is zero with some probability and else one of finitely many values. The method keeps the result
an upper bound at every step: values are split between lattice points so that the mean is kept
(max(0, .) is convex), values far below are raised, values too heavy for the lattice are treated
by max(0, s) = s + max(0, -s), and what leaves the window is bounded by Chernoff. Splitting comes
first and the exponential tilt after it, so that 1e-80 has as many right digits as 1e-3.
Proof: docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain

import numpy as np

from incrowd.numerics.aim import (
    COARSEST,
    FEW_POINTS,
    Aim,
    Mean,
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
from incrowd.numerics.heavy import NOTHING, SAFE, heavy_apart
from incrowd.numerics.law import Law, saddlepoint
from incrowd.numerics.two_scales import mean_in_two

TOLERANCE = 1e-4  # relative looseness always reached; the result is an upper bound whatever it is
EXACT = 1e-7  # relative looseness reached while the lattice stays small
WIDER = 6  # times that more is tried to be light
ROUNDOFF = 2.0**-50
LEAST_TILT = 1e-3  # over the sum's standard deviation
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
    known, aim = _prepare(law, count, beside=EXACT)
    slack = _roundoff(law, count)
    if aim is None:
        lower = max(known.bound * (1 - slack) - known.doubt, 0.0)
        return Bounds(lower, known.bound, known.bound * (1 + slack))
    coarse = known.bound + _quickest(aim, 0).bound
    for halvings in range(1, aim.most_halvings + 1):
        rest = _quickest(aim, halvings)
        fine, doubt = known.bound + rest.bound, known.doubt + rest.doubt
        drop, coarse = max(coarse - fine, 0.0), fine
        most = EXACT_POINTS if aim.block >= count else FEW_POINTS
        cheap = aim.points * 2**halvings < most
        if drop <= (EXACT if cheap else tolerance) * fine:
            break
    lower = max(fine - drop - fine * slack - doubt, 0.0)
    return Bounds(lower, max(fine - drop / 3, lower), max(fine * (1 + slack), SMALLEST))


def _exact(law: Law, count: int) -> Bounds:
    """Every way in which the draws can fall; what remains is rounding, of sums and logarithms."""
    total, scale, log_chance = compositions(*with_zero(law), count)
    chance = np.exp(log_chance)
    value = float(chance @ np.maximum(total, 0.0))
    relative = EXACT_ROUNDOFF + ROUNDOFF * (math.lgamma(count + 2) - log_chance)
    slack = float((chance * relative) @ np.where(total > -scale * 1e-9, scale, 0.0))
    upper = value + slack
    return Bounds(max(value - slack, 0.0), value, max(upper, SMALLEST) if upper else 0.0)


def upper_bound(law: Law, count: int, sharp: bool = True) -> float:
    """A certified upper bound of E[max(0, X_1 + ... + X_count)], quickly: the coarsest lattice.

    sharp: keep the bound itself within a few thousandths; else only the spread of the sum, which
    is enough and quicker where the bound is far out in the tail and will hardly count.
    """
    known, aim = _prepare(law, count, sharp, beside=COARSEST)
    value = known.bound if aim is None else max(known.bound + _quickest(aim, 0).bound, SMALLEST)
    return value * (1 + _roundoff(law, count))


def chernoff_bound(law: Law, count: int) -> float:
    """A certified upper bound of E[max(0, X_1 + ... + X_count)] in closed form, for a first look.

    theta is the saddlepoint.
    """
    known, light, theta, cumulant = _saddle(law, count)
    rest = chernoff(count, theta, cumulant) if light else 0.0
    return (known.bound + rest) * (1 + _roundoff(law, count))


def _saddle(law: Law, count: int) -> tuple[Mean, Law | None, float, float]:
    """What is known in closed form, the law of the rest (if any), its tilt and its cumulant.

    The sum of a law of positive mean is mirrored: max(0, s) = s + max(0, -s).
    """
    light, known = _without_heavy(law, count)
    if light.mean > 0:
        known = known.plus(count * light.mean * math.pow(light.total, count - 1))
        light = light.negated()
    if not (light.value > 0).any():
        return known, None, 0.0, 0.0
    theta, cumulant = _tilt(light, count)
    raised = _raised(light, count, theta, cumulant)
    return known, raised, theta, float(raised.cumulant(theta))


def _without_heavy(law: Law, count: int) -> tuple[Law, Mean]:
    """The light values, and what the heavy ones add.

    Ever heavier ones are set apart, until it is nearly certain that one of them decides. Where it
    never is, all stay in if a lattice holds them, and else a bound has to do.
    """
    tries = (heavy_apart(law, count, safe) for safe in SAFE * 4.0 ** np.arange(WIDER))
    first = next(tries)
    for light, known in chain([first], tries):
        if known.doubt <= EXACT * known.bound:
            return light, known
    return (law, NOTHING) if _fits(law, count) else first


def _raised(law: Law, count: int, theta: float, cumulant: float) -> Law:
    """Values that a tilted sum never meets are raised to where it still hardly does."""
    below = max(float(law.mass[law.value < 0].sum()), SMALLEST)
    bottom = (LOG_NEVER + cumulant - math.log(count * below)) / theta
    return Law(np.maximum(law.value, min(bottom, 0.0)), law.log_mass, law.total)


def _tilt(law: Law, count: int) -> tuple[float, float]:
    """The saddlepoint, or a little more where it is nearly zero, and the cumulant there.

    No more than leaves the sum's total about as it is: a rare heavy value grows exponentially.
    """
    saddle, theta = saddlepoint(law), LEAST_TILT / math.sqrt(count * law.second_moment)
    while theta > saddle and count * float(law.cumulant(theta)) > 1:
        theta /= 2
    theta = max(theta, saddle)
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
) -> tuple[Mean, Aim | None]:
    """What is known in closed form, and how to compute the rest, if it counts.

    beside: the share of what is known up to which a bound of the rest is good enough.
    """
    known, light, theta, cumulant = _saddle(law, count)
    if light is None:
        return known, None
    log_rest = log_chernoff(count, theta, cumulant)
    if log_rest < max(LOG_SMALLEST, _log(beside * known.bound)):
        return known.plus(*[max(math.exp(log_rest), SMALLEST)] * 2), None
    allowed = allowed_variance(light, count, theta, cumulant, sharp)
    return known, take_aim(light, count, theta, cumulant, allowed)


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _quickest(aim: Aim, halvings: int) -> Mean:
    """E[max(0, S)] from one lattice, or from two if one is large and they are small.

    Where no lattice is fine enough the closed form is better: a bound, and nothing else.
    """
    in_two = mean_in_two(aim, halvings) if aim.points > FEW_POINTS else None
    mean = in_two or _folded(aim, halvings)
    return mean if mean.bound <= aim.chernoff else Mean(aim.chernoff, aim.chernoff)


def _folded(aim: Aim, halvings: int) -> Mean:
    """E[max(0, S)] from the lattice law of the sum, the step halved some times."""
    total, cumulant = sum_of(aim, halvings)
    scale = bounded_exp(aim.count * cumulant)
    outside = scale * aim.outside
    return Mean(scale * positive_mean(total, aim.theta) + outside, outside)


def _roundoff(law: Law, count: int) -> float:
    """Relative allowance for double precision: N times that of one draw's mass, plus the FFTs."""
    return ROUNDOFF * (1000 + count * float(law.mass.sum()))
