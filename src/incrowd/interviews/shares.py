"""The shares of true answers to randomized items, by moments and by maximum likelihood.

Both estimators take arrays, and know nothing about surveys. Errors include the sampling of people
and the randomization.
Proof: docs/interviews-mathematics.md#moments, docs/interviews-mathematics.md#maximum-likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import scipy

from incrowd.catalog.sentences import Keyword
from incrowd.errors import UsageError
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.interviews.influence import check_clusters, covariance, scaled
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.mixtures import ReportMixture, along_axes, complete_reports, free_directions

INSIDE = 0.02  # how far a start of a search is moved from the ends of its range
STEP = 1e-5  # of a numerical derivative with respect to an unknown probability
PRECISION = 1e-7  # of the end of an interval
UNKNOWN_STARTS = (0.05, 0.5, 0.95)
END = 1e-9  # how near an end of its range a parameter is at the end
MOST_WEIGHT = 0.99  # of all weight, that one interview may have
RANK = 1e-10  # the least ratio of eigenvalues of a matrix with an inverse


@dataclass(frozen=True, eq=False)
class ItemShares:
    """Estimated shares of true answers, and of what is unknown about the device.

    parameters: the shares of all combinations of answers, then the unknown probabilities, whose
    names are `mixture.names`. influence: of each interview, shape (n, parameters); 0 where it is
    left out. used: which interviews are used. at_end: parameters that the likelihood puts at an end
    of their range, or does not determine there; no standard error describes
    them. log_likelihood: nan for moments.
    """

    mixture: ReportMixture
    parameters: np.ndarray
    covariance: np.ndarray
    influence: np.ndarray
    used: np.ndarray
    at_end: np.ndarray
    log_likelihood: float = math.nan

    @property
    def table(self) -> np.ndarray:
        """The shares, with one axis for each item."""
        return self.parameters[: self.mixture.cells].reshape(self.mixture.shape)

    @property
    def unknowns(self) -> np.ndarray:
        """The unknown probabilities."""
        return self.parameters[self.mixture.cells :]

    @property
    def standard_errors(self) -> np.ndarray:
        """The standard errors; nan for parameters at an end of their range."""
        errors = np.sqrt(np.maximum(np.diagonal(self.covariance), 0))
        return np.where(self.at_end, np.nan, errors)

    @property
    def people(self) -> int:
        """The number of interviews that are used."""
        return int(self.used.sum())


def normalized(weights: np.ndarray | None, used: np.ndarray) -> np.ndarray:
    """Return weights with the mean 1 among the interviews that are used, and 0 elsewhere."""
    if weights is None:
        return used.astype(float)
    chosen = np.where(used, weights, 0.0)
    total = float(chosen.sum())
    if not total > 0:
        raise UsageError.of("weights", "interviews.no-weight", value=total)
    if chosen.max() > MOST_WEIGHT * total:
        raise UsageError.of("weights", "interviews.one-weight", value=float(chosen.max() / total))
    return np.asarray(chosen * (used.sum() / total))


def _counted(
    items: Sequence[ReportedItem], weights: np.ndarray | None, clusters: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, ReportMixture]:
    used = complete_reports(items)
    if used.sum() < 2:
        raise UsageError.of("answers", "interviews.few-interviews", value=int(used.sum()))
    check_clusters(used, clusters)
    weight = normalized(weights, used)
    mixture = ReportMixture.of(items, weight)
    if not mixture.identified():
        raise UsageError.of("design", "interviews.not-identified")
    if mixture.names and np.bincount(mixture.combination[used]).min() < 2:
        raise UsageError.of("answers", "interviews.one-in-group", names=mixture.names)
    return used, weight, mixture


def _of_people(
    mixture: ReportMixture, of_pattern: np.ndarray, weight: np.ndarray, used: np.ndarray
) -> np.ndarray:
    """Return the influence of each interview. of_pattern: of each pattern that occurs."""
    influence = np.zeros((len(used), of_pattern.shape[1]))
    places = np.searchsorted(mixture.observed, mixture.pattern[used & (weight > 0)])
    influence[used & (weight > 0)] = of_pattern[places] * weight[used & (weight > 0)][:, None]
    return influence


# --- moments ----------------------------------------------------------------------------------


def moments(
    items: Sequence[ReportedItem],
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> ItemShares:
    """Estimate shares by moments: without bias, and not restricted to the range from 0 to 1.

    For one item, the shares fit the frequencies of reports in all groups by generalized least
    squares, with the variances that equal shares would have; with as many reports as answers in one
    group, this is the inverse matrix. An unknown probability solves the same equations. The table
    of several items is the mean of the products of unbiased scores.
    """
    used, weight, mixture = _counted(items, weights, clusters)
    fit = _least_squares if len(items) == 1 else _products_of_scores
    parameters, of_pattern = fit(items, weights, mixture)
    influence = _of_people(mixture, of_pattern, weight, used)
    if len(items) > 1 and mixture.names:
        influence = _with_unknowns(items, weights, mixture, parameters, influence)
    influence = scaled(influence, mixture.combination, clusters)
    return ItemShares(
        mixture=mixture,
        parameters=parameters,
        covariance=covariance(influence, clusters),
        influence=influence,
        used=used,
        at_end=np.zeros(mixture.size, bool),
    )


def _least_squares(
    _: Sequence[ReportedItem], __: np.ndarray | None, mixture: ReportMixture
) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters of one item, and the influence of each pattern that occurs."""
    counts, size = mixture.counts, mixture.size
    sizes = counts.sum(axis=1, keepdims=True)
    start = np.full(size, 0.5)
    start[: mixture.cells] = 1 / mixture.cells
    likely = mixture.probabilities(start)
    variances = np.where(likely > 0, likely, np.inf)
    basis = free_directions(np.ones(size, bool), mixture.cells)
    every = np.arange(counts.size)

    def derivatives(parameters: np.ndarray) -> np.ndarray:
        parts = [rows for _, rows in mixture.rows(parameters, every)]
        return np.asarray(np.concatenate(parts) @ basis)

    scale = np.sqrt(sizes / variances)

    def residuals(move: np.ndarray) -> np.ndarray:
        expected = mixture.probabilities(start + basis @ move)
        return np.asarray((scale * (counts / sizes - expected)).ravel())

    def slopes(move: np.ndarray) -> np.ndarray:
        return np.asarray(-scale.ravel()[:, None] * derivatives(start + basis @ move))

    origin = np.zeros(basis.shape[1])
    if mixture.names:
        origin = np.linalg.pinv(basis) @ (_linear_solution(mixture, scale) - start)
        move = scipy.optimize.least_squares(
            residuals, origin, jac=slopes, method="lm", xtol=1e-14, ftol=1e-14, gtol=1e-14
        ).x
    else:
        move = np.linalg.lstsq(-slopes(origin), residuals(origin), rcond=None)[0]
    parameters = start + basis @ move
    rows = derivatives(parameters)
    weighted = rows / variances.ravel()[:, None]
    inverse = np.linalg.pinv((rows * (sizes / variances).ravel()[:, None]).T @ rows)
    expected = mixture.probabilities(parameters).ravel()[:, None] * weighted
    of_group = expected.reshape(*counts.shape, -1).sum(axis=1)
    group = np.unravel_index(mixture.observed, counts.shape)[0]
    return parameters, (weighted[mixture.observed] - of_group[group]) @ inverse @ basis.T


def _linear_solution(mixture: ReportMixture, scale: np.ndarray) -> np.ndarray:
    """Return parameters that solve linear equations, as if theta pi were not a product.

    scale: of the residuals, shape (groups, reports).
    """
    (axis,), cells = mixture.axes, mixture.cells
    frequencies = mixture.counts / mixture.counts.sum(axis=1, keepdims=True)
    contrasts = free_directions(np.ones(cells, bool), cells)
    parts = [axis.base @ contrasts, *axis.unknown]
    columns = np.concatenate([scale[:, :, None] * each for each in parts], axis=2)
    residuals = scale * (frequencies - axis.base.mean(axis=2))
    solution = np.linalg.lstsq(
        columns.reshape(-1, columns.shape[2]), residuals.ravel(), rcond=None
    )[0]
    shares = 1 / cells + contrasts @ solution[: cells - 1]
    products = solution[cells - 1 :].reshape(-1, cells)
    unknowns = []
    for unknown, product in zip(axis.unknown, products, strict=True):
        along, of = (unknown @ shares).ravel(), (unknown @ product).ravel()
        unknowns.append(along @ of / (along @ along) if along.any() else 0.5)
    return np.concatenate([shares, unknowns])


def left_inverses(matrices: np.ndarray) -> np.ndarray:
    """Return unbiased scores of each report, shape (groups, answers, reports).

    The mean score of the reports of a person is 1 for her true answer, and 0 for all others. With
    more reports than answers, the scores have the least variance at equal shares. Raises UsageError
    if the reports of one group do not determine all shares.
    """
    likely = matrices.mean(axis=2)
    parts = np.divide(1.0, likely, np.zeros(likely.shape), where=likely > 0)
    weighted = matrices.transpose(0, 2, 1) * parts[:, None, :]
    squares = weighted @ matrices
    values = np.linalg.eigvalsh(squares)
    if np.any(values[:, 0] <= RANK * values[:, -1]):
        raise UsageError.of(
            "method", "interviews.no-scores", option=Keyword("method", "likelihood")
        )
    return np.asarray(np.linalg.solve(squares, weighted))


def _products_of_scores(
    items: Sequence[ReportedItem], weights: np.ndarray | None, mixture: ReportMixture
) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters of several items, and the influence of each pattern that occurs.

    The unknown probabilities are those of each item alone, in the same interviews.
    """
    theta = np.concatenate([[], *(each.unknowns for each in _alone(items, weights))])
    scores = _scores(mixture, theta)
    total = float(mixture.counts.sum())
    shares = along_axes(mixture.counts, scores).sum(axis=0).ravel() / total
    places = np.unravel_index(mixture.observed, mixture.counts.shape)
    products = np.ones((len(mixture.observed), 1))
    for score, reported in zip(scores, places[1:], strict=True):
        products = (products[:, :, None] * score[places[0], :, reported][:, None, :]).reshape(
            len(products), -1
        )
    influence = np.zeros((len(products), mixture.size))
    influence[:, : mixture.cells] = (products - shares) / total
    return np.concatenate([shares, theta]), influence


def _scores(mixture: ReportMixture, theta: np.ndarray) -> list[np.ndarray]:
    parameters = np.concatenate([np.zeros(mixture.cells), theta])
    return [left_inverses(each) for each in mixture.matrices(parameters)]


def _alone(items: Sequence[ReportedItem], weights: np.ndarray | None) -> list[ItemShares]:
    """Return the shares of each item with unknown probabilities, in complete interviews."""
    used = complete_reports(items)
    return [moments([_restricted(item, used)], weights) for item in items if item.matrices.names]


def _restricted(item: ReportedItem, used: np.ndarray) -> ReportedItem:
    return ReportedItem(np.where(used, item.reported, MISSING), item.group, item.matrices)


def _with_unknowns(
    items: Sequence[ReportedItem],
    weights: np.ndarray | None,
    mixture: ReportMixture,
    parameters: np.ndarray,
    influence: np.ndarray,
) -> np.ndarray:
    """Add the influence of the unknown probabilities to that of the shares."""
    theta, total = parameters[mixture.cells :], float(mixture.counts.sum())
    of_theta = np.concatenate(
        [each.influence[:, each.mixture.cells :] for each in _alone(items, weights)], axis=1
    )

    def shares(theta: np.ndarray) -> np.ndarray:
        table = along_axes(mixture.counts, _scores(mixture, theta)).sum(axis=0)
        return np.asarray(table.ravel() / total)

    slopes = derivative(shares, theta)
    influence = influence.copy()
    influence[:, : mixture.cells] += of_theta @ slopes.T
    influence[:, mixture.cells :] = of_theta
    return influence


def derivative(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
    """Return the derivatives of a smooth function by central differences, shape (values, at)."""
    steps = STEP * np.eye(len(at))
    return np.stack([(function(at + h) - function(at - h)) / (2 * STEP) for h in steps], axis=1)


# --- maximum likelihood -----------------------------------------------------------------------


def likelihood(
    items: Sequence[ReportedItem],
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> ItemShares:
    """Estimate shares by maximum likelihood: always possible shares, with a bias if they are small.

    Without weights and clusters, errors are those of the observed information; with them, the
    likelihood is that of weighted counts, and errors are those of the sum of its scores.
    """
    used, weight, mixture = _counted(items, weights, clusters)
    starts = [_inner(mixture)]
    with suppress(UsageError):  # one group alone may not determine the scores
        starts = [_inner(mixture, moments(items, weights).parameters)]
    if mixture.names:  # there may be several maxima
        starts += [_inner(mixture, unknown=each) for each in UNKNOWN_STARTS]
    ends = [mixture.maximum(each) for each in starts]
    parameters = _rounded(max(ends, key=mixture.log_likelihood))
    free = mixture.free(parameters, mixture.gradient(parameters))
    basis = free_directions(free, mixture.cells, parameters)
    inverse = basis @ np.linalg.pinv(basis.T @ mixture.information(parameters) @ basis) @ basis.T
    probabilities = mixture.probabilities(parameters).ravel()
    of_pattern = np.concatenate(
        [(rows / probabilities[part][:, None]) @ inverse for part, rows in mixture.rows(parameters)]
    )
    influence = _of_people(mixture, of_pattern, weight, used)
    influence = scaled(influence, mixture.combination, clusters)
    modeled = weights is None and clusters is None
    return ItemShares(
        mixture=mixture,
        parameters=parameters,
        covariance=inverse if modeled else covariance(influence, clusters),
        influence=influence,
        used=used,
        at_end=(parameters <= 0) | (parameters >= 1) | (np.diagonal(inverse) <= 0),
        log_likelihood=mixture.log_likelihood(parameters),
    )


def _rounded(parameters: np.ndarray) -> np.ndarray:
    """Return parameters of which those that nearly are at an end of their range are there."""
    ends = np.where(parameters < 0.5, 0.0, 1.0)
    return np.where(np.abs(parameters - ends) < END, ends, parameters)


def _inner(
    mixture: ReportMixture, parameters: np.ndarray | None = None, unknown: float = 0.5
) -> np.ndarray:
    """Return parameters inside their range, near some others; by default in its middle.

    unknown: the value of all unknown probabilities, if there are no others.
    """
    middle = np.full(mixture.size, unknown)
    middle[: mixture.cells] = 1 / mixture.cells
    if parameters is None:
        return middle
    inner = np.clip(parameters, 0, 1)
    inner[: mixture.cells] /= inner[: mixture.cells].sum()
    return np.asarray((1 - INSIDE) * inner + INSIDE * middle)


def profile_ratio(shares: ItemShares, parameter: int, value: float) -> float:
    """Return twice the logarithm of the likelihood ratio of the maximum and a value."""
    mixture, cells = shares.mixture, shares.mixture.cells
    start = _inner(mixture, shares.parameters)
    if parameter < cells:
        others = np.arange(cells) != parameter
        start[:cells][others] *= (1 - value) / start[:cells][others].sum()
    start[parameter] = value
    if not np.isfinite(mixture.log_likelihood(start)):
        return math.inf
    reached = mixture.log_likelihood(mixture.maximum(start, parameter))
    return max(2 * (shares.log_likelihood - reached), 0.0)


def profile_interval(
    shares: ItemShares, parameter: int, *, effect: float = 1.0, half: float = HALF_WIDTH
) -> tuple[float, float]:
    """Return the values that the likelihood ratio does not reject, within 0 and 1.

    effect: by how much weights and clusters enlarge the variance; the ratio is divided by it (Rao
    and Scott 1984). half: the largest root of the ratio that is not rejected. The interval also
    holds where the estimate is at an end of its range.
    """
    center = float(shares.parameters[parameter])

    def off(value: float) -> float:
        return math.sqrt(profile_ratio(shares, parameter, value) / effect) - half

    def end(outer: float) -> float:
        if center == outer:
            return outer
        inside = outer + (1e-9 if outer < center else -1e-9)
        if off(inside) <= 0:
            return outer
        return float(scipy.optimize.brentq(off, center, inside, xtol=PRECISION))

    return end(0.0), end(1.0)


def design_effects(
    items: Sequence[ReportedItem],
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> np.ndarray:
    """Return by how much weights and clusters enlarge the variances of the moment estimates."""
    if weights is None and clusters is None:
        cells = math.prod(item.matrices.answers for item in items)
        return np.ones(cells + sum(len(item.matrices.names) for item in items))
    alike = moments(items)
    with_design = np.diagonal(moments(items, weights, clusters).covariance)
    variances = np.diagonal(alike.covariance)
    return np.asarray(
        np.where(variances > 0, with_design / np.where(variances > 0, variances, 1), 1)
    )
