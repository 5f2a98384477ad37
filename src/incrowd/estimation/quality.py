"""The quality of the estimates of a table, over many trials in which the answers are known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from incrowd.estimation.simultaneous import SimultaneousIntervals
from incrowd.estimation.tables import TableEstimate
from incrowd.survey.question import QuestionIds

ROUNDOFF = 1e-12  # of shares


@dataclass(frozen=True)
class TableQuality:
    """The results of all trials for one table; every array has the shape of the table.

    coverage: share of trials whose interval contains the truth. joint_coverage: share of trials in
    which all intervals of the table do. simultaneous_coverage: that of the intervals for all cells
    at once, if requested. bias: mean estimate minus truth. bias_error: its standard error, from the
    number of trials. mean_standard_error: the estimated errors (root mean square).
    empirical_standard_error: the standard deviation of the estimates. theoretical_error: the error
    according to the truth and the noise; nan if the table was weighted or restricted. efficiency:
    theoretical divided by empirical variance, summed over cells; 1 except for the error of the
    simulation.
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
        """Theoretical divided by empirical variance, summed over cells."""
        empirical = float((self.empirical_standard_error**2).sum())
        return float((self.theoretical_error**2).sum()) / empirical if empirical > 0 else 1.0

    @property
    def figures(self) -> dict[str, Any]:
        """Figures of the whole table. Standard errors are root mean squares over the cells."""
        limit = self._limit
        return {
            "coverage": float(self.coverage.mean()),
            "worst_coverage": float(self.coverage.min()),
            "joint_coverage": self.joint_coverage,
            "simultaneous_coverage": self.simultaneous_coverage,
            "max_abs_bias": float(np.abs(self.bias).max()),
            "bias_limit": float(limit.max()),
            "unbiased": bool((np.abs(self.bias) <= limit).all()),
            "mean_standard_error": _rms(self.mean_standard_error),
            "empirical_standard_error": _rms(self.empirical_standard_error),
            "theoretical_standard_error": _rms(self.theoretical_error),
            "efficiency": self.efficiency,
        }

    @property
    def _limit(self) -> np.ndarray:
        """The bias of each cell that is significant (5% false alarms per table)."""
        reach = float(scipy.special.ndtri(1 - 0.025 / self.bias.size))
        return np.asarray(reach * self.bias_error)

    @property
    def facts(self) -> dict[str, Any]:
        """The figures of the table, and those of every cell."""
        spreads = ("mean_standard_error", "empirical_standard_error", "theoretical_error")
        names = ("coverage", "bias", "bias_error", *spreads)
        cells = {name: getattr(self, name).ravel() for name in names}
        return {"questions": self.questions} | self.figures | {"cells": cells}

    @property
    def texts(self) -> Iterator[str]:
        """The figures as text, in percent except the last."""
        figures, at_once = self.figures, self.simultaneous_coverage
        joint = self.joint_coverage if at_once is None else at_once
        for share in (figures["coverage"], figures["worst_coverage"], joint):
            yield f"{100 * share:.1f}"
        errors = ("mean", "empirical", "theoretical")
        for name in ("max_abs_bias", "bias_limit", *(f"{each}_standard_error" for each in errors)):
            yield _or_dash(100 * figures[name], ".3g")
        yield _or_dash(self.efficiency, ".2f")


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _or_dash(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def quality(
    ids: QuestionIds,
    truth: np.ndarray,
    theoretical: np.ndarray,
    trials: Sequence[TableEstimate],
    at_once: Sequence[SimultaneousIntervals] = (),
) -> TableQuality:
    """Return the quality of one table. theoretical: the theoretical standard errors of its cells.
    at_once: the simultaneous intervals of every trial, if there are any."""
    estimates = np.array([table.estimate for table in trials])
    errors = np.array([table.standard_error for table in trials])
    holds = np.array([_holds(table.low, truth, table.high) for table in trials])
    together = [np.all(_holds(each.low, truth, each.high)) for each in at_once]
    away = estimates - truth  # exactly 0 for shares without noise
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
        simultaneous_coverage=float(np.mean(together)) if together else None,
    )


def _holds(low: np.ndarray, truth: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return whether intervals contain the truth, up to roundoff: a table that is weighted to its
    own known shares has no error at all."""
    return np.asarray((low - ROUNDOFF <= truth) & (truth <= high + ROUNDOFF))
