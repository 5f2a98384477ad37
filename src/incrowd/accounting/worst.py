"""The largest delta over candidates, each bounded; cheap bounds first, digits for the worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.accounting.candidates import Candidate
from incrowd.accounting.ratios import Ratios
from incrowd.numerics.positive_part import (
    TOLERANCE,
    Bounds,
    chernoff_bound,
    positive_part,
    upper_bound,
)


@dataclass(frozen=True)
class Worst:
    """The largest delta: its bounds, and the candidate that gave it."""

    delta: Bounds
    words: str
    ratios: Ratios


def delta(ratios: Ratios, crowd: int, epsilon: float, tolerance: float = TOLERANCE) -> Bounds:
    """Hockey-stick divergence of one pair in a crowd: E[max(0, G_1 + ... + G_M)] / (gamma N).

    With the blanket's gamma left in the masses (DESIGN 3.3; Balle et al. 2019, theorem 5.1).
    """
    return positive_part(ratios.law(epsilon), crowd, tolerance).scaled(1 / crowd)


def worst_delta(
    candidates: Sequence[Candidate], crowd: int, epsilon: float, tolerance: float = TOLERANCE
) -> Worst:
    """The largest delta over the candidates; its upper bound bounds every one of them."""
    (_, first), *others = _bounded(candidates, crowd, epsilon)
    best, bounds = first, delta(first[1], crowd, epsilon, tolerance)
    upper = bounds.upper
    for quick, candidate in others:
        if quick <= upper:
            break
        found = delta(candidate[1], crowd, epsilon, tolerance)
        upper = max(upper, found.upper)
        if found.estimate > bounds.estimate:
            best, bounds = candidate, found
    return Worst(Bounds(bounds.lower, bounds.estimate, upper), *best)


def largest_bound(
    candidates: Sequence[Candidate], crowd: int, epsilon: float, sharp: bool = True
) -> float:
    """A certified bound of the largest delta, quickly: see `positive_part.upper_bound`."""
    return _bounded(candidates, crowd, epsilon, sharp)[0][0]


def _bounded(
    candidates: Sequence[Candidate], crowd: int, epsilon: float, sharp: bool = True
) -> list[tuple[float, Candidate]]:
    """Quick bounds of the candidates that can be the worst, the largest first.

    The one with the widest upward spread is likely to be the worst; those whose bound in closed
    form is no larger than its quick bound are left out.
    """
    laws = [ratios.law(epsilon) for _, ratios in candidates]
    likely = max(range(len(laws)), key=lambda i: laws[i].mass @ np.maximum(laws[i].value, 0) ** 2)
    found = {likely: upper_bound(laws[likely], crowd, sharp) / crowd}
    for i, law in enumerate(laws):
        if i != likely and chernoff_bound(law, crowd) / crowd > found[likely]:
            found[i] = upper_bound(law, crowd, sharp) / crowd
    return sorted(((bound, candidates[i]) for i, bound in found.items()), key=lambda f: -f[0])
