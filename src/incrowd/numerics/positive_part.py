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

from incrowd.numerics.compositions import compositions, ways, with_zero
from incrowd.numerics.folding import Tilted, fold
from incrowd.numerics.lattice import Lattice, split
from incrowd.numerics.law import Law, saddlepoint
from incrowd.numerics.tails import LOG_TAIL, Reach

TOLERANCE = 1e-4  # relative looseness always reached; the result is an upper bound whatever it is
EXACT = 1e-7  # relative looseness reached while the lattice stays small
COARSEST = 1e-3  # relative rise of the bound that the first lattice step may cause, roughly
MOST_HALVINGS = 14
SAFE = 12.0  # standard deviations that the sum of the light values does not leave
ROUNDOFF = 2.0**-50
FEW_POINTS, MOST_POINTS = 1 << 15, 1 << 23
FEW_WAYS = 400_000
EXACT_ROUNDOFF = 1e-12
SMALL_CROWD = 2000
HEAVY_POINTS = 1 << 14  # across all values, at the coarsest step
EXACT_POINTS = 1 << 19  # of a crowd so small that one lattice holds it
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


@dataclass(frozen=True)
class Aim:
    """How a law's sum will be computed: the tilt, the coarsest step, the first block of draws."""

    law: Law
    count: int
    theta: float
    cumulant: float
    step: float
    block: int
    reach: Reach

    @property
    def points(self) -> float:
        """Lattice points of one draw or of the first block, the more of them, at this step."""
        return max(self.reach.width(self.block), float(np.ptp(self.law.value))) / self.step

    @property
    def most_halvings(self) -> int:
        """How often the step may be halved before the lattice no longer fits in memory."""
        return max(1, min(MOST_HALVINGS, int(math.log2(MOST_POINTS / self.points))))


def positive_part(law: Law, count: int, tolerance: float = TOLERANCE) -> Bounds:
    """Lower, estimate and certified upper bound of E[max(0, X_1 + ... + X_count)].

    The lattice step is halved until that lowers the bound by less than `tolerance` of it, and
    further while the lattice is small. The lattices are nested and the error is of second order,
    so that a third of the last drop remains. Where the draws can fall in few ways all are tried.
    """
    if ways(len(with_zero(law)[0]), count) <= FEW_WAYS:
        return _exact(law, count)
    constant, aim = _prepare(law, count)
    slack = _roundoff(law, count)
    if aim is None:
        return Bounds(constant * (1 - slack), constant, constant * (1 + slack))
    coarse = constant + _folded(aim, 0)
    for halvings in range(1, aim.most_halvings + 1):
        fine = constant + _folded(aim, halvings)
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
    constant, aim = _prepare(law, count, sharp)
    value = constant if aim is None else max(constant + _folded(aim, 0), SMALLEST)
    return value * (1 + _roundoff(law, count))


def chernoff_bound(law: Law, count: int) -> float:
    """A certified upper bound of E[max(0, X_1 + ... + X_count)] in closed form, for a first look.

    max(0, s) <= exp(theta s - 1) / theta, theta the saddlepoint.
    """
    constant, light, theta, cumulant = _saddle(law, count)
    if light is None:
        return constant * (1 + _roundoff(law, count))
    exponent = min(count * cumulant - 1 - math.log(theta), 700.0)
    return (constant + math.exp(exponent)) * (1 + _roundoff(law, count))


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
    return constant, light, *_tilt(light, count)


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
    return float(np.ptp(law.value)) <= HEAVY_POINTS * _wanted_step(law, count, theta, cumulant)[0]


def _prepare(law: Law, count: int, sharp: bool = True) -> tuple[float, Aim | None]:
    """What is known in closed form, and how to compute the rest, if there is one."""
    constant, light, theta, cumulant = _saddle(law, count)
    if light is None:
        return constant, None
    if count * cumulant - 1 - math.log(theta) < LOG_SMALLEST:
        return constant + SMALLEST, None  # (s)_+ <= exp(theta s - 1) / theta
    return constant, take_aim(light, count, theta, cumulant, sharp)


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


def take_aim(law: Law, count: int, theta: float, cumulant: float, sharp: bool = True) -> Aim:
    """Choose the step and the block for a law tilted by theta.

    Extra variance of a draw, from splitting, raises ln E[exp(theta S)] by N theta^2 / 2 times it.
    """
    step, allowed = _wanted_step(law, count, theta, cumulant, sharp)
    step = max(step, 4 * float(np.ptp(law.value)) / MOST_POINTS)
    while True:
        draw, _ = _draw(law, theta, cumulant, step)
        reach = Reach.of(draw, count, 2 * allowed)
        block = _block(reach, count, step, allowed)
        if 4 * reach.width(block) <= MOST_POINTS * step:
            return Aim(law, count, theta, cumulant, step, block, reach)
        step *= 2


def _wanted_step(
    law: Law, count: int, theta: float, cumulant: float, sharp: bool = True
) -> tuple[float, float]:
    """The coarsest useful step, and the extra variance of a draw that it may cause."""
    weight = np.exp(law.log_mass + theta * law.value - cumulant)
    variance = float(weight @ law.value**2)
    allowed = COARSEST * variance / (1 + sharp * count * theta**2 * variance / 2)
    return _step(law.value, weight, allowed), allowed


def _step(value: np.ndarray, weight: np.ndarray, allowed: float) -> float:
    """The largest step whose splits add no more than the allowed variance to one draw.

    Splitting v over a step h adds f (1 - f) h^2, f the fractional part: at most h^2 / 4, and at
    most |v| h.
    """
    size = np.abs(value)
    largest = float(size.max())
    low, high = 1e-12 * largest, 4 * largest
    while high > 1.05 * low:
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
    if reach.width(count) <= FEW_POINTS * step:
        return count
    levels = max(1.0, math.log(count, 4))
    block = math.ceil(levels * step**2 / (2 * allowed))
    while block < count and reach.width(2 * block) <= FEW_POINTS / 4 * step:
        block *= 2
    return min(block, count)


def _draw(law: Law, theta: float, cumulant: float, step: float) -> tuple[Lattice, float]:
    """One draw on the lattice, tilted to total mass one, and its cumulant after splitting."""
    draw = split(law, step, theta, cumulant)
    weight = np.exp(law.log_mass + theta * law.value - cumulant)
    excess = float(draw.mass.sum() - weight.sum())
    return Lattice(step, draw.first, draw.mass / (1 + excess)), cumulant + math.log1p(excess)


def _folded(aim: Aim, halvings: int) -> float:
    """E[max(0, S)] from the lattice law of the sum, the step halved some times."""
    draw, cumulant = _draw(aim.law, aim.theta, aim.cumulant, aim.step / 2**halvings)
    total = fold(Tilted(draw, aim.theta, aim.reach), aim.count, aim.block)
    positive = total.points > 0
    values = total.points[positive]
    mean = float(np.sum(values * np.exp(-aim.theta * values) * total.mass[positive]))
    # every block, at every size, may lose that much beyond its window; s_+ e^(-ts) <= 1 / (e t)
    outside = math.exp(-LOG_TAIL) * (2 * aim.count / aim.block + 64) / (math.e * aim.theta)
    return math.exp(aim.count * cumulant) * (mean + outside)


def _roundoff(law: Law, count: int) -> float:
    """Relative allowance for double precision: N times that of one draw's mass, plus the FFTs."""
    return ROUNDOFF * (1000 + count * float(law.mass.sum()))
