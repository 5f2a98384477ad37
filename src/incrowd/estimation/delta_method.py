"""Figures worked out of a table, with the error of their linear part, or the reason for none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from incrowd.errors import TableError
from incrowd.estimation.covariance import JointEstimate

ENOUGH = 5.0  # standard errors from zero; closer, the delta method is not to be trusted


@dataclass(frozen=True)
class Comparison:
    """One figure worked out of a table: estimate, standard error, interval.

    scale: "log" if the standard error is that of the estimate's logarithm and the interval is
    symmetric there, else "linear". If `estimable` is false, `reason` says why and the figures are
    nan. errors: whether the people count as a sample or as fixed.
    """

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float
    scale: Literal["linear", "log"]
    level: float
    errors: str
    estimable: bool = True
    reason: str = ""


@dataclass(frozen=True)
class Shares:
    """A few shares out of a table: what each is called, their values, their covariance."""

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    errors: str

    def too_small(self, *places: int) -> str:
        """Why nothing should be divided by the shares in these places; empty if it may."""
        for place in places:
            value, error = self.values[place], math.sqrt(max(self.covariance[place, place], 0.0))
            if not (value > 0 and value >= ENOUGH * error):
                return (
                    f"the share of {self.names[place]} is {value:.4g} with a standard error of "
                    f"{error:.2g}, under {ENOUGH:g} standard errors from zero; collect more reports"
                )
        return ""


def pick(joint: JointEstimate, selections: Sequence[Mapping[str, str]]) -> Shares:
    """The shares of people who give all answers of a selection, whatever they say to the rest.

    selections: each names an answer for some of the questions. Raises TableError if there is no
    such answer, or if a question is left free whose axis has no margin.
    """
    places = [_place(joint, selection) for selection in selections]
    covariance = joint.covariance[np.ix_(places, places)]
    names = tuple(map(named, selections))
    return Shares(names, joint.estimate.ravel()[places], covariance, joint.errors)


def named(selection: Mapping[str, str]) -> str:
    """ "smokes = yes, sex = f"."""
    return ", ".join(f"{question} = {answer}" for question, answer in selection.items())


def figure(
    name: str, value: float, gradient: np.ndarray, shares: Shares, level: float
) -> Comparison:
    """A figure and its error: the root of gradient^T covariance gradient."""
    error = _error(gradient, shares)
    reach = float(ndtri((1 + level) / 2)) * error
    value = float(value)
    return Comparison(
        name, value, error, value - reach, value + reach, "linear", level, shares.errors
    )


def log_figure(
    name: str, logarithm: float, gradient: np.ndarray, shares: Shares, level: float
) -> Comparison:
    """A figure whose logarithm, with that gradient, is nearly normal."""
    error = _error(gradient, shares)
    reach = float(ndtri((1 + level) / 2)) * error
    low, value, high = (math.exp(logarithm + step) for step in (-reach, 0.0, reach))
    return Comparison(name, value, error, low, high, "log", level, shares.errors)


def not_estimable(name: str, reason: str, shares: Shares, level: float) -> Comparison:
    """No figure, and why."""
    nan = math.nan
    return Comparison(name, nan, nan, nan, nan, "linear", level, shares.errors, False, reason)


def _error(gradient: np.ndarray, shares: Shares) -> float:
    return math.sqrt(max(float(gradient @ shares.covariance @ gradient), 0.0))


def _place(joint: JointEstimate, selection: Mapping[str, str]) -> int:
    """The cell of a selection, in C order."""
    for question in selection:
        if question not in joint.questions:
            known = ", ".join(joint.questions)
            raise TableError.of("question", question, f"is not in this table; use some of {known}")
    places = [_entry(joint, axis, selection) for axis in range(len(joint.questions))]
    return int(np.ravel_multi_index(places, joint.estimate.shape))


def _entry(joint: JointEstimate, axis: int, selection: Mapping[str, str]) -> int:
    question, answers = joint.questions[axis], joint.answers[axis]
    answer = selection.get(question)
    if answer is None and not joint.margins[axis]:
        allowed = "has no margin in this table; make its decoder with margin=True"
        raise TableError.of("question", question, allowed)
    if answer is not None and answer not in answers:
        raise TableError.of(question, answer, f"is no answer; use one of {', '.join(answers)}")
    return len(answers) if answer is None else answers.index(answer)
