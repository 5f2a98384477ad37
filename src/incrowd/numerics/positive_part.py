"""E[max(0, X_1 + ... + X_N)]: the one number behind every crowd guarantee.

X is zero with some probability and else one of finitely many values. The method keeps the result
an upper bound at every step: values are split between lattice points so that the mean is kept
(max(0, .) is convex), values far below are raised, values too large for the lattice are treated
by max(0, s) = s + max(0, -s), and what leaves the window is bounded by Chernoff. Splitting comes
first and the exponential tilt after it, so that 1e-80 has as many right digits as 1e-3.
Proof: docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain

import numpy as np

from incrowd.numerics.binomial import outcomes, ways
from incrowd.numerics.decisive import SAFE, ordinary_and_rest
from incrowd.numerics.discretization import FEW_POINTS, Discretization, discretize
from incrowd.numerics.law import Law, Mean
from incrowd.numerics.precision import LOG_SMALLEST, OPERATIONS, SMALLEST, SUM_OF_OUTCOMES, relative
from incrowd.numerics.tilted import COARSEST, TiltedLaw
from incrowd.numerics.two_scales import mean_in_two

TOLERANCE = 1e-4  # relative looseness always reached; the result is an upper bound whatever it is
EXACT = 1e-7  # relative looseness reached while the lattice stays small
WIDER = 6  # times that more values are tried to be ordinary, within four times the limits each
# Chosen by time, on one core: each keeps what it limits under about a tenth of a second.
FEW_WAYS = 400_000
SMALL_CROWD = 2000
WIDE_POINTS = 1 << 14  # across all values, at the coarsest step
EXACT_POINTS = 1 << 19  # of a crowd so small that one lattice holds it
NEAR_ZERO = 1e-9  # of its terms: a sum above minus that may be positive but for rounding


@dataclass(frozen=True)
class Bounds:
    """upper is certified; estimate and lower are numerical (halved step, extrapolated)."""

    lower: float
    estimate: float
    upper: float


def positive_part(law: Law, count: int, tolerance: float = TOLERANCE) -> Bounds:
    """Lower, estimate and certified upper bound of E[max(0, X_1 + ... + X_count)].

    The lattice step is halved until that lowers the bound by less than `tolerance` of it, and
    further while the lattice is small. The lattices are nested and the error is of second order,
    so that a third of the last drop remains. Where the draws can fall in few ways all are tried.
    """
    if ways(len(law.with_zero()[0]), count) <= FEW_WAYS:
        return _exact(law, count)
    known, lattice = _prepared(law, count, beside=EXACT)
    slack = _roundoff(law, count)
    if lattice is None:
        lower = max(known.bound * (1 - slack) - known.doubt, 0.0)
        return Bounds(lower, known.bound, known.bound * (1 + slack))
    fine, drop = _refined(known, lattice, tolerance)
    lower = max(fine.bound - drop - fine.bound * slack - fine.doubt, 0.0)
    upper = max(fine.bound * (1 + slack), SMALLEST)
    return Bounds(lower, max(fine.bound - drop / 3, lower), upper)


def _exact(law: Law, count: int) -> Bounds:
    """Every way in which the draws can fall; what remains is rounding, of sums and logarithms."""
    total, scale, log_chance = outcomes(*law.with_zero(), count)
    chance = np.exp(log_chance)
    value = float(chance @ np.maximum(total, 0.0))
    relative_error = SUM_OF_OUTCOMES + OPERATIONS * (math.lgamma(count + 2) - log_chance)
    slack = float((chance * relative_error) @ np.where(total > -scale * NEAR_ZERO, scale, 0.0))
    upper = value + slack
    return Bounds(max(value - slack, 0.0), value, max(upper, SMALLEST) if upper else 0.0)


def _refined(known: Mean, lattice: Discretization, tolerance: float) -> tuple[Mean, float]:
    """The bound once the step has been halved often enough, and by how much it fell at last."""
    fine, drop = known.plus(*_quickest(lattice, 0)), math.inf
    one_lattice = lattice.block >= lattice.tilted.count
    most = EXACT_POINTS if one_lattice else FEW_POINTS
    for halvings in range(1, lattice.most_halvings + 1):
        coarse, fine = fine.bound, known.plus(*_quickest(lattice, halvings))
        drop = max(coarse - fine.bound, 0.0)
        cheap = lattice.points * 2**halvings < most
        if drop <= (EXACT if cheap else tolerance) * fine.bound:
            break
    return fine, drop


def upper_bound(law: Law, count: int, sharp: bool = True) -> float:
    """A certified upper bound of E[max(0, X_1 + ... + X_count)], quickly: the coarsest lattice.

    sharp: keep the bound itself within a few thousandths; else only the spread of the sum, which
    is enough and quicker where the bound is far out in the tail and will hardly count.
    """
    known, lattice = _prepared(law, count, sharp, beside=COARSEST)
    value = known.bound
    if lattice is not None:
        value = max(value + _quickest(lattice, 0).bound, SMALLEST)
    return value * (1 + _roundoff(law, count))


def chernoff_bound(law: Law, count: int) -> float:
    """A certified upper bound of E[max(0, X_1 + ... + X_count)] in closed form, for a first look.

    At the saddlepoint.
    """
    known, tilted = _tilted(law, count)
    rest = tilted.chernoff if tilted else 0.0
    return (known.bound + rest) * (1 + _roundoff(law, count))


def _tilted(law: Law, count: int) -> tuple[Mean, TiltedLaw | None]:
    """What is known in closed form, and the tilted law of the rest, if any.

    The sum of a law of positive mean is mirrored: max(0, s) = s + max(0, -s).
    """
    ordinary, known = _without_decisive(law, count)
    if ordinary.mean > 0:
        known = known.plus(count * ordinary.mean * math.pow(ordinary.total, count - 1))
        ordinary = ordinary.negated()
    if not (ordinary.value > 0).any():
        return known, None
    return known, TiltedLaw.at_saddlepoint(ordinary, count).raised()


def _without_decisive(law: Law, count: int) -> tuple[Law, Mean]:
    """The ordinary values, and what the decisive ones add.

    Ever larger ones are called decisive, until it is nearly certain that one of them decides.
    Where it never is, all stay in if a lattice holds them, and else a bound has to do.
    """
    tries = (ordinary_and_rest(law, count, safe) for safe in SAFE * 4.0 ** np.arange(WIDER))
    first = next(tries)
    for ordinary, known in chain([first], tries):
        if known.doubt <= EXACT * known.bound:
            return ordinary, known
    return (law, Mean(0.0)) if _fits(law, count) else first


def _fits(law: Law, count: int) -> bool:
    """Whether a lattice of moderate size holds the largest values too: then all are ordinary.

    Asked of small crowds only, in which a dozen standard deviations are not yet safe.
    """
    law = law.negated() if law.mean > 0 else law
    if count > SMALL_CROWD or not law.value.min(initial=0.0) < 0 < law.value.max(initial=0.0):
        return False
    tilted = TiltedLaw.at_saddlepoint(law, count)
    return float(np.ptp(law.value)) <= WIDE_POINTS * tilted.widest_step(tilted.spare_variance())


def _prepared(
    law: Law, count: int, sharp: bool = True, beside: float = 0.0
) -> tuple[Mean, Discretization | None]:
    """What is known in closed form, and how to compute the rest, if it counts.

    beside: the share of what is known up to which a bound of the rest is good enough.
    """
    known, tilted = _tilted(law, count)
    if tilted is None:
        return known, None
    rest = max(tilted.chernoff, SMALLEST)
    if tilted.log_chernoff < LOG_SMALLEST or rest < beside * known.bound:
        return known.plus(rest, rest), None
    return known, discretize(tilted, tilted.spare_variance(sharp))


def _quickest(lattice: Discretization, halvings: int) -> Mean:
    """E[max(0, S)] from one lattice, or from two if one is large and they are small.

    Where no lattice is fine enough the closed form is better: a bound, and nothing else.
    """
    in_two = mean_in_two(lattice, halvings) if lattice.points > FEW_POINTS else None
    mean, closed = in_two or lattice.positive_mean(halvings), lattice.tilted.chernoff
    return mean if mean.bound <= closed else Mean(closed, closed)


def _roundoff(law: Law, count: int) -> float:
    """Relative allowance for double precision: that of a draw counts by its mass off zero."""
    return relative(count * float(law.mass.sum()))
