"""What every channel gives, worked out once from its exact probabilities.

Local epsilon: docs/mathematics.md#the-devices.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from incrowd.channels.base import Channel
from incrowd.channels.bit_flip import DENOMINATOR, ROUNDING
from incrowd.errors import IncrowdError, PrivacyError

Matrix = npt.NDArray[np.float64]
Integers = npt.NDArray[np.object_]  # Python integers: products of stages outgrow 64 bits


class ExactChannel(Channel):
    """A channel whose probabilities are integers over one denominator."""

    @property
    @abstractmethod
    def numerators(self) -> Integers:
        """P(report r | answer x) times `denominator`, exactly: Python integers, shape (r, x)."""

    @property
    @abstractmethod
    def denominator(self) -> int:
        """What each column of `numerators` sums to."""

    @property
    def stages(self) -> tuple[ExactChannel, ...]:
        """The channels a report goes through, one after the other."""
        return (self,)

    @property
    def matrix(self) -> Matrix:
        """The column-stochastic matrix C[r, x] = P(report r | answer x); Vinterbo, section 3.2."""
        return as_floats(self.numerators / self.denominator)

    @property
    def inverse(self) -> Matrix:
        """The inverse matrix, every entry correctly rounded; Vinterbo, section 3.2.

        Raises PrivacyError if some answers look alike, however many people report.
        """
        inverse = exact_inverse(self.numerators)
        if inverse is None:
            raise self.not_invertible()
        return as_floats(inverse * self.denominator)

    @property
    def epsilon(self) -> float:
        """Local differential privacy of one report, rounded up: the largest log-likelihood ratio.

        max over reports r and answers x, x' of ln(C[r, x] / C[r, x']), Vinterbo, section 4.3.
        Infinite if a report is possible for some answers only.
        """
        return max(self.log_ratios)

    @property
    def log_ratios(self) -> list[float]:
        """For each report that is possible, its largest log-likelihood ratio, rounded up."""
        return [_log_ratio(max(row), min(row)) for row in self.numerators if any(row)]

    @property
    def losses(self) -> tuple[float, float]:
        """The largest log-likelihood ratios of a bit that is 1 to one that is 0, and reversed."""
        if_zero, if_one = self.log_ratios
        rising = self.numerators[1, 1] > self.numerators[1, 0]
        return (if_one, if_zero) if rising else (if_zero, if_one)

    def not_invertible(self) -> IncrowdError:
        """The error for a channel without inverse."""
        allowed = (
            "it cannot be inverted: different answers give the same reports, so that no "
            "estimate is unbiased; use other probabilities"
        )
        return PrivacyError.of("channel", self, allowed)


def as_floats(exact: Integers) -> Matrix:
    """Fractions or floats in an array of objects as an array of floats."""
    floats: Matrix = exact.astype(np.float64)
    return floats


def _log_ratio(larger: int, smaller: int) -> float:
    """ln(larger / smaller) rounded up, for integers 0 <= smaller <= larger, larger > 0."""
    if smaller == 0:
        return math.inf
    # The difference is exact, so that ratios near 1 keep all their digits.
    return math.log1p((larger - smaller) / smaller) * (1 + ROUNDING)


def exact_inverse(integers: Integers) -> Integers | None:
    """The inverse of a square matrix of integers as fractions, or None if there is none.

    Gauss-Jordan elimination without rounding: "cannot be inverted" is then a fact, and noise
    next to 1/2 costs no digits.
    """
    size = len(integers)
    rows: Integers = np.hstack([integers, np.eye(size, dtype=int)]) * Fraction(1)
    for step in range(size):
        pivots = np.flatnonzero(rows[step:, step])
        if not pivots.size:
            return None
        rows[[step, step + pivots[0]]] = rows[[step + pivots[0], step]]
        rows[step] /= rows[step, step]
        others = np.arange(size) != step
        rows[others] -= np.outer(rows[others, step], rows[step])
    return rows[:, size:]


def check_numerator(field: str, numerator: int, low: int = 0, high: int = DENOMINATOR) -> None:
    """Raise PrivacyError unless `numerator` is an integer with low <= numerator <= high."""
    if type(numerator) is not int or not low <= numerator <= high:
        allowed = f"should be an integer numerator over 2^32 from {low} to {high}"
        raise PrivacyError.of(field, numerator, allowed)


def scaled(field: str, probability: float) -> float:
    """`probability` times 2^32, without rounding. Raises PrivacyError unless it is in [0, 1]."""
    if not 0 <= probability <= 1:
        raise PrivacyError.of(field, probability, "should lie between 0 and 1")
    return probability * DENOMINATOR


Some = TypeVar("Some", bound=ExactChannel)


def first_within(epsilon: float, channels: Iterable[Some]) -> Some:
    """The first channel that is epsilon-private by itself and not useless.

    Raises PrivacyError if epsilon is not positive, or smaller than any channel's.
    """
    if not epsilon > 0:
        raise PrivacyError.of("epsilon", epsilon, "should be greater than 0")
    for channel in channels:
        if 0 < channel.epsilon <= epsilon:
            return channel
    allowed = "no multiple of 2^-32 gives so much privacy and any information; use a larger one"
    raise PrivacyError.of("epsilon", epsilon, allowed)
