"""Laws on a lattice: mean-preserving splits, and sums of independent draws by FFT.

A lattice law is a vector of masses on the points (first + i) * step. The masses may be tilted: the
one at v then carries the factor exp(theta v). What is split or coarsened is split in the untilted
law so that the mean is kept; every convex expectation can then only rise.
Proof: docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.fft import irfft, rfft

from incrowd.numerics.convolution import convolved
from incrowd.numerics.law import Law


@dataclass(frozen=True)
class Lattice:
    """Masses on the points (first + i) * step, tilted by theta."""

    step: float
    first: int
    mass: np.ndarray
    theta: float = 0.0

    @property
    def points(self) -> np.ndarray:
        """The points themselves."""
        return self.step * np.arange(self.first, self.first + len(self.mass))

    def coarsened(self) -> Lattice:
        """Double the step: every odd point gives half its mass to either neighbor."""
        before = self.first % 2
        padded = np.pad(self.mass, (before, (len(self.mass) + before) % 2))
        even, odd = padded[0::2], padded[1::2]
        lift = np.exp(self.theta * self.step)
        mass = np.append(even, 0.0)
        mass[:-1] += odd / (2 * lift)
        mass[1:] += odd * (lift / 2)
        return Lattice(2 * self.step, (self.first - before) // 2, mass, self.theta)

    def plus(self, other: Lattice) -> Lattice:
        """The law of the sum of two independent values, on the coarser lattice."""
        one = self
        while one.step < 0.75 * other.step:
            one = one.coarsened()
        while other.step < 0.75 * one.step:
            other = other.coarsened()
        mass = convolved(one.mass, other.mass)
        return Lattice(one.step, one.first + other.first, mass, one.theta)

    def transform(self, size: int) -> np.ndarray:
        """Fourier transform on a circle of `size` points, zero at index 0."""
        turns = np.pad(self.mass, (0, -len(self.mass) % size)).reshape(-1, size)
        return np.asarray(rfft(np.roll(turns.sum(axis=0), self.first % size)))

    def inverse(self, spectrum: np.ndarray, low: int, size: int) -> Lattice:
        """On the same lattice the law of a transform, read once round the circle from `low`."""
        circle = np.asarray(irfft(spectrum, size))
        return replace(self, first=low, mass=np.maximum(np.roll(circle, -(low % size)), 0.0))


class Split(NamedTuple):
    """The index of the point below each value, and the shares of that point and of the next."""

    below: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def neighbors(value: np.ndarray, step: float, rate: float = 0.0) -> Split:
    """How to give each value to its two neighboring points so that a mean is kept.

    rate: the mean of exp(rate v); for zero, of v itself. A function that is convex in what is
    kept can then only rise. The smaller share keeps its digits.
    """
    place = value / step
    below = np.floor(place)
    if not rate:
        return Split(below, 1 - (place - below), place - below)
    gap, size = np.clip(value - below * step, 0.0, step), abs(rate)
    whole = np.expm1(-size * step)
    lower, upper = np.expm1(size * (gap - step)) / whole, np.expm1(-size * gap) / whole
    if rate > 0:
        return Split(below, lower, upper * np.exp(size * (gap - step)))
    return Split(below, lower * np.exp(-size * gap), upper)


def gathered(split: Split) -> tuple[int, np.ndarray]:
    """The first index and the masses from there on, if the shares are masses."""
    first = int(split.below.min())
    size = int(split.below.max()) - first + 2
    index = (split.below - first).astype(np.int64)
    mass = np.bincount(index, split.lower, size)
    mass += np.bincount(index + 1, split.upper, size)
    return first, mass


def split(law: Law, step: float, theta: float = 0.0, cumulant: float = 0.0) -> Lattice:
    """Put each atom on its two neighboring points so that the mean is kept, then tilt.

    The mass at v is multiplied by exp(theta v - cumulant). What lies at zero is left out.
    """
    below, lower, upper = neighbors(law.value, step)
    tilted = np.exp(law.log_mass + theta * step * below - cumulant)
    masses = Split(below, tilted * lower, tilted * upper * np.exp(theta * step))
    return Lattice(step, *gathered(masses), theta)
