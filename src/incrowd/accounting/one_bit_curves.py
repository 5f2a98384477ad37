"""The whole privacy curve of one bit, for every crowd at once; a crowd of 10^9 costs no more.

Notation as in `one_bit_frequencies`: f is the law of T, the number of ones that the others send.
With one's own report P(t) = kept f(t-1) + lost f(t) ones are seen, or Q(t) = stray f(t-1) + rest
f(t). P/Q rises with t, since f is log-concave. So H(alpha) = sum of max(0, P - alpha Q) is
piecewise linear in alpha, with a corner at each alpha = P(t)/Q(t), where

    H = P[T' >= t | x] - alpha P[T' >= t | x']        (T' counts one's own report).

Some hundred corners give the curve of a crowd: the chords between them bound it from above. They
are found near some tilts of f, where digits are kept however small H is. The curves of sub-crowds
bound intervals of crowds, as in `one_bit_worst`, at all epsilons together.
Proof: docs/mathematics.md#whole-curves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from incrowd.accounting.one_bit_frequencies import CUT, LOG_CUT, Grid, Order, deltas
from incrowd.accounting.one_bit_worst import Cells
from incrowd.channels.bit import Bit
from incrowd.numerics.binomial import log_binomial
from incrowd.numerics.precision import PHASE, SMALLEST

PLACES = 27  # corners near each tilt
SPAN, LEAST_SPAN = 1.3, 3  # deviations, or ones, from the middle of a tilt that it is used for
APART, MOST_APART = 2.0, 0.7  # spreads of the loss, and epsilons, from one tilt to the next
CUT_BEYOND = 2 * CUT  # of a sum over places: its kernel falls like the inverse of the frequency
SURE = 1e6  # a chance is used if it is as many times its error: others are found by other tilts
WIDEST = 1 << 20  # variance of a law that is worked out in full
WINDOW = 9.0  # deviations of it, and its square in ones, that such a law reaches
FIRST_CELLS, MOST_CELLS = 0.4, 1 << 11  # over the tolerance, so many intervals to begin with
TRIED = 9  # crowds whose curves say what can be reached, to begin with
SOME = 8  # at every eighth dot the crowd that seems to be the worst is tried
TOLERANCE = 0.003  # relative, of the spread of the loss
REACH = 8.0  # spreads of the loss that a curve has at first
SPREAD_OF_LOSS = 2.5  # times delta(0): sqrt(2 pi), were losses normal


class Corners(NamedTuple):
    """Upper bounds of H at some alpha; shape (crowds, corners). excess: alpha - 1."""

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
    """Upper bounds of delta at 0, step, ..., over all crowds of N people and both orders.

    crowd: N. dots: how many. enough: a delta that needs not be sharper. Within about `tolerance`,
    0.3 per cent if it is not given, of what the spread of the loss would have to be.
    """
    excess = np.expm1(step * np.arange(dots))
    orders = (1,) if channel.symmetric else (1, 0)
    curves = [_envelope(channel, x, crowd - 1, excess, enough, tolerance) for x in orders]
    return np.asarray(np.maximum.accumulate(np.max(curves, axis=0)[::-1])[::-1])


def homogeneous_curve(channel: Bit, crowd: int, step: float, dots: int) -> np.ndarray:
    """The same where all others hold x, or all x': less than the worst, and soon found.

    From the whole law of T, which is binomial, unless it is so wide that transforms are quicker.
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
    """H at each alpha where all others hold x, and where they hold x'."""
    order = Order.of(channel, x, 0.0)
    if order is None:
        yield np.zeros(len(excess))
        return
    for hit, miss in ((order.kept, order.lost), (order.stray, order.rest)):
        spread = math.sqrt(others * hit * miss)
        low, high = (others * hit + sign * (WINDOW * spread + WINDOW**2) for sign in (-1, 1))
        first, last = max(math.floor(low), 0), min(math.ceil(high), others)
        law = np.exp(log_binomial(others, math.log(miss), math.log(hit), first, last))
        before, at = np.append(0.0, law), np.append(law, 0.0)
        chances = np.stack([order.kept * before + order.lost * at, before * order.stray])
        chances[1] += order.rest * at
        ratio = chances[0] / np.maximum(chances[1], SMALLEST)
        beyond = np.append(np.cumsum(chances[:, ::-1], axis=1)[:, ::-1], np.zeros((2, 1)), axis=1)
        more, less = beyond[:, np.searchsorted(ratio, 1 + excess, side="right")]
        yield np.maximum(more - (1 + excess) * less, 0.0)


def curve_length(channel: Bit, crowd: int, step: float, enough: float) -> int:
    """How many dots a curve needs: until delta is at most `enough`, or 0; an odd number.

    The worst crowd hardly needs more than a homogeneous one.
    """
    most = math.ceil(max(channel.losses) / step) + 2
    dots = min(math.ceil(REACH * typical_spread(channel, crowd) / step), most)
    while dots < most and homogeneous_curve(channel, crowd, step, dots)[-1] > enough:
        dots = min(2 * dots, most)
    found = int(np.sum(homogeneous_curve(channel, crowd, step, dots) > enough)) + 1
    return int(min(found, dots)) | 1


def typical_spread(channel: Bit, crowd: int) -> float:
    """The standard deviation of the loss, about; 0 if nothing is told."""
    same = np.unique([0, (crowd - 1) // 2, crowd - 1])
    order = Order.of(channel, 1, 0.0)
    if order is None:
        return 0.0
    return SPREAD_OF_LOSS * float(deltas(order, same, crowd - 1 - same).upper.max())


def _envelope(
    channel: Bit, x: int, others: int, excess: np.ndarray, enough: float, tolerance: float
) -> np.ndarray:
    """The largest curve of one order, breadth first: intervals that may matter are halved.

    What a change of the spread by the share `tolerance` does to delta of a Gaussian is tolerated.
    """
    cells, settled = Cells.cover(others, round(FIRST_CELLS / tolerance)), np.zeros(len(excess))
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
        likely = cells.where(np.unique(bounds[:, ::SOME].argmax(axis=0)))
        tried = (likely.first + likely.last) // 2
        cells = cells.where(undecided).halves


def sub_crowds(
    channel: Bit, x: int, same: np.ndarray, other: np.ndarray, excess: np.ndarray
) -> np.ndarray:
    """Upper bounds of H at alpha = 1 + excess, shape (crowds, dots); excess rises from 0.

    same, other: how many of the others hold x, and x'.
    """
    start = Order.of(channel, x, 0.0)
    if start is None:
        return np.zeros((len(same), len(excess)))
    same, other = same.astype(float), other.astype(float)
    gap = start.kept - start.stray
    # H(alpha) = 1 - alpha up to lost / rest, and 0 from kept / stray on
    ends = np.array([-gap / start.rest, gap / start.stray]) * (1 + PHASE)
    heights = np.array([gap / start.rest * (1 + PHASE), 0.0])
    corners = [Corners(*(np.tile(end, (len(same), 1)) for end in (ends, heights)))]
    variance = same * start.kept * start.lost + other * start.stray * start.rest
    spread = gap / math.sqrt(max(float(variance.max()), 1.0))
    for order in _tilts(channel, x, spread, math.log1p(float(excess[-1]))):
        corners.append(_corners(order, same, other))
    curves = _chords(corners, excess * (1 - PHASE))
    alone = gap - excess * start.stray + PHASE * (1 + excess * start.stray)
    return np.asarray(np.minimum(curves, np.maximum(alone, 0.0)))


def _tilts(channel: Bit, x: int, spread: float, last: float) -> list[Order]:
    """Orders at epsilons that lie APART, as far as the last one or the local epsilon."""
    apart = min(APART * spread, MOST_APART)
    wanted = np.arange(apart / 2, min(last, max(channel.losses)) + APART * spread, apart)
    orders = (Order.of(channel, x, float(epsilon)) for epsilon in wanted)
    return [order for order in orders if order is not None]


def _corners(order: Order, same: np.ndarray, other: np.ndarray) -> Corners:
    """Of the places near the middle of a tilt; crowds whose tilted sums spread alike together."""
    own, stray = order.reports
    variance = same * own.hit * own.miss + other * stray.hit * stray.miss
    octave = np.floor(np.log2(np.maximum(variance, 1.0)))
    found = Corners(*np.empty((2, len(same), PLACES)))
    for rows in (octave == one for one in np.unique(octave)):
        found.excess[rows], found.height[rows] = _alike(order, same[rows], other[rows])
    return found


def _alike(order: Order, same: np.ndarray, other: np.ndarray) -> Corners:
    """P(t)/Q(t) lies between bounds `low` and `high`, and H at the higher one is at most what the
    line of t has at the lower one. Where digits end, alpha = 0 and H = 1."""
    chances, c = _chances(order, same, other), 1 + order.excess
    gap, error = order.kept - order.stray, chances.error
    usable = chances.at > SURE * error
    at = np.where(usable, chances.at, 1.0)
    before = np.where(usable, np.maximum(chances.before, 0.0), 1.0)

    def excess_of(ratio: np.ndarray) -> np.ndarray:
        return np.asarray(gap * (ratio - 1) / (order.stray * ratio + order.rest))

    high = excess_of(c * (before + error) / (at - error) * (1 + PHASE))
    low = excess_of(c * np.maximum(before - error, 0.0) / (at + error) * (1 - PHASE))
    beyond = chances.beyond - np.sign(low) * chances.beyond_error
    own = c * (before + error) * (gap - low * order.stray)
    height = own - low * beyond + PHASE * (c * before * gap + np.abs(low) * chances.beyond)
    height = np.where(usable, np.maximum(height, 0.0), 0.0)
    height = height * _scale(order, same, other, chances.places)
    return Corners(
        np.where(usable, high + PHASE * (1 + high), -1.0),
        np.where(usable, np.minimum(height, 1.0), 1.0),
    )


def _scale(order: Order, same: np.ndarray, other: np.ndarray, places: np.ndarray) -> np.ndarray:
    """E[c^T] c^-t, rounded up."""
    totals = np.stack([same, other], axis=1) * order.log_totals
    size = 1 + np.abs(totals).sum(axis=1)[:, None] + np.abs(places) * order.log_c
    exponent = totals.sum(axis=1)[:, None] - places * order.log_c + PHASE * size
    return np.asarray(np.exp(np.minimum(exponent, 700.0)))


def _chances(order: Order, same: np.ndarray, other: np.ndarray) -> Chances:
    """By the inverse transform, as `one_bit_frequencies` does it; places counted from `same`."""
    own, stray = order.reports
    variance = same * own.hit * own.miss + other * stray.hit * stray.miss
    narrowest, widest = float(variance.min()), float(variance.max())
    mean = other * stray.hit - same * own.hit
    center = np.rint(mean)
    span = math.ceil(SPAN * math.sqrt(widest)) + LEAST_SPAN
    offsets = np.rint(np.linspace(-span, span, PLACES))
    grid = Grid.of(narrowest, widest, span + 1)
    t = grid.frequency
    exponent = np.outer(same, own.log_transform(t)) + np.outer(other, stray.log_transform(t))
    transform = np.exp(exponent - 1j * np.outer(center - mean, t))
    point, later = grid.kernels(order.log_c)
    kernels = np.stack([point * np.exp(1j * t), point, point + later], axis=1)
    shifted = (kernels[:, :, None] * np.exp(-1j * np.outer(t, offsets))[:, None]).reshape(
        len(t), -1
    )
    values = transform.real @ shifted.real - transform.imag @ shifted.imag
    before, at, above = values.reshape(len(same), 3, -1).transpose(1, 0, 2)
    moved = float((other * stray.hit + same * own.hit).max())
    rounding = PHASE * np.exp(-narrowest * (1 - np.cos(t))) * (1 + LOG_CUT + moved * t)
    errors = float(np.abs(point) @ rounding), float(np.abs(point + later) @ rounding)
    places = center[:, None] + offsets
    return Chances(before, at, above, CUT + errors[0], CUT_BEYOND + errors[1], places)


def _chords(corners: list[Corners], excess: np.ndarray) -> np.ndarray:
    """Chords between corners, in whatever order they come; H falls, so that a corner bounds what
    lies beyond it."""
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
