"""An outcome and a hidden answer, modeled by weighting reports as R's package rr does.

Each report has the weight P(it is a true answer | outcome, report, covariates). Both models are
fitted to the reports with these weights, the weights follow from both models, and this is repeated.
The estimates are for comparison with published figures; `hidden_fit` has the maximum of the
likelihood.

Proof: docs/interviews-mathematics.md#weighted-reports.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from incrowd.interviews.hidden import HiddenAnswerModel
from incrowd.interviews.hidden_fit import HiddenAnswerFit

START = 1.0  # of all coefficients, where rr draws normal numbers (`parstart = FALSE`)
STOP = 1e-4  # no coefficient moves by more, in standard deviations of its column
LIMIT = 1e-9  # the same, where the steps hardly move at all
MOST = 10_000  # of any steps
SAME_DEVIANCE = 1e-8  # relative to the deviance
PRIOR = 2.5  # the scale of Cauchy priors


def fit_weighted_reports(model: HiddenAnswerModel, *, stop: float = STOP) -> HiddenAnswerFit:
    """Fit the models of an outcome and of a hidden answer by the steps of rr.

    model: with a logistic outcome, to which the item adds one column, and an item with two answers
    and forced reports. stop: the size of the last step.

    The covariance is the inverse of the negative second derivatives of the likelihood with Cauchy
    priors (rr's option `optim`). It is nan if these are not positive definite, or if the steps do
    not stop.
    """
    outcome, reported = model.outcome, model.item.reported
    assert outcome is not None
    size = outcome.size
    units = np.concatenate([_units(outcome.designs[0]), _units(model.x)])
    with_report = outcome.designs[reported, np.arange(model.people)] / units[:size]
    covariates = model.x / units[size:]
    coefficients, step, steps = np.full(model.size, START), math.inf, 0
    while step > stop and steps < MOST:
        weights = truth_chances(model, coefficients / units)
        fits = (
            shrunken_logit(with_report, outcome.values, weights),
            shrunken_logit(covariates, reported, weights),
        )
        before, coefficients = coefficients, np.concatenate(fits)
        step, steps = float(np.abs(coefficients - before).max()), steps + 1
    at = model.evaluated(coefficients / units)
    second = at.hessian(np.ones(model.people))[:-1, :-1] / np.outer(units, units)
    priors = 2 * (PRIOR**2 - coefficients**2) / (PRIOR**2 + coefficients**2) ** 2
    information = np.diag(priors) - second
    determined = step <= stop and bool(np.linalg.eigvalsh(information)[0] > 0)
    nothing = np.full_like(information, math.nan)
    covariance = np.linalg.inv(information) / np.outer(units, units) if determined else nothing
    log_likelihood, fixed = float(at.log.sum()), np.zeros(model.size, bool)
    return HiddenAnswerFit(
        model, coefficients / units, covariance, log_likelihood, determined, fixed
    )


def truth_chances(model: HiddenAnswerModel, parameters: np.ndarray) -> np.ndarray:
    """Return the probabilities that reports are true answers, given everything that was observed.

    A report that is the same as the true answer may have been forced, too.
    """
    item, rows = model.item, np.arange(model.people)
    matrices = item.matrices.base[item.group, item.reported]
    same, forced = matrices[rows, item.reported], matrices[rows, 1 - item.reported]
    posterior = model.evaluated(parameters).posterior[item.reported, rows]
    return np.asarray(posterior * (same - forced) / same)


def shrunken_logit(columns: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the coefficients of a logistic regression with Cauchy priors, as bayesglm of R's arm.

    columns: shape (n, k). values: 0 and 1, shape (n,). weights: shape (n,).

    A Cauchy prior is a normal one whose variance is unknown. Each step of iteratively reweighted
    least squares takes the variances that are expected after the step before (Gelman et al. 2008).
    """
    scales, signs = _prior_scales(columns), 2 * values - 1
    spread, heights, before = scales, math.log(3) * signs, math.inf
    beta = np.zeros(columns.shape[1])
    for _ in range(MOST):
        chance = scipy.special.expit(heights)
        steep = weights * chance * (1 - chance)
        slopes = columns.T @ (steep * heights + weights * (values - chance))
        variance = np.linalg.inv(columns.T @ (columns * steep[:, None]) + np.diag(spread**-2))
        beta = variance @ slopes
        spread = np.sqrt((beta**2 + np.diag(variance) + scales**2) / 2)
        heights = columns @ beta
        deviance = 2 * float(weights @ np.logaddexp(0, -signs * heights))
        if abs(deviance - before) < SAME_DEVIANCE * (deviance + 0.1):
            break
        before = deviance
    return beta


def _units(columns: np.ndarray) -> np.ndarray:
    """Return the standard deviations of columns, 1 for those that are constant."""
    spread = columns.std(axis=0, ddof=1)
    return np.asarray(np.where(spread > 0, spread, 1.0))


def _prior_scales(columns: np.ndarray) -> np.ndarray:
    """Return the scale of the prior of each coefficient, by the spread of its column."""
    distinct = np.array([len(np.unique(column)) for column in columns.T])
    several = np.where(distinct == 2, np.ptp(columns, axis=0), 2 * columns.std(axis=0, ddof=1))
    return np.asarray(PRIOR / np.where(distinct == 1, 1.0, several))
