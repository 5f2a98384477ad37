"""Maximum likelihood for reports whose probabilities are a function of a few bounded parameters.

Errors are those of the sandwich, so that they hold with weights and clusters, and tests of fit
compare the probabilities with the observed shares of reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from incrowd.interviews.influence import covariance, scaled

ReportLaw = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From parameters, shape (k,), to P[group, report] and its derivatives with respect to each."""
_POSSIBLE = 1e-9  # probabilities below this are those of reports that cannot occur
_SINGULAR = 1e-12  # eigenvalues below this, relative to the largest, count as zero
_AT_BOUND = 1e-7
ROUNDS = 500  # of scoring, which ends earlier
STEP = 1e-10  # of a parameter: a smaller step is the last one


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Reports as the likelihood needs them: one entry per row.

    group, reported: shape (n,), from 0. weights: shape (n,), or None if all are 1. clusters: shape
    (n,), or None if the rows are independent.
    """

    group: np.ndarray
    reported: np.ndarray
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None

    def counts(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the weighted number of rows in each group and report."""
        cells = self.group * shape[1] + self.reported
        return np.bincount(cells, self.weights, shape[0] * shape[1]).reshape(shape).astype(float)

    def spread(self, influence: np.ndarray) -> np.ndarray:
        """Return the covariance of the sum of influences over all rows, shape (k, k).

        influence: of a row with the weight 1, shape (k, groups, reports).
        """
        rows = influence[:, self.group, self.reported].T
        if self.weights is not None:
            rows = rows * self.weights[:, None]
        return covariance(scaled(rows, self.group, self.clusters), self.clusters)


class FitTest(NamedTuple):
    """A test that a model fits the reports.

    statistic: approximately chi-square; nan without degrees of freedom. kind: "likelihood ratio",
    or "Wald" for weighted or clustered reports.
    """

    statistic: float
    degrees: int
    kind: str

    @property
    def p_value(self) -> float:
        """The probability of a statistic as large as this, or larger, if the model fits."""
        return float(stats.chi2.sf(self.statistic, self.degrees)) if self.degrees else math.nan


def fit_test(rows: ReportRows, probabilities: np.ndarray, slopes: np.ndarray) -> FitTest:
    """Test whether a model fits.

    probabilities: as fitted, shape (groups, reports). slopes: their derivatives with respect to
    free parameters, shape (k, groups, reports).

    The likelihood ratio compares the model with the observed shares of each group. With weights or
    clusters, contrasts of these shares that no parameter changes are compared with 0.
    """
    counts = rows.counts(probabilities.shape)
    sizes = counts.sum(axis=1, keepdims=True)
    plain = rows.weights is None and rows.clusters is None
    kind = "likelihood ratio" if plain else "Wald"
    possible = (probabilities > _POSSIBLE) | (counts > 0)
    degrees = int(possible.sum()) - len(counts) - len(slopes)
    if degrees <= 0:
        return FitTest(math.nan, 0, kind)
    if plain:
        seen = counts > 0
        ratios = counts[seen] / (sizes * np.maximum(probabilities, _POSSIBLE**2))[seen]
        return FitTest(max(2 * float(counts[seen] @ np.log(ratios)), 0.0), degrees, kind)
    shares = counts / sizes
    groups = np.repeat(np.eye(len(counts)), counts.shape[1], axis=1)
    impossible = np.eye(counts.size)[~possible.ravel()]
    tangent = np.vstack([slopes.reshape(len(slopes), -1), groups, impossible])
    contrasts = np.linalg.svd(tangent)[2][-degrees:].reshape(degrees, *counts.shape)
    means = (contrasts * shares).sum(axis=2, keepdims=True)
    spread = rows.spread((contrasts - means) / sizes)
    gaps = (contrasts * (shares - probabilities)).sum(axis=(1, 2))
    return FitTest(float(gaps @ np.linalg.solve(spread, gaps)), degrees, kind)


@dataclass(frozen=True, eq=False)
class ReportFit:
    """Parameters that were fitted to reports.

    parameters: shape (k,). covariance: shape (k, k), as if estimates at a bound were free to cross
    it; infinite if the reports do not determine the parameters there. at_bound: which parameters
    are at a bound.
    """

    parameters: np.ndarray
    covariance: np.ndarray
    at_bound: np.ndarray
    log_likelihood: float
    test: FitTest


def fit_reports(
    law: ReportLaw, rows: ReportRows, start: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> ReportFit:
    """Fit parameters by maximum likelihood, with weights as in a pseudo-likelihood.

    start, lower, upper: shape (k,). The law must identify its parameters.
    """
    counts = rows.counts(law(start)[0].shape)
    parameters = _maximum(law, counts, start, lower, upper)
    probabilities, slopes = law(parameters)
    # A coefficient that runs away has no information, and no influence on shares either.
    information = _information(counts, probabilities, slopes)
    inverse = np.linalg.pinv(information, rcond=_SINGULAR, hermitian=True)
    spread = rows.spread(slopes / np.maximum(probabilities, _POSSIBLE))
    determined = bool(np.isfinite(inverse).all())
    return ReportFit(
        parameters=parameters,
        covariance=inverse @ spread @ inverse if determined else inverse,
        at_bound=(parameters - lower < _AT_BOUND) | (upper - parameters < _AT_BOUND),
        log_likelihood=_log_likelihood(counts, probabilities),
        test=fit_test(rows, probabilities, slopes),
    )


def _information(counts: np.ndarray, probabilities: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return the expected information, shape (k, k)."""
    sizes = counts.sum(axis=1, keepdims=True)
    parts = np.where(probabilities > _POSSIBLE, sizes / np.maximum(probabilities, _POSSIBLE), 0)
    flat = slopes.reshape(len(slopes), -1)
    return np.asarray((flat * parts.ravel()) @ flat.T)


def _log_likelihood(counts: np.ndarray, probabilities: np.ndarray) -> float:
    return float((counts * np.log(np.maximum(probabilities, _POSSIBLE**2))).sum())


def _maximum(
    law: ReportLaw, counts: np.ndarray, start: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> np.ndarray:
    """Return the parameters of the highest likelihood, by scoring with steps that raise it.

    Parameters at a bound that the likelihood pushes outward stay there.
    """
    parameters = start
    probabilities, slopes = law(parameters)
    value = _log_likelihood(counts, probabilities)
    for _ in range(ROUNDS):
        gradient = (slopes * (counts / np.maximum(probabilities, _POSSIBLE))).sum(axis=(1, 2))
        free = ~((parameters <= lower) & (gradient < 0)) & ~((parameters >= upper) & (gradient > 0))
        information = _information(counts, probabilities, slopes)[np.ix_(free, free)]
        step = np.zeros(len(parameters))
        step[free] = np.linalg.lstsq(information, gradient[free], rcond=None)[0]
        while (length := np.abs(step).max(initial=0.0)) > STEP:
            proposed = np.clip(parameters + step, lower, upper)
            probabilities, slopes = law(proposed)
            if (raised := _log_likelihood(counts, probabilities)) >= value:
                parameters, value = proposed, raised
                break
            step /= 2
        if length <= STEP:
            break
    return parameters
