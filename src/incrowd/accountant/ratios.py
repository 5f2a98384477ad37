"""The joint law of two likelihood ratios under a cover, the one thing every analysis needs.

A report s is covered by a measure omega of total mass gamma <= 1: the distribution of reports of
the others (`outlier`), or the part common to all of them (`blanket`). What matters of s is the
pair A = P(s|x) / omega(s), B = P(s|x') / omega(s). Independent questions multiply both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from incrowd.accountant.numerics.lattice import neighbors
from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.numerics.precision import UNIT
from incrowd.errors import InWords, PrecisionError

GRAIN = 2.0**-40  # logarithms closer than this share of the largest are one up to rounding
LARGEST = 340.0  # squares of ratios have to be numbers too
MOST_ATOMS, LEAST_ATOMS = 1 << 14, 1 << 7  # that are kept, and that nothing is thinned below
MOST_PAIRS = 1 << 21  # in a product
FINEST = 2.0**-14  # grid step of thinning, as a share of the logarithms' range


@dataclass(frozen=True)
class Ratios:
    """Atoms (ln A, ln B) with cover measure exp(log_mass); arrays of one length.

    error: no ln A and no ln B is off by more, through rounding and merging.
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
        """The largest of all logarithms of ratios."""
        logs = (self.log_a, self.log_b)
        return max(max(float(log.max()), -float(log.min())) for log in logs)

    def doubt(self, epsilon: float) -> float:
        """How far `gaps` can be off."""
        return 2 * self.error + 4 * UNIT * (epsilon + self.scale)

    def gaps(self, epsilon: float, side: int) -> np.ndarray:
        """ln A - (epsilon + ln B), no less than it is (side 1), no more (-1); or (0) as it is,
        and zero where it may be."""
        gap, doubt = self.log_a - (epsilon + self.log_b), self.doubt(epsilon)
        return gap + side * doubt if side else np.where(np.abs(gap) > doubt, gap, 0.0)

    def blur(self, epsilon: float, crowd: int) -> float:
        """What rounding may do in a whole crowd, as a share of the largest loss beyond epsilon."""
        margin = float(self.gaps(epsilon, 1).max())
        return crowd * self.doubt(epsilon) / margin if margin > 0 else 0.0

    def law(self, epsilon: float, side: int = 0) -> Law:
        """The law of G = A - e^epsilon B; the cover's missing mass lies at zero.

        Near A = e^epsilon B all digits of G depend on the last ones of the logarithms, so it is
        taken from their difference, rounded to one side: see `gaps`.
        Raises PrecisionError if a ratio it is beyond double precision.
        """
        largest = max(float(self.log_a.max()), epsilon + float(self.log_b.max()))
        if largest > LARGEST:
            allowed = (
                f"it is beyond double precision (e^{LARGEST:.0f}); use more noise or fewer bits"
            )
            raise PrecisionError.of("likelihood ratio", InWords(f"e^{largest:.0f}"), allowed)
        gap = self.gaps(epsilon, side)
        sign = np.sign(gap)
        size = np.maximum(self.log_a, epsilon + self.log_b) + side * sign * self.error
        return Law(sign * np.exp(size) * -np.expm1(-np.abs(gap)), self.log_mass)


ONE = Ratios(np.zeros(1), np.zeros(1), np.zeros(1))


def product(parts: Iterable[tuple[Ratios, int]]) -> Ratios:
    """The ratios of independent questions, each standing some times.

    Exact as long as there are few different ones; else see `thinned`.
    """
    return reduce(_times, (_power(ratios, count) for ratios, count in parts), ONE)


def _power(ratios: Ratios, count: int) -> Ratios:
    """By repeated squaring."""
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
    """Atoms with the same pair of ratios become one; how far they lay apart is an error."""
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
    """Not many more than so many atoms, on a geometric grid as fine as that allows.

    A and B are each split between two neighboring points so that their means are kept: any
    convex function of (A, B), and so delta, can only rise.
    """
    if len(ratios.log_mass) <= most:
        return ratios
    logs = ratios.log_a, ratios.log_b
    step = FINEST * float(max(map(np.ptp, logs)))
    while _cells(ratios, step) > most:
        step *= 2
    (low_a, *shares_a), (low_b, *shares_b) = (neighbors(log, step, rate=1.0) for log in logs)
    corners = []
    for up_a, up_b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        with np.errstate(divide="ignore"):  # a share of zero
            log_mass = ratios.log_mass + np.log(shares_a[up_a]) + np.log(shares_b[up_b])
        some = log_mass > -np.inf
        corners.append(((low_a + up_a)[some] * step, (low_b + up_b)[some] * step, log_mass[some]))
    error = ratios.error + 8 * UNIT * ratios.scale
    log_a, log_b, log_mass = map(np.concatenate, zip(*corners, strict=True))
    return merged(Ratios(log_a, log_b, log_mass, error))


def _cells(ratios: Ratios, step: float) -> int:
    """How many cells of a grid hold atoms."""
    a, b = np.floor(ratios.log_a / step), np.floor(ratios.log_b / step)
    return len(np.unique(a * (4 / FINEST) + b))
