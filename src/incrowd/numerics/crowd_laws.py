"""The laws of one report's values for every class of records that a crowd may hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from incrowd.numerics.law import Law
from incrowd.numerics.precision import SMALLEST

SIDE = 21  # points of t > 0, squared; the first is zero
NEGLIGIBLE = 1e-17  # so little tilted mass is added to the modulus, whatever its phase


class OrdinaryLaw(NamedTuple):
    """Values that are not decisive, their probabilities, and that of the decisive ones."""

    value: np.ndarray
    mass: np.ndarray
    decisive: float

    def log_moment(self, theta: float) -> float:
        """ln M(theta); through M - 1, which is often tiny."""
        with np.errstate(over="ignore"):
            excess = float(self.mass @ np.expm1(theta * self.value)) - self.decisive
        return math.log1p(excess) if excess > -1 else -math.inf

    def tilted(self, theta: float) -> np.ndarray:
        """Probabilities in proportion to mass times exp(theta value)."""
        exponent = np.log(self.mass) + theta * self.value
        raised = np.exp(exponent - exponent.max())
        return np.asarray(raised / raised.sum())

    def moduli(self, theta: float, step: float) -> np.ndarray:
        """|M(theta + it)| / M(theta) at SIDE^2 points t from zero on.

        Two short tables and their product; negligible masses are added whatever their phase.
        """
        tilted = self.tilted(theta)
        kept = tilted > NEGLIGIBLE
        value, share = self.value[kept], tilted[kept]
        fine = np.exp(1j * np.outer(step * np.arange(SIDE), value))
        coarse = np.exp(1j * np.outer(step * SIDE * np.arange(SIDE), value)) * share
        # A matrix product would wake the threads of BLAS, which cost more than so small a sum.
        summed = np.einsum("ik,jk->ij", coarse, fine).ravel()
        return np.asarray(np.abs(summed) + tilted[~kept].sum())


@dataclass(frozen=True)
class Crowd:
    """Everything that the bound depends on.

    laws: of G_z for each class z, each complete (its masses add up to 1). common: gamma, or less.
    others: n. gain: e^epsilon - 1, minus the mean of every law. local: D, or more.
    """

    laws: Sequence[Law]
    common: float
    others: int
    gain: float
    local: float

    @cached_property
    def value(self) -> np.ndarray:
        """The values of all laws, end to end."""
        return np.concatenate([law.value for law in self.laws])

    @cached_property
    def mass(self) -> np.ndarray:
        """Their probabilities; none so small that it is lost."""
        return np.asarray(np.maximum(np.concatenate([law.mass for law in self.laws]), SMALLEST))

    @cached_property
    def ends(self) -> np.ndarray:
        """Where each law begins, and where the last one ends."""
        return np.asarray(np.cumsum([0] + [len(law.value) for law in self.laws]))

    def means(self, what: np.ndarray) -> np.ndarray:
        """Under each law, the mean of a function of the value."""
        return np.asarray(np.add.reduceat(self.mass * what, self.ends[:-1]))

    def ordinary(self, place: int, cut: float) -> OrdinaryLaw:
        """The law of one class up to the cut."""
        own = slice(self.ends[place], self.ends[place + 1])
        value, mass = self.value[own], self.mass[own]
        kept = value <= cut
        return OrdinaryLaw(value[kept], mass[kept], float(mass[~kept].sum()))

    def unlabeled(self, eta: float) -> float:
        """The chance that nobody draws a label of at most eta."""
        return math.exp(self.others * math.log1p(-eta * self.common))
