"""The largest delta over candidates, each bounded; cheap bounds first, digits for the worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
    """The largest delta: its bounds, who gave it, and the candidates with their cheap bounds."""

    delta: Bounds
    words: str
    ratios: Ratios
    ranked: tuple[tuple[float, Candidate], ...]


def delta(ratios: Ratios, crowd: int, epsilon: float, tolerance: float = TOLERANCE) -> Bounds:
    """Hockey-stick divergence of one pair in a crowd: E[max(0, G_1 + ... + G_M)] / (gamma N).

    With the blanket's gamma left in the masses (DESIGN 3.3; Balle et al. 2019, theorem 5.1).
    """
    return positive_part(ratios.law(epsilon), crowd, tolerance).scaled(1 / crowd)


def worst_delta(
    candidates: Sequence[Candidate], crowd: int, epsilon: float, tolerance: float = TOLERANCE
) -> Worst:
    """The largest delta over the candidates; its upper bound bounds every one of them."""
    ranked = _ranked(candidates, crowd, epsilon)
    best: tuple[Bounds, Candidate] | None = None
    upper = 0.0
    for bound, candidate in ranked:
        if best is not None and bound <= best[0].upper:
            break
        law = candidate[1].law(epsilon)
        if best is not None and upper_bound(law, crowd) / crowd <= best[0].upper:
            continue
        found = delta(candidate[1], crowd, epsilon, tolerance)
        upper = max(upper, found.upper)
        if best is None or found.estimate > best[0].estimate:
            best = found, candidate
    assert best is not None
    bounds, (words, ratios) = best
    return Worst(Bounds(bounds.lower, bounds.estimate, upper), words, ratios, ranked)


def largest_bound(
    candidates: Sequence[Candidate], crowd: int, epsilon: float, sharp: bool = True
) -> float:
    """A certified bound of the largest delta, quickly: see `positive_part.upper_bound`."""
    largest = 0.0
    for bound, (_, ratios) in _ranked(candidates, crowd, epsilon):
        if bound <= largest:
            break
        largest = max(largest, upper_bound(ratios.law(epsilon), crowd, sharp) / crowd)
    return largest


def _ranked(
    candidates: Sequence[Candidate], crowd: int, epsilon: float
) -> tuple[tuple[float, Candidate], ...]:
    """Candidates by a bound in closed form, the largest first; a single one needs none."""
    if len(candidates) == 1:
        return ((math.inf, candidates[0]),)
    bounds = (chernoff_bound(ratios.law(epsilon), crowd) / crowd for _, ratios in candidates)
    return tuple(sorted(zip(bounds, candidates, strict=True), key=lambda item: -item[0]))
