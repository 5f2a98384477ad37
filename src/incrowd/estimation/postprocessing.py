"""Estimates made to look like proportions. Named, separate from the estimators, and biased."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.errors import InWords, TableError
from incrowd.estimation.interactions import CombinedTable
from incrowd.kernels.axes import transform as along_axes

TOLERANCE = 1e-3  # log-likelihood units: far below the 1.92 of a 95% likelihood interval
MOST_STEPS = 5_000
SETTLED = 1e-12  # of a share
CONSTRAINED = "constrained least squares"
CONSTRAINED_STATEMENT = (
    "Post-processed, biased: the unbiased estimate was moved to the nearest shares that are not "
    "negative and sum to one, measured by the known noise of its cells. Small cells come out too "
    "high on average, large ones too low; the intervals of the unbiased estimate do not belong to "
    "these figures."
)


@dataclass(frozen=True)
class Projected:
    """Shares that are not negative and sum to one. Biased, as `statement` says.

    estimate: the projected shares; raw: the unbiased estimate they come from, of the same shape.
    """

    estimate: np.ndarray
    raw: np.ndarray
    method: str = "projection to the simplex"
    statement: str = (
        "Post-processed, biased: the unbiased estimate was moved to the nearest shares that are "
        "not negative and sum to one. Small cells come out too high on average, large ones too "
        "low; the intervals of the unbiased estimate do not belong to these figures."
    )
    biased: bool = True


def project_to_simplex(estimate: np.ndarray) -> Projected:
    """The nearest point, in Euclidean distance, with entries >= 0 that sum to one.

    estimate: the unbiased shares of a table whose cells exclude each other (no `multi` question,
    no margins), any shape. A number is taken off every cell and what falls below zero is zero
    (Held, Wolfe, Crowder 1974). Raises TableError if there are no cells or one is not finite.
    """
    if not estimate.size or not np.all(np.isfinite(estimate)):
        raise TableError.of("estimate", estimate.tolist(), "should be finite shares, at least one")
    falling = np.sort(estimate, axis=None)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
    kept = np.flatnonzero(falling > excess)[-1]  # the first always is: it exceeds itself less one
    return Projected(np.maximum(estimate - excess[kept], 0), np.asarray(estimate))


def constrained_least_squares(table: CombinedTable, raw: np.ndarray) -> Projected:
    """The shares with entries >= 0 that sum to one and lie nearest, distances being measured by the
    noise of the table; under normal noise of that covariance the likeliest ones.

    table: of exclusive answers, whose noise is known. raw: the unbiased shares. Projected gradients
    (Goldstein 1964) with steps of the smallest noise; where all effects have the same noise, as in
    a table from one message, the first step is the solution.
    """
    step, shares = (
        float(table.eigenvalues[table.eigenvalues > 0].min()),
        project_to_simplex(raw).estimate,
    )
    for _ in range(MOST_STEPS):
        pull = table.by_effect(shares - raw, lambda noise: step / noise)
        nearer = project_to_simplex(shares - pull).estimate
        if np.abs(nearer - shares).max() < SETTLED:
            break
        shares = nearer
    return Projected(nearer, raw, CONSTRAINED, statement=CONSTRAINED_STATEMENT)


@dataclass(frozen=True)
class LikelihoodFit:
    """Maximum likelihood shares. Biased, as `statement` says.

    log_likelihood: after each step, natural logarithms, without the multinomial coefficient; it
    never falls. gap: an upper bound on how far the last one is below the maximum. converged: the
    gap is within the tolerance; if not, `warning` says so.
    """

    estimate: np.ndarray
    log_likelihood: np.ndarray
    gap: float
    converged: bool
    warning: str = ""
    method: str = "nonnegative maximum likelihood (EM)"
    statement: str = (
        "Post-processed, biased: the shares, not negative and summing to one, under which the "
        "reports are likeliest. Small cells come out too high on average; the intervals of the "
        "unbiased estimate do not belong to these figures."
    )
    biased: bool = True


def maximize_likelihood(
    histogram: np.ndarray,
    channels: Sequence[np.ndarray],
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> LikelihoodFit:
    """The shares of answers under which a histogram of reports is likeliest, by EM.

    histogram: how many reports show each joint pattern, one axis for each question. channels: for
    each question P(report pattern | answer), shape (patterns, answers), as `channel_matrix`.
    Starts from equal shares. A step is two EM steps and an extrapolation along them, kept if the
    likelihood does not fall (Varadhan, Roland 2008): many times faster under much noise, and as
    monotone. Stops when the log-likelihood is provably within `tolerance` of its
    maximum: it is concave, so no shares exceed it by more than m (max_x score(x) - 1), m reports,
    score(x) = the mean over reports of P(r|x) / P(r). With several copies a person the reports of
    one person count as if they were of several: the fit stays consistent. Raises TableError if
    shapes do not fit, columns do not sum to one, or a report is impossible under every answer.
    """
    _check(histogram, channels)
    sizes = [channel.shape[1] for channel in channels]
    shares = np.full(sizes, 1 / np.prod(sizes))
    reports, trace, gap = float(histogram.sum()), [], np.inf
    for step in range(most_steps + 1):
        likelihood, score = _score(histogram, channels, shares)
        trace.append(likelihood)
        gap = reports * max(float(score.max()) - 1, 0.0)
        if gap <= tolerance or step == most_steps:
            break
        shares = _improve(histogram, channels, shares, score)
    converged = bool(gap <= tolerance)
    warning = (
        f"EM has not converged after {step:,} steps: the log-likelihood may be {gap:.3g} below its "
        "maximum; allow more steps (most_steps)"
    )
    return LikelihoodFit(shares, np.array(trace), gap, converged, "" if converged else warning)


def _improve(
    histogram: np.ndarray, channels: Sequence[np.ndarray], shares: np.ndarray, score: np.ndarray
) -> np.ndarray:
    """One EM step is shares x score; two of them show the way, a third follows."""
    once = shares * score
    reached, score_once = _score(histogram, channels, once)
    twice = once * score_once
    far = _extrapolate(shares, once, twice)
    reached_far, score_far = _score(histogram, channels, far)
    return np.asarray(far * score_far if reached_far >= reached else twice)


def _extrapolate(shares: np.ndarray, once: np.ndarray, twice: np.ndarray) -> np.ndarray:
    """Along the parabola through three points, at least to the last; positive cells stay so."""
    step, bend = once - shares, twice - 2 * once + shares
    curvature = float(np.linalg.norm(bend))
    length = max(float(np.linalg.norm(step)) / curvature, 1.0) if curvature > 0 else 1.0
    far = np.maximum(shares + 2 * length * step + length**2 * bend, twice / 10)
    return np.asarray(far / far.sum())


def _score(
    histogram: np.ndarray, channels: Sequence[np.ndarray], shares: np.ndarray
) -> tuple[float, np.ndarray]:
    """The log-likelihood, and for each answer the mean of P(r|x) / P(r): 1 at an interior top."""
    predicted = along_axes(channels, shares)
    seen = histogram > 0
    if np.any(predicted[seen] <= 0):
        found = InWords("a report that no answer can give")
        raise TableError.of("histogram", found, "check the channels")
    weights = np.divide(histogram, predicted, out=np.zeros(predicted.shape), where=seen)
    score = along_axes([channel.T for channel in channels], weights) / histogram.sum()
    return float(histogram[seen] @ np.log(predicted[seen])), score


def _check(histogram: np.ndarray, channels: Sequence[np.ndarray]) -> None:
    patterns = tuple(len(channel) for channel in channels)
    if histogram.shape != patterns or not histogram.sum() > 0:
        allowed = f"should be counts of the shape {patterns} of the channels, not all zero"
        raise TableError.of("histogram", InWords(f"shape {histogram.shape}"), allowed)
    for channel in channels:
        if np.any(channel < 0) or not np.allclose(channel.sum(axis=0), 1, rtol=0, atol=1e-9):
            sums = channel.sum(axis=0).tolist()
            raise TableError.of(
                "channel", sums, "its columns should be probabilities that sum to 1"
            )
