"""Tables whose errors come with the covariance of what they are made of: weighted ones, and shares
of those who answered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY, TableEstimate
from incrowd.estimation.weighting.margins import listed, weights_words


@dataclass(frozen=True, kw_only=True)
class DerivedTable(TableEstimate):
    """A table that was weighted to known margins, or is of those who answered.

    whole_error: the standard error of noise and sampling together. margins: the names of the
    margins; () if it is not weighted. steps: as `step`. answered: whether "no answer" is left
    out. error_ratio: its standard errors over those of the table as it was estimated, in the mean
    square.
    """

    whole_error: np.ndarray
    steps: np.ndarray
    margins: tuple[str, ...] = ()
    answered: bool = False
    error_ratio: float = 1.0

    @property
    def standard_error(self) -> np.ndarray:
        """Of noise plus sampling, or of the noise alone."""
        return self.noise_error if self.errors == NOISE_ONLY else self.whole_error

    @property
    def step(self) -> np.ndarray:
        """The share of each cell that one person is, or one report where the people are fixed."""
        return self.steps

    @property
    def whose(self) -> str:
        """What its shares are of."""
        return "those who answered" if self.answered else "people"

    @property
    def weights_words(self) -> str:
        """To what it is weighted, and what that does to its errors; "" if it is not."""
        return weights_words(self.margins, self.error_ratio)

    @property
    def _most_effective(self) -> float:
        """Margins can tell more than the people did."""
        return math.inf if self.margins else self.people

    @property
    def changes(self) -> dict[str, str]:
        """To which margins it is weighted, and of whom it is if not of all people."""
        weighted = {"weighted_to": listed(self.margins)} if self.margins else {}
        return weighted | ({"shares_of": self.whose} if self.answered else {})


def derived_table(
    joint: JointEstimate,
    own: TableEstimate,
    influence: float,
    margins: tuple[str, ...],
    answered: bool,
) -> DerivedTable:
    """A table of a joint estimate of noise and sampling; own: as it is without weights."""
    variances = np.maximum(np.diagonal(joint.noise_covariance), 0.0)
    errors = joint.standard_error
    return DerivedTable(
        questions=joint.questions,
        answers=joint.answers,
        estimate=joint.estimate,
        noise_error=np.sqrt(variances).reshape(joint.estimate.shape),
        people=own.people,
        errors=own.errors,
        influence=influence,
        whole_error=errors,
        steps=joint.report if own.errors == NOISE_ONLY else joint.person,
        margins=margins,
        answered=answered,
        error_ratio=_error_ratio(errors, own),
    )


def averaged_table(
    parts: Sequence[TableEstimate],
    weights: np.ndarray,
    drift: np.ndarray,
    own: TableEstimate,
    margins: tuple[str, ...],
) -> DerivedTable:
    """The weighted mean of tables of different people, whose errors are independent.

    drift: the covariance of the weights, which is zero where they are known. own: the table of all
    people without weights.
    """
    cells = np.stack([part.estimate for part in parts])
    pairs = list(zip(weights, parts, strict=True))
    within = sum((w * _whole_error(part)) ** 2 for w, part in pairs)
    between = np.einsum("s...,st,t...->...", cells, drift, cells)
    errors = np.sqrt(within + np.maximum(between, 0.0))
    return DerivedTable(
        questions=own.questions,
        answers=own.answers,
        estimate=np.tensordot(weights, cells, 1),
        noise_error=np.sqrt(sum((w * part.noise_error) ** 2 for w, part in pairs)),
        people=own.people,
        errors=own.errors,
        influence=float(max(w * part.influence for w, part in pairs)),
        whole_error=errors,
        steps=np.max([w * np.broadcast_to(part.step, cells[0].shape) for w, part in pairs], axis=0),
        margins=margins,
        error_ratio=_error_ratio(errors, own),
    )


def _whole_error(table: TableEstimate) -> np.ndarray:
    """Of noise and sampling."""
    return replace(table, errors=NOISE_AND_SAMPLING).standard_error


def _error_ratio(errors: np.ndarray, own: TableEstimate) -> float:
    """Of errors to those of a table as it was, in the mean square."""
    before = np.linalg.norm(_whole_error(own))
    return float(np.linalg.norm(errors) / before) if before else 1.0
