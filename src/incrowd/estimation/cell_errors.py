"""The errors of the cells of a table: standard errors, intervals, and their covariance.

A covariance has a row and a column for each cell, and is computed only on request.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy

from incrowd.catalog.sentences import translatable
from incrowd.estimation.intervals import LEVEL, Ends, reach, sampling_variance, score_ends
from incrowd.estimation.small_counts import PublishedCounts

NOISE_AND_SAMPLING = translatable("estimation.noise-and-sampling")
NOISE_ONLY = translatable("estimation.noise-alone")
ROUNDOFF = 1e-12  # of the largest variance


class TestedShares(Protocol):
    """Shares whose intervals hold what a test of their own does not reject."""

    def ends(self, level: float) -> Ends:
        """Return the ends of the interval of each share."""


@dataclass(frozen=True)
class CellErrors:
    """The errors of the cells of a table, and how they come about.

    noise: the standard errors of the noise alone, with the people fixed. whole: those of noise and
    sampling together. Both have the shape of the table. noise_only: whether `standard`, the
    intervals and `covariance` are of the noise alone. level: the level of the intervals. person,
    report: the share of each cell that one person and one report move; a number if it is the same
    for all. constant: whether the noise does not depend on the answers, as in cells; intervals are
    then those of `score_ends`. p_values: of "nobody gave this answer", for a table from cells.
    published: the counts of the cells, if services added noise with a known law; intervals of few
    people are then exact. within: the tests of shares of some people whose number is estimated too,
    from which their intervals are made.

    covariance: None, or shape (cells, cells), cells in C order; noise_covariance: the same for the
    noise alone. overlaps: whether it is known how many people gave two answers to a question at
    once; if not, the covariance assumes that such answers are independent, and only variances are
    estimated.
    """

    noise: np.ndarray
    whole: np.ndarray
    person: np.ndarray | float
    report: np.ndarray | float = 0.0
    noise_only: bool = False
    level: float = LEVEL
    constant: bool = False
    p_values: np.ndarray | None = None
    published: PublishedCounts | None = None
    within: TestedShares | None = None
    covariance: np.ndarray | None = None
    noise_covariance: np.ndarray | None = None
    overlaps: bool = True

    @classmethod
    def of_noise(
        cls, noise: np.ndarray, estimate: np.ndarray, people: float, **how: Any
    ) -> CellErrors:
        """Return the errors of estimates to whose noise the sampling of some people adds
        pi (1 - pi) / N. how: the other fields."""
        return cls(noise, _sampled(noise, estimate, people), 1 / people, **how)

    def with_noise(self, noise: np.ndarray, estimate: np.ndarray, people: float) -> CellErrors:
        """Return the same as `of_noise`, with the other fields of these errors."""
        whole = _sampled(noise, estimate, people)
        return replace(self, noise=noise, whole=whole, person=1 / people)

    @property
    def standard(self) -> np.ndarray:
        """The standard errors: of noise and sampling, or of the noise alone."""
        return self.noise if self.noise_only else self.whole

    @property
    def includes(self) -> str:
        """The sources of the standard errors, in words."""
        return NOISE_ONLY if self.noise_only else NOISE_AND_SAMPLING

    @property
    def step(self) -> np.ndarray:
        """The smallest step of the share of each cell: that of one person, or of one report if the
        people are fixed."""
        return np.broadcast_to(self.report if self.noise_only else self.person, self.noise.shape)

    @property
    def exact(self) -> PublishedCounts | None:
        """The counts that exact intervals are made of; None if those of the normal distribution are
        used."""
        return self.published if self.published and self.published.few else None

    def intervals(self, estimate: np.ndarray, people: float) -> Ends:
        """Return the ends of the interval of each cell. people: those drawn at random."""
        if self.within:
            return self.within.ends(self.level)
        if exact := self.exact:
            return exact.intervals(self.level, census=self.noise_only)
        multiplier = float(scipy.special.ndtri((1 + self.level) / 2))
        if self.constant:
            return self.score_intervals(multiplier, estimate, people)
        half = reach(multiplier, self.standard, self.step)
        return np.asarray(estimate - half), np.asarray(estimate + half)

    def score_intervals(self, multiplier: float, estimate: np.ndarray, people: float) -> Ends:
        """Return `score_ends` of each cell, for constant noise."""
        drawn = None if self.noise_only else people
        return score_ends(multiplier, estimate, self.noise**2, self.report, drawn)

    # --- with a covariance -------------------------------------------------------------------

    @property
    def joint(self) -> np.ndarray:
        """The covariance of all cells, for a table that has it."""
        assert self.covariance is not None
        return self.covariance

    @property
    def joint_noise(self) -> np.ndarray:
        """The covariance for the noise alone."""
        assert self.noise_covariance is not None
        return self.noise_covariance

    def with_covariance(
        self,
        estimate: np.ndarray,
        people: float,
        noise: np.ndarray,
        drawn: np.ndarray,
        least: np.ndarray | None,
    ) -> CellErrors:
        """Return the errors that follow from the covariance of the cells.

        noise: the covariance by noise; drawn: what the sampling of people adds to it. least: lower
        bounds on the variances by noise; both matrices are then also made positive semidefinite.
        None leaves them unchanged.
        """
        covariance = noise if self.noise_only else noise + drawn
        if least is not None:
            sampling = 0.0 if self.noise_only else sampling_variance(estimate.ravel(), people)
            covariance = at_least(covariance, least + sampling)
            noise = at_least(noise, least)
        return self.of_covariance(estimate, people, covariance, noise)

    def of_covariance(
        self, estimate: np.ndarray, people: float, covariance: np.ndarray, noise: np.ndarray
    ) -> CellErrors:
        """Return the errors with a given covariance, and that of the noise alone."""
        alone, whole = (errors_of(each, estimate.shape) for each in (noise, covariance))
        if self.noise_only:
            whole = _sampled(alone, estimate, people)
        return replace(
            self, noise=alone, whole=whole, covariance=covariance, noise_covariance=noise
        )

    def noise_alone(self) -> CellErrors:
        """Return the errors of the noise alone."""
        return replace(self, covariance=self.noise_covariance, noise_only=True)

    def of_cells(self, places: np.ndarray) -> CellErrors:
        """Return the errors of some cells. places: in C order, in the shape of the new table."""
        square = np.ix_(places.ravel(), places.ravel())
        noise, whole, person, report = (
            each.ravel()[places] if isinstance(each, np.ndarray) else each
            for each in (self.noise, self.whole, self.person, self.report)
        )
        return replace(
            self,
            noise=np.asarray(noise),
            whole=np.asarray(whole),
            person=person,
            report=report,
            published=self.published and self.published.mapped(lambda each: each.ravel()[places]),
            covariance=self.joint[square],
            noise_covariance=self.joint_noise[square],
        )

    def linear(self, jacobian: np.ndarray, shape: tuple[int, ...]) -> CellErrors:
        """Return the errors of functions of the cells, by the delta method.

        jacobian: shape (new cells, old cells). shape: the shape of the new table.
        """
        weights = np.abs(jacobian)

        def largest(each: np.ndarray | float) -> np.ndarray:
            old = np.broadcast_to(each, self.noise.shape).ravel()
            return np.asarray((weights * old).max(axis=1).reshape(shape))

        covariance = jacobian @ self.joint @ jacobian.T
        noise = jacobian @ self.joint_noise @ jacobian.T
        return replace(
            self,
            noise=errors_of(noise, shape),
            whole=errors_of(covariance, shape),
            covariance=covariance,
            noise_covariance=noise,
            person=largest(self.person),
            report=largest(self.report),
            p_values=None,
            published=None,
            within=None,
            constant=False,
        )


def _sampled(noise: np.ndarray, estimate: np.ndarray, people: float) -> np.ndarray:
    """Return the standard errors sqrt(noise^2 + pi (1 - pi) / N). A raw estimate below zero or
    above one has no sampling error."""
    return np.asarray(np.sqrt(noise**2 + sampling_variance(estimate, people)))


def errors_of(covariance: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return square roots of the variances of all cells of a table of that shape."""
    return np.asarray(np.sqrt(np.maximum(np.diagonal(covariance), 0.0)).reshape(shape))


def at_least(covariance: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix, with its variances raised to given lower
    bounds."""
    allowance = ROUNDOFF * float(np.abs(np.diagonal(covariance)).max(initial=0.0))
    try:  # a factor takes a tenth of the time of all eigenvalues
        np.linalg.cholesky(covariance + allowance * np.eye(len(covariance)))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        covariance = np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
    return covariance + np.diag(np.maximum(variances - np.diagonal(covariance), 0.0))
