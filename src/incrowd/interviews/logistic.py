"""Regressions of a randomized item on open predictors, by maximum likelihood.

A report r of a person with the predictors x has the probability sum over a of M[r, a] P(a | x),
with the matrix M of her group. Probabilities of the design that are not known are estimated along,
on the scale of their log odds.

Proof: docs/interviews-mathematics.md#regression.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import scipy

from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.interviews.answer_models import TrueAnswerModel, TrueShares
from incrowd.interviews.influence import clusters_suffice, score_covariance
from incrowd.interviews.influence import covariance as influence_covariance
from incrowd.interviews.items import ItemMatrices

LogitErrors = Literal["observed", "expected", "scores", "robust", "cluster"]
STEPS = 200
CONVERGED = 1e-16  # of the gain that a step promises, relative to the log-likelihood
STUCK = 1e-10  # the same if rounding hides the gain
STRIDE = 5.0  # the largest change of log odds in a step
STARTS = (0.25, 0.75)  # of unknown probabilities
FAR = 12.0  # log odds of an unknown probability that count as 0 or 1
LARGE = 8.0  # log odds that are unbounded if their error is as large


@dataclass(frozen=True, eq=False)
class ItemRows:
    """Reports of an item with the predictors of each interview.

    values: shape (n, columns), the intercept first. reported, group: shape (n,), from 0. weights:
    shape (n,), with mean 1; None if interviews count the same. clusters: shape (n,), from 0; None
    if interviews are independent.
    """

    values: np.ndarray
    reported: np.ndarray
    group: np.ndarray
    matrices: ItemMatrices
    weights: np.ndarray | None = None
    clusters: np.ndarray | None = None

    @property
    def weight(self) -> np.ndarray:
        """The weight of each interview, 1 without weights."""
        return np.ones(len(self.values)) if self.weights is None else self.weights


class _SeenReports(NamedTuple):
    """The likelihood of each interview by its linear predictors and unknown probabilities.

    shares: shape (n,). slopes: shape (n, inner), by both. curves: shape (n, inner, inner), of the
    logarithm.
    """

    shares: np.ndarray
    slopes: np.ndarray
    curves: np.ndarray


@dataclass(frozen=True, eq=False)
class RandomizedLogit:
    """The likelihood of a model of true answers, for reports of them.

    Parameters are the coefficients, then the log odds of the unknown probabilities.
    """

    model: TrueAnswerModel
    rows: ItemRows

    @cached_property
    def loadings(self) -> np.ndarray:
        """What each parameter counts in linear predictors and log odds: (n, inner, parameters)."""
        of_answers = self.model.loadings(self.rows.values)
        n, predictors, coefficients = of_answers.shape
        unknowns = len(self.rows.matrices.names)
        loadings = np.zeros((n, predictors + unknowns, coefficients + unknowns))
        loadings[:, :predictors, :coefficients] = of_answers
        loadings[:, predictors:, coefficients:] = np.eye(unknowns)
        return loadings

    @cached_property
    def coefficients(self) -> int:
        """The number of coefficients, without unknown probabilities."""
        return len(self.model.columns(self.rows.values.shape[1]))

    def of_reports(self, shares: TrueShares, odds: np.ndarray, reports: np.ndarray) -> _SeenReports:
        """Return the probabilities of some reports, one per interview, with their derivatives."""
        theta, matrices = scipy.special.expit(odds), self.rows.matrices
        slope = theta * scipy.special.expit(-odds)
        chosen = matrices.at(theta)[self.rows.group, reports]
        likelihood = np.einsum("na,na->n", chosen, shares.shares)
        safe = np.where(likelihood > 0, likelihood, np.nan)[:, None]
        by_answers = np.einsum("na,nal->nl", chosen, shares.slopes) / safe
        curves = np.einsum("na,nalm->nlm", chosen, shares.curves) / safe[:, :, None]
        if not len(odds):
            curves -= by_answers[:, :, None] * by_answers[:, None, :]
            return _SeenReports(likelihood, by_answers, curves)
        changes = matrices.unknown[:, self.rows.group, reports] * slope[:, None, None]
        by_odds = np.einsum("una,na->nu", changes, shares.shares) / safe
        cross = np.einsum("una,nal->nlu", changes, shares.slopes) / safe[:, :, None]
        bend = np.eye(len(odds)) * (by_odds * (1 - 2 * theta))[:, :, None]
        slopes = np.hstack([by_answers, by_odds])
        second = np.block([[curves, cross], [cross.transpose(0, 2, 1), bend]])
        return _SeenReports(likelihood, slopes, second - slopes[:, :, None] * slopes[:, None, :])

    def shares(self, parameters: np.ndarray) -> TrueShares:
        """Return the probabilities of the true answers of each interview."""
        of_answers = self.loadings[:, : self.model.predictors, : self.coefficients]
        return self.model.shares(of_answers @ parameters[: self.coefficients])

    def log_likelihood(self, parameters: np.ndarray) -> float:
        """Return the log-likelihood; -inf for parameters that exclude a report."""
        odds = parameters[self.coefficients :]
        shares = self.shares(parameters).shares
        matrices = self.rows.matrices.at(scipy.special.expit(odds))
        chosen = matrices[self.rows.group, self.rows.reported]
        likelihood = np.einsum("na,na->n", chosen, shares)
        if not (likelihood > 0).all() or (shares < 0).any():
            return -math.inf
        return float(self.rows.weight @ np.log(likelihood))

    def scores(self, parameters: np.ndarray) -> np.ndarray:
        """Return the derivatives of each interview's log-likelihood, without its weight."""
        return self._scores(self._seen(parameters))

    def derivatives(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient and the observed information."""
        seen = self._seen(parameters)
        return self._scores(seen).T @ self.rows.weight, self._summed(-seen.curves)

    def observed(self, parameters: np.ndarray) -> np.ndarray:
        """Return minus the second derivatives of the log-likelihood."""
        return self.derivatives(parameters)[1]

    def expected(self, parameters: np.ndarray) -> np.ndarray:
        """Return the Fisher information: the mean of the observed one over possible reports."""
        shares, odds = self.shares(parameters), parameters[self.coefficients :]
        total: np.ndarray | float = 0.0
        for report in range(self.rows.matrices.reports):
            every = np.full(len(self.rows.group), report)
            with np.errstate(invalid="ignore"):
                seen = self.of_reports(shares, odds, every)
            outer = seen.slopes[:, :, None] * seen.slopes[:, None, :]
            possible = seen.shares[:, None, None] > 0
            total += np.where(possible, seen.shares[:, None, None] * outer, 0.0)
        return self._summed(np.asarray(total))

    def _seen(self, parameters: np.ndarray) -> _SeenReports:
        odds = parameters[self.coefficients :]
        return self.of_reports(self.shares(parameters), odds, self.rows.reported)

    def _scores(self, seen: _SeenReports) -> np.ndarray:
        return np.asarray(np.einsum("ni,nip->np", seen.slopes, self.loadings))

    def _summed(self, inner: np.ndarray) -> np.ndarray:
        """Return the sum over interviews of matrices of inner derivatives, by parameters."""
        loadings = self.loadings
        weighted = np.einsum("nij,njq->niq", inner * self.rows.weight[:, None, None], loadings)
        return np.asarray(np.einsum("nip,niq->pq", loadings, weighted))


@dataclass(frozen=True, eq=False)
class LogitFit:
    """A model that was fitted to reports.

    parameters: shape (coefficients + unknowns,). free: which of them were estimated; an unknown
    probability at 0 or 1 has infinite log odds, and is not. converged: whether the maximum was
    found. diverging: the columns of the model matrix because of which there is no maximum.
    """

    likelihood: RandomizedLogit
    parameters: np.ndarray
    free: np.ndarray
    log_likelihood: float
    converged: bool
    diverging: tuple[int, ...] = ()

    @property
    def coefficients(self) -> np.ndarray:
        """The coefficients, without unknown probabilities."""
        return self.parameters[: self.likelihood.coefficients]

    @property
    def unknowns(self) -> np.ndarray:
        """The estimates of the unknown probabilities."""
        odds = self.parameters[self.likelihood.coefficients :]
        return np.asarray(scipy.special.expit(odds))

    def covariance(self, errors: LogitErrors) -> np.ndarray:
        """Return the covariance of all parameters; zero where they are held.

        errors: from the observed or the expected information, from the squares of the scores, or
        by the sandwich of the observed information and the squares of scores, of interviews
        ("robust") or of sums over clusters.
        """
        likelihood, square = self.likelihood, np.ix_(self.free, self.free)
        covariance = np.zeros((len(self.free), len(self.free)))
        if errors == "scores":
            covariance[square] = _inverse(influence_covariance(self._weighted_scores())[square])
        elif errors == "expected":
            covariance[square] = _inverse(likelihood.expected(self.parameters)[square])
        else:
            inverse = _inverse(likelihood.observed(self.parameters)[square])
            if errors != "observed":
                clusters = likelihood.rows.clusters if errors == "cluster" else None
                middle = score_covariance(self._weighted_scores(), clusters)
                inverse = inverse @ middle[square] @ inverse
            covariance[square] = inverse
        return covariance

    @property
    def clusters_vary(self) -> bool:
        """Whether the clusters vary in all directions of the parameters."""
        clusters, free = self.likelihood.rows.clusters, self.free
        assert clusters is not None
        information = self.likelihood.observed(self.parameters)[np.ix_(free, free)]
        return clusters_suffice(self._weighted_scores()[:, free], information, clusters)

    def _weighted_scores(self) -> np.ndarray:
        weight = self.likelihood.rows.weight[:, None]
        return np.asarray(self.likelihood.scores(self.parameters) * weight)


def _inverse(information: np.ndarray) -> np.ndarray:
    """Return the inverse of an information matrix; nan if it has none."""
    try:
        factor = scipy.linalg.cho_factor(information)
    except (np.linalg.LinAlgError, ValueError):
        return np.full(information.shape, np.nan)
    return np.asarray(scipy.linalg.cho_solve(factor, np.eye(len(information))))


def fit_logit(model: TrueAnswerModel, rows: ItemRows) -> LogitFit:
    """Fit a model to reports by maximum likelihood.

    The likelihood may have several maxima if a probability of the design is unknown; the search
    begins at several values of it, and the largest maximum is returned.
    """
    likelihood = RandomizedLogit(model, rows)
    fits = [_from_intercepts(likelihood, start) for start in _starts(likelihood)]
    return _with_divergence(max(fits, key=lambda fit: fit.log_likelihood))


def fit_restricted(fit: LogitFit, held: np.ndarray, values: Sequence[float] | float) -> LogitFit:
    """Fit the same model with some parameters held at given values.

    held: shape (parameters,), whether each is held.
    """
    parameters = fit.parameters.copy()
    parameters[held] = values
    if fit.likelihood.log_likelihood(parameters) == -math.inf:
        parameters = np.where(held, parameters, 0.0)
    return _maximum(fit.likelihood, parameters, fit.free & ~held)


def profile_end(fit: LogitFit, held: np.ndarray, step: float) -> float:
    """Return the end of the 95% profile-likelihood interval of one parameter.

    held: shape (parameters,), which parameter it is. step: a first guess of the distance, with the
    sign of the side. Returns infinity if the likelihood falls too little on this side.
    """
    middle, loss = float(fit.parameters[held][0]), HALF_WIDTH**2 / 2

    def rest(distance: float) -> float:
        other = fit_restricted(fit, held, middle + distance)
        return fit.log_likelihood - other.log_likelihood - loss

    near, far = 0.0, HALF_WIDTH * step
    for _ in range(8):
        if rest(far) > 0:
            return middle + float(scipy.optimize.brentq(rest, near, far, rtol=1e-5))
        near, far = far, 2 * far
    return math.copysign(math.inf, step)


def _starts(likelihood: RandomizedLogit) -> Iterator[np.ndarray]:
    """Yield parameters to begin with: equal shares of answers, and values of the unknowns."""
    answers, columns = likelihood.model.answers, likelihood.rows.values.shape[1]
    coefficients = likelihood.model.start(columns, np.full(answers, 1 / answers))
    for theta in product(STARTS, repeat=len(likelihood.rows.matrices.names)):
        yield np.concatenate([coefficients, scipy.special.logit(np.array(theta))])


def _from_intercepts(likelihood: RandomizedLogit, start: np.ndarray) -> LogitFit:
    """Fit the model without predictors, and from there the whole model."""
    columns = likelihood.model.columns(likelihood.rows.values.shape[1])
    every = np.ones(len(start), bool)
    alone = every.copy()
    alone[: len(columns)] = columns == 0
    first = _maximum(likelihood, start, alone, steps=25)
    parameters = np.clip(first.parameters, -LARGE, LARGE)
    if likelihood.log_likelihood(parameters) == -math.inf:
        parameters = start
    return _maximum(likelihood, parameters, every)


def _maximum(
    likelihood: RandomizedLogit, parameters: np.ndarray, free: np.ndarray, steps: int = STEPS
) -> LogitFit:
    """Return the maximum over the free parameters, by Newton's method.

    Where the observed information is not positive definite, the expected one takes its place. An
    unknown probability that leaves every bound is held at 0 or 1.
    """
    value, converged = likelihood.log_likelihood(parameters), False
    for _ in range(steps):
        step, gain = _step(likelihood, parameters, free)
        parameters, value, risen = _searched(likelihood, parameters, value, step)
        converged = gain <= (CONVERGED if risen else STUCK) * (1 + abs(value))
        far = free.copy()
        far[: likelihood.coefficients] = False
        far &= np.abs(parameters) > FAR
        if far.any():
            parameters = np.where(far, np.copysign(math.inf, parameters), parameters)
            free, value = free & ~far, likelihood.log_likelihood(parameters)
        elif converged or not risen:
            break
    return LogitFit(likelihood, parameters, free, value, converged)


def _step(
    likelihood: RandomizedLogit, parameters: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return a step uphill, and the gain that it promises."""
    step = np.zeros(len(parameters))
    if not free.any():
        return step, 0.0
    gradient, information = likelihood.derivatives(parameters)
    gradient, square = gradient[free], np.ix_(free, free)
    try:
        factor = scipy.linalg.cho_factor(information[square])
        step[free] = scipy.linalg.cho_solve(factor, gradient)
    except (np.linalg.LinAlgError, ValueError):
        expected = likelihood.expected(parameters)[square]
        step[free] = np.linalg.lstsq(expected, gradient, rcond=1e-12)[0]
    return step, float(gradient @ step[free])


def _searched(
    likelihood: RandomizedLogit, parameters: np.ndarray, value: float, step: np.ndarray
) -> tuple[np.ndarray, float, bool]:
    """Return the parameters after a step that is halved until the likelihood does not fall."""
    change = np.abs(likelihood.loadings @ step).max(initial=0.0)
    step = step * min(1.0, STRIDE / change) if change > 0 else step
    for _ in range(40):
        proposed = likelihood.log_likelihood(parameters + step)
        if proposed > value:
            return parameters + step, proposed, True
        step = step / 2
    return parameters, value, False


def _with_divergence(fit: LogitFit) -> LogitFit:
    """Name the columns because of which log odds of answers have no bound."""
    likelihood, columns = fit.likelihood, fit.likelihood.rows.values.shape[1]
    free, size = fit.free, likelihood.coefficients
    information = likelihood.expected(fit.parameters)[np.ix_(free, free)]
    loadings = likelihood.loadings[:, : likelihood.model.predictors][:, :, free]
    scale = np.sqrt((loadings**2).mean((0, 1))).clip(1e-300)
    scale[size:] = 1.0
    values, vectors = np.linalg.eigh(information / np.outer(scale, scale))
    values = values.clip(values[-1] * 1e-15)
    scaled = vectors / np.sqrt(values)
    errors = np.linalg.norm((loadings / scale) @ scaled, axis=2)
    predictors = np.abs(
        likelihood.loadings[:, : likelihood.model.predictors]
        @ np.where(np.isfinite(fit.parameters), fit.parameters, 0.0)
    )
    if fit.converged and not ((predictors > LARGE) & (errors > predictors)).any():
        return fit
    weakest = np.abs(vectors[:size, 0])
    blamed = likelihood.model.columns(columns)[weakest > 0.3 * weakest.max()]
    return replace(fit, diverging=tuple(dict.fromkeys(map(int, blamed))))
