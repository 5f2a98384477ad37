"""The binomial law: how often a thing of some chance happens in independent trials."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

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
    found = betainc(inside, trials + 1 - inside, chance)
    return np.where(least <= 0, 1.0, np.where(least > trials, 0.0, found))
