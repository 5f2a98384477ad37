"""Firth's penalized likelihood for logistic models, extended to noise, with score intervals.

Firth (1993) adds the logarithm of Jeffreys' prior to the log-likelihood. This removes the first
term of the bias of the coefficients and keeps them finite where groups are separated (Heinze and
Schemper 2002). Noise makes that term larger, and its correction is known for any estimating
equation (Kosmidis and Lunardon 2024); without noise the two are the same. The intervals are those
of the score test, whose statistic is linear in the shares, and so is normal however small a share
is. An end of an interval can be infinite. Proof: docs/regression.md#firths-penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy

from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.estimation.regression.evidence import JointTable
from incrowd.estimation.regression.solving import LARGEST, Strata

MOST_STEPS = 60
MOST_CUTS = 30
LONGEST = 2.0  # step, in log odds of a cell
CLOSE = 1e-9  # of a step, in log odds
NUDGE = 1e-5  # for slopes by differences
MUCH = 0.25  # of the size of the score, to which a step with approximate slopes has to reduce it
GROWTH = 1.6  # of the steps in which the end of an interval is looked for
SHARP = 1e-3  # of an end, in units of the first such step


@dataclass(frozen=True)
class StackedCells:
    """The tables of all strata as one, with their cells one after the other.

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
        """The covariance of the shares, by noise and, if the people are a sample, by sampling."""
        return self.noise if self.sampling is None else self.noise + self.sampling

    def without(self, place: int) -> StackedCells:
        """Return the cells without one coefficient."""
        return replace(self, x=np.delete(self.x, place, axis=0))


def cells_of(strata: Strata) -> StackedCells:
    """Return all tables together. If people are a sample, so is how many of them are in each
    stratum."""
    weighted = [(w, part) for w, part in strata.weighted() if isinstance(part, JointTable)]
    parts = [w * part.shares for w, part in weighted]
    tables = [(w, part.table) for w, part in weighted]
    within = [w**2 * (table.error.joint - table.error.joint_noise) for w, table in tables]
    between = [w * np.outer(part.shares, part.shares) / strata.people for w, part in weighted]
    sampling = scipy.linalg.block_diag(*within) + (
        scipy.linalg.block_diag(*between) if len(weighted) > 1 else 0.0
    )
    return StackedCells(
        x=np.hstack([part.design.x for _, part in weighted]),
        y=np.hstack([part.design.y for _, part in weighted]),
        shares=np.hstack(parts),
        noise=scipy.linalg.block_diag(*(w**2 * table.error.joint_noise for w, table in tables)),
        sampling=sampling if strata.sampled else None,
        people=strata.people,
    )


def penalized_root(cells: StackedCells) -> np.ndarray | None:
    """Return the coefficients at which the penalized score is zero; None if there are none."""
    return _root(cells, np.zeros(len(cells.x)), np.zeros(len(cells.y)))


def penalized_score(cells: StackedCells, beta: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the score, corrected for the first term of the bias.

    With D the scores of the cells, A the information, N people and Sigma the covariance by noise,
    the coefficients have about the covariance C = A^-1 (A / N + D Sigma D') A^-1 if the model is
    right. Then the score is increased by the sum over cells of

        x mu' (p (1/2 - mu) x'Cx + x' A^-1 D Sigma),

    which without noise is Firth's N^-1 (1/2 - mu) times the leverage.
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
    cells: StackedCells, beta: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean of each cell, its slope, the scores of the cells, and the information."""
    height = beta @ cells.x + offset
    mean = scipy.special.expit(height)
    slope = mean * scipy.special.expit(-height)
    return mean, slope, cells.x * (cells.y - mean), (cells.x * (slope * cells.shares)) @ cells.x.T


def _root(cells: StackedCells, beta: np.ndarray, offset: np.ndarray) -> np.ndarray | None:
    """Return Newton steps, each shortened until the score shrinks, as measured by the information.

    The slopes of the score are at first those without the penalty, and then change after each step
    as Broyden (1965) proposed: each of them would take a product with the covariance of all cells.
    They are computed where a step helps little.
    """

    def score(at: np.ndarray) -> np.ndarray:
        return penalized_score(cells, at, offset)

    def size(at: np.ndarray, value: np.ndarray) -> float:
        return float(value @ np.linalg.solve(_pieces(cells, at, offset)[3], value))

    try:
        value, slopes, usable = score(beta), -_pieces(cells, beta, offset)[3], True
        for _ in range(MOST_STEPS):
            if computed := not usable:
                nudges = NUDGE * np.eye(len(beta))
                slopes = np.array([(score(beta + nudge) - value) / NUDGE for nudge in nudges]).T
            information = _pieces(cells, beta, offset)[3]
            step = _step(slopes, value, information)
            reach = float(np.abs(step @ cells.x).max())
            if reach < CLOSE:
                return beta
            shorter = _shortened(score, size, beta, value, step / max(1.0, reach / LONGEST))
            if shorter is None and computed:
                return beta if reach < np.sqrt(CLOSE) else None
            usable = shorter is not None and size(*shorter) < MUCH * size(beta, value)
            if shorter is None:
                continue
            shift, rise = shorter[0] - beta, shorter[1] - value
            beta, value = shorter
            along = information @ shift
            usable = usable and float(along @ shift) > 0
            slopes = slopes + np.outer(rise - slopes @ shift, along / (along @ shift))
            if np.abs(beta @ cells.x + offset).max() > 2 * LARGEST:
                return None
    except np.linalg.LinAlgError:
        return None
    return None


def _step(slopes: np.ndarray, value: np.ndarray, information: np.ndarray) -> np.ndarray:
    """Return Newton's step; that of the information where the score has the wrong curvature."""
    step = np.asarray(-np.linalg.solve(slopes, value))
    return step if step @ value >= 0 else np.asarray(np.linalg.solve(information, value))


def _shortened(
    score: Callable[[np.ndarray], np.ndarray],
    size: Callable[[np.ndarray, np.ndarray], float],
    beta: np.ndarray,
    value: np.ndarray,
    step: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the coefficients after a step, halved until the score shrinks, and the score there."""
    start = size(beta, value)
    for _ in range(MOST_CUTS):
        after = score(beta + step)
        if size(beta + step, after) < start:
            return beta + step, after
        step = step / 2
    return None


# --- intervals -----------------------------------------------------------------------------------


def score_interval(cells: StackedCells, beta: np.ndarray, place: int) -> tuple[float, float]:
    """Return the values of one coefficient that a score test does not reject, and its estimate.

    An end is infinite if no value on that side is rejected.
    """
    column = cells.x[place]
    unit = 1 / (float(np.ptp(column)) or float(np.abs(column).max()) or 1.0)
    return (
        _end(cells, beta, place, -1.0, unit),
        _end(cells, beta, place, 1.0, unit),
    )


def score_p_value(cells: StackedCells, beta: np.ndarray, place: int) -> float | None:
    """Return the p-value of the score test that one coefficient is zero; None if the others have no
    root there."""
    ratio = score_ratio(cells, place, 0.0, np.delete(beta, place))
    return None if ratio is None else float(2 * scipy.special.ndtr(-abs(ratio[0])))


def _end(cells: StackedCells, beta: np.ndarray, place: int, side: float, unit: float) -> float:
    """Return the end on one side. unit: a step of the coefficient, at most 1 in log odds."""
    others = np.delete(beta, place)
    near, ratio = float(beta[place]), score_ratio(cells, place, float(beta[place]), others)
    if ratio is None or side * ratio[0] <= -HALF_WIDTH:
        return near  # the estimate itself is rejected
    others, step = ratio[1], 0.5 * unit
    while abs(far := near + side * step) <= LARGEST * unit:
        ratio = score_ratio(cells, place, far, others)
        if ratio is None:
            break
        if side * ratio[0] <= -HALF_WIDTH:

            def beyond(value: float, others: np.ndarray = others) -> float:
                ratio = score_ratio(cells, place, value, others)
                return side * HALF_WIDTH + (ratio[0] if ratio else -side * np.inf)

            return float(scipy.optimize.brentq(beyond, near, far, xtol=SHARP * unit))
        near, others, step = far, ratio[1], GROWTH * step
    return side * np.inf


def score_ratio(
    cells: StackedCells, place: int, value: float, others: np.ndarray
) -> tuple[float, np.ndarray] | None:
    """Return the score of one coefficient at a value over its standard error, and the other
    coefficients there.

    The other coefficients are penalized; the score is not, so that its mean is zero at the truth.
    Its projection on their scores is subtracted. Its variance by sampling is that of the model or
    that of the shares, whichever is larger, as a cell into which nobody was drawn has none. None if
    the other coefficients have no root.
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
