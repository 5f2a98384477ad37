"""Interviews by a textbook: matrices of devices, and people who may not follow their rules."""

import csv
from pathlib import Path

import numpy as np
import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"  # beside the repository
WORDS = {"TRUE": 1.0, "FALSE": 0.0, "NA": np.nan, "": np.nan}


def warner(p):
    """P[report, answer]: the question with probability p, otherwise its opposite."""
    return np.array([[p, 1 - p], [1 - p, p]])


def mangat(p):
    """P[report, answer]: carriers say yes; all others use Warner's device."""
    return np.array([[p, 0], [1 - p, 1]])


def forced(yes, no):
    """P[report, answer] for forced yes, forced no, and otherwise the truth."""
    return np.array([[1 - yes, no], [yes, 1 - no]])


def reports(rng, answers, matrices):
    """Randomize answers. matrices: P[report, answer] of each person, shape (n, 2, 2)."""
    return (rng.random(len(answers)) < matrices[np.arange(len(answers)), 1, answers]).astype(int)


def shared_columns(name):
    """The columns of a file that is not in the repository, as numbers; nan where one is missing."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    with path.open() as file:
        rows = list(csv.DictReader(file))

    def number(text):
        return WORDS[text] if text in WORDS else float(text)

    return {key: np.array([number(row[key]) for row in rows]) for key in rows[0]}
