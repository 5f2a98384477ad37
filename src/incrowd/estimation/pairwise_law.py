"""The joint law of several questions of which only pairs are known: that of the largest entropy.

Among all laws with given tables of pairs it is the one without further assumptions, a log-linear
model without interactions of three questions or more. Proof: docs/mathematics.md#laws-of-pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

MOST_STATES = 1 << 20  # combinations of answers to all questions
CLOSE = 1e-7  # of a moment of functions with variance 1
LEAST_VARIANCE = 1e-9

Pair = tuple[int, int]


def contrasts(share: np.ndarray) -> np.ndarray:
    """Functions of the answers to one question: 1, then such of mean 0 and variance 1 that are
    uncorrelated. share: of each answer, positive. Shape (answers, answers), a function a row."""
    root = np.sqrt(share)
    basis, _ = np.linalg.qr(np.column_stack([root, np.eye(len(root))[:, 1:]]))
    basis[:, 0] = root  # of which it may have found the negative
    return np.asarray((basis / root[:, None]).T)


def pairwise_law(
    shares: Sequence[np.ndarray],
    moments: Mapping[Pair, np.ndarray],
    variances: Mapping[Pair, np.ndarray],
) -> np.ndarray:
    """The law with given shares of the answers to each question and moments of pairs.

    shares: for each question, positive, of sum 1. moments: for each pair of places the means of
    products of their `contrasts`, without the first of each. variances: of the error of these
    moments. Estimates may fit no law at all. So the sum of squared deviations, each over its
    variance, is added to the relative entropy to the law of independent answers: a moment is met
    up to a small part of its error, or as nearly as any law can. Returns an array with an axis for
    each question.
    """
    shape = tuple(map(len, shares))
    bases = [contrasts(share) for share in shares]
    places, target, ridge = _terms(shape, moments, variances)
    log_start = _spread([np.log(share) for share in shares])
    transposed = [basis.T for basis in bases]

    def log_law(factors: np.ndarray) -> tuple[np.ndarray, float]:
        effects = np.zeros(math.prod(shape))
        effects[places] = factors
        found = log_start + _transformed(effects, transposed)
        return found, float(logsumexp(found))

    def gap(factors: np.ndarray) -> tuple[float, np.ndarray]:
        """What the smallest of gives the law, and its slope."""
        found, total = log_law(factors)
        means = _transformed(np.exp(found - total), bases)[places]
        value = total - factors @ target + ridge @ factors**2 / 2
        return value, means - target + ridge * factors

    limits = {"maxiter": 1000, "maxfun": 2000, "gtol": CLOSE, "ftol": 0.0, "maxcor": 30}
    solved = minimize(gap, np.zeros(len(places)), jac=True, method="L-BFGS-B", options=limits)
    found, total = log_law(solved.x)
    return np.exp(found - total).reshape(shape)


def _terms(
    shape: Sequence[int], moments: Mapping[Pair, np.ndarray], variances: Mapping[Pair, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The places of functions of one question or two among all products, their means, and the
    variances of the errors of these."""
    places, target, ridge = [], [], []
    strides = np.cumprod([1, *shape[:0:-1]])[::-1]
    for axis, size in enumerate(shape):
        places.append(np.arange(1, size) * strides[axis])
        target.append(np.zeros(size - 1))
        ridge.append(np.full(size - 1, LEAST_VARIANCE))
    for first, second in combinations(range(len(shape)), 2):
        places.append(np.add.outer(places[first], places[second]).ravel())
        target.append(moments[first, second].ravel())
        ridge.append(np.maximum(variances[first, second], LEAST_VARIANCE).ravel())
    return np.concatenate(places), np.concatenate(target), np.concatenate(ridge)


def _transformed(values: np.ndarray, matrices: Sequence[np.ndarray]) -> np.ndarray:
    """A matrix along each axis of a table in C order: each step moves its axis to the end."""
    for matrix in matrices:
        values = (matrix @ values.reshape(matrix.shape[1], -1)).T.ravel()
    return values


def _spread(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Sums over all combinations of one entry of each."""
    found = np.zeros(1)
    for part in parts:
        found = np.add.outer(found, part).ravel()
    return found
