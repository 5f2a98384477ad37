"""Exponentially tilted laws: each probability times exp(theta value), as the saddlepoint wants it.

Under the right tilt a sum has its mean near zero, so that what was 1e-80 of the law becomes usual.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from incrowd.numerics.lattice import Lattice, split
from incrowd.numerics.law import Law, saddlepoint
from incrowd.numerics.precision import MOST_EXPONENT, SMALLEST

COARSEST = 1e-3  # relative rise of the bound that the first lattice may cause; chosen: 8 times
# smaller steps, which take 8 times as long, bring it to the tolerance of 1e-4 and below
LEAST_TILT = 1e-3  # over the sum's standard deviation: so little changes no digit that counts, and
# what leaves the window is divided by theta
LOG_NEVER = math.log(1e-14)  # ln of a chance that a tilted sum of 10^9 draws need not reckon with
FINEST_SEARCH = 1e-12  # of the largest value: a finer lattice never fits into memory
CLOSE_SEARCH = 1.05  # a step is found up to this factor


@dataclass(frozen=True)
class TiltedLaw:
    """`count` draws of a law, each probability multiplied by exp(theta value - cumulant).

    cumulant: ln E[exp(theta X)] of one draw.
    """

    law: Law
    count: int
    theta: float
    cumulant: float

    @classmethod
    def at(cls, law: Law, count: int, theta: float) -> TiltedLaw:
        """The law tilted by theta."""
        return cls(law, count, theta, float(law.cumulant(theta)))

    @classmethod
    def at_saddlepoint(cls, law: Law, count: int) -> TiltedLaw:
        """Tilted to mean zero, or by a little more where that is nearly no tilt.

        No more than leaves the sum's total about as it is: a rare large value grows exponentially.
        """
        saddle, theta = saddlepoint(law), LEAST_TILT / math.sqrt(count * law.second_moment)
        while theta > saddle and count * float(law.cumulant(theta)) > 1:
            theta /= 2
        return cls.at(law, count, max(theta, saddle))

    @cached_property
    def mass(self) -> np.ndarray:
        """The tilted probabilities of the atoms."""
        return np.asarray(np.exp(self.law.log_mass + self.theta * self.law.value - self.cumulant))

    @property
    def log_chernoff(self) -> float:
        """ln of a bound of E[max(0, S)], S the sum: max(0, s) <= exp(theta s - 1) / theta."""
        return self.count * self.cumulant - 1 - math.log(self.theta)

    @property
    def chernoff(self) -> float:
        """That bound."""
        return bounded_exp(self.log_chernoff)

    def raised(self) -> TiltedLaw:
        """Values that a tilted sum never meets are raised to where it still hardly does."""
        below = max(float(self.law.mass[self.law.value < 0].sum()), SMALLEST)
        bottom = (LOG_NEVER + self.cumulant - math.log(self.count * below)) / self.theta
        return TiltedLaw.at(self.law.at_least(min(bottom, 0.0)), self.count, self.theta)

    def spare_variance(self, sharp: bool = True) -> float:
        """The extra variance of a draw that a lattice may cause.

        It raises ln E[exp(theta S)] by N theta^2 / 2 times as much. sharp: keep that small as well.
        """
        variance = float(self.mass @ self.law.value**2)
        return COARSEST * variance / (1 + sharp * self.count * self.theta**2 * variance / 2)

    def widest_step(self, spare: float) -> float:
        """The largest step whose splits add no more than the spare variance to one draw.

        Splitting v over a step h adds f (1 - f) h^2, f the fractional part: at most h^2 / 4, and
        at most |v| h.
        """
        size = np.abs(self.law.value)
        low, high = (share * float(size.max()) for share in (FINEST_SEARCH, 4.0))
        while high > CLOSE_SEARCH * low:
            middle = math.sqrt(low * high)
            added = float(self.mass @ np.minimum(middle**2 / 4, size * middle))
            low, high = (middle, high) if added <= spare else (low, middle)
        return low

    def on_lattice(self, step: float) -> tuple[Lattice, float]:
        """One draw on the lattice, tilted to total mass one, and its cumulant after splitting."""
        draw = split(self.law, step, self.theta, self.cumulant)
        excess = float(draw.mass.sum() - self.mass.sum())
        draw = replace(draw, mass=draw.mass / (1 + excess))
        return draw, self.cumulant + math.log1p(excess)


def bounded_exp(exponent: float) -> float:
    """exp, but 1e304 where it is larger; a bound of that size says nothing in any case."""
    return math.exp(min(exponent, MOST_EXPONENT))
