"""Intervals of shares: their ends, levels, and allowances for counts of few people."""

from __future__ import annotations

from abc import ABC, abstractmethod
from statistics import NormalDist

import numpy as np

from incrowd.errors import UsageError

LEVEL = 0.95
HALF_WIDTH = NormalDist().inv_cdf((1 + LEVEL) / 2)  # of an interval, in standard errors
POWER = 0.8  # of what is called detectable, unless people state another one

Ends = tuple[np.ndarray, np.ndarray]


def detectable_size(power: float, half_width: float = HALF_WIDTH) -> float:
    """Return the size, in standard errors, of an effect that is detected with some probability.

    It is detected if its estimate is larger than half_width standard errors. Raises UsageError
    unless the power is between 0 and 1.
    """
    if not 0 < power < 1:
        raise UsageError.of("power", "estimation.no-power", value=power)
    return max(half_width + NormalDist().inv_cdf(power), 0.0)


class Intervals(ABC):
    """The ends of intervals."""

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the intervals; not truncated at zero."""
        return self._ends[0]

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals; not truncated at one."""
        return self._ends[1]

    @property
    @abstractmethod
    def _ends(self) -> Ends: ...


def sampling_variance(shares: np.ndarray, people: float) -> np.ndarray:
    """Return pi (1 - pi) / N; an estimate below zero or above one counts as zero or one."""
    return np.asarray(np.maximum(shares * (1 - shares), 0.0) / people)


def reach(multiplier: float, errors: np.ndarray, step: np.ndarray | float) -> np.ndarray:
    """Return the half length of intervals, from the number of standard errors.

    The variance of a count is its mean, so its estimate is zero if nobody was counted; but even if
    z^2 people are expected, there is sometimes nobody (Wilson 1927). So z^2 counts are added to
    each variance, which is little compared with the noise of a crowd. Exact shares stay exact.
    """
    few = np.where(errors > 0, multiplier * np.asarray(step), 0.0)
    return np.asarray(multiplier * np.hypot(errors, few))


def chosen_level(level: float, chosen: int, of: int) -> float:
    """Return the confidence level of each interval when only some of the figures are listed.

    Of many answers, only those that rise above the noise are listed. They are selected for being
    large, so their 95% intervals would miss far more often than one in twenty. With R of K listed,
    each gets the level 1 - 5% R / K: then at most one in twenty of the listed intervals misses, on
    average (the false coverage rate, Benjamini and Yekutieli 2005). If all are listed, the level
    stays the same.
    """
    return 1 - (1 - level) * max(chosen, 1) / of


def score_ends(
    multiplier: float,
    estimate: np.ndarray,
    noise: np.ndarray,
    report: np.ndarray | float,
    people: float | None,
) -> Ends:
    """Return the ends of the intervals of all shares that a test does not reject.

    noise: the variance of the noise, which does not depend on the shares. people: the number drawn
    at random; None if they are fixed. The share pi is tested with its variance under the
    hypothesis, the noise plus pi (1 - pi) / N, so the ends are the roots of a quadratic (Wilson
    1927); a share below zero or above one has no sampling. report: the share of a cell that one
    report moves; the noise is a whole number of reports, so a quarter of its square is added.
    Proof: docs/mathematics.md#tables-of-cells.
    """
    half = multiplier * np.sqrt(noise + np.square(report) / 4)
    outer = np.stack([estimate - half, estimate + half])
    if people is None:
        return outer[0], outer[1]
    k = multiplier**2 / people
    inside = k * k + 4 * k * estimate * (1 - estimate) + 4 * (1 + k) * half**2
    root = np.sqrt(np.maximum(inside, 0))  # negative only where both ends are beyond zero or one
    roots = (2 * estimate + k + np.stack([-root, root])) / (2 * (1 + k))
    low, high = np.where((outer >= 0) & (outer <= 1), roots, outer)
    return low, high
