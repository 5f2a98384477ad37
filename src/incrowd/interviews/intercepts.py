"""Random intercepts of groups of interviews, such as villages or interviewers.

The intercept of a group adds tau u to a linear predictor, with u standard normal. The likelihood of
a group is the integral over u, by Gauss-Hermite quadrature that is centered and scaled for each
group (Pinheiro and Bates 1995).

Proof: docs/interviews-mathematics.md#random-intercepts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy

from incrowd.interviews.hidden import HiddenAnswerModel, LikelihoodValue, maximized

NODES = 31
ROUNDS = 50
CLOSE = 1e-7
MOST_STEPS = 30  # towards the mode of a group
LEAST = 1e-3  # of a deviation: below, the variance is 0


@dataclass(frozen=True, eq=False)
class GroupNodes:
    """Points and weights of the quadrature of each group.

    points: shape (nodes, groups), of u. log_weights: the same shape, with the normal density.
    """

    points: np.ndarray
    log_weights: np.ndarray


@dataclass(frozen=True, eq=False)
class InterceptFit:
    """The maximum of the likelihood of a model with random intercepts.

    parameters: those of the model, then the standard deviation tau of the intercepts. covariance:
    of all of these; without the row of tau if it is 0, where its error does not exist.
    log_likelihood, and `without` for tau = 0.
    """

    parameters: np.ndarray
    covariance: np.ndarray
    log_likelihood: float
    without: float
    groups: int
    converged: bool

    @property
    def variance(self) -> float:
        """The variance of the intercepts."""
        return float(self.parameters[-1] ** 2)

    @property
    def variance_error(self) -> float:
        """The standard error of the variance by the delta method; nan if the variance is 0."""
        if len(self.covariance) < len(self.parameters):
            return math.nan
        return float(2 * self.parameters[-1] * math.sqrt(self.covariance[-1, -1]))

    @property
    def p_value(self) -> float:
        """The p-value of the likelihood-ratio test of zero variance.

        Zero is at the boundary, so half of the statistics are 0 and the others chi-square with one
        degree of freedom (Self and Liang 1987).
        """
        return zero_variance_p_value(2 * (self.log_likelihood - self.without))


def zero_variance_p_value(statistic: float) -> float:
    """Return the p-value of a likelihood-ratio statistic of one variance that may be zero."""
    return 1.0 if statistic <= 0 else float(scipy.stats.chi2.sf(statistic, 1) / 2)


def group_nodes(
    model: HiddenAnswerModel, parameters: np.ndarray, groups: np.ndarray, nodes: int = NODES
) -> GroupNodes:
    """Return quadrature nodes around the mode of each group.

    parameters: with tau last. groups: shape (n,), from 0.
    """
    size, tau = int(groups.max()) + 1, float(parameters[-1])
    modes, spread = np.zeros(size), np.ones(size)
    for _ in range(MOST_STEPS):
        slope, bend = model.evaluated(parameters[:-1], tau, modes[groups]).by_shift
        slope = tau * np.bincount(groups, slope, size) - modes
        # Hidden answers can make the likelihood convex far from its mode.
        curvature = np.maximum(1 - tau**2 * np.bincount(groups, bend, size), 0.5)
        spread = 1 / np.sqrt(curvature)
        step = np.clip(slope / curvature, -1.0, 1.0)
        modes = modes + step
        if np.abs(step).max() < CLOSE:
            break
    points, weights = np.polynomial.hermite.hermgauss(nodes)
    u = modes + math.sqrt(2) * spread * points[:, None]
    log = np.log(weights)[:, None] + points[:, None] ** 2 + np.log(spread) - u**2 / 2
    return GroupNodes(u, log - math.log(math.pi) / 2)


def group_likelihood(
    model: HiddenAnswerModel, parameters: np.ndarray, groups: np.ndarray, nodes: GroupNodes
) -> LikelihoodValue:
    """Return the log-likelihood, its gradient and its second derivatives, for fixed nodes."""
    size, count = nodes.points.shape[1], len(parameters)
    evaluations = [
        model.evaluated(parameters[:-1], float(parameters[-1]), points[groups])
        for points in nodes.points
    ]
    logs = np.stack([np.bincount(groups, each.log, size) for each in evaluations])
    logs += nodes.log_weights
    total = scipy.special.logsumexp(logs, axis=0)
    chances = np.exp(logs - total)
    mean, second = np.zeros((size, count)), np.zeros((count, count))
    for each, chance in zip(evaluations, chances, strict=True):
        scores = np.zeros((size, count))
        np.add.at(scores, groups, each.scores)
        mean += chance[:, None] * scores
        second += scores.T @ (scores * chance[:, None]) + each.hessian(chance[groups])
    return float(total.sum()), mean.sum(axis=0), second - mean.T @ mean


def fit_intercepts(
    model: HiddenAnswerModel, start: np.ndarray, groups: np.ndarray, nodes: int = NODES
) -> InterceptFit:
    """Maximize the likelihood of a model with random intercepts.

    start: the maximum without them. groups: shape (n,), from 0, without empty groups.
    """
    people = model.people
    sigma = 1.0
    if model.shifted == "outcome" and model.outcome and model.outcome.family == "linear":
        sigma = math.exp(start[model.outcome.size - 1])
    scale = np.append(model.scale, 1 / sigma)
    without = float(model.evaluated(start).log.sum())
    point, converged = np.append(start, sigma / 2), False
    for _ in range(ROUNDS):
        at = group_nodes(model, point, groups, nodes)

        def mean(
            parameters: np.ndarray, at: GroupNodes = at
        ) -> tuple[float, np.ndarray, np.ndarray]:
            value, slope, second = group_likelihood(model, parameters, groups, at)
            return value / people, slope / people, second / people

        before = point
        point, flat = maximized(mean, point, scale)
        point[-1] = abs(point[-1])
        if flat and np.abs((point - before) * scale).max() < CLOSE:
            converged = True
            break
    at = group_nodes(model, point, groups, nodes)
    value, _, second = group_likelihood(model, point, groups, at)
    if point[-1] < LEAST * sigma or value <= without:
        hessian = model.evaluated(start).hessian(np.ones(people))[:-1, :-1]
        covariance = np.linalg.pinv(-hessian, hermitian=True)
        parameters = np.append(start, 0.0)
        return InterceptFit(parameters, covariance, without, without, at.points.shape[1], True)
    covariance = np.linalg.pinv(-second, hermitian=True)
    return InterceptFit(point, covariance, value, without, at.points.shape[1], converged)
