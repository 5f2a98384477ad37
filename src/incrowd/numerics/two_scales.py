"""Sums of draws that are mostly small and rarely large: each kind on a lattice of its own.

Where the largest values are thousands of times the usual ones, one lattice has to be as fine as
the small and as wide as the large ones. Here the two are divided: a sum of N draws is
one of small ones for all but K draws, and of K large ones. Give every large value a small draw as
well, and take that draw's mean off the value: the sum keeps its mean and gains the spread of K
small draws, so that every convex expectation can only rise. And now N small draws and N large
ones (nearly all zero) are independent.
Proof: docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from incrowd.numerics.discretization import (
    Discretization,
    discretize,
    positive_mean,
)
from incrowd.numerics.law import Law, Mean
from incrowd.numerics.precision import SMALLEST
from incrowd.numerics.tilted import TiltedLaw, bounded_exp

WORTH_IT = 4.0  # how many times fewer points two lattices have to have: they cost about twice each
WIDTH = 18.0  # standard deviations of a window: 2 sqrt(2 * 41) by Chernoff, if the sum is normal


def mean_in_two(whole: Discretization, halvings: int = 0) -> Mean | None:
    """A bound of E[max(0, S)] by two lattices; None if one is as good.

    It is about as loose as that of one lattice whose step is halved some times.
    """
    finer = replace(whole, spare=whole.spare / 4**halvings, step=whole.step / 2**halvings)
    parts = divided(finer)
    if parts is None:
        return None
    first = _on_its_own(parts[0], finer)
    second = _on_its_own(parts[1], finer, first.step)
    (one, one_cumulant), (other, other_cumulant) = first.sum(), second.sum()
    scale = bounded_exp(one_cumulant + other_cumulant)
    outside = scale * (first.outside + second.outside)
    return Mean(scale * positive_mean(one.plus(other)) + outside, outside)


def _on_its_own(part: Law, whole: Discretization, unit: float = 0.0) -> Discretization:
    """Half of the spare variance for each part."""
    tilted = TiltedLaw.at(part, whole.tilted.count, whole.tilted.theta)
    return discretize(tilted, whole.spare / 2, _coarsest(whole), unit)


def _coarsest(whole: Discretization) -> float:
    """The step to which the small values' sum may be coarsened at the end."""
    return math.sqrt(whole.tilted.count * whole.spare)


def divided(whole: Discretization) -> tuple[Law, Law] | None:
    """The small values without the others, and the large ones less the mean of a small draw.

    Divided where both lattices together have the fewest points, of the places where the spare
    variance pays for the extra draws: their chance times the variance of a small draw.
    """
    law, spare = whole.tilted.law, whole.spare
    order = np.argsort(-np.abs(law.value))
    size, weight = np.abs(law.value)[order], whole.tilted.mass[order]
    chance, square = np.cumsum(weight)[:-1], np.cumsum(weight * size**2)
    small = np.maximum(square[-1] - square[:-1], 0.0)
    coarse = math.sqrt(2 * spare) / np.sqrt(np.maximum(chance, SMALLEST))
    coarse = np.minimum(coarse, _coarsest(whole))
    points = _points(whole, small, size[1:], whole.step)
    points = points + _points(whole, square[:-1], size[0], coarse)
    points = np.where((chance * small <= spare / 2) & (size[1:] > 0), points, np.inf)
    if not len(points) or WORTH_IT * points.min() > whole.points:
        return None
    return _divided_after(law, order, int(points.argmin()) + 1)


def _points(
    whole: Discretization,
    variance: np.ndarray,
    largest: np.ndarray | float,
    step: np.ndarray | float,
) -> np.ndarray:
    """About how many points a lattice has, all its levels together, for draws of some variance."""
    people = whole.tilted.count
    levels = max(1.0, math.log(people, 4))
    block = np.clip(levels * np.square(step) / whole.spare, 1.0, people)
    later = 1 + np.log(people / block) / math.log(4)
    widths = (WIDTH * np.sqrt(count * variance) + 2 * largest for count in (block, people))
    first, last = (width / step for width in widths)
    return np.asarray(np.minimum(first * later, last))


def _divided_after(law: Law, order: np.ndarray, number: int) -> tuple[Law, Law]:
    """The first so many values are the large ones."""
    top, others = order[:number], order[number:]
    kept = law.total - float(law.mass[top].sum())
    small = Law(law.value[others], law.log_mass[others] - math.log(kept))
    return small, Law(law.value[top] - small.mean, law.log_mass[top], law.total)
