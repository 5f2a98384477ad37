"""The privacy curve of everything one person sends: one curve for each schema, composed.

Proof: docs/mathematics.md#composition.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import lru_cache, reduce
from itertools import groupby
from operator import mul
from typing import NamedTuple, Protocol

import numpy as np

from incrowd.accountant import local_ratios
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.composition import DeltaFunction, PrivacyCurve, connect_the_dots, sampled
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.one_bit import (
    TOLERANCE,
    curve_length,
    homogeneous_curve,
    typical_spread,
    worst_curve,
)
from incrowd.accountant.pairs import local_candidates
from incrowd.accountant.ratios import Ratios
from incrowd.accountant.schema import Contribution, Schema, SchemaCounts
from incrowd.accountant.shifts import shift_curve

STEPS = 12  # grid points per standard deviation of a collection's privacy loss
MOST_STEPS = 1000
DENSE, DEEP = 2.0, 5.0  # standard deviations in which every grid point is computed: `all_dots`
FEW = 3  # with more bits than this, the tolerance of each one is reduced
FEWEST_STEPS = 3  # for a schema that adds little to the others
MOST_GRID = 4000
LINKED_GRID = 256  # steps up to the loss of one of many reports: they add h^2 / 6 to its variance
NEGLIGIBLE = 1e-13
LEAST_SPREAD = 1e-12  # for reports that reveal nothing
NOTHING = DeltaBounds(0.0, 0.0, 0.0)
ANY_CROWD = WorstPair(code="any-crowd")


class Orders(NamedTuple):
    """Bounds of one report's delta at any epsilon, in both orders of x and x', and the worst pair.

    Both are the same function if it holds for both orders.
    """

    forward: DeltaFunction
    backward: DeltaFunction
    worst: WorstPair


class Bounded(Hashable, Protocol):
    """An analysis that bounds one report, so that several can be composed."""

    def spread(self, schema: Schema, crowd: int) -> float:
        """Return the approximate standard deviation of one report's loss."""
        ...

    def orders(self, schema: Schema, crowd: int, spread: float, search: bool = False) -> Orders:
        """Return the bounds; spread: the spread of all losses together. search: estimates are
        enough."""
        ...

    def bit(self, schema: Schema) -> Bit | None:
        """Return the channel of a report of one bit, whose whole curve is quick to compute, or
        None."""
        ...


class Dots(NamedTuple):
    """Bounds of delta at 0, step, 2 step, ... in both orders, of one report of a schema."""

    forward: np.ndarray
    backward: np.ndarray
    step: float
    worst: WorstPair

    @property
    def curve(self) -> PrivacyCurve:
        """The dots, connected."""
        return connect_the_dots(self.forward, self.backward, self.step)

    @property
    def coarser(self) -> Dots:
        """Every second dot."""
        forward = self.forward[::2]
        backward = forward if self.backward is self.forward else self.backward[::2]
        return Dots(forward, backward, 2 * self.step, self.worst)


def _composed(dots: list[tuple[Dots, int]]) -> PrivacyCurve:
    """Return the composition of (dots, how many); small steps first, since small losses add up
    finely."""
    ordered = sorted(dots, key=lambda one: one[0].step)
    alike = groupby(ordered, key=lambda one: one[0].step)
    return reduce(mul, (PrivacyCurve.of([(d.curve, n) for d, n in same]) for _, same in alike))


def composed_curve(
    by: Bounded, sent: Contribution, crowd: int, steps: int = STEPS, *, search: bool = False
) -> PrivacyCurve:
    """Return the privacy curve of everything one person sends; steps, search: see `all_dots`."""
    if only_shifts(sent):
        return shift_curve(sent.shifts)
    return _with_shifts(_composed(all_dots(by, sent, crowd, steps, search=search)), sent)


def only_shifts(sent: Contribution) -> bool:
    """Return whether one person's change does nothing but shift counts."""
    return bool(sent.shifts) and not sent.every


def of_shifts(sent: Contribution) -> WorstPair:
    """Return the worst pair of shifted counts: all pairs that shift as many are alike."""
    return WorstPair(code="shifted-cells", number=sent.shifted)


def _with_shifts(curve: PrivacyCurve, sent: Contribution) -> PrivacyCurve:
    """Compose the curve of reports with that of shifts, on a lattice of the same step."""
    return curve * shift_curve(sent.shifts, curve.forward.step) if sent.shifts else curve


def composed_delta(
    by: Bounded, sent: Contribution, crowd: int, epsilon: float
) -> tuple[DeltaBounds, tuple[WorstPair, ...]]:
    """Return delta of everything one person sends, and the worst pair of each kind of report.

    The composition at two grid steps; the error of connecting the dots is of second order.
    """
    if epsilon >= sent.local_epsilon:
        return NOTHING, (WorstPair(code="beyond-local"),)
    dots = all_dots(by, sent, crowd)
    curve = _with_shifts(_composed(dots), sent)
    fine = curve.delta(epsilon)
    coarser = _composed([(one.coarser, count) for one, count in dots])
    drop = max(_with_shifts(coarser, sent).delta(epsilon) - fine, 0.0)
    worst = tuple(dict.fromkeys(one.worst for one, _ in dots))
    worst += (of_shifts(sent),) if sent.shifts else ()
    lower = max(fine - drop - 2 * curve.doubt, 0.0)
    return DeltaBounds(lower, max(fine - drop / 3, lower), fine), worst


def all_dots(
    by: Bounded, sent: Contribution, crowd: int, steps: int = STEPS, *, search: bool = False
) -> list[tuple[Dots, int]]:
    """Return the dots of each schema and how many reports there are of it.

    search: use homogeneous crowds for one bit, and an analysis's estimates for other reports; the
    result is not a bound.

    A grid of step h adds about h^2 / 6 to the variance of each report's loss. Among steps with the
    same total, those that fall with the cube root of the copies need the fewest dots. If the total
    loss lies several standard deviations out, the loss of one report lies out by the ratio of its
    standard deviation to the total's: up to there, and slightly farther, every dot is computed.
    Dots of one bit are so cheap that all bits share one step. The excess of the bounds of many bits
    grows in proportion to their number, but the spread of their losses only with its square root,
    so each bound has to be sharper if there are more bits. All linked reports together have one
    curve, which is computed exactly.
    """
    if not sent.reports:  # no crowd hides anything: use the finest grid
        return [(linked_dots(sent.linked, 0.0), 1)]
    spreads = [_spread(by, schema, crowd) for schema, _ in sent.reports]
    counts = [count for _, count in sent.reports]
    variance = sum(count * spread**2 for count, spread in zip(counts, spreads, strict=True))
    step = math.sqrt(variance / sum(map(math.cbrt, counts))) / steps
    tolerance = TOLERANCE * min(1.0, math.sqrt(FEW / sum(counts))) * max(STEPS / steps, 1.0) ** 2
    finest = math.sqrt(variance / sum(counts)) / _rounded(steps)
    enough = NEGLIGIBLE / 2 ** math.ceil(math.log2(sum(counts)))
    dots = [(linked_dots(sent.linked, step), 1)] if sent.linked else []
    for (schema, count), spread in zip(sent.reports, spreads, strict=True):
        channel = by.bit(schema)
        if channel is not None:
            grid = 1 / _rounded(1 / finest), enough
            within = 0.0 if search else tolerance
            dots.append((_bit_dots(channel, crowd, *grid, within), count))
            continue
        fine = _rounded(max(spread * math.cbrt(count) / step, min(FEWEST_STEPS, steps)))
        dense = math.ceil(fine * (DENSE + DEEP * spread / math.sqrt(variance)))
        dots.append((_dots(by, schema, crowd, count, fine, dense, enough, search), count))
    return dots


def linked_dots(linked: SchemaCounts, step: float) -> Dots:
    """Return the dots of reports that no crowd hides, up to their largest loss; `step` is the
    smallest.

    At each epsilon, the largest exact delta of all pairs of records that can be the worst.
    """
    candidates = local_candidates(Contribution((), linked))
    highest = Contribution((), linked).local_epsilon
    step = max(step, highest / MOST_GRID)
    last = 2 * math.ceil(highest / (2 * step) + 1)  # an even number of steps, for `coarser`
    deltas = np.zeros(last + 1)
    inside = step * np.arange(math.ceil(highest / step))
    deltas[: len(inside)] = [
        max(local_ratios.delta(one.ratios, epsilon) for one in candidates) for epsilon in inside
    ]
    dots = np.minimum(np.minimum.accumulate(deltas), 1.0)
    return Dots(dots, dots, step, candidates[0].pair)


@lru_cache(maxsize=64)
def linked_curve(linked: SchemaCounts) -> PrivacyCurve:
    """Return the composed curves of reports that no crowd hides.

    For many copies, this takes far less time than the ratios of all reports together; it is looser.
    """
    step = max(schema.local_epsilon for schema, _ in linked) / LINKED_GRID
    curves = [(linked_dots(((schema, 1),), step).curve, count) for schema, count in linked]
    return PrivacyCurve.of(curves)


def _rounded(steps: float) -> float:
    """Round up to a 16th of an octave: cached dots are reused if other schemas change slightly."""
    return float(2 ** (math.ceil(16 * math.log2(steps)) / 16))


@lru_cache(maxsize=256)
def _spread(by: Bounded, schema: Schema, crowd: int) -> float:
    return max(by.spread(schema, crowd), LEAST_SPREAD)


@lru_cache(maxsize=256)
def _bit_dots(channel: Bit, crowd: int, step: float, enough: float, tolerance: float) -> Dots:
    """Return the dots of one bit in both orders, over all crowds or over homogeneous crowds only.

    tolerance: as in `worst_curve`; 0 for homogeneous crowds only. The step is doubled until at most
    `MOST_GRID` dots cover the loss of the bit.
    """
    if not typical_spread(channel, crowd):
        return Dots(np.zeros(3), np.zeros(3), step, ANY_CROWD)
    length = curve_length(channel, crowd, step, enough)
    while length > MOST_GRID:
        step *= 2
        length = curve_length(channel, crowd, step, enough)
    if tolerance:
        curve = worst_curve(channel, crowd, step, length, enough, tolerance)
    else:
        curve = homogeneous_curve(channel, crowd, step, length)
    dots = np.minimum(curve, 1.0)
    return Dots(dots, dots, step, ANY_CROWD)


@lru_cache(maxsize=64)
def _dots(
    by: Bounded,
    schema: Schema,
    crowd: int,
    count: int,
    steps: float,
    dense: int,
    enough: float,
    search: bool,
) -> Dots:
    """Return the dots of `count` reports of a schema; enough: the delta at which they end."""
    spread = _spread(by, schema, crowd)
    orders = by.orders(schema, crowd, spread * math.sqrt(count), search)
    grid = (spread / steps, dense, enough, MOST_GRID)
    forward = sampled(orders.forward, *grid)
    same = orders.backward is orders.forward
    backward = forward if same else sampled(orders.backward, *grid)
    if same:
        return Dots(forward, forward, spread / steps, orders.worst)
    length = max(len(forward), len(backward))
    dots = (_padded(forward, length), _padded(backward, length))
    return Dots(*dots, spread / steps, orders.worst)


def symmetric(ratios: Ratios) -> bool:
    """Return whether a pair has the same curve in both orders."""
    return _atoms(ratios) == _atoms(ratios.swapped)


def _atoms(ratios: Ratios) -> set[tuple[float, ...]]:
    """Return the atoms, rounded so that atoms that differ by rounding become equal."""
    atoms = np.stack([ratios.log_a, ratios.log_b, ratios.log_mass], axis=1)
    scale = np.array([ratios.scale or 1.0, ratios.scale or 1.0, 1.0])
    return set(map(tuple, np.round(atoms / scale, 8) + 0.0))


def _padded(curve: np.ndarray, length: int) -> np.ndarray:
    """Repeat the last bound, which also holds for every larger epsilon."""
    return np.pad(curve, (0, length - len(curve)), mode="edge")
