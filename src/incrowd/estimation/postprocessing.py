"""Estimates made to look like proportions. Named, separate from the estimators, and biased."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.errors import TableError

PROJECTION = "projection to the simplex"
PROJECTION_STATEMENT = (
    "Post-processed, biased: the unbiased estimate was moved to the nearest shares that are not "
    "negative and sum to one. Small cells come out too high on average, large ones too low; the "
    "intervals of the unbiased estimate do not belong to these figures."
)


@dataclass(frozen=True)
class Projected:
    """Shares that are not negative and sum to one. Biased, as `statement` says.

    estimate: the projected shares; raw: the unbiased estimate they come from, of the same shape.
    """

    estimate: np.ndarray
    raw: np.ndarray
    method: str = PROJECTION
    statement: str = PROJECTION_STATEMENT
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
