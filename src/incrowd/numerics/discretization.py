"""How the law of a sum of many draws is computed: the lattice's step and the first block."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from incrowd.numerics.chernoff import LOG_TAIL, Reach
from incrowd.numerics.folding import fold
from incrowd.numerics.lattice import Lattice
from incrowd.numerics.law import Mean
from incrowd.numerics.tilted import TiltedLaw, bounded_exp

# Memory and time, tried on one core: 2^15 points take milliseconds, 2^23 a second and 64 MiB.
MOST_HALVINGS = 14
FEW_POINTS, MOST_POINTS = 1 << 15, 1 << 23
DIRECT_POINTS = 1 << 16  # one transform of so many is quicker than several of fewer


@dataclass(frozen=True)
class Discretization:
    """A tilted law, and the lattice on which its sum will be computed.

    spare: the extra variance that a lattice may give to one (tilted) draw. step: the coarsest
    lattice that keeps to it. block: the draws that the first lattice holds. reach: how far sums
    lie from zero.
    """

    tilted: TiltedLaw
    spare: float
    step: float
    block: int
    reach: Reach

    @property
    def points(self) -> float:
        """Lattice points of one draw or of the first block, the more of them, at this step."""
        return max(self.reach.width(self.block), float(np.ptp(self.tilted.law.value))) / self.step

    @property
    def most_halvings(self) -> int:
        """How often the step may be halved before the lattice no longer fits in memory."""
        return max(1, min(MOST_HALVINGS, int(math.log2(MOST_POINTS / self.points))))

    @property
    def outside(self) -> float:
        """A bound of E[max(0, S); outside the windows], tilted.

        Every block, at every size, may lose e^-41 beyond its window; s_+ e^(-ts) <= 1 / (e t).
        """
        lost = 2 * self.tilted.count / self.block + 64
        return math.exp(-LOG_TAIL) * lost / (math.e * self.tilted.theta)

    def sum(self, halvings: int = 0) -> tuple[Lattice, float]:
        """The tilted lattice law of the sum, the step halved some times, and the sum's cumulant."""
        tilted = self.tilted
        draw, cumulant = tilted.on_lattice(self.step / 2**halvings)
        return fold(draw, self.reach, tilted.count, self.block), tilted.count * cumulant

    def positive_mean(self, halvings: int = 0) -> Mean:
        """A bound of E[max(0, S)] from that law."""
        total, cumulant = self.sum(halvings)
        scale = bounded_exp(cumulant)
        outside = scale * self.outside
        return Mean(scale * positive_mean(total) + outside, outside)


def discretize(
    tilted: TiltedLaw, spare: float, coarsest: float = math.inf, unit: float = 0.0
) -> Discretization:
    """Choose the step and the block.

    spare: the extra variance of a draw that is allowed. coarsest: no larger step is of use. unit:
    a step that this one has to be a power of two of, if any.
    """
    finest = 4 * float(np.ptp(tilted.law.value)) / MOST_POINTS
    step = max(min(tilted.widest_step(spare), coarsest), finest)
    if unit:
        step = unit * 2.0 ** math.floor(math.log2(step / unit))
    while True:
        draw, _ = tilted.on_lattice(step)
        reach = Reach.of(draw, tilted.count, 2 * spare)
        block = _block(reach, tilted.count, step, spare)
        if 4 * reach.width(block) <= MOST_POINTS * step:
            return Discretization(tilted, spare, step, block, reach)
        step *= 2


def _block(reach: Reach, count: int, step: float, spare: float) -> int:
    """How many draws the first lattice holds.

    Each doubling of the step adds h^2 / 2 to a block of b draws and the next, with twice the h
    and four times the b, as much for each draw: levels h^2 / (2 b) in all. More draws than that
    needs are taken as long as the lattice stays small.
    """
    if reach.width(count) <= DIRECT_POINTS * step:
        return count
    levels = max(1.0, math.log(count, 4))
    block = math.ceil(levels * step**2 / (2 * spare))
    while block < count and reach.width(2 * block) <= FEW_POINTS / 4 * step:
        block *= 2
    return min(block, count)


def positive_mean(total: Lattice) -> float:
    """E[max(0, S)] of a lattice law, the tilt undone but for the cumulant."""
    positive = total.points > 0
    values = total.points[positive]
    return float(np.sum(values * np.exp(-total.theta * values) * total.mass[positive]))
