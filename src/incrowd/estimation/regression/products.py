"""Products of what a report says of several questions, without bias.

A report says g of each level of each variable, right on average. What it says of different
variables has independent noise, so that products are right as well; of one variable a person is on
one level, so that a product of two levels is the level itself, or nothing. Here u is 1 and then the
levels of some variables, one report a row. Proof: docs/regression.md#from-pairs-alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Columns:
    """The columns of u: 1, then `sizes` levels of each variable."""

    sizes: tuple[int, ...]

    @cached_property
    def variable(self) -> np.ndarray:
        """Which variable each column is of; 0 is the 1, a variable with one level."""
        return np.repeat(np.arange(1 + len(self.sizes)), [1, *self.sizes])

    @cached_property
    def first(self) -> np.ndarray:
        """The first column of each variable."""
        return np.flatnonzero(np.diff(self.variable, prepend=-1))

    def by_variable(self, columns: np.ndarray) -> np.ndarray:
        """Sums over the levels of each variable."""
        return np.asarray(np.add.reduceat(columns, self.first, axis=-1))

    def square(self, alone: np.ndarray, products: np.ndarray) -> np.ndarray:
        """Products of all columns, of one variable the single levels on the diagonal."""
        same = self.variable[:, None] == self.variable
        return np.where(same, np.diag(alone), products)

    def pairs(self, u: np.ndarray) -> np.ndarray:
        """The sum over reports of u u'."""
        return self.square(u.sum(axis=0), u.T @ u)

    def forms(self, u: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """(w'u)^2 of each report, for each row w of the weights."""
        form = (u @ weights.T) ** 2 + u @ (weights**2).T
        for start, end in zip(self.first, [*self.first[1:], u.shape[1]], strict=True):
            form -= (u[:, start:end] @ weights[:, start:end].T) ** 2
        return np.asarray(form)

    def most(self, weights: np.ndarray) -> np.ndarray:
        """The largest (w'u)^2 of a person at most: of each variable the level that weighs most."""
        largest = np.maximum.reduceat(np.abs(weights), self.first, axis=1)
        return np.asarray(largest.sum(axis=1) ** 2)

    def score_squares(
        self, u: np.ndarray, outcome: np.ndarray, scores: np.ndarray, beta: np.ndarray
    ) -> Sequence[np.ndarray]:
        """The sums over reports of s s', s = u (y - u' beta), and of what estimates E[t t'], t the
        score of the person.

        The residual r is a sum over variables of h, a value for each level. In the score of a
        level its own variable has that level for sure: r becomes r + d, d = h(level) - h. The
        square of a sum of debiased values lacks their variances: v = h^2 - (h)^2 of each variable.
        """
        said = u * -beta
        own, squares = self.by_variable(said), self.by_variable(said * -beta)
        y = outcome @ scores
        residual = (y + own.sum(axis=1))[:, None]
        v = squares - own**2
        rest = (outcome @ scores**2 - y**2 + v.sum(axis=1))[:, None]
        d, v = -beta - own[:, self.variable], v[:, self.variable]
        s, moved = u * (residual + d), u * d
        alone = u * ((residual + d) ** 2 + rest - v)
        crossed = (u * (2 * residual * d + d**2 - v)).T @ u
        both = (u * (residual**2 + rest)).T @ u + crossed + crossed.T + 2 * moved.T @ moved
        return s.T @ s, self.square(alone.sum(axis=0), both)
