"""What every channel gives, and what it does to the bits of a question."""

from __future__ import annotations

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
