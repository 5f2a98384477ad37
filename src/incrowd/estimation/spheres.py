"""The length of a vector that is known up to noise, with an interval by inverting a test.

The squared length of a nearly normal estimate is a sum of noncentral chi-squares. Which direction
the vector has is not known, only its length r is asked for: the direction of the largest noise is
taken, which spreads the squared length the most. With the same noise in all directions that is
the noncentral chi-square itself, and the interval has its level exactly; else at least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DRAWS = 50_000
SEED = 20160224  # any fixed number: the same data give the same interval
STEPS = 25


@dataclass(frozen=True)
class Length:
    """The length of a vector, from an estimate and its covariance."""

    vector: np.ndarray
    covariance: np.ndarray

    @property
    def square(self) -> float:
        """The squared length of the estimate: too large by the trace of the covariance."""
        return float(self.vector @ self.vector)

    @property
    def estimate(self) -> float:
        """The root of the squared length, its bias taken off; zero if nothing is left."""
        return math.sqrt(max(self.square - float(np.trace(self.covariance)), 0.0))

    @property
    def standard_error(self) -> float:
        """That of the length of the estimate, along its direction."""
        variance = float(self.vector @ self.covariance @ self.vector)
        return math.sqrt(max(variance, 0.0) / self.square) if self.square else math.nan

    def interval(self, level: float, largest: float) -> tuple[float, float]:
        """The lengths, `largest` at most, that neither of two tests refuses.

        A square below its mean for the length zero counts as that mean for the upper end: a lucky
        draw is not taken as more evidence than none.
        """
        tail, least = (1 - level) / 2, float(np.trace(self.covariance))
        first, rest = _draws(self.covariance)

        def below(length: float, square: float) -> float:
            return float(np.mean((first + length) ** 2 + rest <= square))

        low = _crossing(lambda r: 1 - below(r, self.square) >= tail, largest)
        high = _crossing(lambda r: below(r, max(self.square, least)) < tail, largest)
        return low, high


def _draws(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The noise in the direction where it is largest, the squared noise in all others."""
    variances = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    generator, rest = np.random.default_rng(SEED), np.zeros(DRAWS)
    for variance in variances[:-1]:
        rest += variance * generator.standard_normal(DRAWS) ** 2
    return math.sqrt(float(variances[-1])) * generator.standard_normal(DRAWS), rest


def _crossing(reached: Callable[[float], bool], largest: float) -> float:
    """The least length at which something is reached that holds from there on."""
    if reached(0.0):
        return 0.0
    low, high = 0.0, largest
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
