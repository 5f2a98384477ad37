"""How good the estimates of a table were, over many trials in which the answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.estimation.readings import Ids
from incrowd.estimation.simultaneous import SimultaneousIntervals
from incrowd.estimation.tables import TableEstimate

ROUNDOFF = 1e-12  # of shares


@dataclass(frozen=True)
class TableQuality:
    """What the trials show of one table; every array has the shape of the table.

    coverage: share of trials whose interval holds the truth. joint_coverage: share of trials in
    which all intervals of the table hold at once. simultaneous_coverage: that of the intervals for
    all cells at once, where they were asked for. bias: mean estimate less truth. bias_error: its
    standard error, from the number of trials. mean_standard_error: what the estimates say of
    themselves (root mean square). empirical_standard_error: how far they really spread.
    theoretical_error: what the truth and the noise say they should; nan where the table was
    weighted or is of those who answered. efficiency: theoretical over empirical variance, summed
    over cells; 1 but for the error of the simulation.
    """

    questions: tuple[str, ...]
    coverage: np.ndarray
    joint_coverage: float
    bias: np.ndarray
    bias_error: np.ndarray
    mean_standard_error: np.ndarray
    empirical_standard_error: np.ndarray
    theoretical_error: np.ndarray
    simultaneous_coverage: float | None = None

    @property
    def efficiency(self) -> float:
        """Theoretical over empirical variance, of all cells together."""
        found = float((self.empirical_standard_error**2).sum())
        return float((self.theoretical_error**2).sum()) / found if found > 0 else 1.0


def quality(
    ids: Ids,
    truth: np.ndarray,
    theoretical: np.ndarray,
    trials: Sequence[TableEstimate],
    at_once: Sequence[SimultaneousIntervals] = (),
) -> TableQuality:
    """The quality of one table. theoretical: the standard errors that its cells should have.
    at_once: the simultaneous intervals of every trial, if there are any."""
    estimates = np.array([table.estimate for table in trials])
    errors = np.array([table.standard_error for table in trials])
    holds = np.array([_holds(table.low, truth, table.high) for table in trials])
    away = estimates - truth  # of what is known without noise exactly 0
    spread = np.std(away, axis=0, ddof=1)
    return TableQuality(
        questions=ids,
        coverage=np.mean(holds, axis=0),
        joint_coverage=float(np.mean(holds.reshape(len(trials), -1).all(axis=1))),
        bias=np.mean(away, axis=0),
        bias_error=spread / np.sqrt(len(trials)),
        mean_standard_error=np.sqrt(np.mean(errors**2, axis=0)),
        empirical_standard_error=spread,
        theoretical_error=theoretical,
        simultaneous_coverage=_together(truth, at_once) if at_once else None,
    )


def _together(truth: np.ndarray, trials: Sequence[SimultaneousIntervals]) -> float:
    """The share of trials in which all cells are in their intervals."""
    return float(np.mean([np.all(_holds(s.low, truth, s.high)) for s in trials]))


def _holds(low: np.ndarray, truth: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether intervals hold the truth, up to roundoff: weighted to known shares, a table of these
    has no error at all."""
    return np.asarray((low - ROUNDOFF <= truth) & (truth <= high + ROUNDOFF))
