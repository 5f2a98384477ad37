"""Ratios of estimates, with intervals that cover whatever the denominator is (Fieller 1954).

A ratio r of A to B is held against the data by testing A - r B = 0, whose estimate is nearly
normal even where B is near zero and the ratio of the estimates is not. The interval is all r that
the test does not refuse. It covers with its level at any size, so that nothing need be left out,
which would show overestimates alone; the price is that it has no end where the data set none.
Proof: docs/mathematics.md#ratios-and-lengths.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from incrowd.estimation.delta_method import Shares, Term
from incrowd.estimation.tables import LEVEL

TINY = 1e-300
Scale = Literal["linear", "log"]
Unbounded = Literal["no", "above", "below", "everywhere"]


@dataclass(frozen=True)
class Comparison:
    """One figure worked out of a table: estimate, standard error, interval.

    low, high: the interval; -inf, inf where the data set no limit. unbounded: "above" if there is
    no upper limit, "below" if there is no lower one, "everywhere" if every possible value is left
    open. scale: "log" if the standard error is that of the estimate's logarithm, else "linear";
    nan if the interval is unbounded or the logarithm is of zero. If `estimable` is false, there is
    no estimate (nan), the interval holds all the same. reason: why something is open, missing
    or left out. errors: whether the people count as a sample or as fixed.
    """

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float
    scale: Scale
    level: float
    errors: str
    estimable: bool = True
    reason: str = ""
    unbounded: Unbounded = "no"


@dataclass(frozen=True)
class Quotient:
    """A over B >= 0, estimates that are nearly normal together; positive: A >= 0 as well."""

    over: float
    under: float
    over_variance: float
    covariance: float
    under_variance: float
    positive: bool

    @property
    def estimate(self) -> float:
        """The possible ratio that the data oppose least; nan if that is not finite."""
        if self.under <= 0:
            return math.nan
        return max(self.over / self.under, 0.0 if self.positive else -math.inf)

    @property
    def spread(self) -> float:
        """The standard error of A - r B at the estimate r."""
        r = self.estimate
        variance = self.over_variance - 2 * r * self.covariance + r * r * self.under_variance
        return math.sqrt(max(variance, 0.0))

    def interval(self, level: float) -> tuple[float, float]:
        """All possible r with (A - r B)^2 <= c Var(A - r B), c the chi-square quantile.

        An A or B below zero is off any possible value; c is larger by its own square in standard
        errors (the likelihood ratio against what is possible), so that no noise makes an interval
        empty or too short. Where B may be zero, r has no limit on the side of A's sign.
        """
        c = float(scipy.special.ndtri((1 + level) / 2)) ** 2 + _below_zero(
            self.under, self.under_variance
        )
        c += _below_zero(self.over, self.over_variance) if self.positive else 0.0
        a = self.under**2 - c * self.under_variance
        b = self.over * self.under - c * self.covariance
        d = self.over**2 - c * self.over_variance
        low, high = _between(a, b, d) if a > 0 < self.under else _beside(b, a, d, self.over)
        return (max(low, 0.0), high) if self.positive else (low, high)


def quotient(
    name: str,
    over: Term,
    under: Term,
    shares: Shares,
    factors: Mapping[str, np.ndarray],
    scale: Scale = "linear",
) -> Comparison:
    """over / under as a figure; on the log scale it cannot be below zero.

    shares: of people who exclude each other. factors: the sums of shares, with names, that make
    `under` zero if one of them is.
    """
    found = of_terms(over, under, shares, scale)
    return comparison(name, found, found.interval(LEVEL), shares, factors, scale)


def of_terms(over: Term, under: Term, shares: Shares, scale: Scale) -> Quotient:
    """over / under of some shares."""
    first, second = over.gradient, under.gradient
    covariance = shares.with_few()
    return Quotient(
        over=over.value,
        under=under.value,
        over_variance=float(first @ covariance @ first),
        covariance=float(first @ covariance @ second),
        under_variance=float(second @ covariance @ second),
        positive=scale == "log",
    )


def comparison(
    name: str,
    found: Quotient,
    ends: tuple[float, float],
    shares: Shares,
    factors: Mapping[str, np.ndarray],
    scale: Scale,
) -> Comparison:
    """A figure with the interval between two ends; the rest as `quotient` has it."""
    low, high = ends
    unbounded = _unbounded(low, high, scale)
    unit = found.over if scale == "log" else found.under
    known = unbounded == "no" and unit > 0
    return Comparison(
        name=name,
        estimate=min(max(found.estimate, low), high) if found.under > 0 else math.nan,
        standard_error=found.spread / unit if known else math.nan,
        low=low,
        high=high,
        scale=scale,
        level=LEVEL,
        errors=shares.errors,
        estimable=not math.isnan(found.estimate),
        reason="" if unbounded == "no" else _smallest(shares, factors),
        unbounded=unbounded,
    )


def _smallest(shares: Shares, factors: Mapping[str, np.ndarray]) -> str:
    """Which factor is the fewest standard errors above zero."""
    sums = shares.combined(np.array(list(factors.values())))
    errors = np.sqrt(np.maximum(np.diagonal(sums.covariance), TINY))
    place = int(np.argmin(sums.values / errors))
    return (
        f"the share of {list(factors)[place]} is {sums.values[place]:.2%}, standard error "
        f"{errors[place]:.2%}: it cannot be told from zero; collect more reports"
    )


def _below_zero(value: float, variance: float) -> float:
    return min(value, 0.0) ** 2 / variance if variance > 0 else 0.0


def _between(a: float, b: float, d: float) -> tuple[float, float]:
    """Where a r^2 - 2 b r + d <= 0, a > 0; both roots without cancellation."""
    far = b + math.copysign(math.sqrt(max(b * b - a * d, 0.0)), b)
    roots = (far / a, d / far if far else 0.0)
    return min(roots), max(roots)


def _beside(b: float, a: float, d: float, over: float) -> tuple[float, float]:
    """The same where B may be zero, a <= 0: all r, or those beyond a root, on the side of A.

    If A is not zero (d > 0), neither is r, and it has the sign of A.
    """
    if d <= 0:
        return -math.inf, math.inf
    far = b + math.copysign(math.sqrt(max(b * b - a * d, 0.0)), over)
    root = d / far if far else math.copysign(math.inf, over)
    return (root, math.inf) if over > 0 else (-math.inf, root)


def _unbounded(low: float, high: float, scale: Scale) -> Unbounded:
    least = 0.0 if scale == "log" else -math.inf
    if math.isinf(high):
        return "everywhere" if low <= least else "above"
    return "below" if math.isinf(low) else "no"
