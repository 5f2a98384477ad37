"""Shares of those who answered: "no answer" left out, with the error of how many that are.

Proof: docs/weighting.md#of-those-who-answered.
"""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.weighting.margins import check_clear
from incrowd.survey import NO_ANSWER


def of_those_who_answered(table: TableEstimate) -> tuple[TableEstimate, np.ndarray]:
    """The table t = p / a, and its Jacobian in the cells of `table`.

    p: the cells without "no answer"; a: the share of those who answered all questions;
    dt = (dp - t da) / a. table: with margins. "Any answer" less "no answer" is who answered, which
    has less noise than a sum of answers, and is right where answers overlap. A table in which
    everybody answers stays as it is. Raises TableError if a is not clear of the noise.
    """
    if not any(NO_ANSWER in answers for answers in table.answers):
        return table, np.eye(table.estimate.size)
    rows = [np.eye(1 + len(answers)) for answers in table.answers]
    ends = [_answered(answers) for answers in table.answers]
    kept = [
        np.vstack([each[[a != NO_ANSWER for a in answers] + [False]], end])
        for each, answers, end in zip(rows, table.answers, ends, strict=True)
    ]
    cells, whole = reduce(np.kron, kept), reduce(np.kron, ends)[0]
    name = f"those who answered {', '.join(table.questions)}"
    found, jacobian = shares_among(table, cells, whole, ("table", name))
    said = tuple(tuple(a for a in answers if a != NO_ANSWER) for answers in table.answers)
    shape = tuple(1 + len(answers) for answers in said)
    return table.linear(found.reshape(shape), jacobian, answers=said), jacobian


def shares_among(
    table: TableEstimate, cells: np.ndarray, whole: np.ndarray, named: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of cells as shares of another sum, and their Jacobian: dt = (dp - t da) / a.

    cells, whole: which cells are summed, a row for each sum. named: the field and the name of the
    people who are the whole, for the TableError where their share is not clear of the noise.
    """
    values = table.estimate.ravel()
    share = float(whole @ values)
    error = math.sqrt(max(float(whole @ table.joint_covariance @ whole), 0.0))
    check_clear(*named, share, error)
    found = cells @ values / share
    return found, (cells - np.outer(found, whole)) / share


def within(table: TableEstimate, place: int, named: str) -> tuple[TableEstimate, np.ndarray]:
    """The table of those alone who gave one answer to the first question, and its Jacobian.

    table: with margins. Raises TableError if their share is not clear of the noise.
    """
    places = np.arange(table.estimate.size).reshape(table.estimate.shape)[place]
    cells = np.eye(table.estimate.size)[places.ravel()]
    found, jacobian = shares_among(table, cells, cells[-1], ("table", named))
    axes = {
        name: getattr(table, name)[1:] for name in ("questions", "answers", "exclusive", "margins")
    }
    return table.linear(found.reshape(places.shape), jacobian, **axes), jacobian


def _answered(answers: tuple[str, ...]) -> np.ndarray:
    """Who gave any answer to a question less who said "no answer", a row."""
    return np.array([[*(-1.0 if answer == NO_ANSWER else 0.0 for answer in answers), 1.0]])
