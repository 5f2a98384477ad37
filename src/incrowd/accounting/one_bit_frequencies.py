"""delta of one bit in many crowds at once, with certified bounds; a crowd of 10^9 costs no more.

Of the others `same` hold x and `other` hold x'. Reports are named so that 1 speaks for x. With T
the number of ones that the others send, f its law and c = (e^epsilon P(0|x') - P(0|x)) / w,

    delta = w sum over t of max(0, f(t-1) - c f(t)),        w = P(1|x) - e^epsilon P(1|x').

f is log-concave, so the sum runs over all t beyond one place s. With phi(t) = c^t f(t) / E[c^T]

    delta = max over s of  w E[c^T] c^-s (phi(s) - E phi(s + U)),    P[U = u] = (c-1) c^-u, u >= 1,

and the largest is at the mode of phi, less than 1 from its mean (Darroch 1964). What stands in
brackets is the inverse Fourier transform of a known function, a product of powers. Where phi is
wide that function is narrow: a sum over some 30 frequencies gives it, however many people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np

from incrowd.channels.bit import Bit
from incrowd.numerics.precision import PHASE, SMALLEST

LOG_CUT = 40.0  # what is cut has chance, or modulus, e^-40
CUT = 6 * math.exp(-LOG_CUT)  # both tails, what U and the others' law lose, the frequencies
ROUNDED_DOWN = 4 * PHASE  # what a smaller c can have added: (c - 1) E[phi(s + U) / c^s] <= 1
LARGEST = 1e290  # of c: where less is known of the report 0, a smaller c bounds delta
DIGITS = 60  # of w, which is a small difference near the local epsilon
ROWS = 512  # crowds treated together: their table stays in the cache
NEAR = np.array([-1, 0, 1])  # the mode is one of the three integers nearest to the mean


class Deltas(NamedTuple):
    """Lower and upper bounds of delta, an entry for each crowd."""

    lower: np.ndarray
    upper: np.ndarray


class Report(NamedTuple):
    """What one of the others adds to T, tilted by c: 1 (or -1, if `sign` is) with chance hit."""

    hit: float
    miss: float
    sign: int

    def log_transform(self, frequency: np.ndarray) -> np.ndarray:
        """ln E[exp(i frequency (T - E T))]; exact to rounding where chances are tiny."""
        half = np.sin(frequency / 2) ** 2
        angle = np.arctan2(self.hit * np.sin(frequency), 1 - 2 * self.hit * half)
        real = np.log1p(-4 * self.hit * self.miss * half) / 2
        return np.asarray(real + 1j * self.sign * (angle - self.hit * frequency))


@dataclass(frozen=True)
class Order:
    """x against x' at epsilon. weight: w; excess: c - 1, rounded down, which raises delta.

    kept, lost: P(1|x), P(0|x). stray, rest: P(1|x'), P(0|x').
    """

    kept: float
    lost: float
    stray: float
    rest: float
    weight: float
    excess: float

    @classmethod
    def of(cls, channel: Bit, x: int, epsilon: float) -> Order | None:
        """x against the other answer; None if no report reveals as much as epsilon: delta = 0."""
        reports = channel.matrix[:, [x, int(not x)]]
        (lost, rest), (kept, stray) = sorted(reports, key=lambda row: row[0] - row[1])
        weight = _weight(kept, stray, epsilon)
        if weight <= 0:
            return None
        excess = min(math.expm1(epsilon) / weight, LARGEST) * (1 - PHASE)
        return cls(*map(float, (kept, lost, stray, rest, weight, excess)))

    @property
    def log_c(self) -> float:
        """ln c."""
        return math.log1p(self.excess)

    @property
    def reports(self) -> tuple[Report, Report]:
        """The tilted reports of who holds x, counted from 1 down, and of who holds x'."""
        c = 1 + self.excess
        own, others = self.kept + self.lost / c, self.rest + self.stray * c
        return (
            Report(self.lost / c / own, self.kept / own, -1),
            Report(self.stray * c / others, self.rest / others, 1),
        )

    @property
    def log_totals(self) -> tuple[float, float]:
        """ln E[c^report] of the same, before the tilt."""
        c = 1 + self.excess
        fall = self.lost * self.excess / c
        own = math.log1p(-fall) if fall < 1 / 2 else math.log(self.kept + self.lost / c)
        return own, math.log1p(self.stray * self.excess)


def _weight(kept: float, stray: float, epsilon: float) -> float:
    """kept - e^epsilon stray, to the last digit of double precision."""
    with localcontext(prec=DIGITS):
        return float(Decimal(float(kept)) - Decimal(epsilon).exp() * Decimal(float(stray)))


class Grid(NamedTuple):
    """Frequencies 2 pi k / points, k = 0, 1, ..., as far as they matter.

    phi is found modulo `points`: what lies farther than half of that from its mean is cut.
    """

    points: int
    frequency: np.ndarray

    @classmethod
    def of(cls, narrowest: float, widest: float, span: int = 1) -> Grid:
        """For sums of independent reports with variances between the two.

        span: how far from the rounded mean places are asked for.
        Bernstein: P[|T - E T| >= r] <= 2 exp(-r^2 / (2 (v + r/3))). Of the transform,
        |E exp(i t T)| <= exp(-v (1 - cos t)).
        """
        reach = LOG_CUT / 3 + math.sqrt(LOG_CUT**2 / 9 + 2 * LOG_CUT * widest)
        half = math.ceil(reach) + 1 + span
        flat = LOG_CUT / max(narrowest, LOG_CUT / 2)
        points = 2 * half + 1
        last = math.ceil(math.acos(1 - flat) * points / (2 * math.pi))
        return cls(points, 2 * math.pi / points * np.arange(min(last, half) + 1))

    def kernel(self, excess: float, log_c: float) -> np.ndarray:
        """What the transform is summed with for phi(0) - E phi(U); U as far as points // 2."""
        point, later = self.kernels(log_c)
        return np.asarray(point - excess * later)

    def kernels(self, log_c: float) -> tuple[np.ndarray, np.ndarray]:
        """For phi(0), and for the sum over u >= 1 of c^-u phi(u); u as far as points // 2."""
        away = max(log_c, SMALLEST) + 1j * self.frequency
        geometric = -np.expm1(-(self.points // 2) * away) / np.expm1(away)
        point = np.where(self.frequency > 0, 2.0, 1.0) / self.points
        return point, point * geometric


def deltas(order: Order, same: np.ndarray, other: np.ndarray) -> Deltas:
    """Bounds of delta where so many of the others hold x and x'; integers, shape (crowds,).

    `upper` is never below delta: the chance of what is cut and a bound of all rounding are added
    (1e-10 of delta, about, in a crowd of 10^9). `lower` has them taken off.
    """
    found = np.empty((2, len(same)))
    for first in range(0, len(same), ROWS):
        rows = slice(first, first + ROWS)
        found[:, rows] = _block(order, same[rows].astype(float), other[rows].astype(float))
    return Deltas(*found)


def _block(order: Order, same: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Lower and upper bounds, shape (2, crowds): the largest over the places where the mode is."""
    drop, error, center = _drops(order, same, other)
    place = center[:, None] + NEAR
    totals = np.stack([same, other], axis=1) * order.log_totals
    log_scale = totals.sum(axis=1)[:, None] - place * order.log_c
    size = 1 + np.abs(totals).sum(axis=1)[:, None] + np.abs(place) * order.log_c
    with np.errstate(over="ignore"):
        upper = np.exp(log_scale + PHASE * size) * np.maximum(drop + error, 0)
        lower = np.exp(log_scale - PHASE * size) * np.maximum(drop - error - ROUNDED_DOWN, 0)
    most = order.weight * (1 + PHASE)
    return np.stack(
        [
            np.minimum(lower.max(axis=1), 1.0) * order.weight * (1 - PHASE),
            np.clip(upper.max(axis=1) * most, SMALLEST, min(most, 1.0)),
        ]
    )


def _drops(
    order: Order, same: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """phi(s) - E phi(s + U) at three s, shape (crowds, 3); a bound of its error; the middle s.

    Places are counted from `same`, the number of ones without noise.
    """
    own, stray = order.reports
    variance = same * own.hit * own.miss + other * stray.hit * stray.miss
    mean = other * stray.hit - same * own.hit
    center = np.rint(mean)
    grid = Grid.of(float(variance.min()), float(variance.max()))
    t, kernel = grid.frequency, grid.kernel(order.excess, order.log_c)
    exponent = np.outer(same, own.log_transform(t)) + np.outer(other, stray.log_transform(t))
    exponent -= 1j * np.outer(center - mean, t)
    shifts = np.exp(-1j * np.outer(t, NEAR))
    drop = (np.exp(exponent) @ (kernel[:, None] * shifts)).real
    moved = float((other * stray.hit + same * own.hit).max())
    largest = np.exp(-float(variance.min()) * (1 - np.cos(t)))
    rounding = PHASE * float(np.abs(kernel) @ (largest * (1 + LOG_CUT + moved * t)))
    return drop, CUT + rounding, center
