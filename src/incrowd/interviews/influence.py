"""Errors of estimates from the influence of each interview on them.

The influence of an interview is its linear contribution to the error of an estimate, so that the
variance is the sum of the squares. Interviews of one cluster are added before they are squared
(Binder 1983, International Statistical Review 51: linearization for complex surveys).
"""

from __future__ import annotations

import numpy as np
import scipy

from incrowd.estimation.intervals import HALF_WIDTH, LEVEL
from incrowd.interviews.items import MISSING


def covariance(influence: np.ndarray, clusters: np.ndarray | None = None) -> np.ndarray:
    """Return the covariance of estimates, shape (k, k).

    influence: shape (n, k), as `scaled` returns it. clusters: shape (n,); None if the interviews
    are independent.
    """
    if clusters is not None:
        _, place = np.unique(clusters, return_inverse=True)
        sums = np.zeros((int(place.max()) + 1, influence.shape[1]))
        np.add.at(sums, place, influence)
        influence = sums
    return np.asarray(influence.T @ influence)


def scaled(
    influence: np.ndarray, strata: np.ndarray, clusters: np.ndarray | None = None
) -> np.ndarray:
    """Return influences times sqrt(m / (m - 1)), for m clusters or, without them, interviews.

    strata: shape (n,), the group that an interview is in, or `MISSING` where it is not used.
    Interviews are counted in each group separately, clusters in all of them, as a cluster may be in
    several groups. With one of them, no variance can be estimated: the influences are then nan.
    """
    used = strata != MISSING
    if clusters is not None:
        sizes = np.full(len(strata), len(np.unique(clusters[used])))
    else:
        sizes = np.bincount(strata[used])[strata]
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(sizes > 1, np.sqrt(sizes / (sizes - 1)), np.nan)
    return np.where(used[:, None], influence * factors[:, None], 0.0)


def half_width(used: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return half the length of a 95% interval in standard errors.

    used: shape (n,). With m clusters, the quantile of a t distribution with m - 1 degrees of
    freedom; nan for one cluster.
    """
    if clusters is None:
        return HALF_WIDTH
    freedom = len(np.unique(clusters[used])) - 1
    return float(scipy.special.stdtrit(freedom, (1 + LEVEL) / 2)) if freedom else np.nan


def two_sided(statistic: float, used: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return the p-value of an estimate in standard errors, as `half_width` measures intervals."""
    if clusters is None:
        return float(2 * scipy.special.ndtr(-abs(statistic)))
    freedom = len(np.unique(clusters[used])) - 1
    return float(2 * scipy.special.stdtr(freedom, -abs(statistic))) if freedom else np.nan
