"""The largest delta over candidates, each bounded; cheap bounds first, digits for the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.accounting.candidate import Candidate
from incrowd.accounting.ratios import Ratios
from incrowd.numerics.positive_part import (
    TOLERANCE,
    Bounds,
    chernoff_bound,
    positive_part,
    upper_bound,
)

BLURRED = 1e-4  # of what rounding may do, so much that it is worth to round down as well


@dataclass(frozen=True)
class Worst:
    """The largest delta: its bounds, and the candidate that gave it."""

    delta: Bounds
    candidate: Candidate


def delta(ratios: Ratios, crowd: int, epsilon: float, tolerance: float = TOLERANCE) -> Bounds:
    """Hockey-stick divergence of one pair in a crowd: E[max(0, G_1 + ... + G_M)] / (gamma N).

    With the blanket's gamma left in the masses (DESIGN 3.3; Balle et al. 2019, theorem 5.1). It is
    never above 1, whatever rounding adds.
    """
    above = positive_part(ratios.law(epsilon, side=1), crowd, tolerance)
    below, blur = above, ratios.blur(epsilon, crowd)
    if blur > BLURRED:
        below, blur = positive_part(ratios.law(epsilon, side=-1), crowd, tolerance), 0.0
    found = (below.lower * (1 - 4 * blur), below.estimate, above.upper)
    return Bounds(*(min(value / crowd, 1.0) for value in found))


def worst_delta(
    candidates: Sequence[Candidate], crowd: int, epsilon: float, tolerance: float = TOLERANCE
) -> Worst:
    """The largest delta over the candidates; its upper bound bounds every one of them."""
    (_, best), *others = _bounded(candidates, crowd, epsilon)
    bounds = delta(best.ratios, crowd, epsilon, tolerance)
    upper = bounds.upper
    for quick, candidate in others:
        if quick <= upper:
            break
        found = delta(candidate.ratios, crowd, epsilon, tolerance)
        upper = max(upper, found.upper)
        if found.estimate > bounds.estimate:
            best, bounds = candidate, found
    return Worst(Bounds(bounds.lower, bounds.estimate, upper), best)


def largest_bound(
    candidates: Sequence[Candidate], crowd: int, epsilon: float, sharp: bool = True
) -> tuple[float, Candidate]:
    """A certified bound of the largest delta, quickly, and whose it is: see `upper_bound`."""
    return _bounded(candidates, crowd, epsilon, sharp)[0]


def likely_worst(candidates: Sequence[Candidate], crowd: int, epsilon: float) -> Candidate:
    """The candidate with the largest bound in closed form: the worst, or nearly so."""
    return max(candidates, key=lambda one: chernoff_bound(one.ratios.law(epsilon, side=1), crowd))


def _bounded(
    candidates: Sequence[Candidate], crowd: int, epsilon: float, sharp: bool = True
) -> list[tuple[float, Candidate]]:
    """Quick bounds of the candidates that can be the worst, the largest first.

    The one with the widest upward spread is likely to be the worst; those whose bound in closed
    form is no larger than its quick bound are left out.
    """
    laws = [candidate.ratios.law(epsilon, side=1) for candidate in candidates]
    likely = max(range(len(laws)), key=lambda i: laws[i].mass @ np.maximum(laws[i].value, 0) ** 2)
    found = {likely: upper_bound(laws[likely], crowd, sharp) / crowd}
    others = [i for i in range(len(laws)) if i != likely]
    ceilings = {i: chernoff_bound(laws[i], crowd) / crowd for i in others}
    for i in sorted(others, key=ceilings.__getitem__, reverse=True):
        if ceilings[i] <= max(found.values()):
            break
        found[i] = upper_bound(laws[i], crowd, sharp) / crowd
    return sorted(((bound, candidates[i]) for i, bound in found.items()), key=lambda f: -f[0])
