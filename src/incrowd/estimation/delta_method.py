"""Shares from a table, and products of them, with covariances by the delta method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incrowd.catalog.sentences import likely
from incrowd.errors import TableError
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.estimation.small_counts import PublishedCounts
from incrowd.estimation.tables import TableEstimate


@dataclass(frozen=True)
class TableShares:
    """A few shares from a table: their values and their covariance.

    noise: the covariance by noise alone. step: the share of one person, or of one report if the
    people are fixed. published: their counts, if exact intervals are made of these.
    """

    values: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray
    step: np.ndarray
    errors: str
    published: PublishedCounts | None = None

    def combined(self, weights: np.ndarray) -> TableShares:
        """Return weighted sums of the shares, a row of weights for each."""
        return replace(
            self,
            values=weights @ self.values,
            covariance=weights @ self.covariance @ weights.T,
            noise=weights @ self.noise @ weights.T,
            step=(np.abs(weights) * self.step).max(axis=1),
            published=None,
        )

    def with_few(self, multiplier: float = HALF_WIDTH) -> np.ndarray:
        """Return the covariance, with larger variances if few people are counted: see
        `incrowd.estimation.intervals.reach`."""
        return np.asarray(self.covariance + np.diag((multiplier * self.step) ** 2))


@dataclass(frozen=True)
class ShareTerm:
    """A polynomial of shares: a nearly unbiased estimate of it, and its gradient."""

    value: float
    gradient: np.ndarray

    def __sub__(self, other: ShareTerm) -> ShareTerm:
        return ShareTerm(self.value - other.value, self.gradient - other.gradient)


def linear(shares: TableShares, weights: np.ndarray) -> ShareTerm:
    """Return a weighted sum of shares."""
    return ShareTerm(float(weights @ shares.values), weights)


def product(shares: TableShares, left: np.ndarray, right: np.ndarray) -> ShareTerm:
    """Return the product of two weighted sums of shares.

    The mean of a product of estimates is the product of their means plus their covariance, which
    is subtracted.
    """
    first, second = float(left @ shares.values), float(right @ shares.values)
    value = first * second - float(left @ shares.covariance @ right)
    return ShareTerm(value, left * second + right * first)


def pick(table: TableEstimate, selections: Sequence[Mapping[str, str]]) -> TableShares:
    """Return the shares of people who give all answers of a selection, with any answers to the
    rest.

    selections: each names an answer for some of the questions. Raises TableError if there is no
    such answer, or if an axis without a margin has no answer.
    """
    places = [_place(table, selection) for selection in selections]
    square = np.ix_(places, places)
    return TableShares(
        values=table.estimate.ravel()[places],
        covariance=table.error.joint[square],
        noise=table.error.joint_noise[square],
        step=table.error.step.ravel()[places],
        errors=table.error.includes,
        published=table.error.exact and table.error.exact.mapped(lambda each: each.ravel()[places]),
    )


def named(selection: Mapping[str, str]) -> str:
    """Return "smokes = yes, sex = f"."""
    return ", ".join(f"{question} = {answer}" for question, answer in selection.items())


def _place(table: TableEstimate, selection: Mapping[str, str]) -> int:
    """Return the cell of a selection, in C order."""
    for question in selection:
        if question not in table.questions:
            raise TableError.of(
                "question", "estimation.not-in-table", value=question, questions=table.questions
            )
    places = []
    axes = zip(table.questions, table.answers, table.margins, strict=True)
    for question, answers, margin in axes:
        answer = selection.get(question)
        if answer is None and not margin:
            raise TableError.of("question", "estimation.no-margin", value=question)
        if answer is not None and answer not in answers:
            raise TableError.of(
                question,
                "estimation.no-such-answer",
                value=answer,
                hint=likely(answer, answers),
                question=question,
                answers=answers,
            )
        places.append(len(answers) if answer is None else answers.index(answer))
    return int(np.ravel_multi_index(places, table.estimate.shape))
