"""What every channel gives, and what it does to the bits of a question."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np


class Channel(ABC):
    """A channel of each bit of a question; one of whole answers says otherwise."""

    of_answers = False  # whether it takes the answer as a whole, and reports one set bit

    @property
    @abstractmethod
    def matrix(self) -> np.ndarray:
        """The column-stochastic matrix C[r, x] = P(report r | answer x)."""

    @property
    @abstractmethod
    def inverse(self) -> np.ndarray:
        """The inverse matrix, which makes reports unbiased."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Local differential privacy of one report, rounded up."""

    @property
    @abstractmethod
    def losses(self) -> tuple[float, float]:
        """The largest log-likelihood ratios of a bit that is 1 to one that is 0, and reversed.

        Of whole answers: of two different ones, and 0.
        """

    @property
    def log_phis(self) -> tuple[float, float]:
        """ln E[P(s|x) / P(s|x')], s a report of x: of bits (x, x') that are (1, 0), and (0, 1).

        Of whole answers: of two different ones, and 0.
        """
        (p00, p01), (p10, p11) = self.matrix
        square = (p11 - p10) ** 2  # the difference is exact, so that phi - 1 keeps its digits
        return math.log1p(square / (p10 * p00)), math.log1p(square / (p11 * p01))

    @property
    def set_rates(self) -> np.ndarray:
        """The chance that a bit of the report is set, for all that it can come from."""
        return np.asarray(self.matrix[1])

    def reported(self, bits: int) -> np.ndarray:
        """E[(1, the report's bits) | record], linear in (1, the record's bits).

        Shape (1 + bits, 1 + bits): what it does to joint counts of set bits, along an axis.
        """
        zero, one = self.set_rates
        matrix = np.eye(1 + bits)
        matrix[1:, 0] = zero
        matrix[1:, 1:] *= one - zero
        return matrix
