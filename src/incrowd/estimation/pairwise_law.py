"""The joint law of several questions of which only pairs are known: the maximum-entropy law.

Among all laws with given tables of pairs it makes no further assumptions: a log-linear model
without interactions of three or more questions. Proof: docs/mathematics.md#laws-of-pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

MOST_STATES = 1 << 20  # combinations of answers to all questions
CLOSE = 1e-7  # of a moment of functions with variance 1
LEAST_VARIANCE = 1e-9

VariablePair = tuple[int, int]


def contrasts(share: np.ndarray) -> np.ndarray:
    """Return uncorrelated functions of the answers to one question: 1, then functions with mean 0
    and variance 1. share: the share of each answer, positive. Shape (answers, answers), a row per
    function.
    """
    root = np.sqrt(share)
    basis, _ = np.linalg.qr(np.column_stack([root, np.eye(len(root))[:, 1:]]))
    basis[:, 0] = root  # QR may return its negative
    return np.asarray((basis / root[:, None]).T)


def pairwise_law(
    shares: Sequence[np.ndarray],
    moments: Mapping[VariablePair, np.ndarray],
    variances: Mapping[VariablePair, np.ndarray],
) -> np.ndarray:
    """Return the law with given shares of the answers to each question and given moments of pairs.

    shares: for each of two or more questions, positive, with sum 1. moments: for each pair of
    places, the means of products of their `contrasts`, without the first of each. variances: the
    variances of the errors of these moments. No law may fit the estimates exactly. So the sum of
    squared deviations, each divided by its variance, is added to the entropy relative to the law of
    independent answers: a moment is met up to a small part of its error, or as closely as possible.
    Returns an array with an axis for each question.
    """
    shape = tuple(map(len, shares))
    places, target, ridge = _terms(shape, moments, variances)
    at = min(range(1, len(shape)), key=lambda at: math.prod(shape[:at]) + math.prod(shape[at:]))
    laws = _Laws(_Half.of(shares[:at]), _Half.of(shares[at:]), places)

    def gap(factors: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the convex function whose minimum gives the law, and its gradient."""
        law, total = laws.law(factors)
        value = total - factors @ target + ridge @ factors**2 / 2
        return value, laws.means(law) - target + ridge * factors

    limits = {"maxiter": 1000, "maxfun": 2000, "gtol": CLOSE, "ftol": 0.0, "maxcor": 30}
    solved = minimize(gap, np.zeros(len(places)), jac=True, method="L-BFGS-B", options=limits)
    law, _ = laws.law(solved.x)
    return law.reshape(shape)


class _Half(NamedTuple):
    """Half of the questions.

    logs: the logarithm of the law of independent answers, shape (states,). bases: the `contrasts`
    of each question. singles: the contrasts of all questions except the constants, at each state:
    shape (functions, states). places: the places of these functions among all products.
    """

    logs: np.ndarray
    bases: list[np.ndarray]
    singles: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, shares: Sequence[np.ndarray]) -> _Half:
        """Return the half with questions of these shares."""
        bases = [contrasts(share) for share in shares]
        states = math.prod(map(len, bases))
        singles, places, after = [], [], states
        for basis in bases:
            after //= len(basis)
            repeated = np.repeat(basis[1:], after, axis=1)
            singles.append(np.tile(repeated, states // repeated.shape[1]))
            places.append(np.arange(1, len(basis)) * after)
        logs = reduce(np.add.outer, [np.log(share) for share in shares]).ravel()
        return cls(logs, bases, np.concatenate(singles), np.concatenate(places))

    @property
    def size(self) -> int:
        """The number of states, and of products."""
        return len(self.logs)

    def functions(self, factors: np.ndarray) -> np.ndarray:
        """Return the sum of all products of contrasts, times their factors, at each state."""
        return _transformed(factors, [basis.T for basis in self.bases])

    def means(self, law: np.ndarray) -> np.ndarray:
        """Return the means of all products of contrasts."""
        return _transformed(law, self.bases)


class _Laws(NamedTuple):
    """Laws with an effect for each function of one or two questions: of the first half, of the last
    half, or a product of one from each. No table of all products is ever transformed.

    places: the places of these functions among all products.
    """

    first: _Half
    last: _Half
    places: np.ndarray

    def law(self, factors: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the law with these effects, shape (states of the first half, of the last), and the
        logarithm of its normalizing constant."""
        effects = np.zeros((self.first.size, self.last.size))
        np.put(effects, self.places, factors)
        across = effects[np.ix_(self.first.places, self.last.places)]
        law = self.first.singles.T @ across @ self.last.singles
        law += self.last.logs + self.last.functions(effects[0])
        law += (self.first.logs + self.first.functions(effects[:, 0]))[:, None]
        most = float(law.max())
        np.exp(law - most, out=law)
        total = float(law.sum())
        law /= total
        return law, most + math.log(total)

    def means(self, law: np.ndarray) -> np.ndarray:
        """Return the means of all these functions."""
        means = np.zeros(law.shape)
        means[:, 0] = self.first.means(law.sum(axis=1))
        means[0] = self.last.means(law.sum(axis=0))
        across = self.first.singles @ (law @ self.last.singles.T)
        means[np.ix_(self.first.places, self.last.places)] = across
        return np.take(means, self.places)


def _terms(
    shape: Sequence[int],
    moments: Mapping[VariablePair, np.ndarray],
    variances: Mapping[VariablePair, np.ndarray],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places of functions of one or two questions among all products, their means, and
    the variances of the errors of the means."""
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
    """Return a table in C order, a matrix applied along each axis; each step moves its axis to the
    end."""
    for matrix in matrices:
        values = (matrix @ values.reshape(matrix.shape[1], -1)).T.ravel()
    return values
