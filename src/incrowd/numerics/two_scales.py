"""Sums of draws that are mostly small and rarely large: each kind on a lattice of its own.

Where the largest values are thousands of times the usual ones, one lattice has to be as fine as
the small and as wide as the large ones. Here the large values are set apart: a sum of N draws is
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

from incrowd.numerics.aim import Aim, Mean, bounded_exp, positive_mean, sum_of, take_aim, tilted
from incrowd.numerics.lattice import Lattice, circle_size, coarsen, inverse, transform
from incrowd.numerics.law import Law

WORTH_IT = 4.0  # how many times fewer points two lattices have to have
WIDTH = 18.0  # standard deviations that a lattice spans, about


def mean_in_two(aim: Aim, halvings: int = 0) -> Mean | None:
    """A bound of E[max(0, S)] by two lattices; None if one is as good.

    It is about as loose as that of one lattice whose step is halved some times.
    """
    finer = replace(aim, allowed=aim.allowed / 4**halvings, step=aim.step / 2**halvings)
    parts = _apart(finer)
    if parts is None:
        return None
    first = _aim(parts[0], finer)
    second = _aim(parts[1], finer, first.step)
    (one, one_cumulant), (other, other_cumulant) = sum_of(first), sum_of(second)
    mean = positive_mean(_together(one, other, aim.theta), aim.theta)
    scale = bounded_exp(aim.count * (one_cumulant + other_cumulant))
    outside = scale * (first.outside + second.outside)
    return Mean(scale * mean + outside, outside)


def _aim(part: Law, whole: Aim, unit: float = 0.0) -> Aim:
    """Half of the allowed variance for each part."""
    count, theta, cumulant = whole.count, whole.theta, float(part.cumulant(whole.theta))
    return take_aim(part, count, theta, cumulant, whole.allowed / 2, _coarsest(whole), unit)


def _coarsest(aim: Aim) -> float:
    """The step to which the small values' sum may be coarsened at the end."""
    return math.sqrt(aim.count * aim.allowed)


def _apart(aim: Aim) -> tuple[Law, Law] | None:
    """The small values without the others, and the large ones less the mean of a small draw.

    Divided where both lattices together have the fewest points, of the places where the allowed
    variance pays for the extra draws: their chance times the variance of a small draw.
    """
    law = aim.law
    order = np.argsort(-np.abs(law.value))
    size, weight = np.abs(law.value)[order], tilted(law, aim.theta, aim.cumulant)[order]
    chance, square = np.cumsum(weight)[:-1], np.cumsum(weight * size**2)
    rest = np.maximum(square[-1] - square[:-1], 0.0)
    coarse = math.sqrt(2 * aim.allowed) / np.sqrt(np.maximum(chance, 1e-300))
    coarse = np.minimum(coarse, _coarsest(aim))
    points = _points(aim, rest, size[1:], aim.step) + _points(aim, square[:-1], size[0], coarse)
    points = np.where((chance * rest <= aim.allowed / 2) & (size[1:] > 0), points, np.inf)
    if not len(points) or WORTH_IT * points.min() > aim.points:
        return None
    return _divided(law, order, int(points.argmin()) + 1)


def _points(
    aim: Aim, variance: np.ndarray, largest: np.ndarray | float, step: np.ndarray | float
) -> np.ndarray:
    """About how many points a lattice has, all its levels together, for draws of some variance."""
    levels = max(1.0, math.log(aim.count, 4))
    block = np.clip(levels * np.square(step) / aim.allowed, 1.0, aim.count)
    later = 1 + np.log(aim.count / block) / math.log(4)
    widths = (WIDTH * np.sqrt(count * variance) + 2 * largest for count in (block, aim.count))
    first, last = (width / step for width in widths)
    return np.asarray(np.minimum(first * later, last))


def _divided(law: Law, order: np.ndarray, number: int) -> tuple[Law, Law]:
    """The first so many values are the large ones."""
    top, rest = order[:number], order[number:]
    kept = law.total - float(law.mass[top].sum())
    small = Law(law.value[rest], law.log_mass[rest] - math.log(kept))
    return small, Law(law.value[top] - small.mean, law.log_mass[top], law.total)


def _together(one: Lattice, other: Lattice, theta: float) -> Lattice:
    """The law of the sum of two independent ones, on the coarser lattice."""
    while one.step < 0.75 * other.step:
        one = coarsen(one, theta)
    while other.step < 0.75 * one.step:
        other = coarsen(other, theta)
    first = one.first + other.first
    size = circle_size(0, len(one.mass) + len(other.mass) - 1)
    return inverse(transform(one, size) * transform(other, size), one.step, first, size)
