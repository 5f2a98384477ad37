"""Shares of those who answered: "no answer" left out, with the error of how many that are.

Proof: docs/weighting.md#of-those-who-answered.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce

import numpy as np

from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.margins import check_clear, linear
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
    values = joint.estimate.ravel()
    share = float(whole @ values)
    error = math.sqrt(max(float(whole @ joint.covariance @ whole), 0.0))
    check_clear("table", f"those who answered {', '.join(joint.questions)}", share, error)
    found = cells @ values / share
    jacobian = (cells - np.outer(found, whole)) / share
    said = tuple(tuple(a for a in answers if a != NO_ANSWER) for answers in joint.answers)
    shape = tuple(1 + len(answers) for answers in said)
    return replace(linear(joint, found.reshape(shape), jacobian), answers=said), jacobian


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
    )
