"""The joint law of two likelihood ratios under a cover, which every analysis needs.

A cover is a measure omega on reports s, of total mass gamma <= 1: the law of the others' reports
(`outlier`), or the part common to all of them (`blanket`). A report matters only through the pair
A = P(s|x) / omega(s), B = P(s|x') / omega(s). For independent questions, the ratios multiply.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from incrowd.accountant.numerics.lattice import log_neighbors
from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.numerics.precision import UNIT
from incrowd.errors import PrecisionError

GRAIN = 2.0**-40  # logarithms closer than this share of the largest are equal but for rounding
LARGEST = 340.0  # the largest logarithm of a ratio whose square is finite, with a margin
MOST_ATOMS, LEAST_ATOMS = 1 << 14, 1 << 7  # a law is thinned to the first, never below the second
MOST_PAIRS = 1 << 21  # pairs of atoms in a product
FINEST = 2.0**-14  # grid step of thinning, as a share of the logarithms' range


@dataclass(frozen=True)
class Ratios:
    """Atoms (ln A, ln B) with cover measure exp(log_mass); arrays of equal length.

    error: a bound of the error of each ln A and ln B, from rounding and merging.
    """

    log_a: np.ndarray
    log_b: np.ndarray
    log_mass: np.ndarray
    error: float = 0.0

    @property
    def swapped(self) -> Ratios:
        """The same pair in the other order."""
        return Ratios(self.log_b, self.log_a, self.log_mass, self.error)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays."""
        return self.log_a, self.log_b, self.log_mass

    @cached_property
    def scale(self) -> float:
        """The largest absolute value of all ln A and ln B."""
        logs = (self.log_a, self.log_b)
        return max(max(float(log.max()), -float(log.min())) for log in logs)

    def doubt(self, epsilon: float) -> float:
        """Return a bound of the error of `gaps`."""
        return 2 * self.error + 4 * UNIT * (epsilon + self.scale)

    def gaps(self, epsilon: float, side: int) -> np.ndarray:
        """Return ln A - (epsilon + ln B): a bound from above (side 1) or from below (side -1).

        For side 0 as computed, with zero in place of values that may be zero.
        """
        gap, doubt = self.log_a - (epsilon + self.log_b), self.doubt(epsilon)
        return gap + side * doubt if side else np.where(np.abs(gap) > doubt, gap, 0.0)

    def blur(self, epsilon: float, crowd: int) -> float:
        """Return the effect of rounding in a crowd,
        as a share of the largest loss beyond epsilon."""
        margin = float(self.gaps(epsilon, 1).max())
        return crowd * self.doubt(epsilon) / margin if margin > 0 else 0.0

    def law(self, epsilon: float, side: int = 0) -> Law:
        """Return the law of G = A - e^epsilon B; the missing mass of the cover lies at zero.

        Near A = e^epsilon B all digits of G depend on the last digits of the logarithms, so G is
        computed from their difference, rounded to one side: see `gaps`.
        Raises PrecisionError if a ratio is beyond double precision.
        """
        largest = max(float(self.log_a.max()), epsilon + float(self.log_b.max()))
        if largest > LARGEST:
            raise PrecisionError.of(
                "likelihood ratio", "accountant.large-ratio", exponent=largest, most=LARGEST
            )
        gap = self.gaps(epsilon, side)
        sign = np.sign(gap)
        size = np.maximum(self.log_a, epsilon + self.log_b) + side * sign * self.error
        return Law(sign * np.exp(size) * -np.expm1(-np.abs(gap)), self.log_mass)


ONE = Ratios(np.zeros(1), np.zeros(1), np.zeros(1))


def product(parts: Iterable[tuple[Ratios, int]]) -> Ratios:
    """Return the ratios of independent questions, each repeated the given number of times.

    Exact as long as there are few different atoms; otherwise they are `thinned`.
    """
    return reduce(_times, (_power(ratios, count) for ratios, count in parts), ONE)


def _power(ratios: Ratios, count: int) -> Ratios:
    """Return the ratios of `count` equal questions, by repeated squaring."""
    if count == 0:
        return ONE
    half = _power(ratios, count // 2)
    squared = _times(half, half)
    return _times(squared, ratios) if count % 2 else squared


def _times(one: Ratios, other: Ratios) -> Ratios:
    short, long = sorted((one, other), key=lambda r: len(r.log_mass))
    long = thinned(long, max(MOST_PAIRS // len(short.log_mass), LEAST_ATOMS))
    short = thinned(short, max(MOST_PAIRS // len(long.log_mass), LEAST_ATOMS))
    error = short.error + long.error + UNIT * (short.scale + long.scale)
    log_a, log_b, log_mass = (
        np.add.outer(short_log, long_log).ravel()
        for short_log, long_log in zip(short.arrays, long.arrays, strict=True)
    )
    return thinned(merged(Ratios(log_a, log_b, log_mass, error)), MOST_ATOMS)


def merged(ratios: Ratios) -> Ratios:
    """Merge atoms with equal pairs of ratios, up to rounding; their distance adds to the error."""
    both = np.stack([ratios.log_a, ratios.log_b])
    keys = np.round(both / (GRAIN * ratios.scale or 1.0))
    order = np.lexsort(keys)
    new = np.any(np.diff(keys[:, order], axis=1) != 0, axis=0)
    starts = np.flatnonzero(np.concatenate([[True], new]))
    mass = np.logaddexp.reduceat(ratios.log_mass[order], starts)
    both = both[:, order]
    spread = np.maximum.reduceat(both, starts, 1) - np.minimum.reduceat(both, starts, 1)
    log_a, log_b = both[:, starts]
    return Ratios(log_a, log_b, mass, ratios.error + float(spread.max()))


def thinned(ratios: Ratios, most: int) -> Ratios:
    """Reduce to about `most` atoms, on the finest geometric grid that this allows.

    A and B are each split between two neighboring points so that their means are preserved: the
    expectation of a convex function of (A, B), and therefore delta, can only rise.
    """
    if len(ratios.log_mass) <= most:
        return ratios
    logs = ratios.log_a, ratios.log_b
    step = FINEST * float(max(map(np.ptp, logs)))
    while _cells(ratios, step) > most:
        step *= 2
    (low_a, *shares_a), (low_b, *shares_b) = (log_neighbors(log, step) for log in logs)
    corners = []
    for up_a, up_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        log_mass = ratios.log_mass + shares_a[up_a] + shares_b[up_b]
        some = log_mass > -np.inf
        corners.append(((low_a + up_a)[some] * step, (low_b + up_b)[some] * step, log_mass[some]))
    error = ratios.error + 8 * UNIT * ratios.scale
    log_a, log_b, log_mass = map(np.concatenate, zip(*corners, strict=True))
    return merged(Ratios(log_a, log_b, log_mass, error))


def _cells(ratios: Ratios, step: float) -> int:
    """Return the number of grid cells that contain atoms."""
    a, b = np.floor(ratios.log_a / step), np.floor(ratios.log_b / step)
    return len(np.unique(a * (4 / FINEST) + b))
