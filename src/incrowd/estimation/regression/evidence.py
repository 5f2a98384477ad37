"""The evidence of one stratum for a model: its score, its information, and their errors.

The score of a model is linear in the shares p(c) of people in the cells c of the table of outcome
and predictors: U(b) = sum over c of p(c) x(c) (y(c) - mu(b, c)). So unbiased shares give an
unbiased score, even negative ones, and its covariance follows from that of the shares.
Proof: docs/regression.md#the-formula.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy

from incrowd.estimation.regression.model import Design
from incrowd.estimation.tables import TableEstimate
from incrowd.methods import Family


class StratumEvidence(ABC):
    """People of one stratum. All figures are means over them."""

    people: float

    @abstractmethod
    def score(self, beta: np.ndarray) -> np.ndarray:
        """Return the mean of x (y - mu), shape (coefficients,)."""

    @abstractmethod
    def information(self, beta: np.ndarray) -> np.ndarray:
        """Return the mean of x x' mu': how fast the score falls."""

    @abstractmethod
    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Return the covariance of the score, by noise and sampling or by noise alone."""

    @abstractmethod
    def information_variances(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return the variances of the information v' A v in some directions,
        the rows of `along`."""


@dataclass(frozen=True)
class JointTable(StratumEvidence):
    """The joint table of outcome and predictors: all that any model needs."""

    table: TableEstimate
    design: Design
    family: Family

    @property
    def people(self) -> float:  # type: ignore[override]
        """The number of people of the table."""
        return self.table.people

    @property
    def shares(self) -> np.ndarray:
        """Unbiased, one for each cell, not cut at zero."""
        return self.table.estimate.ravel()

    def _mean(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected outcome of each cell, and how fast it rises with x' beta."""
        height = beta @ self.design.x
        if self.family == "linear":
            return height, np.ones_like(height)
        mean = scipy.special.expit(height)
        return mean, mean * scipy.special.expit(-height)

    def _scores(self, beta: np.ndarray) -> np.ndarray:
        return np.asarray(self.design.x * (self.design.y - self._mean(beta)[0]))

    def score(self, beta: np.ndarray) -> np.ndarray:
        """Return a sum over the cells."""
        return np.asarray(self._scores(beta) @ self.shares)

    def information(self, beta: np.ndarray) -> np.ndarray:
        """Return a sum over the cells."""
        weights = self._mean(beta)[1] * self.shares
        return np.asarray((self.design.x * weights) @ self.design.x.T)

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Return D Sigma D', D the scores of the cells and Sigma the covariance of their shares."""
        scores = self._scores(beta)
        return np.asarray(scores @ self.table.error.joint @ scores.T)

    def information_variances(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return the variances of the information, which is linear in the shares as well."""
        weights = self._mean(beta)[1] * (along @ self.design.x) ** 2
        return np.asarray(((weights @ self.table.error.joint) * weights).sum(axis=1))

    def gain(self, beta: np.ndarray) -> float:
        """Return the log-likelihood with the unbiased shares; its gradient is the score."""
        height = beta @ self.design.x
        loss = height**2 / 2 if self.family == "linear" else np.logaddexp(0, height)
        each = self.design.counted * (self.design.y * height - loss)
        return float(each @ self.shares)
