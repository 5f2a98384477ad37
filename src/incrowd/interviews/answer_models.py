"""How the probabilities of true answers depend on predictors: logits of two, several, or ordered
answers.

A model maps linear predictors, shape (n, predictors), to probabilities, shape (n, answers).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy


class TrueShares(NamedTuple):
    """Probabilities of the true answers, with their derivatives by the linear predictors.

    shares: shape (n, answers). slopes: shape (n, answers, predictors). curves: shape (n, answers,
    predictors, predictors).
    """

    shares: np.ndarray
    slopes: np.ndarray
    curves: np.ndarray


@dataclass(frozen=True)
class TrueAnswerModel(ABC):
    """A model of an item with some answers. answers: how many."""

    answers: int

    @property
    def predictors(self) -> int:
        """The number of linear predictors."""
        return self.answers - 1

    @abstractmethod
    def loadings(self, values: np.ndarray) -> np.ndarray:
        """Return what the coefficients of a model matrix count in each linear predictor.

        values: shape (n, columns), the intercept first. Returns shape (n, predictors,
        coefficients).
        """

    @abstractmethod
    def columns(self, columns: int) -> np.ndarray:
        """Return the column of the model matrix that each coefficient belongs to."""

    @abstractmethod
    def shares(self, predictors: np.ndarray) -> TrueShares:
        """Return the probabilities of the answers. predictors: shape (n, predictors)."""

    @abstractmethod
    def start(self, columns: int, shares: np.ndarray) -> np.ndarray:
        """Return the coefficients with which everyone has these shares of answers."""


class MultinomialLogit(TrueAnswerModel):
    """The log odds of each answer against the first; with two answers, logistic regression.

    The coefficients of one answer follow those of another.
    """

    def loadings(self, values: np.ndarray) -> np.ndarray:
        """Return the values of the predictors, for the coefficients of each answer."""
        one = np.eye(self.predictors)[None, :, :, None] * values[:, None, None, :]
        return np.asarray(one.reshape(len(values), self.predictors, -1))

    def columns(self, columns: int) -> np.ndarray:
        """Return each column once for each answer except the first."""
        return np.tile(np.arange(columns), self.predictors)

    def shares(self, predictors: np.ndarray) -> TrueShares:
        """Return the shares, whose logarithms differ by the linear predictors."""
        logits = np.pad(predictors, ((0, 0), (1, 0)))
        shares = scipy.special.softmax(logits, axis=1)
        centered = np.eye(self.answers)[None, :, 1:] - shares[:, None, 1:]
        slopes = shares[:, :, None] * centered
        curves = slopes[:, :, :, None] * centered[:, :, None, :]
        curves -= shares[:, :, None, None] * slopes[:, None, 1:, :]
        return TrueShares(shares, slopes, curves)

    def start(self, columns: int, shares: np.ndarray) -> np.ndarray:
        """Return intercepts alone."""
        coefficients = np.zeros((self.predictors, columns))
        coefficients[:, 0] = np.log(shares[1:] / shares[0])
        return coefficients.ravel()


class CumulativeLogit(TrueAnswerModel):
    """Proportional odds of ordered answers: logit P(answer <= a) = threshold a - predictors.

    A positive coefficient makes later answers more likely. The thresholds come first.

    References: McCullagh (1980).
    """

    def loadings(self, values: np.ndarray) -> np.ndarray:
        """Return 1 for the threshold, and the predictors with the opposite sign."""
        thresholds = np.broadcast_to(
            np.eye(self.predictors), (len(values), self.predictors, self.predictors)
        )
        slopes = np.repeat(-values[:, None, 1:], self.predictors, axis=1)
        return np.concatenate([thresholds, slopes], axis=2)

    def columns(self, columns: int) -> np.ndarray:
        """Return the intercept for each threshold, then each other column once."""
        return np.concatenate([np.zeros(self.predictors, int), np.arange(1, columns)])

    def shares(self, predictors: np.ndarray) -> TrueShares:
        """Return the differences of the cumulative shares."""
        below = scipy.special.expit(predictors)
        density = below * scipy.special.expit(-predictors)
        bend = density * (1 - 2 * below)
        signs = np.eye(self.answers)[:, :-1] - np.eye(self.answers, k=-1)[:, :-1]
        shares = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=(0, 1)), axis=1)
        curves = (signs * bend[:, None, :])[:, :, :, None] * np.eye(self.predictors)
        return TrueShares(shares, signs * density[:, None, :], curves)

    def start(self, columns: int, shares: np.ndarray) -> np.ndarray:
        """Return thresholds alone."""
        thresholds = scipy.special.logit(np.cumsum(shares)[:-1])
        return np.concatenate([thresholds, np.zeros(columns - 1)])
