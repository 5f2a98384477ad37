"""Correlations of pairs of questions with numbers, and whether they form a correlation matrix.

Proof: docs/estimates.md#correlations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd import views
from incrowd.estimation.quotients import Quotient
from incrowd.estimation.tables import LEVEL, TableEstimate
from incrowd.plans import Guarantee

NOT_HELD = "no message holds both questions"
NO_SPREAD = "the answers to one of the questions cannot be told from all alike"


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation of two questions; of two yes/no questions it is phi.

    low, high: the interval of 95%, within -1 and 1. Without an estimate (nan), `reason` says why.
    """

    questions: tuple[str, str]
    estimate: float
    standard_error: float
    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True)
class Correlations(views.Notebook, views.Tabular):
    """The correlations of all pairs of some questions.

    pairs: in the order of the questions. people: whose answers these are. errors: of the noise
    alone, or noise plus sampling.
    """

    questions: tuple[str, ...]
    pairs: tuple[Correlation, ...]
    people: int
    errors: str
    guarantee: Guarantee
    seed: int | None = None

    def __repr__(self) -> str:
        simulated = views.simulated(self.seed)
        return f"Correlations({len(self.questions)} questions, {self.people:,} people{simulated})"

    @property
    def matrix(self) -> np.ndarray:
        """Shape (questions, questions); nan where there is no estimate."""
        return self._square([pair.estimate for pair in self.pairs], 1.0)

    @property
    def standard_errors(self) -> np.ndarray:
        """Shape (questions, questions), 0 on the diagonal."""
        return self._square([pair.standard_error for pair in self.pairs], 0.0)

    @property
    def smallest_eigenvalue(self) -> float:
        """Of the matrix; nan if a correlation is missing. Noise can bring it below zero, as no
        correlations of answers are."""
        matrix = self.matrix
        return float(np.linalg.eigvalsh(matrix)[0]) if np.isfinite(matrix).all() else math.nan

    def _square(self, values: Sequence[float], diagonal: float) -> np.ndarray:
        size = len(self.questions)
        found = np.full((size, size), diagonal)
        rows, columns = np.triu_indices(size, 1)
        found[rows, columns] = found[columns, rows] = values
        return found


def no_correlation(questions: tuple[str, str], reason: str) -> Correlation:
    """Anything is possible."""
    return Correlation(questions, math.nan, math.nan, -1.0, 1.0, reason)


def correlation(table: TableEstimate, first: np.ndarray, second: np.ndarray) -> Correlation:
    """The correlation of the numbers of two questions.

    table: the table of both, without margins. first, second: the number of each answer; nan for
    "no answer", and people who gave it are left out.

    C / S, C the covariance and S the product of standard deviations, has the interval of
    `Quotient`, which holds also where S is hardly known.
    """
    names = (table.questions[0], table.questions[1])
    x, y = (each.ravel() for each in np.meshgrid(first, second, indexing="ij"))
    counted = np.isfinite(x + y)
    shares, x, y = table.estimate.ravel()[counted], x[counted], y[counted]
    there = shares.sum()
    if there <= 0:
        return no_correlation(names, NO_SPREAD)
    shares = shares / there
    x, y = x - shares @ x, y - shares @ y
    spreads = shares @ x**2, shares @ y**2
    if min(spreads) <= 0:
        return no_correlation(names, NO_SPREAD)
    over, under = shares @ (x * y), math.sqrt(spreads[0] * spreads[1])
    slopes = np.zeros((2, counted.size))
    slopes[0, counted] = (x * y - over) / there
    slopes[1, counted] = under * (x**2 / spreads[0] + y**2 / spreads[1] - 2) / (2 * there)
    variances = slopes @ table.joint_covariance @ slopes.T
    found = Quotient(over, under, variances[0, 0], variances[0, 1], variances[1, 1], False)
    low, high = found.interval(LEVEL)
    error = found.spread / under
    return Correlation(
        names, max(-1.0, min(found.estimate, 1.0)), error, max(low, -1), min(high, 1)
    )
