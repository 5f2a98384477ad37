"""Noise that a service adds to a count: laws of whole numbers, exact to the last bit.

The count of a cell goes up by Z, and Z - m is symmetric about 0. If one person's answer changes,
the counts of some cells shift by one; the privacy loss of such a shift does not depend on the
counts, so that no crowd is needed. Proof: docs/mathematics.md#noise-from-the-services.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from incrowd.arguments import checked_class
from incrowd.errors import PrivacyError

BITS = 64  # of the denominator of a law from which noise is drawn
MOST_BITS = 2**20  # of the denominator of a sum
MOST_MESSAGES = 2**20  # that a law can add to a cell: its weights are listed
LOG_NEVER = 50.0  # -ln of a share of a weight that does not change its digits


@checked_class
@dataclass(frozen=True, repr=False)
class AdditiveNoise:
    """A symmetric law of whole numbers -m to m, with probabilities over a power of 2.

    `AdditiveNoise.laplace`, `gaussian` and `polya` create it. A service draws Z - m from it by
    comparing integers, so that what is certified is what is drawn.

    Attributes
    ----------
    numerators : tuple of int
        Of 0, 1, ..., m, over 2^bits; those of negative numbers are the same.
    bits : int
        The denominator is 2^bits. The sum of two independent draws needs twice as many bits.

    Raises
    ------
    PrivacyError
        If a numerator is not positive, or all of them do not add up to 2^bits.

    Examples
    --------
    >>> from incrowd.accountant import AdditiveNoise
    >>> noise = AdditiveNoise.laplace(2.0, most=12)
    >>> noise.reach, round(noise.deviation, 3)
    (6, 0.602)
    """

    numerators: tuple[int, ...]
    bits: int = BITS

    def __repr__(self) -> str:
        return f"AdditiveNoise(reach={self.reach}, deviation={self.deviation:.4g})"

    def __post_init__(self) -> None:
        """Raise PrivacyError unless the numerators are those of a symmetric law."""
        _check_whole("bits", self.bits, 1, MOST_BITS)
        total = 2 * sum(self.numerators) - sum(self.numerators[:1])
        if total != 1 << self.bits or min(self.numerators) < 1:
            raise PrivacyError.of("numerators", "accountant.no-law", bits=self.bits)

    @classmethod
    def of(cls, weights: Sequence[float]) -> Self:
        """Return the law with probabilities in proportion to the positive weights of 0, ..., m.

        Rounding takes from all numbers but 0, which gets the rest.
        """
        weights = [float(weight) for weight in weights]
        if not weights or not all(0 < weight < math.inf for weight in weights):
            raise PrivacyError.of("weights", "accountant.above-0", value=weights)
        total = 2 * math.fsum(weights) - weights[0]
        others = tuple(int(weight / total * (1 << BITS)) for weight in weights[1:])
        return cls(((1 << BITS) - 2 * sum(others), *others))

    @classmethod
    def laplace(cls, loss: float, *, most: int) -> Self:
        """Return a truncated discrete Laplace law: weights exp(-loss |z|), |z| <= most / 2."""
        return cls.of(laplace_weights(_positive("loss", loss), _reach(most)))

    @classmethod
    def gaussian(cls, deviation: float, *, most: int) -> Self:
        """Return a truncated discrete Gaussian law: weights exp(-z^2 / (2 deviation^2))."""
        return cls.of(gaussian_weights(_positive("deviation", deviation), _reach(most)))

    @classmethod
    def polya(cls, loss: float, *, most: int) -> Self:
        """Return half of a discrete Laplace law, truncated.

        It is the law of the difference of two negative binomial variables of shape 1/2. The sum of
        two such numbers has weights exp(-loss |z|), but for the truncation.
        """
        return cls.of(polya_weights(_positive("loss", loss), _reach(most)))

    @property
    def reach(self) -> int:
        """The largest number m that can be added."""
        return len(self.numerators) - 1

    @property
    def most(self) -> int:
        """The most invented messages of one cell, 2 m; on average there are m."""
        return 2 * self.reach

    @cached_property
    def whole(self) -> tuple[int, ...]:
        """The numerators of -m, ..., m."""
        return (*self.numerators[:0:-1], *self.numerators)

    @cached_property
    def chances(self) -> np.ndarray:
        """The probabilities of -m, ..., m, each with a relative error of at most 2^-52."""
        return np.array([math.ldexp(each, -self.bits) for each in self.whole])

    @property
    def variance(self) -> float:
        """The variance, in people squared."""
        squares = 2 * sum(n * z * z for z, n in enumerate(self.numerators))
        return math.ldexp(squares, -self.bits)

    @property
    def deviation(self) -> float:
        """The standard deviation, in people."""
        return math.sqrt(self.variance)

    def plus(self, other: AdditiveNoise) -> AdditiveNoise:
        """Return the law of the sum of two independent numbers, exactly.

        Each law is one large integer whose digits are its numerators; their product has the sums.
        """
        reach, bits = self.reach + other.reach, self.bits + other.bits
        width = bits // 8 + 1  # bytes of a digit: no sum exceeds 2^bits
        one, two = (
            int.from_bytes(b"".join(n.to_bytes(width, "little") for n in law.whole), "little")
            for law in (self, other)
        )
        digits = (one * two).to_bytes(width * (2 * reach + 1), "little")
        places = range(width * reach, len(digits), width)
        sums = (int.from_bytes(digits[at : at + width], "little") for at in places)
        return AdditiveNoise(tuple(sums), bits)


def _check_whole(name: str, value: int, low: int, high: int) -> None:
    """Raise PrivacyError unless a whole number is in its range."""
    if not low <= value <= high:
        raise PrivacyError.of(name, "accountant.whole-between", value=value, low=low, high=high)


def _reach(most: int) -> int:
    """Return the largest number of a law, given the most invented messages that it can add."""
    _check_whole("most", most, 0, MOST_MESSAGES)
    return most // 2


def _positive(name: str, value: float) -> float:
    """Return a parameter of a law. Raises PrivacyError unless it is a positive, finite number."""
    if not 0 < value < math.inf:
        raise PrivacyError.of(name, "accountant.above-0", value=value)
    return value


def laplace_weights(loss: float, reach: int) -> list[float]:
    """Return the weights of 0, ..., reach in a discrete Laplace law."""
    return [math.exp(-loss * z) for z in range(reach + 1)]


def gaussian_weights(deviation: float, reach: int) -> list[float]:
    """Return the weights of 0, ..., reach in a discrete Gaussian law."""
    return [math.exp(-((z / deviation) ** 2) / 2) for z in range(reach + 1)]


def polya_weights(loss: float, reach: int) -> list[float]:
    """Return the weights of 0, ..., reach in half of a discrete Laplace law."""
    length = reach + math.ceil(LOG_NEVER / loss) + 1
    places = np.arange(1, length)
    each = np.cumprod([1.0, *((places - 0.5) / places * math.exp(-loss))])
    weights: list[float] = np.convolve(each, each[::-1])[length - 1 :][: reach + 1].tolist()
    return weights
