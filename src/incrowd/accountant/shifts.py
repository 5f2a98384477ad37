"""The privacy loss of counts that shift by one, hidden by additive noise: no crowd, no worst case.

If a count with noise of law P goes up by one, the outcome z has the loss ln(P[z] / P[z - 1]), and
the lowest outcome an infinite one. By the symmetry of P, a count that goes down has the same
losses. Cells have independent noise, so losses add up. Sums are convolutions of positive terms:
even tiny masses keep their digits, unlike those of a Fourier transform.
Proof: docs/mathematics.md#noise-from-the-services.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from incrowd.accountant.additive import AdditiveNoise
from incrowd.accountant.composition import LossLaw, PrivacyCurve
from incrowd.accountant.numerics.lattice import Split, gathered, neighbors
from incrowd.accountant.numerics.precision import UNIT
from incrowd.accountant.schema import ShiftCounts, log_ratio

POINTS = 4096  # of the lattice of a sum
SPREADS = 14  # standard deviations on either side that the lattice covers: mass beyond is e^-98
MOST_LONGER = 3  # times as many points where rare losses are far out
NEVER = 1e-40  # a tail of this mass is treated as infinite loss
FITS = 1e-9  # the mass off a lattice, times its distance in steps, that is not worth a finer one
OF_ONE = 16 * UNIT  # the error of a loss, relative; and of a mass, with its share of a split


@dataclass(frozen=True)
class ShiftLosses:
    """The law of a privacy loss: masses at losses that rise, and at infinity; both orders alike.

    error: losses may be too small by this. share: masses may be too small by this share.
    """

    losses: np.ndarray
    mass: np.ndarray
    infinite: float
    error: float
    share: float

    @classmethod
    def of(cls, noise: AdditiveNoise) -> ShiftLosses:
        """Return the loss of one shifted count."""
        up = np.array([log_ratio(z, before) for before, z in pairwise(noise.numerators)])
        losses = np.concatenate([-up[::-1], up])
        order = np.argsort(losses, kind="stable")
        error = OF_ONE * float(np.abs(losses).max(initial=0.0))
        mass = noise.chances[1:]
        return cls(losses[order], mass[order], float(noise.chances[0]), error, OF_ONE)

    @property
    def range(self) -> float:
        """The distance of the highest finite loss from the lowest."""
        return float(self.losses[-1] - self.losses[0])

    @property
    def variance(self) -> float:
        """The variance of the finite losses, about; their mean is small."""
        return float(self.mass @ self.losses**2)

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of delta at epsilon: P[loss > epsilon] - e^epsilon Q[the same]."""
        excess = -np.expm1(np.minimum(epsilon - self.error - self.losses, 0.0))
        share = self.share + UNIT * len(self.mass)
        return min((float(excess @ self.mass) + self.infinite) * (1 + share), 1.0)

    def on(self, step: float) -> ShiftLosses:
        """Return the same law on a lattice from its lowest loss on.

        Each mass is split between its two neighbors so that P and Q both keep their mass: delta
        can only rise, in proportion to the square of the step.
        """
        below, lower, upper = neighbors(self.losses - self.losses[0], step, rate=-1.0)
        _, mass = gathered(Split(below, self.mass * lower, self.mass * upper))
        return self._at(self.losses[0], step, np.trim_zeros(mass, "b"))

    def _at(self, start: float, step: float, mass: np.ndarray) -> ShiftLosses:
        return replace(self, losses=start + step * np.arange(len(mass)), mass=mass)

    def plus(self, other: ShiftLosses, step: float) -> ShiftLosses:
        """Return the sum of independent losses, both on lattices of the same step."""
        start, mass = self.losses[0] + other.losses[0], np.convolve(self.mass, other.mass)
        terms = min(len(self.mass), len(other.mass))
        infinite = self.infinite + (1 - self.infinite) * other.infinite
        above = np.cumsum(mass[::-1])[::-1]
        keep = max(int(np.searchsorted(-above, -NEVER)), 1)  # higher losses become infinite
        infinite += float(above[keep]) if keep < len(above) else 0.0
        first = min(int(np.searchsorted(np.cumsum(mass), NEVER)), keep - 1)  # lower ones are raised
        mass[first] += mass[:first].sum()
        error, share = self.error + other.error, self.share + other.share + UNIT * terms
        total = ShiftLosses(mass, mass, infinite, error, share)
        return total._at(start + step * first, step, mass[first:keep])

    def times(self, count: int, step: float) -> ShiftLosses:
        """Return the sum of `count` such losses."""
        if count == 1:
            return self
        half = self.times(count // 2, step)
        both = half.plus(half, step)
        return both.plus(self, step) if count % 2 else both


@lru_cache(maxsize=64)
def _of(noise: AdditiveNoise) -> ShiftLosses:
    return ShiftLosses.of(noise)


@lru_cache(maxsize=64)
def shift_losses(shifts: ShiftCounts) -> ShiftLosses:
    """Return the loss of all shifts together."""
    laws = [(_of(noise), count) for noise, count in shifts]
    if len(laws) == 1 and laws[0][1] == 1:
        return laws[0][0]
    step = _step(laws)
    sums = [law.on(step).times(count, step) for law, count in laws]
    while len(sums) > 1:  # short ones first
        one, other, *rest = sorted(sums, key=lambda law: len(law.mass))
        sums = [*rest, one.plus(other, step)]
    return sums[0]


def _step(laws: Sequence[tuple[ShiftLosses, int]]) -> float:
    """Return the step of a lattice for the sum of some losses, each with its number.

    The losses of a discrete Laplace or Gaussian law are odd multiples of the smallest one, so that
    a lattice of such points is exact. Otherwise the step is as small as the points allow.
    """
    if len(laws) == 1:
        (law, count), *_ = laws
        step = 2 * float(np.abs(law.losses).min())
        if step and law.range / step * count <= POINTS:
            off = np.abs(law.losses - law.losses[0]) / step
            off = np.abs(off - np.rint(off))
            if float(off @ law.mass) < FITS:
                return step
    whole = sum(count * law.range for law, count in laws)
    spread = math.sqrt(sum(count * law.variance for law, count in laws))
    return min(whole, max(2 * SPREADS * spread, whole / MOST_LONGER)) / POINTS or 1.0


def shift_curve(shifts: ShiftCounts, step: float | None = None) -> PrivacyCurve:
    """Return the privacy curve of all shifts together.

    step: of its lattice, if that does not take too many points; by default, half of a lattice's own
    step, so that its points stay where they are.
    """
    law = shift_losses(shifts)
    if step is None:
        step = float(np.diff(law.losses).min(initial=law.range)) / 2
    step = max(step, law.range / (4 * POINTS)) or 1.0
    split = neighbors(law.losses + law.error, step, rate=-1.0)
    raised = law.mass * (1 + law.share)
    first, mass = gathered(Split(split.below, raised * split.lower, raised * split.upper))
    one = LossLaw(step, first, mass, law.infinite)
    return PrivacyCurve(one, one)
