"""Regressions of randomized items by a textbook: one interview at a time, any optimizer."""

import math
from itertools import pairwise

import numpy as np
from scipy import optimize


def multinomial(x, coefficients, answers):
    """P(answer) with the log odds of each answer against the first."""
    odds = [1.0]
    for each in np.reshape(coefficients, (answers - 1, -1)):
        odds.append(math.exp(float(x @ each)))
    return [one / sum(odds) for one in odds]


def ordinal(x, coefficients, answers):
    """P(answer) with proportional odds; the thresholds first."""
    shift = float(x[1:] @ coefficients[answers - 1 :])
    below = [0.0, *(1 / (1 + math.exp(shift - each)) for each in coefficients[: answers - 1]), 1.0]
    return [high - low for low, high in pairwise(below)]


def log_likelihood(shares, coefficients, values, reported, matrices, weights=None):
    """The log-likelihood. matrices: P[report, answer] of each interview, (n, reports, answers)."""
    total = 0.0
    for number, (x, report, matrix) in enumerate(zip(values, reported, matrices, strict=True)):
        answers = shares(x, coefficients, matrix.shape[1])
        likelihood = sum(p * q for p, q in zip(matrix[report], answers, strict=True))
        weight = 1.0 if weights is None else weights[number]
        total += weight * (math.log(likelihood) if likelihood > 0 else -1e6)
    return total


def maximum(function, start):
    """The largest value of a function, and where it is, by a method without derivatives."""
    found = optimize.minimize(
        lambda x: -function(x),
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 6000, "maxfev": 6000},
    )
    return -found.fun, found.x


def curvature(function, at, step=1e-4):
    """Minus the second derivatives of a function, by differences."""
    size, eye = len(at), np.eye(len(at)) * step
    second = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            corners = [
                sign * other * function(at + sign * eye[i] + other * eye[j])
                for sign in (1, -1)
                for other in (1, -1)
            ]
            second[i, j] = -sum(corners) / (4 * step**2)
    return second
