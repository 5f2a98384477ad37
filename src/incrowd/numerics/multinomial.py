"""Sums of few draws of few values: every way in which they can fall, exactly."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln


def ways(values: int, count: int) -> int:
    """In how many ways `count` draws can fall on so many values."""
    return math.comb(count + values - 1, count)


def outcomes(
    value: np.ndarray, log_mass: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each way: the sum, the sum of absolute values, the logarithm of its probability."""
    left, log_chance = np.array([count]), np.array([gammaln(count + 1)])
    total, scale = np.zeros(1), np.zeros(1)
    for place, (v, log_p) in enumerate(zip(value, log_mass, strict=True)):
        number = left
        if place < len(value) - 1:
            ends = np.cumsum(left + 1)
            parent = np.repeat(np.arange(len(left)), left + 1)
            number = np.arange(ends[-1]) - (ends - left - 1)[parent]
            left, log_chance = left[parent], log_chance[parent]
            total, scale = total[parent], scale[parent]
        left = left - number
        log_chance = log_chance + number * log_p - gammaln(number + 1)
        total, scale = total + number * v, scale + number * abs(v)
    return total, scale, log_chance
