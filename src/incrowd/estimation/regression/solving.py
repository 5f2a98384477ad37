"""The root of the score of all strata, its covariance, and whether there is enough information.

Newton steps, each halved until the log-likelihood rises. Cells below zero can give the curvature
the wrong sign, so directions are scaled by its absolute value. At the root, the curvature must have
the right sign in every direction, by far more than its noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.estimation.regression.evidence import JointTable, StratumEvidence

MOST_STEPS = 100
MOST_CUTS = 40
CLOSE = 1e-10  # of a step, in log odds
LARGEST = 25.0  # log odds of a cell: no group has odds of e^25
BEYOND_NOISE = 2.0  # standard errors above zero, for what is divided by or whose logarithm is taken


@dataclass(frozen=True)
class Strata:
    """Strata of people, each a separate collection. sampled: whether the people are a sample."""

    parts: Sequence[StratumEvidence]
    sampled: bool = True

    @property
    def people(self) -> float:
        """The number of people in all strata."""
        return float(sum(part.people for part in self.parts))

    def weighted(self) -> list[tuple[float, StratumEvidence]]:
        """Return each stratum with its share of the people."""
        return [(part.people / self.people, part) for part in self.parts]

    def reach(self, beta: np.ndarray) -> float:
        """Return the largest absolute log odds of a cell,
        for coefficients or for a step of them."""
        tables = (part for part in self.parts if isinstance(part, JointTable))
        return max(float(np.abs(beta @ part.design.x).max()) for part in tables)

    def score(self, beta: np.ndarray) -> np.ndarray:
        """Return the mean over all people."""
        return np.asarray(sum(w * part.score(beta) for w, part in self.weighted()))

    def information(self, beta: np.ndarray) -> np.ndarray:
        """Return the mean over all people."""
        return np.asarray(sum(w * part.information(beta) for w, part in self.weighted()))

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Return the covariance of the score. If the people are a sample, the sizes of the strata
        are random as well."""
        within = np.asarray(sum(w**2 * part.covariance(beta) for w, part in self.weighted()))
        if not self.sampled:
            return within
        means = [(w, part.score(beta)) for w, part in self.weighted()]
        between = sum(w * np.outer(mean, mean) for w, mean in means)
        return np.asarray(within + between / self.people)

    def information_errors(self, beta: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return the standard errors of the information in some directions."""
        pairs = self.weighted()
        variances = sum(w**2 * part.information_variances(beta, along) for w, part in pairs)
        return np.asarray(np.sqrt(np.maximum(variances, 0)))


def linear_root(strata: Strata, size: int) -> np.ndarray:
    """Return least squares: the score is linear. Meaningless if the information is singular."""
    start = np.zeros(size)
    solution = np.linalg.lstsq(strata.information(start), strata.score(start), rcond=None)
    return np.asarray(solution[0])


def logistic_root(strata: Strata, size: int) -> np.ndarray | None:
    """Return the coefficients at which the score is zero; None if they diverge."""
    beta = np.zeros(size)
    for _ in range(MOST_STEPS):
        curvatures, directions = np.linalg.eigh(strata.information(beta))
        sizes = np.maximum(np.abs(curvatures), 1e-12 * np.abs(curvatures).max() + 1e-300)
        step = np.asarray(directions @ (directions.T @ strata.score(beta) / sizes))
        if strata.reach(step) < CLOSE:
            return beta
        shorter = _shortened(strata, beta, step)
        if shorter is None or strata.reach(beta := beta + shorter) > LARGEST:
            return None
    return None


def _shortened(strata: Strata, beta: np.ndarray, step: np.ndarray) -> np.ndarray | None:
    """Return the step, halved until the log-likelihood rises;
    rounding may hide a last small rise."""
    start = gain(strata, beta)
    step = step / max(1.0, strata.reach(step) / 5)
    for _ in range(MOST_CUTS):
        if gain(strata, beta + step) >= start - 1e-14 * abs(start):
            return step
        step = step / 2
    return None


def gain(strata: Strata, beta: np.ndarray) -> float:
    """Return the mean log-likelihood of tables."""
    pairs = strata.weighted()
    return float(sum(w * part.gain(beta) for w, part in pairs if isinstance(part, JointTable)))


def sandwich(strata: Strata, beta: np.ndarray) -> np.ndarray:
    """Return A^-1 Cov(score) A^-T, the covariance of the coefficients."""
    inverse = np.linalg.inv(strata.information(beta))
    return np.asarray(inverse @ strata.covariance(beta) @ inverse.T)


@dataclass(frozen=True)
class Weakest:
    """The direction with least information: its main coefficient, the information in it, and the
    standard error of the information."""

    coefficient: int
    information: float
    error: float

    @property
    def enough(self) -> bool:
        """Whether the information is above zero beyond the noise."""
        return self.information > BEYOND_NOISE * self.error and self.information > 1e-12


def weakest(strata: Strata, beta: np.ndarray) -> Weakest:
    """Return the weakest coefficient, or if all have enough, the weakest principal direction."""
    information = strata.information(beta)
    single = _weakest_of(strata, beta, information, np.eye(len(information)))
    if not single.enough:
        return single
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
