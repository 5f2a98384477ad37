"""Laws of sums of independent whole numbers, by fast Fourier transform."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.fft import irfft, rfft

from incrowd.numerics.precision import UNIT

UNHEARD = 50.0  # e^-50 is 2e-22: a frequency so much weaker is lost in the roundoff of the others


def circle_size(low: int, high: int) -> int:
    """A fast length for a circle that holds the points low..high."""
    return fast_length(high - low + 1)


@lru_cache(maxsize=1024)
def fast_length(least: int) -> int:
    """The smallest product of twos, threes and fives that is not below."""
    odd = (int(3**i * 5**j) for i in range(least.bit_length()) for j in range(least.bit_length()))
    return min(n << max(-(-least // n) - 1, 0).bit_length() for n in odd if n < 2 * least)


def convolved(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The law of the sum of two independent values, from the sum of their first places on."""
    length = len(one) + len(other) - 1
    size = circle_size(1, length)
    return np.asarray(
        np.maximum(
            irfft(rfft(one, size) * rfft(other, size), size)[:length],
            0.0,
        )
    )


def convolution_error(one: np.ndarray, other: np.ndarray) -> float:
    """What rounding may do to the mass of a tail of `convolved`; a margin, not a proof.

    A transform errs by about a UNIT of the Euclidean norm, with signs that look random, so that
    a sum of errors is about as large as their norm: at most sqrt(size) of the product of norms.
    A UNIT of the whole mass comes on top; `LossLaw.doubt` has it.
    """
    size = circle_size(1, len(one) + len(other) - 1)
    return UNIT * math.sqrt(size * (one @ one) * (other @ other))


def power(spectrum: np.ndarray, mass: float, count: int) -> np.ndarray:
    """Transform of the sum of `count` draws of a law with this mass off zero, the rest at zero.

    (1 + z)^count with z = spectrum - mass, through log1p: z may be tiny and count huge.
    """
    z = spectrum - mass
    log_modulus = count * _log_modulus(z)
    found = np.zeros(len(z), complex)
    heard = log_modulus > log_modulus.max() - UNHEARD
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
