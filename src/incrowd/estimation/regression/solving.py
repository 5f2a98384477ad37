"""The root of the score of all strata together, its covariance, and whether there is enough of it.

Newton steps, each cut until the log-likelihood rises. Cells below zero can bend it the wrong way,
so that directions count with the size of their curvature; at the end all of it has to be bent the
right way, and by far more than noise does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.estimation.regression.evidence import Evidence, Table

MOST_STEPS = 100
MOST_CUTS = 40
CLOSE = 1e-10  # of a step, in log odds
LARGEST = 25.0  # log odds of a cell: odds of e^25 are nobody's
BEYOND_NOISE = 2.0  # standard errors above zero, for what is divided by or whose logarithm is taken


@dataclass(frozen=True)
class Strata:
    """Strata of people, each a collection of its own. sampled: whether the people are a sample."""

    parts: Sequence[Evidence]
    sampled: bool = True

    @property
    def people(self) -> float:
        """Of all strata."""
        return float(sum(part.people for part in self.parts))

    def weighted(self) -> list[tuple[float, Evidence]]:
        """The share of the people who are in each stratum."""
        return [(part.people / self.people, part) for part in self.parts]

    def reach(self, beta: np.ndarray) -> float:
        """How far from zero coefficients, or a step of them, bring the log odds of a cell."""
        tables = (part for part in self.parts if isinstance(part, Table))
        return max(float(np.abs(beta @ part.design.x).max()) for part in tables)

    def score(self, beta: np.ndarray) -> np.ndarray:
        """The mean over all people."""
        return np.asarray(sum(w * part.score(beta) for w, part in self.weighted()))

    def information(self, beta: np.ndarray) -> np.ndarray:
        """The mean over all people."""
        return np.asarray(sum(w * part.information(beta) for w, part in self.weighted()))

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Of the score. If people are a sample, so is how many of them are in each stratum."""
        within = np.asarray(sum(w**2 * part.covariance(beta) for w, part in self.weighted()))
        if not self.sampled:
            return within
        means = [(w, part.score(beta)) for w, part in self.weighted()]
        between = sum(w * np.outer(mean, mean) for w, mean in means)
        return np.asarray(within + between / self.people)

    def information_errors(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """The standard errors of the information in some directions."""
        pairs = self.weighted()
        variances = sum(w**2 * part.information_variances(beta, along) for w, part in pairs)
        return np.asarray(np.sqrt(np.maximum(variances, 0)))


def linear_root(strata: Strata, size: int) -> np.ndarray:
    """Least squares: the score is linear. Meaningless if the information is singular."""
    start = np.zeros(size)
    found = np.linalg.lstsq(strata.information(start), strata.score(start), rcond=None)
    return np.asarray(found[0])


def logistic_root(strata: Strata, size: int) -> np.ndarray | None:
    """The coefficients at which the score is zero; None if they run away."""
    beta = np.zeros(size)
    for _ in range(MOST_STEPS):
        step = _uphill(strata.information(beta), strata.score(beta))
        if strata.reach(step) < CLOSE:
            return beta
        shorter = _cut(strata, beta, step)
        if shorter is None or strata.reach(beta := beta + shorter) > LARGEST:
            return None
    return None


def _uphill(information: np.ndarray, score: np.ndarray) -> np.ndarray:
    """A Newton step; where the curvature has the wrong sign, against it."""
    curvatures, directions = np.linalg.eigh(information)
    sizes = np.maximum(np.abs(curvatures), 1e-12 * np.abs(curvatures).max() + 1e-300)
    return np.asarray(directions @ (directions.T @ score / sizes))


def _cut(strata: Strata, beta: np.ndarray, step: np.ndarray) -> np.ndarray | None:
    """The step, halved until it gains; rounding may hide the gain of a last small step."""
    start = gain(strata, beta)
    step = step / max(1.0, strata.reach(step) / 5)
    for _ in range(MOST_CUTS):
        if gain(strata, beta + step) >= start - 1e-14 * abs(start):
            return step
        step = step / 2
    return None


def gain(strata: Strata, beta: np.ndarray) -> float:
    """The mean log-likelihood of tables."""
    pairs = strata.weighted()
    return float(sum(w * part.gain(beta) for w, part in pairs if isinstance(part, Table)))


def sandwich(strata: Strata, beta: np.ndarray) -> np.ndarray:
    """A^-1 Cov(score) A^-T, the covariance of the coefficients."""
    inverse = np.linalg.inv(strata.information(beta))
    return np.asarray(inverse @ strata.covariance(beta) @ inverse.T)


@dataclass(frozen=True)
class Weakest:
    """The direction in which least is known: the coefficient that has most part in it, the
    information there and its standard error."""

    coefficient: int
    information: float
    error: float

    @property
    def enough(self) -> bool:
        """Whether it is above zero beyond noise."""
        return self.information > BEYOND_NOISE * self.error and self.information > 1e-12


def weakest(strata: Strata, beta: np.ndarray) -> Weakest:
    """Each coefficient by itself, and the principal directions of all of them on one scale."""
    information = strata.information(beta)
    found = _weakest_of(strata, beta, information, np.eye(len(information)))
    if not found.enough:
        return found
    scale = 1 / np.sqrt(np.diagonal(information))
    _, directions = np.linalg.eigh(scale[:, None] * information * scale)
    return _weakest_of(strata, beta, information, directions.T * scale)


def _weakest_of(
    strata: Strata, beta: np.ndarray, information: np.ndarray, along: np.ndarray
) -> Weakest:
    values = ((along @ information) * along).sum(axis=1)
    errors = strata.information_errors(beta, along)
    place = int(np.argmin(values / np.maximum(errors, 1e-300)))
    parts = np.abs(along[place]) * np.sqrt(np.abs(np.diagonal(information)))
    return Weakest(int(np.argmax(parts)), float(values[place]), float(errors[place]))
