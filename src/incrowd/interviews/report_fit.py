"""Maximum likelihood for laws of reports with a few bounded parameters.

A law gives the probabilities of all reports in each group of interviews. Errors are those of the
sandwich, so that they hold with weights and clusters, and tests of fit compare the law with the
observed shares of reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, stats

ReportLaw = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From parameters, shape (k,), to P[group, report] and its derivatives with respect to each."""
_POSSIBLE = 1e-9  # probabilities below this are those of reports that cannot occur
_SAME_RANK = 1e-7  # singular values below this, relative to the largest, count as zero
_AT_BOUND = 1e-7


@dataclass(frozen=True, eq=False)
class Interviews:
    """Reports as the likelihood needs them: one entry per row.

    group, reported: shape (n,), from 0. weights: shape (n,). clusters: shape (n,), or None if the
    rows are independent.
    """

    group: np.ndarray
    reported: np.ndarray
    weights: np.ndarray
    clusters: np.ndarray | None = None
    weighted: bool = False

    def table(self, shape: tuple[int, int], values: np.ndarray) -> np.ndarray:
        """Return the sums of values in each group and report."""
        cells = self.group * shape[1] + self.reported
        return np.bincount(cells, values, shape[0] * shape[1]).reshape(shape)

    def spread(self, influence: np.ndarray) -> np.ndarray:
        """Return the covariance of the sum of weights times influence over all rows.

        influence: shape (k, groups, reports), with mean 0.
        """
        shape = influence.shape[1:]
        if self.clusters is None:
            sizes = self.table(shape, np.ones(len(self.group))).sum(axis=1)
            corrections = sizes / np.maximum(sizes - 1, 1)
            squares = self.table(shape, self.weights**2) * corrections[:, None]
            flat = influence.reshape(len(influence), -1)
            return np.asarray((flat * squares.ravel()) @ flat.T)
        rows = influence[:, self.group, self.reported] * self.weights
        names, clusters = np.unique(self.clusters, return_inverse=True)
        sums = np.array([np.bincount(clusters, each, len(names)) for each in rows])
        return np.asarray(sums @ sums.T * len(names) / (len(names) - 1))


@dataclass(frozen=True, eq=False)
class ReportFit:
    """A law that was fitted to reports.

    parameters: shape (k,). covariance: shape (k, k), as if estimates at a bound were free to cross
    it. at_bound: which parameters are at a bound. statistic, degrees, p_value: the test that the
    law fits; nan without degrees of freedom. test: "likelihood ratio", or "Wald" for weighted or
    clustered reports.
    """

    parameters: np.ndarray
    covariance: np.ndarray
    at_bound: np.ndarray
    log_likelihood: float
    statistic: float
    degrees: int
    p_value: float
    test: str


def identifies(law: ReportLaw, parameters: np.ndarray) -> bool:
    """Return whether the reports determine all parameters near the given ones."""
    slopes = law(parameters)[1].reshape(len(parameters), -1)
    values = np.linalg.svd(slopes, compute_uv=False)
    return bool(len(values) == len(parameters) and values[-1] > _SAME_RANK * values[0])


def fit_reports(
    law: ReportLaw, rows: Interviews, start: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> ReportFit:
    """Fit a law to reports by maximum likelihood, with weights as in a pseudo-likelihood.

    start, lower, upper: shape (k,). The law must identify its parameters.
    """
    shape = law(start)[0].shape
    counts = rows.table((shape[0], shape[1]), rows.weights)
    total = counts.sum()

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        probabilities, slopes = law(parameters)
        safe = np.maximum(probabilities, _POSSIBLE**2)
        gradient = -(slopes * (counts / safe)).sum(axis=(1, 2)) / total
        return -float((counts * np.log(safe)).sum()) / total, gradient

    bounds = list(zip(lower, upper, strict=True))
    parameters = optimize.minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    parameters = _polished(law, loss, counts, parameters, lower, upper)
    probabilities, slopes = law(parameters)
    information = _information(counts, probabilities, slopes)
    scores = slopes / np.maximum(probabilities, _POSSIBLE)
    inverse = _inverse(information)
    covariance = inverse @ rows.spread(scores) @ inverse
    at_bound = (parameters - lower < _AT_BOUND) | (upper - parameters < _AT_BOUND)
    statistic, degrees, test = _test(rows, counts, probabilities, slopes)
    return ReportFit(
        parameters=parameters,
        covariance=covariance,
        at_bound=at_bound,
        log_likelihood=-loss(parameters)[0] * total,
        statistic=statistic,
        degrees=degrees,
        p_value=float(stats.chi2.sf(statistic, degrees)) if degrees else math.nan,
        test=test,
    )


def _information(counts: np.ndarray, probabilities: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return the expected information, shape (k, k)."""
    sizes = counts.sum(axis=1, keepdims=True)
    parts = np.where(probabilities > _POSSIBLE, sizes / np.maximum(probabilities, _POSSIBLE), 0)
    flat = slopes.reshape(len(slopes), -1)
    return np.asarray((flat * parts.ravel()) @ flat.T)


def _inverse(information: np.ndarray) -> np.ndarray:
    """Return the inverse; infinite where the information about a parameter is zero."""
    values, vectors = np.linalg.eigh(information)
    if values[0] > _SAME_RANK**2 * values[-1]:
        return np.asarray((vectors / values) @ vectors.T)
    return np.full(information.shape, math.inf)


def _polished(
    law: ReportLaw,
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]],
    counts: np.ndarray,
    parameters: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> np.ndarray:
    """Return the parameters after a few steps of scoring, which are exact to the last digits."""
    total = counts.sum()
    for _ in range(30):
        value, gradient = loss(parameters)
        free = ~((parameters <= lower) & (gradient > 0)) & ~((parameters >= upper) & (gradient < 0))
        information = _information(counts, *law(parameters))[np.ix_(free, free)]
        step = np.zeros(len(parameters))
        step[free] = np.linalg.lstsq(information, -gradient[free] * total, rcond=None)[0]
        while (length := np.abs(step).max(initial=0.0)) > 1e-12:
            proposed = np.clip(parameters + step, lower, upper)
            if loss(proposed)[0] <= value:
                parameters = proposed
                break
            step /= 2
        if length <= 1e-12:
            break
    return parameters


def _test(
    rows: Interviews, counts: np.ndarray, probabilities: np.ndarray, slopes: np.ndarray
) -> tuple[float, int, str]:
    """Return the statistic, degrees of freedom, and name of the test of fit."""
    sizes = counts.sum(axis=1, keepdims=True)
    plain = not rows.weighted and rows.clusters is None
    test = "likelihood ratio" if plain else "Wald"
    degrees = counts.size - len(counts) - len(slopes)
    if degrees <= 0:
        return math.nan, 0, test
    if plain:
        seen = counts > 0
        ratios = counts[seen] / (sizes * probabilities)[seen]
        return max(2 * float((counts[seen] * np.log(ratios)).sum()), 0.0), degrees, test
    # Contrasts of the shares that do not change with the parameters, nor within a group's sum.
    shares = counts / sizes
    fixed = np.repeat(np.eye(len(counts)), counts.shape[1], axis=1)
    tangent = np.vstack([slopes.reshape(len(slopes), -1), fixed])
    contrasts = np.linalg.svd(tangent)[2][-degrees:].reshape(degrees, *counts.shape)
    means = (contrasts * shares).sum(axis=2, keepdims=True)
    spread = rows.spread((contrasts - means) / sizes)
    gaps = (contrasts * (shares - probabilities)).sum(axis=(1, 2))
    return float(gaps @ np.linalg.solve(spread, gaps)), degrees, test
