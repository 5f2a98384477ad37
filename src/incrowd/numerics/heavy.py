"""Values so heavy that one of them decides the sign of a sum: they are kept off the lattice."""

from __future__ import annotations

import math

import numpy as np

from incrowd.numerics.aim import Mean
from incrowd.numerics.law import Law

SAFE = 12.0  # standard deviations that the sum of the light values does not leave
NOTHING = Mean(0.0)


def heavy_apart(law: Law, count: int, safe: float = SAFE) -> tuple[Law, Mean]:
    """The light values, and a bound of E[max(0, S); some value is heavy]."""
    light, heavy = set_apart(law, count, safe)
    if not len(heavy.value):
        return light, NOTHING
    raised = light.mean - law.where(law.value <= light.value.max(initial=-math.inf), 1.0).mean
    return light, heavy_part(light, heavy, count, raised)


def set_apart(law: Law, count: int, safe: float = SAFE) -> tuple[Law, Law]:
    """Split a law into values the lattice can hold and values too heavy for it.

    A heavy value lifts the sum above zero wherever the light ones are. Values so low that the sum
    stays below zero whatever the light ones are, are raised to where that still holds.
    """
    top, bottom = math.inf, -math.inf
    while True:
        core = law.where((law.value <= top) & (law.value >= bottom), 1.0)
        reach = safe * math.sqrt(count * core.second_moment)
        new_top = reach + max(0.0, -count * core.mean)
        new_bottom = -reach - max(0.0, count * core.mean)
        if new_top >= top * (1 - 1e-9) and new_bottom <= bottom * (1 - 1e-9):
            break
        top, bottom = min(top, new_top), max(bottom, new_bottom)
    light, heavy = law.value <= top, law.value > top
    heavy_mass = float(law.mass[heavy].sum())
    raised = Law(np.maximum(law.value, bottom), law.log_mass)
    return raised.where(light, law.total - heavy_mass), law.where(heavy, 1.0)


def heavy_part(light: Law, heavy: Law, count: int, raised: float = 0.0) -> Mean:
    """An upper bound of E[max(0, S); some value is heavy].

    There max(0, S) = S + max(0, -S) <= S + max(0, -(L + top)), L the sum of the light values and
    top the lightest heavy one; the last term, the doubt, is bounded by Chernoff:
    (-x)_+ <= exp(-t x - 1) / t. raised: by how much the mean of a light value rose when low
    ones were raised; beside a heavy value that counts, and is in doubt as well.
    """
    chance = float(heavy.mass.sum())
    some = -math.expm1((count - 1) * math.log1p(-chance))
    mean = count * heavy.mean + count * light.mean * some
    top = float(heavy.value.min())
    t = np.geomspace(1e-2, 1e3, 40) / top
    others = np.logaddexp(light.cumulant(-t), math.log(chance) - t * top)
    log_miss = (count - 1) * others - t * top - 1 - np.log(t)
    miss = count * chance * math.exp(min(float(log_miss.min()), 700.0))
    return Mean(max(mean, 0.0) + miss, miss + count * raised * some)
