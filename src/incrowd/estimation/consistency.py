"""Overlapping tables adjusted so that the margins they share agree. Slightly biased."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from incrowd.errors import TableError
from incrowd.estimation.tables import TableEstimate


@dataclass(frozen=True)
class ConsistentTables:
    """Tables whose shared margins agree. Biased, as `statement` says.

    estimates: in the order and the shapes of the tables given. shift: the largest change of a
    cell in its standard errors.
    """

    estimates: tuple[np.ndarray, ...]
    shift: float
    method: str = "consistent tables (weighted least squares)"
    statement: str = (
        "Post-processed, biased: the tables were changed as little as their errors suggest, so "
        "that margins which they share agree and each sums to one. The weights come from the same "
        "data, so that a small bias remains; cells can still be negative; the intervals of the "
        "unbiased estimates do not belong to these figures."
    )
    biased: bool = True


def make_consistent(tables: Sequence[TableEstimate]) -> ConsistentTables:
    """Adjust tables by weighted least squares so that all shared margins agree.

    Minimizes sum (z - x)^T Covariance^-1 (z - x) over tables z with equal margins on the
    questions that two tables share, and with the total one: z = x - Cov A^T (A Cov A^T)^+ (A x -
    b). Errors of different tables are weighted as if independent, which costs precision, not
    consistency. Raises TableError for no tables, margins, or a question with overlapping options.
    """
    _check(tables)
    covariance = scipy.linalg.block_diag(*(table.joint_covariance for table in tables))
    raw = np.concatenate([table.estimate.ravel() for table in tables])
    matrix, wanted = _constraints(tables)
    spread = covariance @ matrix.T
    weights = np.linalg.pinv(matrix @ spread, rcond=1e-10, hermitian=True)
    change = spread @ weights @ (matrix @ raw - wanted)
    errors = np.concatenate([table.standard_error.ravel() for table in tables])
    shift = np.divide(np.abs(change), errors, out=np.zeros(len(raw)), where=errors > 0)
    ends = np.cumsum([table.estimate.size for table in tables])[:-1]
    parts = zip(np.split(raw - change, ends), tables, strict=True)
    estimates = tuple(part.reshape(table.estimate.shape) for part, table in parts)
    return ConsistentTables(estimates, float(shift.max()))


def _constraints(tables: Sequence[TableEstimate]) -> tuple[np.ndarray, np.ndarray]:
    """A and b of A z = b: totals of one, then for each pair of tables equal shared margins."""
    blocks = [_row(tables, {i: _margin(table, [])}) for i, table in enumerate(tables)]
    for (i, one), (j, other) in combinations(enumerate(tables), 2):
        if shared := sorted(set(one.questions) & set(other.questions)):
            blocks.append(_row(tables, {i: _margin(one, shared), j: -_margin(other, shared)}))
    matrix = np.vstack(blocks)
    return matrix, (np.arange(len(matrix)) < len(tables)) * 1.0


def _row(tables: Sequence[TableEstimate], parts: dict[int, np.ndarray]) -> np.ndarray:
    """Blocks side by side, zero for the tables that have no part."""
    height = len(next(iter(parts.values())))
    return np.hstack(
        [parts.get(n, np.zeros((height, t.estimate.size))) for n, t in enumerate(tables)]
    )


def _margin(table: TableEstimate, shared: Sequence[str]) -> np.ndarray:
    """The matrix that sums a table's cells to its margin on these questions."""
    axes = [table.questions.index(question) for question in shared]
    sizes = [table.estimate.shape[axis] for axis in axes]
    places = np.indices(table.estimate.shape).reshape(table.estimate.ndim, -1)[axes]
    cells = np.ravel_multi_index(tuple(places), sizes) if axes else np.zeros(table.estimate.size)
    return np.asarray((np.arange(math.prod(sizes))[:, None] == cells) * 1.0)


def _check(tables: Sequence[TableEstimate]) -> None:
    if not tables:
        raise TableError.of("tables", [], "should be at least one table")
    for table in tables:
        if any(table.margins) or not all(table.exclusive):
            allowed = "should have exclusive answers and no margins (margin=False)"
            raise TableError.of("table", table.questions, allowed)
