"""Models with a hidden answer: their maximum, and errors that hold under different assumptions.

Proof: docs/interviews-mathematics.md#hidden-answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
import scipy

from incrowd.interviews.hidden import HiddenAnswerModel, LikelihoodValue, maximized
from incrowd.interviews.influence import clusters_suffice, score_covariance
from incrowd.interviews.intercepts import InterceptFit, fit_intercepts
from incrowd.methods import OutcomeErrors

LARGEST = 25.0  # of a log odds in units of its column: the estimates diverge
FLAT = 1e-9  # of the curvature of the mean log-likelihood: it does not determine a parameter
EDGE = 1e-5  # of an unknown probability: it is 0 or 1
STARTS = (0.2, 0.5, 0.8)  # of unknown probabilities


@dataclass(frozen=True, eq=False)
class HiddenAnswerFit:
    """The maximum of the likelihood of a model with a hidden answer.

    parameters: in the order of the model. covariance: of these; 0 for a probability that is `fixed`
    at 0 or 1. determined: whether the data determine the parameters. intercepts: the random
    intercepts, if the model has them.
    """

    model: HiddenAnswerModel
    parameters: np.ndarray
    covariance: np.ndarray
    log_likelihood: float
    determined: bool
    fixed: np.ndarray
    intercepts: InterceptFit | None = None

    @property
    def groups_decide(self) -> bool:
        """Whether the intercepts have no bound: almost all people of a group answer alike."""
        outcome = self.model.outcome if self.model.shifted == "outcome" else None
        if self.intercepts is None or (outcome is not None and outcome.family == "linear"):
            return False
        return bool(self.intercepts.parameters[-1] > LARGEST)

    @property
    def unknown(self) -> np.ndarray:
        """The unknown probabilities."""
        return np.asarray(scipy.special.expit(self.parameters[self.model.ends[1] :]))

    @property
    def unknown_errors(self) -> np.ndarray:
        """The standard errors of the unknown probabilities by the delta method."""
        start, theta = self.model.ends[1], self.unknown
        variances = np.diag(self.covariance)[start:]
        return np.asarray(theta * (1 - theta) * np.sqrt(variances))


def fit_hidden_answers(
    model: HiddenAnswerModel,
    *,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
    errors: OutcomeErrors = "observed",
    groups: np.ndarray | None = None,
) -> HiddenAnswerFit:
    """Maximize the likelihood of a model with a hidden answer.

    weights: shape (n,), positive; the maximum is then that of the pseudo-likelihood. clusters:
    shape (n,), from 0, for clustered errors. groups: shape (n,), from 0, of random intercepts;
    their model takes no weights, and its errors are observed.
    """
    people, unit = model.people, _normalized(weights, model.people)

    def mean(parameters: np.ndarray) -> LikelihoodValue:
        at = model.evaluated(parameters)
        slope = (unit / people) @ at.scores[:, :-1]
        return float(unit @ at.log) / people, slope, at.hessian(unit / people)[:-1, :-1]

    tried = [maximized(mean, start, model.scale) for start in _starts(model)]
    parameters, converged = max(tried, key=lambda each: mean(each[0])[0])
    value, _, second = mean(parameters)
    fixed = np.zeros(model.size, bool)
    theta = scipy.special.expit(parameters[model.ends[1] :])
    fixed[model.ends[1] :] = (theta < EDGE) | (theta > 1 - EDGE)
    determined = converged and _determined(model, parameters, second, ~fixed)
    if not determined:
        nothing = np.full((model.size, model.size), math.nan)
        return HiddenAnswerFit(model, parameters, nothing, value * people, False, fixed)
    if groups is not None:
        mixed = fit_intercepts(model, parameters, groups)
        square = mixed.covariance[: model.size, : model.size]
        parts = mixed.parameters[:-1], square, mixed.log_likelihood, mixed.converged, fixed, mixed
        return HiddenAnswerFit(model, *parts)
    inverse = np.zeros_like(second)
    inverse[np.ix_(~fixed, ~fixed)] = np.linalg.inv(-people * second[np.ix_(~fixed, ~fixed)])
    covariance = inverse
    if errors != "observed":
        scores = model.evaluated(parameters).scores[:, :-1] * unit[:, None]
        middle = score_covariance(scores, clusters if errors == "cluster" else None)
        covariance = inverse @ middle @ inverse
    return HiddenAnswerFit(model, parameters, covariance, value * people, True, fixed)


def _normalized(weights: np.ndarray | None, people: int) -> np.ndarray:
    """Return weights with the mean 1; all are 1 if there are none."""
    return np.ones(people) if weights is None else np.asarray(weights / weights.mean())


def clustered_errors_hold(
    fit: HiddenAnswerFit, clusters: np.ndarray, weights: np.ndarray | None = None
) -> bool:
    """Return whether the clusters vary in all directions of the parameters."""
    free, unit = ~fit.fixed, _normalized(weights, fit.model.people)
    at = fit.model.evaluated(fit.parameters)
    information = -at.hessian(unit)[:-1, :-1][np.ix_(free, free)]
    return clusters_suffice((at.scores[:, :-1] * unit[:, None])[:, free], information, clusters)


def mean_differences(
    fit: HiddenAnswerFit, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return how the mean outcome would differ from that of the first answer, and the errors.

    Both are of everybody's covariates, one for each answer but the first, shape (answers - 1,).
    """
    outcome = fit.model.outcome
    assert outcome is not None
    unit = _normalized(weights, fit.model.people) / fit.model.people
    size = outcome.designs.shape[2]
    height = outcome.designs @ fit.parameters[:size]
    logistic = outcome.family == "logistic"
    values = scipy.special.expit(height) if logistic else height
    steep = values * (1 - values) if logistic else np.ones_like(height)
    slopes = np.einsum("an,anp->ap", steep * unit, outcome.designs)
    means, slopes = values @ unit, slopes[1:] - slopes[0]
    variances = np.einsum("ap,pq,aq->a", slopes, fit.covariance[:size, :size], slopes)
    return means[1:] - means[0], np.sqrt(variances)


def _starts(model: HiddenAnswerModel) -> list[np.ndarray]:
    """Return where to begin: with no effect of the answer and of covariates on the answer."""
    start = np.zeros(model.size)
    if model.outcome and model.outcome.family == "linear":
        outcome = model.outcome
        size = outcome.designs.shape[2]
        start[:size] = np.linalg.lstsq(outcome.designs[0], outcome.values, rcond=None)[0]
        rest = outcome.values - outcome.designs[0] @ start[:size]
        start[size] = math.log(max(float(rest.std()), 1e-12))
    starts = []
    for theta in product(STARTS, repeat=model.unknowns):
        start[model.ends[1] :] = scipy.special.logit(np.array(theta))
        starts.append(start.copy())
    return starts


def undetermined(fit: HiddenAnswerFit) -> list[int]:
    """Return the places of the parameters that are largest, or along which a fit is flat."""
    model, free = fit.model, np.flatnonzero(~fit.fixed)
    large = np.flatnonzero(_odds(model, fit.parameters) >= LARGEST)
    second = model.evaluated(fit.parameters).hessian(np.ones(model.people))[:-1, :-1]
    curvature = -second / np.outer(model.scale, model.scale)
    along = np.abs(np.linalg.eigh(curvature[np.ix_(free, free)])[1][:, 0])
    return [int(place) for place in (large if len(large) else free[along > along.max() / 2])]


def _odds(model: HiddenAnswerModel, parameters: np.ndarray) -> np.ndarray:
    """Return the sizes of coefficients of log odds in units of their columns; 0 for others."""
    sizes: np.ndarray = np.abs(parameters * model.scale)
    sizes[model.ends[1] :] = 0.0
    if model.outcome and model.outcome.family == "linear":
        sizes[: model.ends[0]] = 0.0
    return sizes


def _determined(
    model: HiddenAnswerModel, parameters: np.ndarray, second: np.ndarray, free: np.ndarray
) -> bool:
    """Return whether the maximum is inside, and not flat in any direction."""
    curvature = -second / np.outer(model.scale, model.scale)
    least = float(np.linalg.eigvalsh(curvature[np.ix_(free, free)])[0])
    return bool(least > FLAT and (_odds(model, parameters) < LARGEST).all())
