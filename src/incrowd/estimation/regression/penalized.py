"""Firth's penalized likelihood for logistic models, carried over to noise, with score intervals.

Firth (1993) adds the logarithm of Jeffreys' prior to the log-likelihood, which takes the first
term off the bias of the coefficients and keeps them finite where groups are separated (Heinze and
Schemper 2002). With noise the same term of the bias is larger, and its correction is known for any
estimating equation (Kosmidis and Lunardon 2024). Without noise both are the same. The intervals
are those of the score test, whose statistic is linear in the shares and so is normal however small
a share is: their ends can be open. Proof: docs/regression.md#firths-penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from incrowd.estimation.regression.evidence import Table
from incrowd.estimation.regression.solving import LARGEST, Strata
from incrowd.estimation.tables import HALF_WIDTH

MOST_STEPS = 60
MOST_CUTS = 30
LONGEST = 2.0  # step, in log odds of a cell
CLOSE = 1e-9  # of a step, in log odds
NUDGE = 1e-5  # for slopes by differences
GROWTH = 1.6  # of the steps in which the end of an interval is looked for
SHARP = 1e-3  # of an end, in units of the first such step


@dataclass(frozen=True)
class Cells:
    """The tables of all strata as one: a row of cells after the other.

    x: shape (coefficients, cells). y: the outcome, 0 or 1. shares: unbiased, of all people in the
    model. noise, sampling: the parts of their covariance; without sampling the people are fixed.
    """

    x: np.ndarray
    y: np.ndarray
    shares: np.ndarray
    noise: np.ndarray
    sampling: np.ndarray | None
    people: float

    @property
    def covariance(self) -> np.ndarray:
        """Of the shares, by all that the errors are of."""
        return self.noise if self.sampling is None else self.noise + self.sampling

    def without(self, place: int) -> Cells:
        """Without one coefficient."""
        return replace(self, x=np.delete(self.x, place, axis=0))


def cells_of(strata: Strata) -> Cells:
    """All tables together. If people are a sample, so is how many of them are in each stratum."""
    weighted = [(w, part) for w, part in strata.weighted() if isinstance(part, Table)]
    parts = [w * part.shares for w, part in weighted]
    tables = [(w, part.table) for w, part in weighted]
    within = [w**2 * (table.joint_covariance - table.joint_noise) for w, table in tables]
    between = [w * np.outer(part.shares, part.shares) / strata.people for w, part in weighted]
    sampling = scipy.linalg.block_diag(*within) + (
        scipy.linalg.block_diag(*between) if len(weighted) > 1 else 0.0
    )
    return Cells(
        x=np.hstack([part.design.x for _, part in weighted]),
        y=np.hstack([part.design.y for _, part in weighted]),
        shares=np.hstack(parts),
        noise=scipy.linalg.block_diag(*(w**2 * table.joint_noise for w, table in tables)),
        sampling=sampling if strata.sampled else None,
        people=strata.people,
    )


def penalized_root(cells: Cells) -> np.ndarray | None:
    """The coefficients at which the penalized score is zero; None if there are none."""
    return _root(cells, np.zeros(len(cells.x)), np.zeros(len(cells.y)))


def penalized_score(cells: Cells, beta: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The score, and what the first term of the bias takes off it.

    With D the scores of the cells, A the information, N people and Sigma the covariance by noise,
    the coefficients have about the covariance C = A^-1 (A / N + D Sigma D') A^-1 if the model is
    right. Then the score is increased by the sum over cells of

        x mu' (p (1/2 - mu) x'Cx + x' A^-1 D Sigma),

    of which without noise Firth's N^-1 (1/2 - mu) times the leverage is left.
    """
    x = cells.x
    mean, slope, scores, information = _pieces(cells, beta, offset)
    inverse = np.linalg.inv(information)
    noisy = scores @ cells.noise
    spread = inverse @ (information / cells.people + noisy @ scores.T) @ inverse
    variances = ((spread @ x) * x).sum(axis=0)
    together = (x * (inverse @ noisy)).sum(axis=0)
    added = slope * (cells.shares * (0.5 - mean) * variances + together)
    return np.asarray(scores @ cells.shares + x @ added)


def _pieces(
    cells: Cells, beta: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The mean of each cell, its slope, the scores of the cells, and the information."""
    height = beta @ cells.x + offset
    mean = scipy.special.expit(height)
    slope = mean * scipy.special.expit(-height)
    return mean, slope, cells.x * (cells.y - mean), (cells.x * (slope * cells.shares)) @ cells.x.T


def _root(cells: Cells, beta: np.ndarray, offset: np.ndarray) -> np.ndarray | None:
    """Newton steps, each cut until the score shrinks in the measure of the information."""

    def score(at: np.ndarray) -> np.ndarray:
        return penalized_score(cells, at, offset)

    def size(at: np.ndarray, found: np.ndarray) -> float:
        return float(found @ np.linalg.solve(_pieces(cells, at, offset)[3], found))

    try:
        found = score(beta)
        for _ in range(MOST_STEPS):
            step = _step(score, beta, found)
            if step @ found < 0:  # the score is bent the wrong way here
                step = np.linalg.solve(_pieces(cells, beta, offset)[3], found)
            reach = float(np.abs(step @ cells.x).max())
            if reach < CLOSE:
                return beta
            moved = _cut(score, size, beta, found, step / max(1.0, reach / LONGEST))
            if moved is None:
                return beta if reach < np.sqrt(CLOSE) else None
            beta, found = moved
            if np.abs(beta @ cells.x + offset).max() > 2 * LARGEST:
                return None
    except np.linalg.LinAlgError:
        return None
    return None


def _step(
    score: Callable[[np.ndarray], np.ndarray], beta: np.ndarray, found: np.ndarray
) -> np.ndarray:
    nudges = NUDGE * np.eye(len(beta))
    slopes = np.array([(score(beta + nudge) - found) / NUDGE for nudge in nudges]).T
    return np.asarray(-np.linalg.solve(slopes, found))


def _cut(
    score: Callable[[np.ndarray], np.ndarray],
    size: Callable[[np.ndarray, np.ndarray], float],
    beta: np.ndarray,
    found: np.ndarray,
    step: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    start = size(beta, found)
    for _ in range(MOST_CUTS):
        after = score(beta + step)
        if size(beta + step, after) < start:
            return beta + step, after
        step = step / 2
    return None


# --- intervals -----------------------------------------------------------------------------------


def score_interval(cells: Cells, beta: np.ndarray, place: int) -> tuple[float, float]:
    """The values of one coefficient that a score test does not refuse, and its estimate.

    An end is infinite where no value on that side is refused.
    """
    column = cells.x[place]
    unit = 1 / (float(np.ptp(column)) or float(np.abs(column).max()) or 1.0)
    return (
        _end(cells, beta, place, -1.0, unit),
        _end(cells, beta, place, 1.0, unit),
    )


def _end(cells: Cells, beta: np.ndarray, place: int, side: float, unit: float) -> float:
    """On one side of the estimate. unit: of the coefficient, that is one in log odds at most."""
    others = np.delete(beta, place)
    near, ratio = float(beta[place]), score_ratio(cells, place, float(beta[place]), others)
    if ratio is None or side * ratio[0] <= -HALF_WIDTH:
        return near  # the estimate is refused already
    others, step = ratio[1], 0.5 * unit
    while abs(far := near + side * step) <= LARGEST * unit:
        ratio = score_ratio(cells, place, far, others)
        if ratio is None:
            break
        if side * ratio[0] <= -HALF_WIDTH:
            return _crossing(cells, place, near, far, others, side, unit)
        near, others, step = far, ratio[1], GROWTH * step
    return side * np.inf


def _crossing(
    cells: Cells,
    place: int,
    near: float,
    far: float,
    others: np.ndarray,
    side: float,
    unit: float,
) -> float:
    def beyond(value: float) -> float:
        ratio = score_ratio(cells, place, value, others)
        return side * HALF_WIDTH + (ratio[0] if ratio else -side * np.inf)

    return float(scipy.optimize.brentq(beyond, near, far, xtol=SHARP * unit))


def score_ratio(
    cells: Cells, place: int, value: float, others: np.ndarray
) -> tuple[float, np.ndarray] | None:
    """The score of one coefficient at a value over its standard error, and the other coefficients
    there.

    These are penalized; the score is not, so that its mean is zero at the truth. What the others
    share with it is taken off. Its variance by sampling is that of the model or that of the shares,
    the larger of both: a cell that nobody was drawn in has none. None if the others have no root.
    """
    rest, offset = cells.without(place), value * cells.x[place]
    root = _root(rest, others, offset) if len(others) else others
    if root is None:
        return None
    beta = np.insert(root, place, value)
    _, _, scores, information = _pieces(cells, beta, np.zeros(len(cells.y)))
    along = np.zeros(len(beta))
    along[place] = 1.0
    if len(others):
        among = np.arange(len(beta)) != place
        shared = np.linalg.solve(information[np.ix_(among, among)], information[among, place])
        along[among] = -shared
    each = along @ scores
    variance = max(float(each @ cells.noise @ each), 0.0)
    if cells.sampling is not None:
        by_model = float(along @ information @ along) / cells.people
        variance += max(float(each @ cells.sampling @ each), by_model, 0.0)
    return float(each @ cells.shares) / max(variance**0.5, 1e-300), root
