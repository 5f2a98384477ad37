"""Finite laws of a real value; the rest of the probability lies at zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.accountant.numerics.extrema import root
from incrowd.accountant.numerics.precision import NO_MASS, SMALLEST


@dataclass(frozen=True)
class Law:
    """Atoms `value` with probabilities exp(log_mass); the rest of `total` lies at zero.

    total: 1 for a probability law, less if an event was removed and is treated separately.
    """

    value: np.ndarray
    log_mass: np.ndarray
    total: float = 1.0

    @cached_property
    def mass(self) -> np.ndarray:
        """Probabilities of the atoms."""
        return np.asarray(np.exp(self.log_mass))

    @property
    def mean(self) -> float:
        """First moment, without the removed event."""
        return float(self.mass @ self.value)

    @property
    def second_moment(self) -> float:
        """Second moment about zero."""
        return float(self.mass @ self.value**2)

    def where(self, chosen: np.ndarray, total: float) -> Law:
        """Return the chosen atoms only, with a new total."""
        return Law(self.value[chosen], self.log_mass[chosen], total)

    def at_least(self, bottom: float) -> Law:
        """Return values below the bottom raised to it."""
        return Law(np.maximum(self.value, bottom), self.log_mass, self.total)

    def negated(self) -> Law:
        """Return the law of minus the value."""
        return Law(-self.value, self.log_mass, self.total)

    def with_zero(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all values and logarithms of their probabilities, with what lies at zero."""
        rest = self.total - float(self.mass.sum())
        if rest <= NO_MASS:
            return self.value, self.log_mass
        return np.append(self.value, 0.0), np.append(self.log_mass, np.log(rest))

    def cumulant(self, theta: np.ndarray | float) -> np.ndarray:
        """Return ln E[exp(theta X)] at one or several theta.

        Computed as log1p of E[exp(theta X)] - 1, which is accurate for a law close to a point mass
        at zero; from the logarithms of the exponentials if these would overflow.
        """
        exponent = np.multiply.outer(np.asarray(theta, float), self.value)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            shift = np.expm1(exponent) @ self.mass - (1.0 - self.total)
            direct = np.log1p(shift)
        if np.all(np.isfinite(direct)):
            return np.asarray(direct)
        rest = np.log(max(self.total - self.mass.sum(), SMALLEST))
        safe = np.logaddexp(log_sum_exp(exponent + self.log_mass), rest)
        return np.asarray(np.where(np.isfinite(direct), direct, safe))


class Mean(NamedTuple):
    """An upper bound of a mean, and its looseness, apart from that of a lattice's step."""

    bound: float
    doubt: float = 0.0

    def plus(self, bound: float, doubt: float = 0.0) -> Mean:
        """Return the bound and the doubt, each increased by that much."""
        return Mean(self.bound + bound, self.doubt + doubt)


def log_sum_exp(exponents: np.ndarray) -> np.ndarray:
    """Return ln of the sum of exponentials along the last axis; minus infinity if all exponents
    are.

    For up to a thousand exponents this takes 5 microseconds and the more general
    `scipy.special.logsumexp` 45; a saddlepoint needs about a hundred calls.
    """
    top = exponents.max(axis=-1)
    if exponents.ndim == 1 and math.isfinite(top):
        return np.asarray(top + np.log(np.exp(exponents - top).sum()))
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.log(np.exp(exponents - top[..., None]).sum(axis=-1))
    return np.asarray(np.where(np.isfinite(top), top + total, top))


def saddlepoint(law: Law) -> float:
    """Return the theta at which the tilted law has mean zero; the law needs atoms of both signs.

    The difference of the logarithms of the two halves of E[X exp(theta X)] rises with theta.
    """
    halves = [one.where(one.value > 0, 1.0) for one in (law, law.negated())]
    (up, log_up), (down, log_down) = (
        (one.value, one.log_mass + np.log(one.value)) for one in halves
    )

    def balance(theta: float) -> float:
        return float(log_sum_exp(log_up + theta * up) - log_sum_exp(log_down - theta * down))

    step = 1.0 / float(np.abs(law.value).max())
    low, high = -step, step
    while balance(high) < 0:
        low, high = high, 4 * high
    while balance(low) > 0:
        low, high = 4 * low, low
    return root(balance, low, high, close=1e-300, relative=1e-10)


# The binomial law, and the multinomial law of few draws by enumeration.


def log_binomial(
    trials: int, log_miss: float, log_hit: float, first: int = 0, last: int | None = None
) -> np.ndarray:
    """Return ln of the law of the count for first..last (by default all counts), normalized to one.

    Summed outwards from the mode, where accuracy matters; the version in scipy uses ln k! and
    loses as many digits as that has.
    """
    count = np.arange(first + 1, (trials if last is None else last) + 1)
    steps = np.log((trials - count + 1) / count) + (log_hit - log_miss)
    mode = int((steps > 0).sum())
    down, up = -np.cumsum(steps[:mode][::-1])[::-1], np.cumsum(steps[mode:])
    log_mass = np.concatenate([down, [0.0], up])
    return np.asarray(log_mass - log_sum_exp(log_mass))


def at_least(trials: int, chance: float, least: np.ndarray) -> np.ndarray:
    """Return P[count >= least] for each integer `least`."""
    inside = np.clip(least, 1, trials)
    inner = scipy.special.betainc(inside, trials + 1 - inside, chance)
    return np.where(least <= 0, 1.0, np.where(least > trials, 0.0, inner))


def ways(values: int, count: int) -> int:
    """Return the number of multisets of `count` draws from that many values."""
    return math.comb(count + values - 1, count)


def outcomes(
    value: np.ndarray, log_mass: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for each multiset of draws, the sum, the sum of absolute values, and ln of its
    probability."""
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
