"""Randomized items as arrays, with the formulas of their papers, and answers that are drawn.

Each design states P("yes" report | true "yes") and P("yes" report | true "no") by hand.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem

SHARED = Path(__file__).parents[3] / "shared" / "data"


@dataclass(frozen=True)
class YesNoDesign:
    """A design with one group: yes_if_yes, yes_if_no: the probability of the report "yes"."""

    name: str
    yes_if_yes: float
    yes_if_no: float

    @property
    def matrices(self):
        return matrices_of((self.yes_if_yes, self.yes_if_no))


def matrices_of(*groups):
    """Return the matrices of groups, each with P("yes" | "yes") and P("yes" | "no")."""
    return ItemMatrices(np.array([[[1 - b, 1 - a], [b, a]] for a, b in groups], float))


ONE_GROUP = (
    YesNoDesign("direct", 1, 0),
    YesNoDesign("Warner", 0.75, 0.25),
    YesNoDesign("forced", 5 / 6, 1 / 6),
    YesNoDesign("forced, unequal", 0.7 + 0.1, 0.1),
    YesNoDesign("unrelated, known", 0.7 + 0.3 * 0.25, 0.3 * 0.25),
    YesNoDesign("crosswise", 0.2, 0.8),
    YesNoDesign("triangular", 1, 0.25),
    YesNoDesign("Kuk", 0.8, 0.3),
    YesNoDesign("Mangat", 1, 0.3),
)
# the unrelated question has the unknown prevalence theta; it is asked with probability 1 - p
UNRELATED = ItemMatrices(
    np.array([[[1.0, 1 - p], [0.0, p]] for p in (0.7, 0.3)]),
    np.array([[[[p - 1, p - 1], [1 - p, 1 - p]] for p in (0.7, 0.3)]]),
    ("prevalence",),
)
# carriers say "yes" with the unknown probability t; others with probability 1 - p
LIE_DETECTOR = ItemMatrices(
    np.array([[[p, 1.0], [1 - p, 0.0]] for p in (2 / 12, 10 / 12)]),
    np.array([[[[0.0, -1.0], [0.0, 1.0]]] * 2]),
    ("honesty",),
)
# two draws from packs with different shares of red cards; the report is the number of red cards
KUK_TWICE = ItemMatrices(
    np.array([[[0.7**2, 0.2**2], [2 * 0.7 * 0.3, 2 * 0.8 * 0.2], [0.3**2, 0.8**2]]])
)
# three answers, forced with the probabilities 0.1, 0.15, and 0.25
THREE = ItemMatrices(np.array([[[0.6, 0.1, 0.1], [0.15, 0.65, 0.15], [0.25, 0.25, 0.75]]]))


def drawn(matrices, true, rng, *, theta=(), group=None):
    """Return a randomized item for true answers; groups are drawn with even chances."""
    if group is None:
        group = rng.integers(matrices.groups, size=len(true))
    each = matrices.at(np.array(theta, float))[group, :, true]
    reported = (rng.random((len(true), 1)) > np.cumsum(each, axis=1)[:, :-1]).sum(axis=1)
    return ReportedItem(reported, group, matrices)


def of_yes(matrices, reports):
    """Return an item with one group from reports; nan where there is none."""
    reported = np.where(np.isnan(reports), MISSING, reports).astype(int)
    return ReportedItem(reported, np.zeros(len(reports), int), matrices)


def shared_columns(name):
    """Return the columns of a file of data as numbers, nan if missing; skip the test without it."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    words = {"TRUE": 1.0, "FALSE": 0.0, "": np.nan, "NA": np.nan}
    return {
        key: np.array([words[row[key]] if row[key] in words else float(row[key]) for row in rows])
        for key in rows[0]
    }


def infinitesimal_jackknife(estimate, keys):
    """Return the covariance of an estimate, by numerical derivatives by the weight of each person.

    estimate: a function of weights, shape (n,). keys: shape (n, ...); people with equal keys have
    the same influence.
    """
    _, first, number = np.unique(keys, axis=0, return_index=True, return_counts=True)
    total = 0.0
    for person, people in zip(first, number, strict=True):
        step = np.zeros(len(keys))
        step[person] = 1e-3
        slope = (estimate(1 + step) - estimate(1 - step)) / 2e-3
        total = total + people * np.outer(slope, slope)
    return total
