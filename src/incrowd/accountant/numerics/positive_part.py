"""E[max(0, X_1 + ... + X_N)]: the number from which every crowd guarantee is computed.

X is zero with some probability, and otherwise one of finitely many values. The result is an upper
bound at every step: values are split between lattice points, which preserves the mean (max(0, .) is
convex), very low values are raised, values too large for the lattice are treated by
max(0, s) = s + max(0, -s), and tails beyond the window have Chernoff bounds. Splitting comes before
the exponential tilt, so that 1e-80 has as many correct digits as 1e-3.
Proof: docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from incrowd.accountant.numerics.lattice import (
    COARSEST,
    FEW_POINTS,
    Discretization,
    TiltedLaw,
    bounded_exp,
    discretize,
    positive_mean,
)
from incrowd.accountant.numerics.laws import Law, Mean, outcomes, ways
from incrowd.accountant.numerics.precision import (
    LOG_SMALLEST,
    MOST_EXPONENT,
    OPERATIONS,
    SMALLEST,
    SUM_OF_OUTCOMES,
    relative,
)

# Decisive values are so large that one of them makes a sum positive; they stay off the lattice.
#
# All other values are ordinary. Proof: docs/mathematics.md#the-lattice.


SAFE = 12.0  # standard deviations; the sum of ordinary values lies beyond with 4e-33 if normal
SETTLED = 1e-9  # relative: smaller changes of the limits are ignored
EXPONENTS = np.geomspace(1e-2, 1e3, 40)  # for Chernoff bounds, over the smallest decisive value


def ordinary_and_rest(law: Law, count: int, safe: float = SAFE) -> tuple[Law, Mean]:
    """Return the ordinary values, and a bound of E[max(0, S); some value is decisive]."""
    ordinary, decisive = separated(law, count, safe)
    if not len(decisive.value):
        return ordinary, Mean(0.0)
    unraised = law.where(law.value <= ordinary.value.max(initial=-math.inf), 1.0)
    return ordinary, rest(ordinary, decisive, count, ordinary.mean - unraised.mean)


def separated(law: Law, count: int, safe: float = SAFE) -> tuple[Law, Law]:
    """Return the ordinary values, which a lattice can hold, and the decisive ones.

    A decisive value makes the sum positive for any ordinary values. Values so low that the sum is
    negative for any ordinary values are raised as far as this remains true.
    """
    top, bottom = math.inf, -math.inf
    while True:
        core = law.where((law.value <= top) & (law.value >= bottom), 1.0)
        new_bottom, new_top = sum_limits(core, count, safe)
        if new_top >= top * (1 - SETTLED) and new_bottom <= bottom * (1 - SETTLED):
            break
        top, bottom = min(top, new_top), max(bottom, new_bottom)
    ordinary, decisive = law.value <= top, law.value > top
    total = law.total - float(law.mass[decisive].sum())
    return law.at_least(bottom).where(ordinary, total), law.where(decisive, 1.0)


def sum_limits(law: Law, count: int, safe: float = SAFE) -> tuple[float, float]:
    """Return values below and above which one draw decides the sign of a sum of `count` others."""
    spread, drift = safe * math.sqrt(count * law.second_moment), count * law.mean
    return -spread - max(0.0, drift), spread + max(0.0, -drift)


def rest(ordinary: Law, decisive: Law, count: int, raised: float = 0.0) -> Mean:
    """Return an upper bound of E[max(0, S); some value is decisive].

    There max(0, S) = S + max(0, -S) <= S + max(0, -(R + top)), where R is the sum of the ordinary
    values and top the smallest decisive one; the last term, the doubt, has a Chernoff bound:
    (-x)_+ <= exp(-t x - 1) / t. raised: by how much raising low values has raised the mean of an
    ordinary value; together with a decisive value this matters, so it is added to the doubt.
    """
    chance = float(decisive.mass.sum())
    some = -math.expm1((count - 1) * math.log1p(-chance))
    mean = count * decisive.mean + count * ordinary.mean * some
    top = float(decisive.value.min())
    t = EXPONENTS / top
    others = np.logaddexp(ordinary.cumulant(-t), math.log(chance) - t * top)
    log_miss = (count - 1) * others - t * top - 1 - np.log(t)
    miss = count * chance * math.exp(min(float(log_miss.min()), MOST_EXPONENT))
    return Mean(max(mean, 0.0) + miss, miss + count * raised * some)


# Sums of draws that are mostly small and rarely large, with a separate lattice for each kind.
#
# If the largest values are thousands of times the usual ones, a single lattice has to be as fine as
# the small and as wide as the large values. Here the two are separated: of N draws, K are large and
# the others small. Add a small draw to every large value, and subtract the mean of that draw: the
# mean of the sum stays the same and its spread grows by that of K small draws, so the expectation
# of a convex function can only rise. Then N small draws and N large ones (nearly all zero) are
# independent. The proof is in docs/mathematics.md#the-lattice.


WORTH_IT = 4.0  # two lattices need so many times fewer points, since each takes about twice as long
WIDTH = 18.0  # standard deviations of a window: 2 sqrt(2 * 41) by Chernoff, if the sum is normal


def mean_in_two(whole: Discretization, halvings: int = 0) -> Mean | None:
    """Return a bound of E[max(0, S)] by two lattices; None if one lattice is as good.

    It is about as loose as that of one lattice whose step is halved `halvings` times.
    """
    finer = replace(whole, spare=whole.spare / 4**halvings, step=whole.step / 2**halvings)
    parts = divided(finer)
    if parts is None:
        return None
    first = _discretized_part(parts[0], finer)
    second = _discretized_part(parts[1], finer, first.step)
    (one, one_cumulant), (other, other_cumulant) = first.sum(), second.sum()
    scale = bounded_exp(one_cumulant + other_cumulant)
    outside = scale * (first.outside + second.outside)
    return Mean(scale * positive_mean(one.plus(other)) + outside, outside)


def _discretized_part(part: Law, whole: Discretization, unit: float = 0.0) -> Discretization:
    """Return one of two parts on a separate lattice; each may use half of the spare variance."""
    tilted = TiltedLaw.at(part, whole.tilted.count, whole.tilted.theta)
    return discretize(tilted, whole.spare / 2, _coarsest(whole), unit)


def _coarsest(whole: Discretization) -> float:
    """Return the largest step to which the sum of the small values may be coarsened at the end."""
    return math.sqrt(whole.tilted.count * whole.spare)


def divided(whole: Discretization) -> tuple[Law, Law] | None:
    """Return the law of the small values, and that of the large ones minus the mean of a small
    draw.

    Divided where both lattices together have the fewest points, provided that the spare variance
    covers the extra draws: the probability of a large value times the variance of a small draw.
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
    """Return the approximate number of points of a lattice on all its levels, given a draw's
    variance."""
    people = whole.tilted.count
    levels = max(1.0, math.log(people, 4))
    block = np.clip(levels * np.square(step) / whole.spare, 1.0, people)
    later = 1 + np.log(people / block) / math.log(4)
    widths = (WIDTH * np.sqrt(count * variance) + 2 * largest for count in (block, people))
    first, last = (width / step for width in widths)
    return np.asarray(np.minimum(first * later, last))


def _divided_after(law: Law, order: np.ndarray, number: int) -> tuple[Law, Law]:
    """Divide the law so that the first `number` values of the order are the large ones."""
    top, others = order[:number], order[number:]
    remaining = law.total - float(law.mass[top].sum())
    small = Law(law.value[others], law.log_mass[others] - math.log(remaining))
    return small, Law(law.value[top] - small.mean, law.log_mass[top], law.total)


TOLERANCE = 1e-4  # relative looseness of the upper bound
EXACT = 1e-7  # relative looseness that is reached if the lattice stays small
WIDER = 6  # how often to try treating more values as ordinary, each time with limits 4 times wider
# Chosen by measurement on one core: what each of them limits takes less than about 0.1 seconds.
FEW_WAYS = 400_000
SMALL_CROWD = 2000
WIDE_POINTS = 1 << 14  # from the smallest to the largest value, at the coarsest step
EXACT_POINTS = 1 << 19  # for a crowd so small that one lattice is enough
NEAR_ZERO = 1e-9  # relative to its terms: a sum above minus that may be positive without rounding


@dataclass(frozen=True)
class DeltaBounds:
    """upper is certified; estimate and lower are numerical (halved step, extrapolated)."""

    lower: float
    estimate: float
    upper: float


def positive_part(law: Law, count: int, tolerance: float = TOLERANCE) -> DeltaBounds:
    """Return lower, estimate and certified upper bound of E[max(0, X_1 + ... + X_count)].

    The lattice step is halved until that lowers the bound by a share of less than `tolerance`, and
    further while the lattice is small. The lattices are nested and the error is of second order, so
    a third of the last drop remains. If there are few multisets of draws, all are enumerated.
    """
    if ways(len(law.with_zero()[0]), count) <= FEW_WAYS:
        return _exact(law, count)
    exact, lattice = _prepared(law, count, beside=EXACT)
    slack = _roundoff(law, count)
    if lattice is None:
        lower = max(exact.bound * (1 - slack) - exact.doubt, 0.0)
        return DeltaBounds(lower, exact.bound, exact.bound * (1 + slack))
    fine, drop = _refined(exact, lattice, tolerance)
    lower = max(fine.bound - drop - fine.bound * slack - fine.doubt, 0.0)
    upper = max(fine.bound * (1 + slack), SMALLEST)
    return DeltaBounds(lower, max(fine.bound - drop / 3, lower), upper)


def _exact(law: Law, count: int) -> DeltaBounds:
    """Return enumerate all multisets of draws; only sums and logarithms are rounded."""
    total, scale, log_chance = outcomes(*law.with_zero(), count)
    chance = np.exp(log_chance)
    value = float(chance @ np.maximum(total, 0.0))
    relative_error = SUM_OF_OUTCOMES + OPERATIONS * (math.lgamma(count + 2) - log_chance)
    slack = float((chance * relative_error) @ np.where(total > -scale * NEAR_ZERO, scale, 0.0))
    upper = value + slack
    return DeltaBounds(max(value - slack, 0.0), value, max(upper, SMALLEST) if upper else 0.0)


def _refined(exact: Mean, lattice: Discretization, tolerance: float) -> tuple[Mean, float]:
    """Return the bound after the step has been halved often enough, and by how much it fell at
    last."""
    fine, drop = exact.plus(*_quickest(lattice, 0)), math.inf
    one_lattice = lattice.block >= lattice.tilted.count
    most = EXACT_POINTS if one_lattice else FEW_POINTS
    for halvings in range(1, lattice.most_halvings + 1):
        coarse, fine = fine.bound, exact.plus(*_quickest(lattice, halvings))
        drop = max(coarse - fine.bound, 0.0)
        cheap = lattice.points * 2**halvings < most
        if drop <= (EXACT if cheap else tolerance) * fine.bound:
            break
    return fine, drop


def upper_bound(law: Law, count: int, sharp: bool = True) -> float:
    """Return a quick certified upper bound of E[max(0, X_1 + ... + X_count)], on the coarsest
    lattice.

    sharp: keep the bound itself within a few thousandths. If False, only the spread of the sum is
    kept, which is faster, and enough if the bound is far out in the tail and hardly matters.
    """
    exact, lattice = _prepared(law, count, sharp, beside=COARSEST)
    value = exact.bound
    if lattice is not None:
        value = max(value + _quickest(lattice, 0).bound, SMALLEST)
    return value * (1 + _roundoff(law, count))


def chernoff_bound(law: Law, count: int) -> float:
    """Return a certified upper bound of E[max(0, X_1 + ... + X_count)] in closed form, to compare
    laws.

    The Chernoff bound at the saddlepoint.
    """
    exact, tilted = _tilted(law, count)
    rest = tilted.chernoff if tilted else 0.0
    return (exact.bound + rest) * (1 + _roundoff(law, count))


def _tilted(law: Law, count: int) -> tuple[Mean, TiltedLaw | None]:
    """Return the part of the mean in closed form, and the tilted law of the rest, if any.

    If the mean of the law is positive, the law is negated: max(0, s) = s + max(0, -s).
    """
    ordinary, exact = _without_decisive(law, count)
    if ordinary.mean > 0:
        exact = exact.plus(count * ordinary.mean * math.pow(ordinary.total, count - 1))
        ordinary = ordinary.negated()
    if not (ordinary.value > 0).any():
        return exact, None
    return exact, TiltedLaw.at_saddlepoint(ordinary, count).raised()


def _without_decisive(law: Law, count: int) -> tuple[Law, Mean]:
    """Return the ordinary values, and the contribution of the decisive ones.

    The threshold is raised until it is nearly certain that one decisive value decides. If that is
    never so, all values are ordinary if they fit on a lattice; otherwise a bound is used.
    """
    tries = (ordinary_and_rest(law, count, safe) for safe in SAFE * 4.0 ** np.arange(WIDER))
    first = next(tries)
    for ordinary, exact in chain([first], tries):
        if exact.doubt <= EXACT * exact.bound:
            return ordinary, exact
    return (law, Mean(0.0)) if _fits(law, count) else first


def _fits(law: Law, count: int) -> bool:
    """Return whether a lattice of moderate size holds even the largest values: then all are
    ordinary.

    Only for small crowds, in which twelve standard deviations are not a safe limit.
    """
    law = law.negated() if law.mean > 0 else law
    if count > SMALL_CROWD or not law.value.min(initial=0.0) < 0 < law.value.max(initial=0.0):
        return False
    tilted = TiltedLaw.at_saddlepoint(law, count)
    return float(np.ptp(law.value)) <= WIDE_POINTS * tilted.widest_step(tilted.spare_variance())


def _prepared(
    law: Law, count: int, sharp: bool = True, beside: float = 0.0
) -> tuple[Mean, Discretization | None]:
    """Return the part of the mean in closed form, and how to compute the rest, unless it is
    negligible.

    beside: if the rest is less than this share of that part, a bound of it is enough.
    """
    exact, tilted = _tilted(law, count)
    if tilted is None:
        return exact, None
    rest = max(tilted.chernoff, SMALLEST)
    if tilted.log_chernoff < LOG_SMALLEST or rest < beside * exact.bound:
        return exact.plus(rest, rest), None
    return exact, discretize(tilted, tilted.spare_variance(sharp))


def _quickest(lattice: Discretization, halvings: int) -> Mean:
    """Return E[max(0, S)] from one lattice, or from two if one would be large and they are small.

    If no lattice is fine enough, the bound in closed form is better.
    """
    in_two = mean_in_two(lattice, halvings) if lattice.points > FEW_POINTS else None
    mean, closed = in_two or lattice.positive_mean(halvings), lattice.tilted.chernoff
    return mean if mean.bound <= closed else Mean(closed, closed)


def _roundoff(law: Law, count: int) -> float:
    """Return the relative allowance for rounding; each draw is weighted by its mass off zero."""
    return relative(count * float(law.mass.sum()))
