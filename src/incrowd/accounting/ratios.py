"""The joint law of two likelihood ratios under a cover, the one thing every analysis needs.

A report s is covered by a measure omega of total mass gamma <= 1: the distribution of reports of
the others (`outlier`), or the part common to all of them (`blanket`). What matters of s is the
pair A = P(s|x) / omega(s), B = P(s|x') / omega(s). Independent questions multiply both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from incrowd.errors import PrivacyError
from incrowd.numerics.law import Law

GRAIN = 1e-9  # logarithms of ratios closer than this are the same number up to rounding
BEYOND_PRECISION = "likelihood ratio"
LARGEST = 340.0  # squares of ratios have to be numbers too


@dataclass(frozen=True)
class Ratios:
    """Atoms (ln A, ln B) with cover measure exp(log_mass); arrays of one length."""

    log_a: np.ndarray
    log_b: np.ndarray
    log_mass: np.ndarray

    @property
    def swapped(self) -> Ratios:
        """The same pair in the other order."""
        return Ratios(self.log_b, self.log_a, self.log_mass)

    def law(self, epsilon: float) -> Law:
        """The law of G = A - e^epsilon B; the cover's missing mass lies at zero.

        Raises PrivacyError if a ratio is beyond double precision.
        """
        largest = max(float(self.log_a.max()), epsilon + float(self.log_b.max()))
        if largest > LARGEST:
            allowed = f"is beyond double precision (e^{LARGEST:.0f}); use more noise or fewer bits"
            raise PrivacyError.of(BEYOND_PRECISION, f"e^{largest:.0f}", allowed)
        return Law(np.exp(self.log_a) - np.exp(epsilon + self.log_b), self.log_mass)


ONE = Ratios(np.zeros(1), np.zeros(1), np.zeros(1))


def product(parts: Iterable[tuple[Ratios, int]]) -> Ratios:
    """The ratios of independent questions, each standing some times."""
    return reduce(_times, (_power(ratios, count) for ratios, count in parts), ONE)


def _power(ratios: Ratios, count: int) -> Ratios:
    """By repeated squaring."""
    if count == 0:
        return ONE
    half = _power(ratios, count // 2)
    squared = _times(half, half)
    return _times(squared, ratios) if count % 2 else squared


def _times(one: Ratios, other: Ratios) -> Ratios:
    pairs = zip(
        (one.log_a, one.log_b, one.log_mass),
        (other.log_a, other.log_b, other.log_mass),
        strict=True,
    )
    return _merge_equal(Ratios(*(np.add.outer(a, b).ravel() for a, b in pairs)))


def _merge_equal(ratios: Ratios) -> Ratios:
    """Atoms with the same pair of ratios become one."""
    keys = np.round(np.stack([ratios.log_a, ratios.log_b]) / GRAIN)
    order = np.lexsort(keys)
    new = np.any(np.diff(keys[:, order], axis=1) != 0, axis=0)
    starts = np.flatnonzero(np.concatenate([[True], new]))
    mass = np.logaddexp.reduceat(ratios.log_mass[order], starts)
    return Ratios(ratios.log_a[order][starts], ratios.log_b[order][starts], mass)
