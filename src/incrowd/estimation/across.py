"""Tables across strata: what people say openly is one axis, known without noise.

The share of all people who are in stratum s and in a cell is w_s pi_s, w_s the stratum's share of
the people. Strata are disjoint people with independent noise, so that noise covariances add up
with w_s^2; sampling is that of all people together. Proof: docs/mathematics.md#open-strata.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.estimation.covariance import JointEstimate, at_least
from incrowd.estimation.tables import (
    NOISE_AND_SAMPLING,
    NOISE_ONLY,
    TableEstimate,
    sampling_variance,
)


class OpenAxis(NamedTuple):
    """What is said openly: the question, its answers, and the place of the axis in a table.

    people: how many gave each answer.
    """

    question: str
    answers: tuple[str, ...]
    place: int
    people: tuple[int, ...]

    @property
    def shares(self) -> np.ndarray:
        """Each answer's share of the people."""
        return np.array(self.people) / sum(self.people)

    def among(self, others: Sequence[object], own: object) -> tuple:  # type: ignore[type-arg]
        """What a table has for each question, with that of this one in its place."""
        return (*others[: self.place], own, *others[self.place :])


def everybody(people: int, noise_only: bool, rows: int = 1) -> TableEstimate:
    """The table of no question: all people are in its one cell.

    rows: of one person at most, who may have put all of them into a stratum that is not hers.
    """
    errors = NOISE_ONLY if noise_only else NOISE_AND_SAMPLING
    one = np.array(1.0)
    return TableEstimate((), (), one, 0 * one, people, errors, influence=rows / people)


def across(tables: Sequence[TableEstimate], axis: OpenAxis) -> TableEstimate:
    """One table of an open axis and of others, from the table of the others for each answer."""
    first, shares = tables[0], axis.shares
    scaled = list(zip(shares, tables, strict=True))
    return replace(
        first,
        questions=axis.among(first.questions, axis.question),
        answers=axis.among(first.answers, axis.answers),
        estimate=np.stack([w * table.estimate for w, table in scaled], axis.place),
        noise_error=np.stack([w * table.noise_error for w, table in scaled], axis.place),
        people=sum(axis.people),
        influence=max(w * table.influence for w, table in scaled),
        report=np.stack(
            [np.broadcast_to(w * table.report, table.estimate.shape) for w, table in scaled],
            axis.place,
        ),
        p_values=None,
    )


def everybody_joint(people: int, noise_only: bool) -> JointEstimate:
    """`everybody` with its covariance, which is zero."""
    errors = NOISE_ONLY if noise_only else NOISE_AND_SAMPLING
    zero, one, person = np.zeros((1, 1)), np.array(1.0), np.array(1 / people)
    return JointEstimate((), (), (), (), one, zero, zero, people, person, 0 * person, errors)


def across_joint(parts: Sequence[JointEstimate], axis: OpenAxis, margin: bool) -> JointEstimate:
    """`across` with the covariance of all cells. margin: add "any answer" to the open axis.

    Of the sampling, people who are in both of two cells are w_s B_s in one stratum and nobody in
    two, B_s as in `estimate_joint`; so it is (diag of the w_s B_s - pi pi^T) / N.
    """
    first, shares, people = parts[0], axis.shares, sum(axis.people)
    cells = np.concatenate(
        [w * part.estimate.ravel() for w, part in zip(shares, parts, strict=True)]
    )
    noise = scipy.linalg.block_diag(
        *(w**2 * part.noise_covariance for w, part in zip(shares, parts, strict=True))
    )
    covariance = noise
    if first.errors != NOISE_ONLY:
        both = scipy.linalg.block_diag(
            *(w * part.both for w, part in zip(shares, parts, strict=True))
        )
        least = np.diagonal(noise) + sampling_variance(cells, people)
        covariance = at_least(noise + (both - np.outer(cells, cells)) / people, least)
    size = first.estimate.size
    rows = np.vstack([np.eye(len(parts)), np.ones((int(margin), len(parts)))])
    linear = np.kron(rows, np.eye(size))
    shape = (len(rows), *first.estimate.shape)
    order = np.moveaxis(np.arange(len(linear)).reshape(shape), 0, axis.place)
    linear = linear[order.ravel()]
    return JointEstimate(
        questions=axis.among(first.questions, axis.question),
        answers=axis.among(first.answers, axis.answers),
        exclusive=axis.among(first.exclusive, True),
        margins=axis.among(first.margins, margin),
        estimate=(linear @ cells).reshape(order.shape),
        covariance=linear @ covariance @ linear.T,
        noise_covariance=linear @ noise @ linear.T,
        people=people,
        person=np.full(order.shape, 1 / people),
        report=np.max([w * part.report.max() for w, part in zip(shares, parts, strict=True)])
        * np.ones(order.shape),
        errors=first.errors,
        constant_noise=first.constant_noise,
        overlaps=all(part.overlaps for part in parts),
    )
