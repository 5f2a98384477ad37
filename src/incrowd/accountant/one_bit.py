"""The analysis `exact` for one bit: delta and eta for every collection of the others' answers.

One person holds 1 or 0; of the others, m hold 1 and N - 1 - m hold 0. They send T ones; T is a sum
of two binomials, with law f. delta depends on where f(t - 1) / f(t), which rises with t, exceeds
c = (e^epsilon p - q) / (p - e^epsilon q). Tilting the law of T by c^t, the same for every m, moves
the mode of each tilted law to its threshold, so that 1e-300 is as accurate as 0.1.
Proof: docs/mathematics.md#enumeration.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.enumeration import Case
from incrowd.accountant.numerics.lattice import convolved
from incrowd.accountant.numerics.laws import log_binomial
from incrowd.accountant.numerics.precision import ENUMERATED, PHASE, SMALLEST, TIED_RATIO
from incrowd.accountant.schema import check_crowd, check_epsilon
from incrowd.errors import PrivacyError

# delta of one bit in many crowds at once, with certified bounds; a crowd of 10^9 takes no longer.
#
# Among the others, `same` hold x and `other` hold x'. Reports are labeled so that 1 indicates x.
# T is the number of ones that the others send, f its law, c = (e^epsilon P(0|x') - P(0|x)) / w:
#
#     delta = w sum over t of max(0, f(t-1) - c f(t)),        w = P(1|x) - e^epsilon P(1|x').
#
# f is log-concave, so the sum runs over all t beyond some s. With phi(t) = c^t f(t) / E[c^T],
#
#     delta = max over s of  w E[c^T] c^-s (phi(s) - E phi(s + U)),  P[U = u] = (c-1) c^-u, u >= 1,
#
# and the maximum is at the mode of phi, less than 1 from its mean (Darroch 1964). The term in
# parentheses is the inverse Fourier transform of a known function, a product of powers. If phi is
# wide, that function is narrow: for any crowd, a sum over about 30 frequencies is enough.


LOG_CUT = 40.0  # tails and frequencies are cut at a probability, or modulus, of e^-40
CUT = 6 * math.exp(-LOG_CUT)  # both tails, the cuts of U and of the others' law, the frequencies
ROUNDED_DOWN = 4 * PHASE  # the effect of a smaller c: (c - 1) E[phi(s + U) / c^s] <= 1
LARGEST = 1e290  # of c: beyond it, a smaller c gives an upper bound of delta
DIGITS = 60  # of w, which is a small difference near the local epsilon
ROWS = 512  # crowds computed together, so that their table fits into the cache
NEAR = np.array([-1, 0, 1])  # the mode is one of the three integers nearest to the mean


class Deltas(NamedTuple):
    """Lower and upper bounds of delta, one entry for each crowd."""

    lower: np.ndarray
    upper: np.ndarray


class TiltedReport(NamedTuple):
    """The tilted law of one person's contribution to T: `sign` with probability hit,
    otherwise 0."""

    hit: float
    miss: float
    sign: int

    def log_transform(self, frequency: np.ndarray) -> np.ndarray:
        """Return ln E[exp(i frequency (T - E T))], accurate even if probabilities are tiny."""
        half = np.sin(frequency / 2) ** 2
        angle = np.arctan2(self.hit * np.sin(frequency), 1 - 2 * self.hit * half)
        real = np.log1p(-4 * self.hit * self.miss * half) / 2
        return np.asarray(real + 1j * self.sign * (angle - self.hit * frequency))


@dataclass(frozen=True)
class BitOrder:
    """x against x' at epsilon. weight: w. excess: c - 1, rounded down, which can only raise delta.

    direct, lost: P(1|x), P(0|x). stray, rest: P(1|x'), P(0|x').
    """

    direct: float
    lost: float
    stray: float
    rest: float
    weight: float
    excess: float

    @classmethod
    def of(cls, channel: Bit, x: int, epsilon: float) -> BitOrder | None:
        """Return x against the other answer; None if no report reveals as much as epsilon: delta =
        0."""
        reports = channel.matrix[:, [x, int(not x)]]
        (lost, rest), (direct, stray) = sorted(reports, key=lambda row: row[0] - row[1])
        weight = _weight(direct, stray, epsilon)
        if weight <= 0:
            return None
        excess = min(math.expm1(epsilon) / weight, LARGEST) * (1 - PHASE)
        return cls(*map(float, (direct, lost, stray, rest, weight, excess)))

    @property
    def log_c(self) -> float:
        """ln c."""
        return math.log1p(self.excess)

    @property
    def reports(self) -> tuple[TiltedReport, TiltedReport]:
        """The tilted reports of a person who holds x, as 0 or -1, and of one who holds x'."""
        c = 1 + self.excess
        same, others = self.direct + self.lost / c, self.rest + self.stray * c
        return (
            TiltedReport(self.lost / c / same, self.direct / same, -1),
            TiltedReport(self.stray * c / others, self.rest / others, 1),
        )

    def variance(self, same: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the variance of the tilted T if `same` others hold x and `other` hold x'."""
        mine, stray = self.reports
        return np.asarray(same * mine.hit * mine.miss + other * stray.hit * stray.miss)

    @property
    def log_totals(self) -> tuple[float, float]:
        """ln E[c^report] of these reports before the tilt."""
        c = 1 + self.excess
        fall = self.lost * self.excess / c
        same = math.log1p(-fall) if fall < 1 / 2 else math.log(self.direct + self.lost / c)
        return same, math.log1p(self.stray * self.excess)


def _weight(direct: float, stray: float, epsilon: float) -> float:
    """Return direct - e^epsilon stray, to full double precision."""
    with localcontext(prec=DIGITS):
        return float(Decimal(float(direct)) - Decimal(epsilon).exp() * Decimal(float(stray)))


class FrequencyGrid(NamedTuple):
    """The frequencies 2 pi k / points, k = 0, 1, ..., that are not negligible.

    phi is computed modulo `points`: values farther than half of that from its mean are cut.
    """

    points: int
    frequency: np.ndarray

    @classmethod
    def of(cls, narrowest: float, widest: float, span: int = 1) -> FrequencyGrid:
        """Return the grid for sums of independent reports with variances from `narrowest` to
        `widest`.

        span: the largest distance from the rounded mean at which phi is needed.
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
        """Return the weights of the transform for phi(0) - E phi(U), with U up to points // 2."""
        point, later = self.kernels(log_c)
        return np.asarray(point - excess * later)

    def kernels(self, log_c: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights for phi(0), and for the sum of c^-u phi(u) over 1 <= u <=
        points // 2."""
        away = max(log_c, SMALLEST) + 1j * self.frequency
        geometric = -np.expm1(-(self.points // 2) * away) / np.expm1(away)
        point = np.where(self.frequency > 0, 2.0, 1.0) / self.points
        return point, point * geometric


def deltas(order: BitOrder, same: np.ndarray, other: np.ndarray) -> Deltas:
    """Return bounds of delta if `same` others hold x and `other` hold x'; integers, shape
    (crowds,).

    `upper` is never below delta: it includes the probability of all cuts and a bound of all
    rounding (about 1e-10 of delta in a crowd of 10^9). `lower` is reduced by the same.
    """
    bounds, same, other = np.empty((2, len(same))), same.astype(float), other.astype(float)
    for rows in _alike(order, same, other):
        bounds[:, rows] = _block(order, same[rows], other[rows])
    return Deltas(*bounds)


def _alike(order: BitOrder, same: np.ndarray, other: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the numbers of crowds whose tilted variances are within a factor of 2, at most `ROWS`
    each.

    One grid has enough points for the widest law and enough frequencies for the narrowest; so the
    grid of such crowds has some hundred frequencies at most, however large the crowds are.
    """
    octaves = np.floor(np.log2(np.maximum(order.variance(same, other), 1.0)))
    for octave in np.unique(octaves):
        alike = np.flatnonzero(octaves == octave)
        yield from np.split(alike, range(ROWS, len(alike), ROWS))


def _block(order: BitOrder, same: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return lower and upper bounds, shape (2, crowds): the maximum over possible places of the
    mode."""
    law = _transformed(order, same, other)
    drop, error = law.drops(order)
    log_scale, doubt = _log_scale(order, same, other, law.center[:, None] + NEAR)
    with np.errstate(over="ignore"):
        upper = np.exp(log_scale + doubt) * np.maximum(drop + error, 0)
        lower = np.exp(log_scale - doubt) * np.maximum(drop - error - ROUNDED_DOWN, 0)
    most = order.weight * (1 + PHASE)
    return np.stack(
        [
            np.minimum(lower.max(axis=1), 1.0) * order.weight * (1 - PHASE),
            np.clip(upper.max(axis=1) * most, SMALLEST, min(most, 1.0)),
        ]
    )


def _log_scale(
    order: BitOrder, same: np.ndarray, other: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ln(E[c^T] c^-t) at some places t of each crowd, and a bound of its rounding."""
    totals = np.stack([same, other], axis=1) * order.log_totals
    size = 1 + np.abs(totals).sum(axis=1)[:, None] + np.abs(places) * order.log_c
    return totals.sum(axis=1)[:, None] - places * order.log_c, PHASE * size


class TransformedLaw(NamedTuple):
    """phi of crowds with similar variances, as its transform; shape (crowds, frequencies).

    center: its rounded mean in each crowd; places are counted from `same`, the number of ones
    without noise. rounding: a bound of the error of the transform at each frequency.
    """

    grid: FrequencyGrid
    transform: np.ndarray
    center: np.ndarray
    rounding: np.ndarray

    def drops(self, order: BitOrder) -> tuple[np.ndarray, float]:
        """Return phi(s) - E phi(s + U) at three s, shape (crowds, 3), and a bound of its error."""
        kernel = self.grid.kernel(order.excess, order.log_c)
        shifts = np.exp(-1j * np.outer(self.grid.frequency, NEAR))
        drop = (self.transform @ (kernel[:, None] * shifts)).real
        return drop, CUT + float(np.abs(kernel) @ self.rounding)


def _transformed(
    order: BitOrder, same: np.ndarray, other: np.ndarray, span: int = 1
) -> TransformedLaw:
    """Return the law phi of the tilted T. span: how far from its mean it is needed."""
    mine, stray = order.reports
    variance = order.variance(same, other)
    mean = other * stray.hit - same * mine.hit
    center = np.rint(mean)
    grid = FrequencyGrid.of(float(variance.min()), float(variance.max()), span)
    t = grid.frequency
    exponent = np.outer(same, mine.log_transform(t)) + np.outer(other, stray.log_transform(t))
    exponent -= 1j * np.outer(center - mean, t)
    largest_move = float((other * stray.hit + same * mine.hit).max())
    rounding = PHASE * np.exp(-float(variance.min()) * (1 - np.cos(t)))
    return TransformedLaw(
        grid, np.exp(exponent), center, rounding * (1 + LOG_CUT + largest_move * t)
    )


# The analysis `exact` for one bit: the largest delta over all crowds, certified, to 10^9 people.
#
# If first <= m <= last, a crowd in which m of the others hold x contains a sub-crowd in which
# `first` hold x and N - 1 - `last` hold x'. Adding the reports of people with given answers is
# post-processing, so
#
#     delta(m) <= delta(first with x, N - 1 - last with x').
#
# Intervals of m are halved until the largest such bound agrees with an attained delta. If delta
# hardly depends on m there are thousands of intervals, which are all computed at once.
# The proof is in docs/mathematics.md#enumeration.


WORST_TOLERANCE = 1e-4  # relative, between the bounds
WORST_FIRST_CELLS = 64  # intervals at the beginning
WORST_MOST_CELLS = 1 << 15  # intervals that are halved at once
WORST_TRIED = 64  # the intervals with the largest bounds, at whose ends delta itself is computed


class WorstCrowd(NamedTuple):
    """The largest delta over all crowds and both orders lies between `lower` and `upper`.

    lower: delta of x against the other answer if `ones` of the others hold 1.
    """

    lower: float
    upper: float
    x: int
    ones: int


class DeltaInterval(NamedTuple):
    """Bounds of the largest delta for one order; same: how many of the others then hold x."""

    lower: float
    upper: float
    same: int


class CellIntervals(NamedTuple):
    """Intervals of m, the number of others who hold x: the first and last of each."""

    first: np.ndarray
    last: np.ndarray

    @classmethod
    def cover(cls, others: int, count: int) -> CellIntervals:
        """Return about `count` intervals of about equal length that cover 0, ..., others."""
        count = min(count, others + 1)
        edges = np.arange(count + 1) * (others + 1) // count
        return cls(edges[:-1], edges[1:] - 1)

    def where(self, chosen: np.ndarray) -> CellIntervals:
        """Return a selection of the intervals; chosen: a mask or indices."""
        return CellIntervals(self.first[chosen], self.last[chosen])

    @property
    def halves(self) -> CellIntervals:
        """Both halves of each interval."""
        middle = (self.first + self.last) // 2
        first = np.concatenate([self.first, middle + 1])
        return CellIntervals(first, np.concatenate([middle, self.last]))

    @property
    def ends(self) -> np.ndarray:
        """The first and last m of all intervals."""
        return np.unique(np.concatenate([self.first, self.last]))


def worst_crowd(
    channel: Bit, crowd: int, epsilon: float, tolerance: float = WORST_TOLERANCE
) -> WorstCrowd:
    """Return the largest delta(epsilon) of one bit over all crowds of N people and both orders.

    crowd: N. tolerance: relative, between the bounds; if more than 32,768 intervals would have to
    be halved, or rounding is larger, `upper` is looser but remains a bound. Raises PrivacyError
    unless N >= 2 and 0 <= epsilon < 700. By sub-crowds, as above.
    """
    check_crowd(crowd)
    check_epsilon(epsilon)
    crowds = [WorstCrowd(0.0, 0.0, 1, 0)]
    for x in (1,) if channel.symmetric else (1, 0):  # symmetric: reversed bits are the other order
        order = BitOrder.of(channel, x, epsilon)
        if order is not None:
            lower, upper, same = _worst_same(order, crowd - 1, tolerance)
            crowds.append(WorstCrowd(lower, upper, x, same if x else crowd - 1 - same))
    best = max(crowds, key=lambda one: one.lower)
    return best._replace(upper=max(one.upper for one in crowds))


def _worst_same(order: BitOrder, others: int, tolerance: float) -> DeltaInterval:
    """Return the largest delta of one order;
    all intervals that may contain it are halved together."""
    cells, lower, settled, same = CellIntervals.cover(others, WORST_FIRST_CELLS), 0.0, 0.0, 0
    while True:
        bounds = deltas(order, cells.first, others - cells.last).upper
        likely = np.argsort(-bounds)[:WORST_TRIED]
        tried = cells.where(likely).ends
        values = deltas(order, tried, others - tried).lower
        if values.max() > lower:
            lower, same = float(values.max()), int(tried[values.argmax()])
        enough = max(lower * (1 + tolerance), SMALLEST)
        undecided = (bounds > enough) & (cells.last > cells.first)
        settled = max(settled, float(bounds[~undecided].max(initial=0.0)))
        left = int(undecided.sum())
        if not left or left > WORST_MOST_CELLS:
            return DeltaInterval(
                lower, max(settled, float(bounds[undecided].max(initial=0.0))), same
            )
        cells = cells.where(undecided).halves


# The whole privacy curve of one bit, for every crowd at once; a crowd of 10^9 takes no longer.
#
# Notation as above: f is the law of T, the number of ones that the others send. Together with the
# report of x, there are t ones with probability P(t) = direct f(t-1) + lost f(t); with that of x',
# Q(t) = stray f(t-1) + rest f(t). P/Q rises with t, since f is log-concave. So H(alpha) = sum of
# max(0, P - alpha Q) is piecewise linear in alpha, with a corner at each alpha = P(t)/Q(t), where
#
#     H = P[T' >= t | x] - alpha P[T' >= t | x']        (T' includes the person's report).
#
# Some hundred corners give the curve of a crowd: the chords between them bound it from above. They
# are computed near several tilts of f, which is accurate however small H is. The curves of
# sub-crowds bound intervals of crowds, as in `worst_crowd`, at all epsilons together.
# The proof is in docs/mathematics.md#whole-curves.


PLACES = 27  # corners near each tilt
SPAN, LEAST_SPAN = 1.3, 3  # the range of a tilt around its mean: deviations, plus a number of ones
TILT_GAP, MOST_TILT_GAP = 2.0, 0.7  # between tilts: in spreads of the loss, and in epsilon
CUT_BEYOND = 2 * CUT  # for sums over places, whose kernel falls like the inverse of the frequency
SURE = 1e6  # a probability is used if it is this many times its error; other tilts give the others
WIDEST = 1 << 20  # the largest variance of a law that is computed in full
WINDOW = 9.0  # the range of such a law: 9 deviations plus 81 ones
FIRST_CELLS, MOST_CELLS = 0.4, 1 << 11  # intervals at first, times the tolerance; halved at once
TRIED = 9  # crowds whose curves are computed first, to learn what is attained
EVERY = 8  # at every eighth dot, the crowd with the largest bound is tried
TOLERANCE = 0.003  # relative, of the spread of the loss
REACH = 8.0  # the length of a curve at first, in spreads of the loss
SPREAD_OF_LOSS = 2.5  # times delta(0): sqrt(2 pi) if the loss is normal


class Corners(NamedTuple):
    """Upper bounds `height` of H at alpha = 1 + excess; shape (crowds, corners)."""

    excess: np.ndarray
    height: np.ndarray


class Chances(NamedTuple):
    """phi(t-1), phi(t) and the sum over u >= 0 of c^-u phi(t+u), shape (crowds, places).

    phi: the law of T tilted by c. error, beyond_error: bounds of their errors. places: t.
    """

    before: np.ndarray
    at: np.ndarray
    beyond: np.ndarray
    error: float
    beyond_error: float
    places: np.ndarray


def worst_curve(
    channel: Bit,
    crowd: int,
    step: float,
    dots: int,
    enough: float = 0.0,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """Return upper bounds of delta at 0, step, ..., over all crowds of N people and both orders.

    crowd: N. dots: how many. enough: bounds below this delta need not be sharp. tolerance: the
    relative looseness, expressed as a change of the spread of the loss.
    """
    excess = np.expm1(step * np.arange(dots))
    orders = (1,) if channel.symmetric else (1, 0)
    curves = [_envelope(channel, x, crowd - 1, excess, enough, tolerance) for x in orders]
    return np.asarray(np.maximum.accumulate(np.max(curves, axis=0)[::-1])[::-1])


def homogeneous_curve(channel: Bit, crowd: int, step: float, dots: int) -> np.ndarray:
    """Return the same curve if all others hold x, or all hold x': below the worst, but quick to
    compute.

    From the whole law of T, which is binomial, unless it is so wide that transforms are faster.
    """
    excess = np.expm1(step * np.arange(dots))
    orders = (1,) if channel.symmetric else (1, 0)
    most = max(channel.matrix[1, answer] * channel.matrix[0, answer] for answer in (0, 1))
    if most * crowd <= WIDEST:
        curves = [line for x in orders for line in _uniform(channel, x, crowd - 1, excess)]
    else:
        same = np.array([0, crowd - 1])
        curves = [sub_crowds(channel, x, same, same[::-1], excess).max(axis=0) for x in orders]
    return np.asarray(np.max(curves, axis=0))


def _uniform(channel: Bit, x: int, others: int, excess: np.ndarray) -> Iterator[np.ndarray]:
    """Yield H at each alpha if all others hold x, and if they all hold x'."""
    order = BitOrder.of(channel, x, 0.0)
    if order is None:
        yield np.zeros(len(excess))
        return
    for hit, miss in ((order.direct, order.lost), (order.stray, order.rest)):
        spread = math.sqrt(others * hit * miss)
        low, high = (others * hit + sign * (WINDOW * spread + WINDOW**2) for sign in (-1, 1))
        first, last = max(math.floor(low), 0), min(math.ceil(high), others)
        law = np.exp(log_binomial(others, math.log(miss), math.log(hit), first, last))
        before, at = np.append(0.0, law), np.append(law, 0.0)
        chances = np.stack([order.direct * before + order.lost * at, before * order.stray])
        chances[1] += order.rest * at
        ratio = chances[0] / np.maximum(chances[1], SMALLEST)
        beyond = np.append(np.cumsum(chances[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1)), axis=1)
        more, less = beyond[:, np.searchsorted(ratio, 1 + excess, side="right")]
        yield np.maximum(more - (1 + excess) * less, 0.0)


def curve_length(channel: Bit, crowd: int, step: float, enough: float) -> int:
    """Return the number of dots, rounded up to an odd one, until delta is at most `enough`.

    Computed for homogeneous crowds; the worst crowd hardly needs more.
    """
    most = math.ceil(max(channel.losses) / step) + 2
    dots = min(math.ceil(REACH * typical_spread(channel, crowd) / step), most)
    while dots < most and homogeneous_curve(channel, crowd, step, dots)[-1] > enough:
        dots = min(2 * dots, most)
    length = int(np.sum(homogeneous_curve(channel, crowd, step, dots) > enough)) + 1
    return int(min(length, dots)) | 1


def typical_spread(channel: Bit, crowd: int) -> float:
    """Return the approximate standard deviation of the loss; 0 if nothing is revealed."""
    same = np.unique([0, (crowd - 1) // 2, crowd - 1])
    order = BitOrder.of(channel, 1, 0.0)
    if order is None:
        return 0.0
    return SPREAD_OF_LOSS * float(deltas(order, same, crowd - 1 - same).upper.max())


def _envelope(
    channel: Bit, x: int, others: int, excess: np.ndarray, enough: float, tolerance: float
) -> np.ndarray:
    """Return the largest curve of one order; all intervals that may matter are halved together.

    The tolerated looseness is the effect on a Gaussian delta of changing the spread by the share
    `tolerance`.
    """
    cells, settled = (
        CellIntervals.cover(others, round(FIRST_CELLS / tolerance)),
        np.zeros(len(excess)),
    )
    reached: Any = 0.0
    tried = np.unique(np.linspace(0, others, TRIED).astype(np.int64))
    while True:
        same = np.concatenate([cells.first, tried])
        other = np.concatenate([others - cells.last, others - tried])
        curves = sub_crowds(channel, x, same, other, excess)
        bounds, attained = np.split(curves, [len(cells.first)])
        reached = np.maximum(reached, attained.max(axis=0))
        spread = max(SPREAD_OF_LOSS * float(reached[0]), PHASE)
        tolerated = 1 + tolerance * (1 + (np.log1p(excess) / spread) ** 2)
        enough_of = np.maximum(reached * tolerated, enough)
        undecided = (bounds > enough_of).any(axis=1) & (cells.last > cells.first)
        settled = np.maximum(settled, bounds[~undecided].max(axis=0, initial=0.0))
        if undecided.sum() > MOST_CELLS:
            return np.asarray(np.maximum(settled, bounds.max(axis=0)))
        if not undecided.any():
            return np.asarray(settled)
        likely = cells.where(np.unique(bounds[:, ::EVERY].argmax(axis=0)))
        tried = (likely.first + likely.last) // 2
        cells = cells.where(undecided).halves


def sub_crowds(
    channel: Bit, x: int, same: np.ndarray, other: np.ndarray, excess: np.ndarray
) -> np.ndarray:
    """Return upper bounds of H at alpha = 1 + excess, shape (crowds, dots); excess rises from 0.

    same, other: how many of the others hold x, and how many hold x'.
    """
    start = BitOrder.of(channel, x, 0.0)
    if start is None:
        return np.zeros((len(same), len(excess)))
    same, other = same.astype(float), other.astype(float)
    gap = start.direct - start.stray
    # H(alpha) = 1 - alpha up to alpha = lost / rest, and 0 from alpha = direct / stray on.
    ends = np.array([-gap / start.rest, gap / start.stray]) * (1 + PHASE)
    heights = np.array([gap / start.rest * (1 + PHASE), 0.0])
    corners = [Corners(*(np.tile(end, (len(same), 1)) for end in (ends, heights)))]
    variance = same * start.direct * start.lost + other * start.stray * start.rest
    spread = gap / math.sqrt(max(float(variance.max()), 1.0))
    for order in _tilts(channel, x, spread, math.log1p(float(excess[-1]))):
        corners.append(_corners(order, same, other))
    curves = _chords(corners, excess * (1 - PHASE))
    alone = gap - excess * start.stray + PHASE * (1 + excess * start.stray)
    return np.asarray(np.minimum(curves, np.maximum(alone, 0.0)))


def _tilts(channel: Bit, x: int, spread: float, last: float) -> list[BitOrder]:
    """Return orders at equally spaced epsilons, up to the last one or the local epsilon."""
    gap = min(TILT_GAP * spread, MOST_TILT_GAP)
    wanted = np.arange(gap / 2, min(last, max(channel.losses)) + TILT_GAP * spread, gap)
    orders = (BitOrder.of(channel, x, float(epsilon)) for epsilon in wanted)
    return [order for order in orders if order is not None]


def _corners(order: BitOrder, same: np.ndarray, other: np.ndarray) -> Corners:
    """Return the corners near the mean of a tilt; crowds with similar variances are computed
    together."""
    corners = Corners(*np.empty((2, len(same), PLACES)))
    for rows in _alike(order, same, other):
        corners.excess[rows], corners.height[rows] = _corner_block(order, same[rows], other[rows])
    return corners


def _corner_block(order: BitOrder, same: np.ndarray, other: np.ndarray) -> Corners:
    """Return the corners of crowds with similar variances.

    P(t)/Q(t) lies between bounds `low` and `high`, and H at `high` is at most the height at `low`
    of the line that belongs to t. If the precision is not sufficient, alpha = 0 and H = 1.
    """
    chances, c = _chances(order, same, other), 1 + order.excess
    gap, error = order.direct - order.stray, chances.error
    usable = chances.at > SURE * error
    at = np.where(usable, chances.at, 1.0)
    before = np.where(usable, np.maximum(chances.before, 0.0), 1.0)

    def excess_of(ratio: np.ndarray) -> np.ndarray:
        return np.asarray(gap * (ratio - 1) / (order.stray * ratio + order.rest))

    high = excess_of(c * (before + error) / (at - error) * (1 + PHASE))
    low = excess_of(c * np.maximum(before - error, 0.0) / (at + error) * (1 - PHASE))
    beyond = chances.beyond - np.sign(low) * chances.beyond_error
    line = c * (before + error) * (gap - low * order.stray)
    height = line - low * beyond + PHASE * (c * before * gap + np.abs(low) * chances.beyond)
    height = np.where(usable, np.maximum(height, 0.0), 0.0)
    log_scale, doubt = _log_scale(order, same, other, chances.places)
    height = height * np.exp(np.minimum(log_scale + doubt, 700.0))
    return Corners(
        np.where(usable, high + PHASE * (1 + high), -1.0),
        np.where(usable, np.minimum(height, 1.0), 1.0),
    )


def _chances(order: BitOrder, same: np.ndarray, other: np.ndarray) -> Chances:
    """Return the probabilities by inverse transform."""
    span = math.ceil(SPAN * math.sqrt(float(order.variance(same, other).max()))) + LEAST_SPAN
    offsets = np.rint(np.linspace(-span, span, PLACES))
    law = _transformed(order, same, other, span + 1)
    t, (point, later) = law.grid.frequency, law.grid.kernels(order.log_c)
    kernels = np.stack([point * np.exp(1j * t), point, point + later], axis=1)
    shifted = (kernels[:, :, None] * np.exp(-1j * np.outer(t, offsets))[:, None]).reshape(
        len(t), -1
    )
    values = law.transform.real @ shifted.real - law.transform.imag @ shifted.imag
    before, at, above = values.reshape(len(same), 3, -1).transpose(1, 0, 2)
    error, beyond_error = (float(np.abs(each) @ law.rounding) for each in (point, point + later))
    places = law.center[:, None] + offsets
    return Chances(before, at, above, CUT + error, CUT_BEYOND + beyond_error, places)


def _chords(corners: list[Corners], excess: np.ndarray) -> np.ndarray:
    """Return the chords between corners, which need not be sorted, at each excess.

    H falls, so each corner also bounds everything beyond it.
    """
    place = np.concatenate([some.excess for some in corners], axis=1)
    height = np.concatenate([some.height for some in corners], axis=1)
    order = np.argsort(place, axis=1, kind="stable")
    place = np.take_along_axis(place, order, axis=1)
    height = np.minimum.accumulate(np.take_along_axis(height, order, axis=1), axis=1)
    right = np.stack([np.searchsorted(row, excess, side="right") for row in place])
    right = np.clip(right, 1, place.shape[1] - 1)
    (x, y), (x_right, y_right) = (
        (np.take_along_axis(place, i, axis=1), np.take_along_axis(height, i, axis=1))
        for i in (right - 1, right)
    )
    width = np.where(x_right > x, x_right - x, 1.0)
    share = np.clip((excess - x) / width, 0.0, 1.0)
    rest = np.clip((x_right - excess) / width, 0.0, 1.0)
    return np.asarray((y * rest + y_right * share) * (1 + PHASE))


BLOCK = 64  # collections computed together: they share the law of all but 63 of the others
SPREAD, REST = 9.0, 36.0  # a binomial law is cut at 9 standard deviations plus 36

BitLaw = tuple[float, float]  # probabilities of the reports 0 and 1
Window = tuple[int, np.ndarray]  # the first count and the probabilities from there on


@dataclass(frozen=True)
class OneBit:
    """delta and eta for x = 1 against x' = 0; shape (N,), by how many of the others hold 1.

    delta is rounded up by a share of 1e-9, and is at least 1e-300 unless it is 0.
    """

    delta: np.ndarray
    eta: np.ndarray

    @property
    def worst_delta(self) -> Case:
        """The largest delta over both orders and all collections."""
        return _worst(self.delta)

    @property
    def worst_eta(self) -> Case:
        """The largest eta over both orders and all collections."""
        return _worst(self.eta)


def _worst(values: np.ndarray) -> Case:
    """Return the largest value; x = 0 against x' = 1 is the same with all bits reversed."""
    ones = int(values.argmax())
    return Case(float(values[ones]), (1, 0), ((0, len(values) - 1 - ones), (1, ones)))


def one_bit(channel: BitFlip, crowd: int, epsilon: float) -> OneBit:
    """Return delta(epsilon) and eta(epsilon) of one bit for every collection of N - 1 others.

    crowd: N. delta = sum over t of max(0, P[t ones | x] - e^epsilon P[t ones | x']); eta =
    P[ratio > e^epsilon | x]; for x = 0, x' = 1 read both backwards. About 1 s for N = 1e5.
    Raises PrivacyError unless N >= 2 and 0 <= epsilon < 700.
    """
    tilt = _Tilt.of(channel, crowd, epsilon)
    size = min(BLOCK, crowd)
    figures = np.zeros((2, crowd))
    if tilt is not None:
        for first in [*range(0, crowd - size, size), crowd - size]:
            figures[:, first : first + size] = tilt.block(first, size)
    return OneBit(*figures)


def one_bit_at(channel: BitFlip, crowd: int, epsilon: float, ones: int) -> tuple[float, float]:
    """Return (delta, eta) for x = 1 against x' = 0 if `ones` of the N - 1 others hold 1.

    As `one_bit`, for one collection only; N = 1e7 takes a few milliseconds.
    Raises PrivacyError unless N >= 2, 0 <= epsilon < 700 and 0 <= ones < N.
    """
    tilt = _Tilt.of(channel, crowd, epsilon)
    if not 0 <= ones < crowd:
        raise PrivacyError.of("ones", "accountant.ones-of-crowd", value=ones, most=crowd - 1)
    delta, eta = (0.0, 0.0) if tilt is None else tilt.block(ones, 1)[:, 0]
    return float(delta), float(eta)


@dataclass(frozen=True)
class _Tilt:
    """The tilt by c^t that moves the mode of every law to its threshold."""

    channel: BitFlip
    crowd: int
    excess: float  # c - 1
    gain: float  # e^epsilon p - q

    @classmethod
    def of(cls, channel: BitFlip, crowd: int, epsilon: float) -> _Tilt | None:
        """Return the tilt, or None if no report of one bit reveals as much as epsilon: delta = eta
        = 0."""
        check_crowd(crowd)
        check_epsilon(epsilon)
        if epsilon >= channel.epsilon:
            return None
        rest = -channel.p * math.expm1(epsilon - channel.epsilon)  # p - e^epsilon q
        gain = channel.p * math.expm1(epsilon) + (channel.p - channel.q)
        return cls(channel, crowd, math.expm1(epsilon) / rest, gain)

    @property
    def log_c(self) -> float:
        """ln c."""
        return math.log1p(self.excess)

    @property
    def reports(self) -> tuple[BitLaw, BitLaw]:
        """The tilted laws of the reports of a person who holds 1, and of one who holds 0."""
        p, q, c = self.channel.p, self.channel.q, 1 + self.excess
        one, zero = q + p * c, p + q * c
        return (q / one, p * c / one), (p / zero, q * c / zero)

    def block(self, first: int, size: int) -> np.ndarray:
        """Return delta and eta, shape (2, size), if first, ..., first + size - 1 of the others hold
        1.

        If f is the tilted law and M = E[c^T], P_1(t) = M c^-t (p c f(t-1) + q f(t)) and
        P_1(t) - e^epsilon P_0(t) = M c^-t gain (f(t-1) - f(t)), positive beyond the mode s. So
        both are sums of f(s) and of the tail r = sum over t > s of c^(s-t) f(t).
        """
        ones = np.arange(first, first + size)
        floors, law, tail = self._at_modes(first, size)
        later = law[1] * (1 + TIED_RATIO) >= law[0]
        here, beyond = np.where(later, law[1], law[0]), np.where(later, tail[1], tail[0])
        drop = (here - beyond * self.excess) / (1 + self.excess)
        eta = self.channel.p * (here + beyond) + self.channel.q * beyond
        log_scale = self._log_total(ones) - self.log_c * (floors + later)
        both = np.stack([self.gain * drop * (1 + ENUMERATED), eta])
        return np.asarray(np.maximum(np.exp(log_scale) * both, SMALLEST))

    def _log_total(self, ones: np.ndarray) -> np.ndarray:
        """Return ln E[c^T]."""
        channel, zeros = self.channel, self.crowd - 1 - ones
        log_one, log_zero = np.log1p(np.array([channel.p, channel.q]) * self.excess)
        return np.asarray(ones * log_one + zeros * log_zero)

    def _at_modes(self, first: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the floors of the tilted means; the law, and its tail r, there and one place
        beyond.

        A mode is less than 1 from the mean (Darroch 1964). Shapes (size,), (2, size), (2, size).
        """
        ones = np.arange(first, first + size)
        one, zero = self.reports
        means = ones * one[1] + (self.crowd - 1 - ones) * zero[1]
        floors = np.floor(means).astype(np.int64)
        low, high = int(floors[0]) - size, int(floors[-1]) + 1
        common, tail = self._common(first, size, low, high)
        place = np.array([0, 1])[:, None, None] + floors - np.arange(size)[:, None] - low
        kernels = _kernels(size, one, zero)
        return floors, (kernels * common[place]).sum(axis=1), (kernels * tail[place]).sum(axis=1)

    def _common(self, first: int, size: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the tilted law of all but size - 1 of the others at low, ..., high, and its tail
        r."""
        one, zero = self.reports
        start, mass = _convolved(
            _binomial(first, *one), _binomial(self.crowd - first - size, *zero)
        )
        padded = np.pad(mass, (max(0, start - low), max(0, high + 1 - start - len(mass))))
        law, rest = np.split(padded[max(0, low - start) :], [high - low + 1])
        tail = float(np.exp(-self.log_c * np.arange(1, len(rest) + 1)) @ rest)
        tails = accumulate(law[:0:-1], lambda r, f: (f + r) / (1 + self.excess), initial=tail)
        return law, np.array([*tails])[::-1]


def _binomial(trials: int, miss: float, hit: float) -> Window:
    """Return the law Bin(trials, hit) without negligible tails."""
    reach = SPREAD * math.sqrt(trials * hit * miss) + REST
    first = max(0, math.floor(trials * hit - reach))
    last = min(trials, math.ceil(trials * hit + reach))
    return first, np.exp(log_binomial(trials, math.log(miss), math.log(hit), first, last))


def _convolved(one: Window, other: Window) -> Window:
    """Return the law of the sum of two independent counts."""
    return one[0] + other[0], convolved(one[1], other[1])


@lru_cache(maxsize=4)
def _kernels(size: int, one: BitLaw, zero: BitLaw) -> np.ndarray:
    """Return the laws Bin(j, one) * Bin(size - 1 - j, zero); column j = 0, ..., size - 1, all
    counts."""
    powers = [[np.ones(1)], [np.ones(1)]]
    for power, law in zip(powers, (one, zero), strict=True):
        for _ in range(size - 1):
            power.append(np.convolve(power[-1], law))
    columns = [np.convolve(powers[0][j], powers[1][size - 1 - j]) for j in range(size)]
    return np.stack(columns, axis=1)
