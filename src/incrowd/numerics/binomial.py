"""The binomial law, and the multinomial one of few draws, listed way by way."""

from __future__ import annotations

import math

import numpy as np
import scipy

from incrowd.numerics.law import log_sum_exp


def log_binomial(
    trials: int, log_miss: float, log_hit: float, first: int = 0, last: int | None = None
) -> np.ndarray:
    """ln of the law of the count, for first..last (all of them if not given), adding up to one.

    Added up from the mode, where the digits matter; scipy's goes through ln k! and loses as many
    digits as that has.
    """
    count = np.arange(first + 1, (trials if last is None else last) + 1)
    steps = np.log((trials - count + 1) / count) + (log_hit - log_miss)
    mode = int((steps > 0).sum())
    down, up = -np.cumsum(steps[:mode][::-1])[::-1], np.cumsum(steps[mode:])
    log_mass = np.concatenate([down, [0.0], up])
    return np.asarray(log_mass - log_sum_exp(log_mass))


def at_least(trials: int, chance: float, least: np.ndarray) -> np.ndarray:
    """P[count >= least], for each whole number `least`."""
    inside = np.clip(least, 1, trials)
    found = scipy.special.betainc(inside, trials + 1 - inside, chance)
    return np.where(least <= 0, 1.0, np.where(least > trials, 0.0, found))


def ways(values: int, count: int) -> int:
    """In how many ways `count` draws can fall on so many values."""
    return math.comb(count + values - 1, count)


def outcomes(
    value: np.ndarray, log_mass: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each way: the sum, the sum of absolute values, the logarithm of its probability."""
    left, log_chance = np.array([count]), np.array([scipy.special.gammaln(count + 1)])
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
        log_chance = log_chance + number * log_p - scipy.special.gammaln(number + 1)
        total, scale = total + number * v, scale + number * abs(v)
    return total, scale, log_chance
