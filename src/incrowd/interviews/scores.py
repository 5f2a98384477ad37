"""Correlations of randomized items with each other and with open numbers, by unbiased scores.

Proof: docs/interviews-mathematics.md#correlations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from incrowd.estimation.ratios import Quotient
from incrowd.interviews.influence import check_clusters, covariance, half_width, scaled
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.shares import derivative, left_inverses, moments, normalized


@dataclass(frozen=True, eq=False)
class ScoredItem:
    """A randomized item whose answers count as numbers. values: shape (answers,)."""

    item: ReportedItem
    values: np.ndarray

    @property
    def given(self) -> np.ndarray:
        """Which interviews have a report."""
        return np.asarray(self.item.reported != MISSING)

    def scores(self, theta: np.ndarray, used: np.ndarray) -> np.ndarray:
        """Return unbiased scores of the number and of its square, shape (2, interviews used)."""
        inverse = left_inverses(self.item.matrices.at(theta))
        numbers = np.einsum("pa,gar->pgr", [self.values, self.values**2], inverse)
        return np.asarray(numbers[:, self.item.group[used], self.item.reported[used]])


@dataclass(frozen=True, eq=False)
class OpenNumber:
    """A number that was asked openly. values: shape (n,); nan where it is missing."""

    values: np.ndarray

    @property
    def given(self) -> np.ndarray:
        """Which interviews have the number."""
        return np.asarray(np.isfinite(self.values))

    def scores(self, _: np.ndarray, used: np.ndarray) -> np.ndarray:
        """Return the number and its square, shape (2, interviews used)."""
        return np.stack([self.values[used], self.values[used] ** 2])


NumberColumn = ScoredItem | OpenNumber


@dataclass(frozen=True)
class NumberCorrelation:
    """A correlation with its standard error and 95% interval, within -1 and 1.

    people: the number of interviews that have both. The estimate is nan if a variance is estimated
    as 0 or less; the interval then holds every possible value.
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    people: int


def correlation(
    first: NumberColumn,
    second: NumberColumn,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> NumberCorrelation:
    """Return the correlation of two numbers, of which none, one, or both are randomized.

    The covariance of the unbiased scores over the product of the standard deviations of the true
    numbers, which the scores of their squares estimate.
    """
    used = first.given & second.given
    check_clusters(used, clusters)
    weight = normalized(weights, used)[used]
    weight = weight / weight.sum()
    theta, of_theta = _unknowns((first, second), used, weights)
    split = theta[0].size

    def columns(at: np.ndarray) -> np.ndarray:
        s, p = first.scores(at[:split], used)
        t, q = second.scores(at[split:], used)
        return np.stack([s, t, s * t, p, q])

    def means(at: np.ndarray) -> np.ndarray:
        return np.asarray(columns(at) @ weight)

    at = np.concatenate(theta)
    center = means(at)
    influence = np.zeros((len(used), 5))
    influence[used] = (columns(at) - center[:, None]).T * weight[:, None]
    strata = np.where(used, 0, MISSING)
    influence = scaled(influence, strata, clusters)
    if at.size:
        influence += of_theta @ derivative(means, at).T
    s, t, product, p, q = center
    over, spreads = product - s * t, (p - s * s, q - t * t)
    if min(spreads) <= 0:
        return NumberCorrelation(math.nan, math.nan, -1.0, 1.0, int(used.sum()))
    under = math.sqrt(spreads[0] * spreads[1])
    slopes = np.array(
        [
            [-t, -s, 1, 0, 0],
            [-s * spreads[1], -t * spreads[0], 0, spreads[1] / 2, spreads[0] / 2],
        ]
    )
    slopes[1] /= under
    variances = slopes @ covariance(influence, clusters) @ slopes.T
    ratio = Quotient(over, under, variances[0, 0], variances[0, 1], variances[1, 1], False)
    level = 1 - 2 * float(scipy.special.ndtr(-half_width(used, clusters)))
    low, high = ratio.interval(level)
    return NumberCorrelation(
        estimate=ratio.estimate,
        standard_error=ratio.spread / under,
        low=max(low, -1.0),
        high=min(high, 1.0),
        people=int(used.sum()),
    )


def _unknowns(
    columns: Sequence[NumberColumn], used: np.ndarray, weights: np.ndarray | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the unknown probabilities of each column, and the influence of interviews on them."""
    theta: list[np.ndarray] = []
    influence = [np.zeros((len(used), 0))]
    for column in columns:
        if isinstance(column, ScoredItem) and column.item.matrices.names:
            item = column.item
            reported = np.where(used, item.reported, MISSING)
            alone = moments([ReportedItem(reported, item.group, item.matrices)], weights)
            theta.append(alone.unknowns)
            influence.append(alone.influence[:, alone.mixture.cells :])
        else:
            theta.append(np.zeros(0))
    return theta, np.concatenate(influence, axis=1)
