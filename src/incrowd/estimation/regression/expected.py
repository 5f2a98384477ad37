"""The expected precision of a regression before anything is collected.

Different questions are assumed to be independent, so the joint counts are a product of those of
each question. Its answers are assumed to be equally common, unless their shares are stated.

For a linear model from pairs of questions this means that the mean of the outcome is the intercept
and all other coefficients are zero. Then the score of a report is u r, r the reported outcome minus
that mean, independent of u. With k reports from each of N people

    Cov(score) = (E[u u'] E[r^2] - E[x x'] Var(y)) / (k N) + E[x x'] Var(y) / N,

the noise and the sampling of `incrowd.estimation.regression.pairs`; the means over reports become
products of those of single questions. Proof: docs/regression.md#from-pairs-alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import scipy

from incrowd.accountant.channels.base import Channel
from incrowd.estimation.regression.evidence import StratumEvidence
from incrowd.estimation.regression.levels import level_rows
from incrowd.estimation.regression.model import Model
from incrowd.estimation.regression.pairs import Columns
from incrowd.estimation.regression.variables import ModelVariable
from incrowd.plans import Message
from incrowd.survey import AnyQuestion

GuessedShares = Mapping[str, Sequence[float]]


def expected_counts(
    message: Message, questions: Sequence[AnyQuestion], people: int, shares: GuessedShares
) -> np.ndarray:
    """Return the expected counts of pairs of a message, as `incrowd.reports.moments.pair_moments`.

    shares: the shares of the answers to some of the questions, by id.
    """
    axes = [
        expected_axis(each, message.channels[each.id], shares.get(each.id)) for each in questions
    ]
    return np.asarray(people * message.copies * reduce(np.multiply.outer, axes))


def guessed_shares(shares: GuessedShares, question: AnyQuestion) -> Sequence[float]:
    """Return the stated shares of a question's answers, or equal ones. For a `multi` question half
    of the permitted number of options is given, each option independently."""
    if (stated := shares.get(question.id)) is not None:
        return stated
    answers = len(question.recorded)
    return [question.answers_given / answers] * answers


def expected_axis(
    question: AnyQuestion, channel: Channel, shares: Sequence[float] | None = None
) -> np.ndarray:
    """Return E[(1, the report's bits, pairs of them)] of one question.

    shares: the shares of the answers; by default as `guessed_shares`.
    """
    bits = question.domain.bits
    if not question.exclusive:
        given = {} if shares is None else {question.id: shares}
        records, shares = np.array(guessed_shares(given, question))[None], None
    else:
        records = np.arange(2)[:, None] if bits == 1 else np.eye(bits)
    rates = np.hstack([np.ones((len(records), 1)), records]) @ channel.reported(bits).T
    first, second = np.triu_indices(bits, 1)
    pairs = rates[:, 1 + first] * rates[:, 1 + second] * (not channel.of_answers)
    return np.average(np.hstack([rates, pairs]), axis=0, weights=shares)


@dataclass(frozen=True)
class LevelMoments:
    """The moments of the debiased levels g of one variable, over reports: E[g] and E[g g']."""

    mean: np.ndarray
    square: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of g."""
        return self.square - np.outer(self.mean, self.mean)


def level_moments(
    variable: ModelVariable, channel: Channel, shares: Sequence[float] | None
) -> LevelMoments:
    """Return the moments of the levels, from those of the report's bits."""
    bits = variable.question.domain.bits
    axis = expected_axis(variable.question, channel, shares)
    moments = np.diag(axis[: 1 + bits])
    moments[0] = moments[:, 0] = axis[: 1 + bits]
    first, second = np.triu_indices(bits, 1)
    moments[1 + first, 1 + second] = moments[1 + second, 1 + first] = axis[1 + bits :]
    rows = level_rows(variable, channel)
    return LevelMoments(rows @ axis[: 1 + bits], rows @ moments @ rows.T)


@dataclass(frozen=True)
class ExpectedMessage:
    """The expected reports of a message. moments: the moments of the outcome, then of the noisy
    predictors."""

    moments: Sequence[LevelMoments]
    copies: int
    weight: float


def expected_message(
    model: Model, message: Message, weight: float, shares: GuessedShares
) -> ExpectedMessage:
    """Return the expected reports of a message. weight: positive; messages count in proportion to
    it."""
    moments = [
        level_moments(each, message.channels[each.question.id], shares.get(each.question.id))
        for each in model.randomized
    ]
    return ExpectedMessage(moments, message.independent_copies, weight)


@dataclass(frozen=True)
class ExpectedPairs(StratumEvidence):
    """An expected stratum. people, lift, sampled: as in `Pairs`."""

    people: float
    messages: Sequence[ExpectedMessage]
    scores: np.ndarray
    lift: np.ndarray
    sampled: bool

    def score(self, beta: np.ndarray) -> np.ndarray:
        """Return E[x] E[y] - E[x x'] beta."""
        with_outcome = self.lift @ self._mean * float(self._levels @ self.scores)
        return np.asarray(with_outcome - self.information(beta) @ beta)

    def information(self, beta: np.ndarray) -> np.ndarray:
        """Return E[x x']."""
        return np.asarray(self.lift @ self._people @ self.lift.T)

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Return the covariance of the score, at its root."""
        variance = self._levels @ self.scores**2 - (self._levels @ self.scores) ** 2
        person = self._people * variance
        total = person * float(self.sampled)
        for share, message in self._weighted():
            outcome, *predictors = message.moments
            residual = self.scores @ outcome.covariance @ self.scores
            report = self._square([each.square for each in predictors]) * residual
            total = total + share**2 * (report - person) / message.copies
        return np.asarray(self.lift @ total @ self.lift.T / self.people)

    def information_variances(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return upper bounds, as in `Pairs`."""
        weights = along @ self.lift
        value = ((weights @ self._people) * weights).sum(axis=1)
        most = np.maximum(value, 0) * self._columns.most(weights)
        total = np.zeros(len(weights))
        for share, message in self._weighted():
            covariances = [each.covariance for each in message.moments[1:]]
            each = np.array([self._form_variance(covariances, w) for w in weights])
            total += share**2 * np.minimum(each, each / message.copies + most)
        return total / self.people

    def _form_variance(self, covariances: Sequence[np.ndarray], weights: np.ndarray) -> float:
        """Return the variance over reports of the debiased (w'x)^2: the sum of products t_i t_j of
        the terms of different variables, and of w^2 for the person's level.

        With t = E[t] + e, the part that is linear in e, 2 e_j times the means of the other t, and
        the products e_i e_j are uncorrelated.
        """
        means = self._columns.by_variable(weights * self._mean)
        others = (means.sum() - means)[self._columns.variable]
        linear = 2 * others * weights + weights**2
        noise = scipy.linalg.block_diag(0.0, *covariances)
        each = self._columns.by_variable(weights * (noise @ weights))  # the variance of each t
        return float(linear @ noise @ linear + 2 * (each.sum() ** 2 - each @ each))

    @cached_property
    def _columns(self) -> Columns:
        return Columns(tuple(len(each.mean) for each in self.messages[0].moments[1:]))

    @cached_property
    def _levels(self) -> np.ndarray:
        """The shares of people on the levels of the outcome."""
        return self.messages[0].moments[0].mean

    @cached_property
    def _mean(self) -> np.ndarray:
        """The mean of u: 1, and the shares of people on the levels of the predictors."""
        return np.concatenate([[1.0], *(each.mean for each in self.messages[0].moments[1:])])

    @cached_property
    def _people(self) -> np.ndarray:
        """The mean of u u' over people, each of whom is on one level of a variable."""
        return self._square([np.diag(each.mean) for each in self.messages[0].moments[1:]])

    def _square(self, blocks: Sequence[np.ndarray]) -> np.ndarray:
        """Return the mean of u u', a product for different variables. blocks: one per variable."""
        same = self._columns.variable[:, None] == self._columns.variable
        return np.where(
            same, scipy.linalg.block_diag(1.0, *blocks), np.outer(self._mean, self._mean)
        )

    def _weighted(self) -> list[tuple[float, ExpectedMessage]]:
        total = sum(message.weight for message in self.messages)
        return [(message.weight / total, message) for message in self.messages]
