"""The likelihood of models in which the true answer to a randomized item is hidden.

An interview has a report r, covariates x and, if the item is a predictor, an outcome y. Its
likelihood is the sum over the true answers a of

    f(y | a, x; beta) P(a | x; gamma) P(r | a; theta),

with f logistic or normal, P(a | x) logistic (multinomial for more than two answers), and P(r | a)
the matrix of the design, in which some probabilities theta may be unknown. Scores and the observed
information follow from those of the complete data (Louis 1982).

Proof: docs/interviews-mathematics.md#hidden-answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy

from incrowd.interviews.items import ReportedItem
from incrowd.methods import Family

Shifted = Literal["outcome", "item"]
STEEP = 1e-5  # of a gradient of the mean log-likelihood: the maximum was not reached
STEPS = 500


@dataclass(frozen=True, eq=False)
class ObservedOutcome:
    """An openly asked outcome that may depend on a hidden answer.

    values: shape (n,); 0 and 1 for a logistic model. designs: shape (answers, n, coefficients), the
    covariates of the outcome if the true answer were each of those possible.
    """

    family: Family
    values: np.ndarray
    designs: np.ndarray

    @property
    def size(self) -> int:
        """The number of parameters: the coefficients, and log sigma of a linear model."""
        return int(self.designs.shape[2]) + (self.family == "linear")


@dataclass(frozen=True, eq=False)
class HiddenAnswerModel:
    """A model with a hidden answer, for interviews without missing values.

    item: the reports. x: shape (n, k), the covariates of the true answer. outcome: the outcome that
    the item predicts, if there is one. shifted: the part to whose linear predictor a random
    intercept is added.

    The parameters are the coefficients of the outcome, log sigma of a linear model, the
    coefficients of each answer but the first, and the logits of the unknown probabilities.
    """

    item: ReportedItem
    x: np.ndarray
    outcome: ObservedOutcome | None = None
    shifted: Shifted = "item"

    @property
    def people(self) -> int:
        """The number of interviews."""
        return len(self.x)

    @property
    def answers(self) -> int:
        """The number of true answers."""
        return self.item.matrices.answers

    @property
    def unknowns(self) -> int:
        """The number of unknown probabilities."""
        return len(self.item.matrices.names)

    @property
    def ends(self) -> tuple[int, int, int]:
        """Where the parameters of the outcome, of the answer, and of the design end."""
        first = self.outcome.size if self.outcome else 0
        second = first + (self.answers - 1) * int(self.x.shape[1])
        return first, second, second + self.unknowns

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.ends[-1]

    @cached_property
    def scale(self) -> np.ndarray:
        """The size of the column that each parameter multiplies, in units of the outcome."""

        def spread(columns: np.ndarray) -> np.ndarray:
            mean = np.sqrt(np.mean(columns**2, axis=tuple(range(columns.ndim - 1))))
            return np.asarray(np.where(mean > 0, mean, 1.0))

        scale = np.ones(self.size)
        if self.outcome:
            size = self.outcome.designs.shape[2]
            scale[:size] = spread(self.outcome.designs)
            if self.outcome.family == "linear":
                scale[:size] /= float(self.outcome.values.std()) or 1.0
        scale[self.ends[0] : self.ends[1]] = np.tile(spread(self.x), self.answers - 1)
        return scale

    def evaluated(
        self, parameters: np.ndarray, deviation: float = 0.0, lever: np.ndarray | None = None
    ) -> Evaluation:
        """Return the likelihood of each interview and its derivatives.

        deviation, lever: their product is added to the linear predictor of the `shifted` part, like
        a coefficient with its column. lever: shape (n,), by default 0.
        """
        first, second, last = self.ends
        lever = np.zeros(self.people) if lever is None else lever
        shift = Shift(lever, deviation * lever, np.zeros((2, self.answers, self.people)))
        complete = np.zeros((self.answers, self.people, last + 1))
        curvatures: list[Curvature] = []
        log = np.zeros((self.answers, self.people))
        if self.outcome:
            log += _outcome_part(self, parameters[:first], shift, complete, curvatures)
        log += _answer_part(self, parameters[first:second], shift, complete, curvatures)
        log += _report_part(self, parameters[second:], complete, curvatures)
        total = scipy.special.logsumexp(log, axis=0)
        posterior = np.exp(log - total)
        return Evaluation(total, posterior, complete, tuple(curvatures), shift.slopes)


@dataclass(frozen=True, eq=False)
class Shift:
    """What a random intercept adds to the linear predictor of each interview.

    lever, added: shape (n,). slopes: shape (2, answers, n), the first and the second derivative of
    the complete data's log-likelihood in `added`, which the parts of the model fill in.
    """

    lever: np.ndarray
    added: np.ndarray
    slopes: np.ndarray


Curvature = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The likelihood of interviews at some parameters.

    log: shape (n,). posterior: shape (answers, n), the probability of each true answer given
    everything that was observed. complete: shape (answers, n, parameters + 1), the scores if the
    true answer were known; the last column is for the deviation. curvatures: functions that take
    the weights of all answers and interviews and return the places of some parameters with the
    second derivatives of the complete data's likelihood. slopes: as in `Shift`.
    """

    log: np.ndarray
    posterior: np.ndarray
    complete: np.ndarray
    curvatures: tuple[Curvature, ...]
    slopes: np.ndarray

    @cached_property
    def scores(self) -> np.ndarray:
        """Shape (n, parameters + 1); the last column is for the deviation."""
        return np.asarray(np.einsum("an,anp->np", self.posterior, self.complete))

    @property
    def by_shift(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the second derivative in the shift, shape (n,) each."""
        slope = (self.posterior * self.slopes[0]).sum(axis=0)
        bend = (self.posterior * (self.slopes[1] + self.slopes[0] ** 2)).sum(axis=0) - slope**2
        return slope, bend

    def hessian(self, weights: np.ndarray) -> np.ndarray:
        """Return the second derivatives of the weighted log-likelihood, with the deviation last.

        weights: shape (n,). By Louis (1982), the mean of the complete data's second derivatives,
        plus the covariance of their scores, given what was observed.
        """
        size, weighted = self.complete.shape[2], self.posterior * weights
        flat = self.complete.reshape(-1, size)
        second = flat.T @ (flat * weighted.ravel()[:, None])
        second -= self.scores.T @ (self.scores * weights[:, None])
        for curvature in self.curvatures:
            places, values = curvature(weighted)
            second[np.ix_(places, places)] += values
        return np.asarray(second)


def _outcome_part(
    model: HiddenAnswerModel,
    parameters: np.ndarray,
    shift: Shift,
    complete: np.ndarray,
    curvatures: list[Curvature],
) -> np.ndarray:
    """Return log f(y | a, x), shape (answers, n), and add its derivatives."""
    outcome = model.outcome
    assert outcome is not None
    designs, y = outcome.designs, outcome.values
    size = designs.shape[2]
    moves = model.shifted == "outcome"
    height = designs @ parameters[:size] + moves * shift.added
    places = np.r_[:size, model.size]
    lever = np.broadcast_to(moves * shift.lever[:, None], (*designs.shape[:2], 1))
    columns = np.concatenate([designs, lever], axis=2)
    if outcome.family == "logistic":
        chance = scipy.special.expit(height)
        complete[..., places] = (y - chance)[..., None] * columns
        shift.slopes[:] += moves * np.stack([y - chance, -chance * (1 - chance)])

        def logistic(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return places, -_gram(columns, weights * chance * (1 - chance))

        curvatures.append(logistic)
        return np.asarray(-np.logaddexp(0, -(2 * y - 1) * height))
    precision = np.exp(-2 * parameters[size])
    rest = y - height
    complete[..., places] = (precision * rest)[..., None] * columns
    complete[..., size] = precision * rest**2 - 1
    shift.slopes[:] += moves * np.stack([precision * rest, np.full_like(rest, -precision)])
    all_places = np.r_[places, size]

    def normal(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        cross = -2 * precision * np.einsum("an,anp->p", weights * rest, columns)
        corner = -2 * precision * (weights * rest**2).sum()
        gram = -precision * _gram(columns, weights)
        return all_places, np.block([[gram, cross[:, None]], [cross[None], corner]])

    curvatures.append(normal)
    return np.asarray(-(precision * rest**2 + np.log(2 * np.pi)) / 2 - parameters[size])


def _answer_part(
    model: HiddenAnswerModel,
    parameters: np.ndarray,
    shift: Shift,
    complete: np.ndarray,
    curvatures: list[Curvature],
) -> np.ndarray:
    """Return log P(a | x), shape (answers, n), and add its derivatives."""
    x, first, others = model.x, model.ends[0], model.answers - 1
    moves = model.shifted == "item"
    columns = np.hstack([x, moves * shift.lever[:, None]])
    size = x.shape[1]
    height = x @ parameters.reshape(others, size).T + moves * shift.added[:, None]
    log = scipy.special.log_softmax(np.hstack([np.zeros((model.people, 1)), height]), axis=1)
    chance = np.exp(log[:, 1:])
    all_places = []
    for answer in range(others):
        start = first + answer * size
        places = np.r_[start : start + size, model.size]
        all_places.append(places)
        difference = -np.tile(chance[:, answer], (model.answers, 1))
        difference[answer + 1] += 1
        complete[..., places] += difference[..., None] * columns
        shift.slopes[0] += moves * difference
    shift.slopes[1] -= moves * chance.sum(axis=1) * (1 - chance.sum(axis=1))

    def multinomial(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        people = weights.sum(axis=0)
        values = np.zeros((model.size + 1, model.size + 1))
        for one, places in enumerate(all_places):
            for other, across in enumerate(all_places):
                spread = chance[:, one] * ((one == other) - chance[:, other])
                values[np.ix_(places, across)] -= columns.T @ (columns * (people * spread)[:, None])
        return np.arange(model.size + 1), values

    curvatures.append(multinomial)
    return np.asarray(log.T)


def _report_part(
    model: HiddenAnswerModel,
    parameters: np.ndarray,
    complete: np.ndarray,
    curvatures: list[Curvature],
) -> np.ndarray:
    """Return log P(report | a), shape (answers, n), and add its derivatives."""
    item, start = model.item, model.ends[1]
    theta = scipy.special.expit(parameters)
    chance = item.matrices.at(theta)[item.group, item.reported].T
    with np.errstate(divide="ignore"):
        log = np.log(chance)
    if not model.unknowns:
        return np.asarray(log)
    slope = theta * (1 - theta)
    unknown = np.moveaxis(item.matrices.unknown[:, item.group, item.reported], 0, -1)
    unknown = np.swapaxes(unknown, 0, 1)
    relative = np.zeros_like(unknown)
    np.divide(unknown, chance[..., None], out=relative, where=chance[..., None] > 0)
    complete[..., start : start + model.unknowns] = relative * slope

    def design(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = -_gram(relative * slope, weights)
        bend = slope * (1 - 2 * theta) * np.einsum("an,ank->k", weights, relative)
        return np.arange(start, start + model.unknowns), values + np.diag(bend)

    curvatures.append(design)
    return np.asarray(log)


def _gram(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the sum over answers and interviews of weighted squares of rows."""
    flat = columns.reshape(-1, columns.shape[-1])
    return np.asarray(flat.T @ (flat * weights.reshape(-1, 1)))


LikelihoodValue = tuple[float, np.ndarray, np.ndarray]
"""A log-likelihood, its gradient, and its second derivatives."""
Objective = Callable[[np.ndarray], LikelihoodValue]


def maximized(
    objective: Objective, start: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Return the point of the largest value, and whether its gradient vanishes.

    objective: returns the mean log-likelihood, its gradient and its second derivatives. scale: what
    to multiply each parameter with, so that all are of similar size.
    """
    last: dict[bytes, LikelihoodValue] = {}

    def at(point: np.ndarray) -> LikelihoodValue:
        key = point.tobytes()
        if key not in last:
            last.clear()
            value, slope, second = objective(point / scale)
            last[key] = -value, -slope / scale, -second / np.outer(scale, scale)
        return last[key]

    solved = scipy.optimize.minimize(
        lambda point: at(point)[0],
        start * scale,
        jac=lambda point: at(point)[1],
        hess=lambda point: at(point)[2],
        method="trust-exact",
        options={"gtol": 1e-9, "maxiter": STEPS},
    )
    return solved.x / scale, bool(np.abs(solved.jac).max() < STEEP)
