"""How likely a survey of interviews detects a share, a difference, or an odds ratio.

Each of these is a linear combination of the parameters of a model of the true answers. The
information that one interview has about the parameters gives the variance of its estimate, and the
variance gives power, people, and margins. An effect is detected if the interval of its estimate
excludes the null value on the right side. Proof: docs/interviews-mathematics.md#power.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri

from incrowd.estimation.intervals import LEVEL, POWER
from incrowd.interviews.items import ItemMatrices

NODES = 40  # of the quadrature over a normal covariate: the information's error is below 1e-6
STEPS, CLOSE = 200, 1e-10  # of the search for what an estimate converges to
SINGULAR = 1e-10  # relative size of an eigenvalue that makes parameters indistinguishable

Covariate = Literal["binary", "normal"]


class AnswerModel(NamedTuple):
    """The shares of the true answers in each stratum, shape (strata, answers), and their
    derivatives by the parameters, shape (strata, answers, parameters)."""

    shares: np.ndarray
    slopes: np.ndarray


@dataclass(frozen=True, eq=False)
class Estimand:
    """What is estimated: a linear combination of the parameters of a model of the true answers.

    weights: the share of people in each stratum. at: parameters -> `AnswerModel`. parameters: the
    expected ones. contrast: the combination. null: its value if there is nothing to detect.
    """

    weights: np.ndarray
    at: Callable[[np.ndarray], AnswerModel]
    parameters: np.ndarray
    contrast: np.ndarray
    null: float = 0.0

    @property
    def effect(self) -> float:
        """How far the expected value is from the null value."""
        return float(self.contrast @ self.parameters) - self.null


@dataclass(frozen=True)
class RuleBreaking:
    """The shares of people who do not follow the instructions of the device.

    at_random: they give each report with the same probability. evasive: they always give the
    report that speaks most against the sensitive answer, such as "no".
    """

    at_random: float = 0.0
    evasive: float = 0.0

    def reported(self, matrices: np.ndarray, answer: int) -> np.ndarray:
        """Return the probability of each report of these people, times their share, in each group.

        matrices: shape (groups, reports, answers). Returns shape (groups, reports).
        """
        reports, answers = matrices.shape[1:]
        possible = matrices.any(axis=2)  # a group may have fewer reports than others
        guesses = possible / possible.sum(axis=1, keepdims=True)
        other = np.delete(matrices, answer, axis=2).sum(axis=2) / (answers - 1)
        total = matrices[:, :, answer] + other
        evidence = np.divide(
            matrices[:, :, answer], total, out=np.full_like(total, np.inf), where=total > 0
        )
        safest = np.eye(reports)[np.argmin(evidence, axis=1)]
        return np.asarray(self.at_random * guesses + self.evasive * safest)

    @property
    def share(self) -> float:
        """The share of people who do not follow the instructions."""
        return self.at_random + self.evasive


@dataclass(frozen=True)
class Detection:
    """What an estimate converges to, and how fast.

    effect: the distance to the null value; it differs from the expected one where people do not
    follow the rules. variance: of the estimate, times the number of people; infinite if the design
    cannot identify it. expected: the effect if all people follow the rules.
    """

    effect: float
    variance: float
    expected: float

    def power(self, people: float | np.ndarray, level: float = LEVEL) -> np.ndarray:
        """Return the probability that the interval excludes the null value on the side of the
        expected effect. people: a number, or an array of them. level: of the interval."""
        toward = math.copysign(1.0, self.expected) * self.effect
        return np.asarray(ndtr(toward / self.error(people) - ndtri((1 + level) / 2)))

    def error(self, people: float | np.ndarray) -> np.ndarray:
        """Return the standard error with a number of people, or an array of them."""
        return np.sqrt(self.variance / np.asarray(people, float))

    def margin(self, people: float | np.ndarray, level: float = LEVEL) -> np.ndarray:
        """Return half of the width of the interval."""
        return np.asarray(ndtri((1 + level) / 2) * self.error(people))

    def people(self, power: float = POWER, level: float = LEVEL) -> int | None:
        """Return the smallest number of people with at least this power; None if there is none."""
        needed = ndtri(power) + ndtri((1 + level) / 2)
        toward = math.copysign(1.0, self.expected) * self.effect
        return _whole(self.variance * (needed / toward) ** 2) if toward > 0 < needed else None

    def people_for_margin(self, margin: float, level: float = LEVEL) -> int | None:
        """Return the smallest number of people with at most this margin."""
        return _whole(self.variance * (ndtri((1 + level) / 2) / margin) ** 2)


def _whole(people: float) -> int | None:
    """Return the next whole number of people; rounding of the formula does not add one."""
    return max(math.ceil(people * (1 - 1e-12)), 1) if math.isfinite(people) else None


# --- what is estimated ------------------------------------------------------------------------


def share_of(shares: np.ndarray, answer: int, *, null: float = 0.0) -> Estimand:
    """Return the share of an answer as a estimand. shares: the expected ones of all answers."""
    return _of_shares(np.asarray(shares, float)[None], np.ones(1), answer, np.ones(1), null)


def difference_of(first: np.ndarray, second: np.ndarray, answer: int, *, part: float) -> Estimand:
    """Return the difference of an answer's share between two groups of people, second - first.

    first, second: the expected shares of all answers. part: the share of people in the second.
    """
    shares, weights = np.array([first, second], float), np.array([1 - part, part])
    return _of_shares(shares, weights, answer, np.array([-1.0, 1.0]), 0.0)


def _of_shares(
    shares: np.ndarray, weights: np.ndarray, answer: int, signs: np.ndarray, null: float
) -> Estimand:
    """Return a combination of the shares of one answer in some strata.

    The parameters are the shares of all answers in each stratum but one, which is not `answer`.
    """
    strata, answers = shares.shape
    last = 0 if answer else answers - 1
    free = [each for each in range(answers) if each != last]
    one = np.eye(answers)[:, free]
    one[last] = -1.0
    slopes = np.einsum("kl,ap->kalp", np.eye(strata), one).reshape(strata, answers, -1)
    base = np.eye(answers)[last]
    contrast = np.zeros((strata, len(free)))
    contrast[:, free.index(answer)] = signs

    def at(parameters: np.ndarray) -> AnswerModel:
        return AnswerModel(base + slopes @ parameters, slopes)

    return Estimand(weights, at, shares[:, free].ravel(), contrast.ravel(), null)


def odds_ratio_of(
    share: float,
    ratio: float,
    answer: int,
    *,
    covariate: Covariate = "binary",
    part: float = 0.5,
) -> Estimand:
    """Return the logarithm of an odds ratio in a logistic regression with one covariate as a
    estimand. The question has two answers.

    share: the expected share of the answer among all people. ratio: of the odds of people with and
    without a binary covariate, or for one standard deviation of a normal one. part: the share of
    people with the binary covariate.
    """
    values, weights = np.array([0.0, 1.0]), np.array([1 - part, part])
    if covariate == "normal":
        values, weights = np.polynomial.hermite_e.hermegauss(NODES)
        weights = weights / weights.sum()
    slope = math.log(ratio)
    reach = abs(slope) * np.abs(values).max() + 1.0
    intercept = brentq(
        lambda at: weights @ expit(at + slope * values) - share,
        logit(share) - reach,
        logit(share) + reach,
    )
    design = np.column_stack([np.ones_like(values), values])
    signs = np.where(np.arange(2) == answer, 1.0, -1.0)

    def at(parameters: np.ndarray) -> AnswerModel:
        shares = expit(np.multiply.outer(design @ parameters, signs))
        spread = shares.prod(axis=1)[:, None, None]
        return AnswerModel(shares, spread * signs[:, None] * design[:, None, :])

    return Estimand(weights, at, np.array([intercept, slope]), np.array([0.0, 1.0]))


# --- how well it is estimated -----------------------------------------------------------------


def detection(
    matrices: ItemMatrices,
    estimand: Estimand,
    *,
    answer: int = 1,
    theta: np.ndarray | None = None,
    allocation: np.ndarray | None = None,
    breaking: RuleBreaking | None = None,
    inflation: float = 1.0,
) -> Detection:
    """Return what the maximum-likelihood estimate of a estimand converges to, and its variance.

    answer: the sensitive one. theta: the expected unknown probabilities; by default 1/2.
    allocation: the share of interviews in each group; by default equal. breaking: people who do not
    follow the rules, which the estimate does not know. inflation: the factor of the variance by
    further covariates, by weights, or by clusters, such as the design effect.
    """
    unknown = np.full(len(matrices.names), 0.5) if theta is None else np.asarray(theta, float)
    groups = np.full(matrices.groups, 1 / matrices.groups) if allocation is None else allocation
    survey = _Interviews(matrices, estimand, np.asarray(groups, float))
    truth = np.append(estimand.parameters, unknown)
    limit: np.ndarray | None = truth
    if breaking is not None and breaking.share > 0:
        at = matrices.at(unknown)
        reported = survey.reported(truth) * (1 - breaking.share) + breaking.reported(at, answer)
        limit = survey.limit(truth, reported)
    if limit is None:
        return Detection(0.0, math.inf, estimand.effect)
    effect = float(estimand.contrast @ limit[: len(estimand.parameters)]) - estimand.null
    return Detection(effect, survey.variance(limit) * inflation, estimand.effect)


@dataclass(frozen=True, eq=False)
class _Interviews:
    """Interviews with a design: the probabilities of the reports, by parameters and unknowns."""

    matrices: ItemMatrices
    estimand: Estimand
    groups: np.ndarray
    cells: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        cells = np.multiply.outer(self.estimand.weights, self.groups)[:, :, None]
        object.__setattr__(self, "cells", cells)

    def _of(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, AnswerModel]:
        beta, theta = np.split(parameters, [len(self.estimand.parameters)])
        return self.matrices.at(theta), theta, self.estimand.at(beta)

    def reported(self, parameters: np.ndarray) -> np.ndarray:
        """Return the probability of each report, shape (strata, groups, reports)."""
        at, _, model = self._of(parameters)
        return np.asarray(np.einsum("gra,ka->kgr", at, model.shares))

    def slopes(self, parameters: np.ndarray) -> np.ndarray:
        """Return its derivatives, shape (strata, groups, reports, parameters)."""
        at, theta, model = self._of(parameters)
        slopes = np.einsum("gra,kap->kgrp", at, model.slopes)
        if not len(theta):
            return np.asarray(slopes)
        more = np.einsum("tgra,ka->kgrt", self.matrices.unknown, model.shares)
        return np.concatenate([slopes, more], axis=-1)

    def information(self, parameters: np.ndarray) -> np.ndarray:
        """Return the expected information of one interview, shape (parameters, parameters)."""
        slopes = self.slopes(parameters)
        scaled = slopes * _over(self.cells, self.reported(parameters))[..., None]
        return np.asarray(np.einsum("kgrp,kgrq->pq", slopes, scaled))

    def variance(self, parameters: np.ndarray) -> float:
        """Return the variance of the estimand of one interview; inf if it is not identified."""
        information = self.information(parameters)
        contrast = np.zeros(len(information))
        contrast[: len(self.estimand.contrast)] = self.estimand.contrast
        scale = np.sqrt(np.diag(information))
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            return math.inf
        values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
        if values[0] <= SINGULAR * values[-1]:
            return math.inf
        return float(np.sum((vectors.T @ (contrast / scale)) ** 2 / values))

    def limit(self, start: np.ndarray, reported: np.ndarray) -> np.ndarray | None:
        """Return the parameters that maximize the expected log-likelihood of some reports.

        reported: shape (strata, groups, reports). Returns None if there are none, such as a
        probability of 0 that some people would have to have.
        """
        at, value = start, self._likelihood(start, reported)
        for _ in range(STEPS):
            information = self.information(at)
            ratio = _over(self.cells * reported, self.reported(at))
            score = np.einsum("kgr,kgrp->p", ratio, self.slopes(at))
            step = np.linalg.lstsq(information, score, rcond=SINGULAR)[0]
            if float(score @ step) < CLOSE**2:
                return at
            while (ahead := self._likelihood(at + step, reported)) < value:
                step = step / 2
                if np.abs(step).max() < CLOSE:
                    return at
            at, value = at + step, ahead
        return None

    def _likelihood(self, parameters: np.ndarray, reported: np.ndarray) -> float:
        shares = self.reported(parameters)
        if (shares[reported > 0] <= 0).any() or (shares < 0).any():
            return -math.inf
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return float(np.sum(self.cells * reported * logs))


def _over(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return a quotient that is 0 where a report is impossible."""
    above, below = np.broadcast_arrays(above, below)
    return np.asarray(np.divide(above, below, out=np.zeros_like(below), where=below > 0))
