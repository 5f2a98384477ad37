"""How the law of a sum of many draws is computed: the tilt, the lattice step, the first block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from incrowd.numerics.chernoff import LOG_TAIL, Reach
from incrowd.numerics.folding import Tilted, fold
from incrowd.numerics.lattice import Lattice, split
from incrowd.numerics.law import Law

COARSEST = 1e-3  # relative rise of the bound that the first lattice step may cause, roughly
MOST_HALVINGS = 14
FEW_POINTS, MOST_POINTS = 1 << 15, 1 << 23
DIRECT_POINTS = 1 << 16  # one transform of so many is quicker than several of fewer


class Mean(NamedTuple):
    """An upper bound of a mean, and how much of it may be too much, but for the lattice's step."""

    bound: float
    doubt: float = 0.0

    def plus(self, bound: float, doubt: float = 0.0) -> Mean:
        """With so much more of each."""
        return Mean(self.bound + bound, self.doubt + doubt)


@dataclass(frozen=True)
class Aim:
    """How a law's sum will be computed.

    theta, cumulant: the tilt, and ln E[exp(theta X)]. allowed: the extra variance that a lattice
    may give to one (tilted) draw. step: the coarsest lattice that keeps to it. block: the draws
    that the first lattice holds. reach: how far sums lie from zero.
    """

    law: Law
    count: int
    theta: float
    cumulant: float
    allowed: float
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

    @property
    def chernoff(self) -> float:
        """The bound in closed form."""
        return chernoff(self.count, self.theta, self.cumulant)

    @property
    def outside(self) -> float:
        """A bound of E[max(0, S); outside the windows], tilted.

        Every block, at every size, may lose e^-41 beyond its window; s_+ e^(-ts) <= 1 / (e t).
        """
        return math.exp(-LOG_TAIL) * (2 * self.count / self.block + 64) / (math.e * self.theta)


def chernoff(count: int, theta: float, cumulant: float) -> float:
    """A bound of E[max(0, S)]: max(0, s) <= exp(theta s - 1) / theta."""
    return bounded_exp(log_chernoff(count, theta, cumulant))


def log_chernoff(count: int, theta: float, cumulant: float) -> float:
    """The logarithm of that bound, however small."""
    return count * cumulant - 1 - math.log(theta)


def bounded_exp(exponent: float) -> float:
    """exp, but 1e304 where it is larger; a bound of that size says nothing in any case."""
    return math.exp(min(exponent, 700.0))


def take_aim(
    law: Law,
    count: int,
    theta: float,
    cumulant: float,
    allowed: float,
    coarsest: float = math.inf,
    unit: float = 0.0,
) -> Aim:
    """Choose the step and the block for a law tilted by theta.

    coarsest: no larger step. unit: if given, the step is this times a power of two.
    """
    finest = 4 * float(np.ptp(law.value)) / MOST_POINTS
    step = max(min(wanted_step(law, theta, cumulant, allowed), coarsest), finest)
    if unit:
        step = unit * 2.0 ** math.floor(math.log2(step / unit))
    while True:
        draw, _ = draw_of(law, theta, cumulant, step)
        reach = Reach.of(draw, count, 2 * allowed)
        block = _block(reach, count, step, allowed)
        if 4 * reach.width(block) <= MOST_POINTS * step:
            return Aim(law, count, theta, cumulant, allowed, step, block, reach)
        step *= 2


def allowed_variance(
    law: Law, count: int, theta: float, cumulant: float, sharp: bool = True
) -> float:
    """The extra variance of a draw that a lattice may cause.

    It raises ln E[exp(theta S)] by N theta^2 / 2 times as much. sharp: keep that small as well.
    """
    variance = float(tilted(law, theta, cumulant) @ law.value**2)
    return COARSEST * variance / (1 + sharp * count * theta**2 * variance / 2)


def tilted(law: Law, theta: float, cumulant: float) -> np.ndarray:
    """The tilted probabilities of the atoms."""
    return np.asarray(np.exp(law.log_mass + theta * law.value - cumulant))


def wanted_step(law: Law, theta: float, cumulant: float, allowed: float) -> float:
    """The largest step whose splits add no more than the allowed variance to one draw.

    Splitting v over a step h adds f (1 - f) h^2, f the fractional part: at most h^2 / 4, and at
    most |v| h.
    """
    weight, size = tilted(law, theta, cumulant), np.abs(law.value)
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
    if reach.width(count) <= DIRECT_POINTS * step:
        return count
    levels = max(1.0, math.log(count, 4))
    block = math.ceil(levels * step**2 / (2 * allowed))
    while block < count and reach.width(2 * block) <= FEW_POINTS / 4 * step:
        block *= 2
    return min(block, count)


def draw_of(law: Law, theta: float, cumulant: float, step: float) -> tuple[Lattice, float]:
    """One draw on the lattice, tilted to total mass one, and its cumulant after splitting."""
    draw = split(law, step, theta, cumulant)
    excess = float(draw.mass.sum() - tilted(law, theta, cumulant).sum())
    return Lattice(step, draw.first, draw.mass / (1 + excess)), cumulant + math.log1p(excess)


def sum_of(aim: Aim, halvings: int = 0) -> tuple[Lattice, float]:
    """The tilted lattice law of the sum, the step halved some times, and one draw's cumulant."""
    draw, cumulant = draw_of(aim.law, aim.theta, aim.cumulant, aim.step / 2**halvings)
    return fold(Tilted(draw, aim.theta, aim.reach), aim.count, aim.block), cumulant


def positive_mean(total: Lattice, theta: float) -> float:
    """E[max(0, S)] of a lattice law, the tilt undone."""
    positive = total.points > 0
    values = total.points[positive]
    return float(np.sum(values * np.exp(-theta * values) * total.mass[positive]))
