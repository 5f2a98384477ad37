"""Association in a table of two randomized items: independence, and the odds ratio.

Proof: docs/interviews-mathematics.md#joint-tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from incrowd.interviews.contrasts import WaldTest, wald_test
from incrowd.interviews.influence import half_width
from incrowd.interviews.shares import ItemShares


@dataclass(frozen=True)
class OddsRatio:
    """An odds ratio, the standard error of its logarithm, and its 95% interval.

    Without an estimate (nan), because a share of the table is 0 or below, it can have any value.
    """

    estimate: float
    log_error: float
    low: float
    high: float


def independence(shares: ItemShares, clusters: np.ndarray | None = None) -> WaldTest:
    """Test that two items are independent. shares: their table by moments."""
    table = shares.table
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    cells = table.size
    slopes = np.zeros((table.shape[0] - 1, table.shape[1] - 1, *table.shape))
    for x, y in np.ndindex(slopes.shape[:2]):
        slopes[x, y, x, y] += 1
        slopes[x, y, x, :] -= columns[y]
        slopes[x, y, :, y] -= rows[x]
    flat = slopes.reshape(-1, cells)
    differences = (table - np.outer(rows, columns))[:-1, :-1].ravel()
    variance = flat @ shares.covariance[:cells, :cells] @ flat.T
    return wald_test(differences, variance, None if clusters is None else clusters[shares.used])


def odds_ratio(shares: ItemShares, clusters: np.ndarray | None = None) -> OddsRatio:
    """Return the odds ratio of two items with two answers each."""
    table = shares.table.ravel()
    if np.any(table <= 0):
        return OddsRatio(math.nan, math.nan, 0.0, math.inf)
    signs = np.array([1.0, -1.0, -1.0, 1.0])
    logarithm = float(signs @ np.log(table))
    slopes = signs / table
    error = math.sqrt(slopes @ shares.covariance[:4, :4] @ slopes)
    half = half_width(shares.used, clusters) * error
    return OddsRatio(
        math.exp(logarithm), error, math.exp(logarithm - half), math.exp(logarithm + half)
    )
