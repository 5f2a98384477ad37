"""Laws on a lattice: mean-preserving splits and many-fold sums by FFT.

A lattice law is a vector of masses on the points (first + i) * step. All masses here are tilted:
the mass at v carries the factor exp(theta v). What is split or coarsened is split in the untilted
law so that the mean is kept; every convex expectation can then only rise.
Proof: docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from incrowd.numerics.law import Law

NOTHING = 50.0  # in logarithms


@dataclass(frozen=True)
class Lattice:
    """Tilted masses on the points (first + i) * step."""

    step: float
    first: int
    mass: np.ndarray

    @property
    def points(self) -> np.ndarray:
        """The points themselves."""
        return self.step * np.arange(self.first, self.first + len(self.mass))


def split(law: Law, step: float, theta: float, cumulant: float) -> Lattice:
    """Put each atom on its two neighboring points so that the mean is kept, then tilt.

    The mass at v is multiplied by exp(theta v - cumulant). What lies at zero is left out.
    """
    place = law.value / step
    below = np.floor(place)
    share = place - below
    first = int(below.min())
    size = int(below.max()) - first + 2
    index = (below - first).astype(np.int64)
    tilted = np.exp(law.log_mass + theta * step * below - cumulant)
    mass = np.bincount(index, tilted * (1 - share), size)
    mass += np.bincount(index + 1, tilted * share * np.exp(theta * step), size)
    return Lattice(step, first, mass)


def coarsen(lattice: Lattice, theta: float) -> Lattice:
    """Double the step: every odd point gives half its mass to either neighbor."""
    before = lattice.first % 2
    padded = np.pad(lattice.mass, (before, (len(lattice.mass) + before) % 2))
    even, odd = padded[0::2], padded[1::2]
    lift = np.exp(theta * lattice.step)
    mass = np.append(even, 0.0)
    mass[:-1] += odd / (2 * lift)
    mass[1:] += odd * (lift / 2)
    return Lattice(2 * lattice.step, (lattice.first - before) // 2, mass)


def circle_size(low: int, high: int) -> int:
    """A fast length for a circle that holds the points low..high."""
    return int(next_fast_len(high - low + 1, real=True))


def transform(lattice: Lattice, size: int) -> np.ndarray:
    """Fourier transform on a circle of `size` points, zero at index 0."""
    circle = np.zeros(size)
    for start in range(0, len(lattice.mass), size):
        part = lattice.mass[start : start + size]
        place = (lattice.first + start) % size
        fits = min(len(part), size - place)
        circle[place : place + fits] += part[:fits]
        circle[: len(part) - fits] += part[fits:]
    return np.asarray(rfft(circle))


def inverse(spectrum: np.ndarray, step: float, low: int, size: int) -> Lattice:
    """The lattice law of a transform, read once round the circle from index `low`."""
    circle = np.asarray(irfft(spectrum, size))
    return Lattice(step, low, np.maximum(np.roll(circle, -(low % size)), 0.0))


def power(spectrum: np.ndarray, mass: float, count: int) -> np.ndarray:
    """Transform of the sum of `count` draws of a law with this mass off zero, the rest at zero.

    (1 + z)^count with z = spectrum - mass, through log1p: z may be tiny and count huge. What is
    below e^-50 of the largest is nothing beside the roundoff of the rest.
    """
    z = spectrum - mass
    log_modulus = count * _log_modulus(z)
    found = np.zeros(len(z), complex)
    heard = log_modulus > log_modulus.max() - NOTHING
    phase = count * np.arctan2(z.imag[heard], 1 + z.real[heard])
    found[heard] = np.exp(log_modulus[heard] + 1j * phase)
    return found


def _log_modulus(z: np.ndarray) -> np.ndarray:
    """ln |1 + z|, with all digits where z is near 0 and where it is near -1."""
    square = z.real * (2 + z.real) + z.imag**2
    near = square > -0.5
    with np.errstate(divide="ignore"):  # ln 0 where a frequency does not occur at all
        far = np.log(np.hypot(1 + z.real, z.imag))
    return np.asarray(np.where(near, 0.5 * np.log1p(np.where(near, square, 0.0)), far))
