"""Randomized items as arrays: what was reported, and the probabilities of each report.

Every estimator of this room reads these arrays. An item has one column-stochastic matrix
P[reported, true] for each group of interviews. Designs with an unknown probability, such as the
prevalence of an unrelated question or the honesty of carriers, have matrices that are affine in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

MISSING = -1  # in `reported`


@dataclass(frozen=True, eq=False)
class ItemMatrices:
    """The probabilities of each report, given the true answer, in each group of interviews.

    base: shape (groups, reported, true). unknown: shape (unknowns, groups, reported, true), with
    columns that sum to 0: `at(theta)` is base + sum of theta[k] unknown[k], a stochastic matrix
    for every theta in [0, 1]. names: of the unknown probabilities. There may be more reports than
    true answers.
    """

    base: np.ndarray
    unknown: np.ndarray = field(default_factory=lambda: np.zeros((0, 1, 1, 1)))
    names: tuple[str, ...] = ()

    @property
    def groups(self) -> int:
        """The number of groups."""
        return int(self.base.shape[0])

    @property
    def reports(self) -> int:
        """The number of different reports."""
        return int(self.base.shape[1])

    @property
    def answers(self) -> int:
        """The number of true answers."""
        return int(self.base.shape[2])

    def at(self, theta: np.ndarray) -> np.ndarray:
        """Return the matrices, shape (groups, reported, true), for the unknown probabilities."""
        if not len(self.names):
            return self.base
        return np.asarray(self.base + np.tensordot(theta, self.unknown, 1))


@dataclass(frozen=True, eq=False)
class ReportedItem:
    """The reports of one item: one entry per interview.

    reported: shape (n,), from 0; `MISSING` where there is none. group: shape (n,), from 0.
    """

    reported: np.ndarray
    group: np.ndarray
    matrices: ItemMatrices
