"""Shares of those who answered: "no answer" left out, with the error of how many that are.

Proof: docs/weighting.md#of-those-who-answered.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce

import numpy as np

from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.weighting.margins import check_clear, linear
from incrowd.survey import NO_ANSWER


def of_those_who_answered(joint: JointEstimate) -> tuple[JointEstimate, np.ndarray]:
    """The table t = p / a, and its Jacobian in the cells of `joint`.

    p: the cells without "no answer"; a: the share of those who answered all questions;
    dt = (dp - t da) / a. joint: with margins. "Any answer" less "no answer" is who answered, which
    has less noise than a sum of answers, and is right where answers overlap. A table in which
    everybody answers stays as it is. Raises TableError if a is not clear of the noise.
    """
    if not any(NO_ANSWER in answers for answers in joint.answers):
        return joint, np.eye(joint.estimate.size)
    rows = [np.eye(1 + len(answers)) for answers in joint.answers]
    ends = [_answered(answers) for answers in joint.answers]
    kept = [
        np.vstack([each[[a != NO_ANSWER for a in answers] + [False]], end])
        for each, answers, end in zip(rows, joint.answers, ends, strict=True)
    ]
    cells, whole = reduce(np.kron, kept), reduce(np.kron, ends)[0]
    name = f"those who answered {', '.join(joint.questions)}"
    found, jacobian = shares_among(joint, cells, whole, ("table", name))
    said = tuple(tuple(a for a in answers if a != NO_ANSWER) for answers in joint.answers)
    shape = tuple(1 + len(answers) for answers in said)
    return replace(linear(joint, found.reshape(shape), jacobian), answers=said), jacobian


def shares_among(
    joint: JointEstimate, cells: np.ndarray, whole: np.ndarray, named: tuple[str, str]
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of cells as shares of another sum, and their Jacobian: dt = (dp - t da) / a.

    cells, whole: which cells are summed, a row for each sum. named: the field and the name of the
    people who are the whole, for the TableError where their share is not clear of the noise.
    """
    values = joint.estimate.ravel()
    share = float(whole @ values)
    error = math.sqrt(max(float(whole @ joint.covariance @ whole), 0.0))
    check_clear(*named, share, error)
    found = cells @ values / share
    return found, (cells - np.outer(found, whole)) / share


def within(joint: JointEstimate, place: int, named: str) -> tuple[JointEstimate, np.ndarray]:
    """The table of those alone who gave one answer to the first question, and its Jacobian.

    joint: with margins. Raises TableError if their share is not clear of the noise.
    """
    places = np.arange(joint.estimate.size).reshape(joint.estimate.shape)[place]
    cells = np.eye(joint.estimate.size)[places.ravel()]
    found, jacobian = shares_among(joint, cells, cells[-1], ("table", named))
    rest = linear(joint, found.reshape(places.shape), jacobian)
    return replace(
        rest,
        questions=joint.questions[1:],
        answers=joint.answers[1:],
        exclusive=joint.exclusive[1:],
        margins=joint.margins[1:],
    ), jacobian


def _answered(answers: tuple[str, ...]) -> np.ndarray:
    """Who gave any answer to a question less who said "no answer", a row."""
    return np.array([[*(-1.0 if answer == NO_ANSWER else 0.0 for answer in answers), 1.0]])


def without_margins(joint: JointEstimate) -> JointEstimate:
    """The cells alone, without "any answer"."""
    places = np.arange(joint.estimate.size).reshape(joint.estimate.shape)
    kept = places[tuple(slice(len(answers)) for answers in joint.answers)]
    chosen = np.ix_(kept.ravel(), kept.ravel())
    return replace(
        joint,
        margins=tuple(False for _ in joint.margins),
        estimate=joint.estimate.ravel()[kept],
        covariance=joint.covariance[chosen],
        noise_covariance=joint.noise_covariance[chosen],
        person=joint.person.ravel()[kept],
        report=joint.report.ravel()[kept],
    )
