"""Chernoff bounds on where a sum lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.numerics.lattice import Lattice
from incrowd.numerics.law import Law
from incrowd.numerics.precision import EXPONENT_TO_ADD, SMALLEST

LOG_TAIL = 41.0  # tails beyond exp(-41) < 2e-18, a hundredth of UNIT, are bounded, not computed
GRID = 64  # exponents tried: between two neighbors the bound is looser by under a hundredth
WIDEST = 100.0  # times one over a draw's deviation: no sum is bounded best by a larger exponent


@dataclass(frozen=True)
class Reach:
    """How far the sum of some draws of a lattice law can lie from zero, but for mass e^-41.

    up and down: exponents s, and the cumulants of one draw at s and -s, with those of the extra
    spread that later coarsening may add.
    """

    up: tuple[np.ndarray, np.ndarray]
    down: tuple[np.ndarray, np.ndarray]

    @classmethod
    def of(cls, draw: Lattice, count: int, extra_variance: float) -> Reach:
        """For up to `count` draws; what lies off zero is in `draw`, the rest at zero.

        extra_variance: of one draw, added by steps +-h with E[exp(s X)] <= exp(s^2 h^2 / 2).
        """
        found = np.flatnonzero(draw.mass)
        law = Law(draw.step * (draw.first + found), np.log(draw.mass[found]))
        return cls(*(_cumulants(one, count, extra_variance) for one in (law, law.negated())))

    def bounds(self, count: int) -> tuple[float, float]:
        """(low, high): the sum of `count` draws is below or above with probability <= e^-41.

        P[S >= x] <= exp(count K(s) - s x) for every s > 0.
        """
        high, low = (np.min((count * log + LOG_TAIL) / s) for s, log in (self.up, self.down))
        return -float(max(low, 0.0)), float(max(high, 0.0))

    def width(self, count: int) -> float:
        """The distance between the two bounds."""
        low, high = self.bounds(count)
        return high - low


def _cumulants(law: Law, count: int, extra_variance: float) -> tuple[np.ndarray, np.ndarray]:
    """A grid of s > 0, as far as exp(s X) is a number, and ln E[exp(s X)]."""
    deviation = np.sqrt(law.second_moment + extra_variance)
    widest = max(deviation * np.sqrt(count), float(np.abs(law.value).max()))
    highest = min(WIDEST / deviation, EXPONENT_TO_ADD / max(float(law.value.max()), SMALLEST))
    s = np.geomspace(1 / widest, max(highest, 2 / widest), GRID)
    return s, law.cumulant(s) + s**2 * extra_variance / 2
