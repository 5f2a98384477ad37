"""What pairs of questions will tell of a linear model, before anything is collected.

The guess is that of `expected`: questions have nothing to do with each other. Then the mean of the
outcome is the intercept and all other coefficients are zero, so that the score of a report is u r,
r what it says of the outcome less that mean, independent of u. With k reports of each of N people

    Cov(score) = (E[u u'] E[r^2] - E[x x'] Var(y)) / (k N) + E[x x'] Var(y) / N,

the noise and the sampling of `incrowd.estimation.regression.pairs`, whose means over reports are
here products of those of single questions. Proof: docs/regression.md#from-pairs-alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.estimation.regression.evidence import Evidence
from incrowd.estimation.regression.expected import Shares, expected_axis
from incrowd.estimation.regression.levels import level_rows
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.products import Columns
from incrowd.estimation.regression.variables import Variable
from incrowd.plans import Message


@dataclass(frozen=True)
class Said:
    """What reports say of the levels of one variable: E[g], and E[g g']."""

    mean: np.ndarray
    square: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """Of g, over reports."""
        return self.square - np.outer(self.mean, self.mean)


def said_of(variable: Variable, channel: Channel, shares: Sequence[float] | None) -> Said:
    """From the moments of the report's bits."""
    bits = variable.question.domain.bits
    axis = expected_axis(variable.question, channel, shares)
    moments = np.diag(axis[: 1 + bits])
    moments[0] = moments[:, 0] = axis[: 1 + bits]
    first, second = np.triu_indices(bits, 1)
    moments[1 + first, 1 + second] = moments[1 + second, 1 + first] = axis[1 + bits :]
    rows = level_rows(variable, channel)
    return Said(rows @ axis[: 1 + bits], rows @ moments @ rows.T)


@dataclass(frozen=True)
class ExpectedMessage:
    """What the reports of a message say: of the outcome, then of the predictors with noise."""

    said: Sequence[Said]
    copies: int
    weight: float


def expected_message(
    model: Model, message: Message, weight: float, shares: Shares
) -> ExpectedMessage:
    """weight: positive; of several messages each counts with its part of their sum."""
    said = [
        said_of(each, message.channels[each.question.id], shares.get(each.question.id))
        for each in model.randomized
    ]
    return ExpectedMessage(said, message.independent_copies, weight)


@dataclass(frozen=True)
class ExpectedPairs(Evidence):
    """A stratum as it is expected. people, lift, sampled: as `Pairs` has them."""

    people: float
    sent: Sequence[ExpectedMessage]
    scores: np.ndarray
    lift: np.ndarray
    sampled: bool

    def score(self, beta: np.ndarray) -> np.ndarray:
        """E[x] E[y] - E[x x'] beta."""
        with_outcome = self.lift @ self._mean * float(self._levels @ self.scores)
        return np.asarray(with_outcome - self.information(beta) @ beta)

    def information(self, beta: np.ndarray) -> np.ndarray:
        """E[x x']."""
        return np.asarray(self.lift @ self._people @ self.lift.T)

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Of the score, where that is zero."""
        variance = self._levels @ self.scores**2 - (self._levels @ self.scores) ** 2
        person = self._people * variance
        found = person * float(self.sampled)
        for share, message in self._weighted():
            outcome, *predictors = message.said
            residual = self.scores @ outcome.covariance @ self.scores
            report = self._square([each.square for each in predictors]) * residual
            found = found + share**2 * (report - person) / message.copies
        return np.asarray(self.lift @ found @ self.lift.T / self.people)

    def information_variances(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """At most, as `Pairs` has them."""
        weights = along @ self.lift
        value = ((weights @ self._people) * weights).sum(axis=1)
        most = np.maximum(value, 0) * self._columns.most(weights)
        total = np.zeros(len(weights))
        for share, message in self._weighted():
            covariances = [each.covariance for each in message.said[1:]]
            each = np.array([self._form_variance(covariances, w) for w in weights])
            total += share**2 * np.minimum(each, each / message.copies + most)
        return total / self.people

    def _form_variance(self, covariances: Sequence[np.ndarray], weights: np.ndarray) -> float:
        """Over reports, of what one of them says of (w'x)^2: the sum of products t_i t_j of what it
        says of different variables, and of w^2 for the level that a person is on.

        With t = E[t] + e its part that is linear in e, 2 e_j times the means of the other t, and
        the products e_i e_j, are uncorrelated.
        """
        means = self._columns.by_variable(weights * self._mean)
        others = (means.sum() - means)[self._columns.variable]
        linear = 2 * others * weights + weights**2
        noise = scipy.linalg.block_diag(0.0, *covariances)
        each = self._columns.by_variable(weights * (noise @ weights))  # the variance of each t
        return float(linear @ noise @ linear + 2 * (each.sum() ** 2 - each @ each))

    @cached_property
    def _columns(self) -> Columns:
        return Columns(tuple(len(each.mean) for each in self.sent[0].said[1:]))

    @cached_property
    def _levels(self) -> np.ndarray:
        """The shares of people on the levels of the outcome."""
        return self.sent[0].said[0].mean

    @cached_property
    def _mean(self) -> np.ndarray:
        """Of u: 1, and the shares of people on the levels of the predictors."""
        return np.concatenate([[1.0], *(each.mean for each in self.sent[0].said[1:])])

    @cached_property
    def _people(self) -> np.ndarray:
        """The mean of u u' over people, each of whom is on one level of a variable."""
        return self._square([np.diag(each.mean) for each in self.sent[0].said[1:]])

    def _square(self, blocks: Sequence[np.ndarray]) -> np.ndarray:
        """The mean of u u': of different variables a product. blocks: of the levels of each."""
        same = self._columns.variable[:, None] == self._columns.variable
        return np.where(
            same, scipy.linalg.block_diag(1.0, *blocks), np.outer(self._mean, self._mean)
        )

    def _weighted(self) -> list[tuple[float, ExpectedMessage]]:
        total = sum(message.weight for message in self.sent)
        return [(message.weight / total, message) for message in self.sent]
