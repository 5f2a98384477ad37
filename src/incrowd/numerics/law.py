"""Finite laws of a real value, the rest of the probability lying at zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp


@dataclass(frozen=True)
class Law:
    """Atoms `value` with probabilities exp(log_mass); what is missing to `total` lies at zero.

    total: 1 for a probability law, less where an event was set apart (its persons have left).
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
        """First moment; what was set apart does not count."""
        return float(self.mass @ self.value)

    @property
    def second_moment(self) -> float:
        """Second moment about zero."""
        return float(self.mass @ self.value**2)

    def where(self, chosen: np.ndarray, total: float) -> Law:
        """The chosen atoms only, with a new total."""
        return Law(self.value[chosen], self.log_mass[chosen], total)

    def negated(self) -> Law:
        """The law of minus the value."""
        return Law(-self.value, self.log_mass, self.total)

    def cumulant(self, theta: np.ndarray | float) -> np.ndarray:
        """ln E[exp(theta X)] at one or several theta.

        Through log1p of E[exp(theta X)] - 1, so that a law close to a point mass at zero keeps
        its digits; from the exponentials' logarithms where they would overflow.
        """
        exponent = np.multiply.outer(np.asarray(theta, float), self.value)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            shift = np.expm1(exponent) @ self.mass - (1.0 - self.total)
            direct = np.log1p(shift)
        if np.all(np.isfinite(direct)):
            return np.asarray(direct)
        rest = np.log(max(self.total - self.mass.sum(), 1e-300))
        safe = np.logaddexp(logsumexp(exponent + self.log_mass, axis=-1), rest)
        return np.asarray(np.where(np.isfinite(direct), direct, safe))


def log_sum_exp(exponents: np.ndarray) -> float:
    """ln of the sum of exponentials of a vector."""
    top = float(exponents.max())
    return top + float(np.log(np.exp(exponents - top).sum()))


def saddlepoint(law: Law) -> float:
    """The theta at which the tilted law has mean zero; needs atoms of both signs.

    The logarithms of the two halves of E[X exp(theta X)] are compared: their difference rises.
    """
    up, down = law.value > 0, law.value < 0
    value_up, value_down = law.value[up], law.value[down]
    log_up = law.log_mass[up] + np.log(value_up)
    log_down = law.log_mass[down] + np.log(-value_down)

    def balance(theta: float) -> float:
        return log_sum_exp(log_up + theta * value_up) - log_sum_exp(log_down + theta * value_down)

    step = 1.0 / float(np.abs(law.value).max())
    low, high = -step, step
    while balance(high) < 0:
        low, high = high, 4 * high
    while balance(low) > 0:
        low, high = 4 * low, low
    return float(brentq(balance, low, high, xtol=1e-300, rtol=1e-10))
