"""Shares of an item in groups of people, their differences, and the test that they are equal.

Proof: docs/interviews-mathematics.md#differences-between-groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from incrowd.interviews.influence import covariance
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.shares import ItemShares

Estimator = Callable[[Sequence[ReportedItem], np.ndarray | None, np.ndarray | None], ItemShares]
NO_VARIANCE = 1e-12  # of the largest variance: a direction that is known exactly


@dataclass(frozen=True)
class WaldTest:
    """A test that some differences are 0.

    statistic: compared with a chi-square distribution, or, with clusters, with an F distribution.
    freedom: the number of differences. clusters: their number; None for independent interviews.
    """

    statistic: float
    freedom: int
    p_value: float
    clusters: int | None = None


def wald_test(
    differences: np.ndarray, variance: np.ndarray, clusters: np.ndarray | None = None
) -> WaldTest:
    """Test that differences are 0.

    variance: their covariance. clusters: of the interviews that are used; with m of them, the
    statistic of q differences times (m - q) / ((m - 1) q) has nearly an F distribution with q and
    m - q degrees of freedom. The p-value is nan if there are too few clusters.
    """
    values, vectors = np.linalg.eigh(variance)
    certain = values > NO_VARIANCE * max(float(values[-1]), 0.0)
    projected = vectors.T[certain] @ differences
    statistic, freedom = float(np.sum(projected**2 / values[certain])), int(certain.sum())
    if freedom == 0:
        return WaldTest(0.0, 0, np.nan)
    if clusters is None:
        return WaldTest(statistic, freedom, float(scipy.stats.chi2.sf(statistic, freedom)))
    m = len(np.unique(clusters))
    if m <= freedom:
        return WaldTest(statistic, freedom, np.nan, m)
    ratio = statistic * (m - freedom) / ((m - 1) * freedom)
    return WaldTest(statistic, freedom, float(scipy.stats.f.sf(ratio, freedom, m - freedom)), m)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values that are valid for all tests together (Holm 1979)."""
    order = np.argsort(p_values)
    ordered = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(ordered), 1.0)
    return adjusted


@dataclass(frozen=True, eq=False)
class SharesByGroup:
    """The shares of an item in groups of people.

    each: in the order of the levels. covariance: of the shares of all answers in all groups, shape
    (levels x answers, levels x answers); nan for shares at an end of their range.
    """

    each: tuple[ItemShares, ...]
    covariance: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """Shape (levels, answers)."""
        return np.stack([part.table.ravel() for part in self.each])

    def differences(self, pairs: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of one level less those of another, and their standard errors.

        pairs: of levels. Shapes: (pairs, answers).
        """
        levels, answers = self.shares.shape
        blocks = self.covariance.reshape(levels, answers, levels, answers)
        same = np.einsum("iaja->ija", blocks)
        values = np.stack([self.shares[a] - self.shares[b] for a, b in pairs])
        variances = np.stack([same[a, a] + same[b, b] - 2 * same[a, b] for a, b in pairs])
        return values, np.sqrt(np.maximum(variances, 0))


def shares_by_group(
    item: ReportedItem,
    codes: np.ndarray,
    levels: int,
    estimator: Estimator,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> SharesByGroup:
    """Estimate the shares of an item in each of some groups. codes: shape (n,), -1 for no group."""
    parts = [
        ReportedItem(np.where(codes == level, item.reported, MISSING), item.group, item.matrices)
        for level in range(levels)
    ]
    each = tuple(estimator([part], weights, clusters) for part in parts)
    cells = item.matrices.answers
    influence = np.concatenate([part.influence[:, :cells] for part in each], axis=1)
    joint = covariance(influence, clusters)
    for level, part in enumerate(each):
        block = slice(level * cells, (level + 1) * cells)
        joint[block, block] = part.covariance[:cells, :cells]
    unknown = np.concatenate([part.at_end[:cells] for part in each])
    joint[unknown], joint[:, unknown] = np.nan, np.nan
    return SharesByGroup(each, joint)


def homogeneity(by_group: SharesByGroup, clusters: np.ndarray | None = None) -> WaldTest:
    """Test that the shares are equal in all groups. by_group: estimated by moments."""
    levels, answers = by_group.shares.shape
    freedom = answers - 1
    free = (by_group.shares[1:, 1:] - by_group.shares[0, 1:]).ravel()
    contrast = np.zeros(((levels - 1) * freedom, levels, answers))
    for row in range(len(contrast)):
        level, answer = divmod(row, freedom)
        contrast[row, level + 1, answer + 1], contrast[row, 0, answer + 1] = 1.0, -1.0
    flat = contrast.reshape(len(contrast), -1)
    if clusters is not None:
        clusters = clusters[np.any([part.used for part in by_group.each], axis=0)]
    return wald_test(free, flat @ by_group.covariance @ flat.T, clusters)
