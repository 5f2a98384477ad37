"""Decisive values: so large that one of them makes a sum positive. They stay off the lattice.

All other values are ordinary. Proof: docs/mathematics.md#the-lattice.
"""

from __future__ import annotations

import math

import numpy as np

from incrowd.numerics.law import Law, Mean
from incrowd.numerics.precision import MOST_EXPONENT

SAFE = 12.0  # standard deviations that the sum of ordinary values hardly leaves: 4e-33 if normal
SETTLED = 1e-9  # relative: limits that change less no longer change
EXPONENTS = np.geomspace(1e-2, 1e3, 40)  # to try in a Chernoff bound, over the least decisive value


def ordinary_and_rest(law: Law, count: int, safe: float = SAFE) -> tuple[Law, Mean]:
    """The ordinary values, and a bound of E[max(0, S); some value is decisive]."""
    ordinary, decisive = separated(law, count, safe)
    if not len(decisive.value):
        return ordinary, Mean(0.0)
    unraised = law.where(law.value <= ordinary.value.max(initial=-math.inf), 1.0)
    return ordinary, rest(ordinary, decisive, count, ordinary.mean - unraised.mean)


def separated(law: Law, count: int, safe: float = SAFE) -> tuple[Law, Law]:
    """The ordinary values, which a lattice can hold, and the decisive ones.

    A decisive value lifts the sum above zero wherever the ordinary ones are. Values so low that
    the sum stays below zero whatever the ordinary ones are, are raised to where that still holds.
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
    """Values below and above which one draw decides the sign of a sum of `count` others."""
    spread, drift = safe * math.sqrt(count * law.second_moment), count * law.mean
    return -spread - max(0.0, drift), spread + max(0.0, -drift)


def rest(ordinary: Law, decisive: Law, count: int, raised: float = 0.0) -> Mean:
    """An upper bound of E[max(0, S); some value is decisive].

    There max(0, S) = S + max(0, -S) <= S + max(0, -(R + top)), R the sum of the ordinary values
    and top the least decisive one; the last term, the doubt, is bounded by Chernoff:
    (-x)_+ <= exp(-t x - 1) / t. raised: by how much the mean of an ordinary value rose when low
    ones were raised; beside a decisive value that counts, and is in doubt as well.
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
