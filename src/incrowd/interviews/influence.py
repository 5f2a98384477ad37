"""Errors of estimates from the influence of each interview on them.

The influence of an interview is its linear contribution to the error of an estimate, so that the
variance is the sum of the squares. Interviews of one cluster are added before they are squared
(Binder 1983, International Statistical Review 51: linearization for complex surveys).
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from incrowd.errors import UsageError
from incrowd.estimation.intervals import HALF_WIDTH, LEVEL
from incrowd.interviews.items import MISSING

SATURATED = 1e-8  # of the clustered variance, relative to that of independent interviews


def cluster_sums(rows: np.ndarray, clusters: np.ndarray | None = None) -> np.ndarray:
    """Return the sums of rows over each cluster, shape (clusters, k).

    rows: shape (n, k). clusters: shape (n,); None if the interviews are independent, which then are
    returned as they are.
    """
    if clusters is None:
        return rows
    names, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((len(names), rows.shape[1]))
    np.add.at(sums, place, rows)
    return sums


def covariance(influence: np.ndarray, clusters: np.ndarray | None = None) -> np.ndarray:
    """Return the covariance of estimates, shape (k, k).

    influence: shape (n, k), as `scaled` returns it. clusters: as in `cluster_sums`.
    """
    sums = cluster_sums(influence, clusters)
    return np.asarray(sums.T @ sums)


def score_covariance(scores: np.ndarray, clusters: np.ndarray | None = None) -> np.ndarray:
    """Return the covariance of the sum of scores at a maximum, the middle of a sandwich.

    scores: shape (n, k), with the sum 0. With m clusters, or interviews without them, it is
    multiplied by m / (m - 1), as survey packages do.
    """
    sums = cluster_sums(scores, clusters)
    return np.asarray(sums.T @ sums * (len(sums) / (len(sums) - 1)))


def clusters_suffice(scores: np.ndarray, information: np.ndarray, clusters: np.ndarray) -> bool:
    """Return whether clusters vary in all directions of the parameters.

    If not, such as with a coefficient for each cluster, clustered errors are too small or zero.
    """
    squares = covariance(scores, clusters)
    least = scipy.linalg.eigh(squares, information, eigvals_only=True)[0]
    return bool(least > SATURATED)


def scaled(
    influence: np.ndarray, strata: np.ndarray, clusters: np.ndarray | None = None
) -> np.ndarray:
    """Return influences times sqrt(m / (m - 1)), for m clusters or, without them, interviews.

    strata: shape (n,), the group that an interview is in, or `MISSING` where it is not used.
    Interviews are counted in each group separately, clusters in all of them, as a cluster may be in
    several groups. A group with one interview says nothing about its variance alone, so the factor
    is then that of all interviews.
    """
    used = strata != MISSING
    if clusters is not None:
        sizes = np.full(len(strata), len(np.unique(clusters[used])))
    else:
        sizes = np.bincount(strata[used])[strata]
        sizes = np.where(sizes > 1, sizes, used.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(sizes > 1, np.sqrt(sizes / (sizes - 1)), np.nan)
    return np.where(used[:, None], influence * factors[:, None], 0.0)


def freedom_of_errors(used: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return the degrees of freedom of errors: m - 1 with m clusters, otherwise infinitely many.

    used: shape (n,), which interviews are used.
    """
    return math.inf if clusters is None else len(np.unique(clusters[used])) - 1


def check_clusters(used: np.ndarray, clusters: np.ndarray | None) -> None:
    """Raise UsageError if all interviews that are used are in one cluster."""
    if clusters is not None and len(np.unique(clusters[used])) < 2:
        raise UsageError.of("answers", "interviews.one-cluster", value=int(used.sum()))


def half_width(used: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return half the length of a 95% interval in standard errors.

    With clusters, the quantile of a t distribution; nan for one cluster.
    """
    freedom = freedom_of_errors(used, clusters)
    if math.isinf(freedom):
        return HALF_WIDTH
    return float(scipy.special.stdtrit(freedom, (1 + LEVEL) / 2)) if freedom else math.nan


def log_odds_interval(
    shares: np.ndarray, errors: np.ndarray, half: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of intervals of shares that are symmetric on the scale of log odds.

    errors: of the shares; an error of 0 is that of a share that is held at 0 or 1. half: as
    `half_width` returns it.
    """
    safe = np.clip(shares, 1e-15, 1 - 1e-15)
    middle, reach = scipy.special.logit(safe), half * errors / (safe * (1 - safe))
    low, high = scipy.special.expit(middle - reach), scipy.special.expit(middle + reach)
    return np.where(errors == 0, shares, low), np.where(errors == 0, shares, high)


def two_sided(statistic: float, used: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """Return the p-value of an estimate in standard errors, as `half_width` measures intervals."""
    freedom = freedom_of_errors(used, clusters)
    if math.isinf(freedom):
        return float(2 * scipy.special.ndtr(-abs(statistic)))
    return float(2 * scipy.special.stdtr(freedom, -abs(statistic))) if freedom else math.nan
