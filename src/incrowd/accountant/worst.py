"""The largest delta over candidate pairs: quick bounds first, sharp bounds for the worst ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.numerics.positive_part import (
    TOLERANCE,
    DeltaBounds,
    chernoff_bound,
    positive_part,
    upper_bound,
)
from incrowd.accountant.pairs import PairRatios
from incrowd.accountant.ratios import Ratios

BLURRED = 1e-4  # an effect of rounding that justifies a second computation that rounds down


@dataclass(frozen=True)
class LargestDelta:
    """Bounds of the largest delta, and the candidate that attains it."""

    delta: DeltaBounds
    candidate: PairRatios


def delta(ratios: Ratios, crowd: int, epsilon: float, tolerance: float = TOLERANCE) -> DeltaBounds:
    """Return Hockey-stick divergence of one pair in a crowd: E[max(0, G_1 + ... + G_M)] / (gamma
    N).

    The masses contain the factor gamma of the blanket (Balle et al. 2019, theorem 5.1). Proof:
    docs/mathematics.md#the-engine. Bounds are at most 1, even if rounding is added.
    """
    above = positive_part(ratios.law(epsilon, side=1), crowd, tolerance)
    below, blur = above, ratios.blur(epsilon, crowd)
    if blur > BLURRED:
        below, blur = positive_part(ratios.law(epsilon, side=-1), crowd, tolerance), 0.0
    bounds = (below.lower * (1 - 4 * blur), below.estimate, above.upper)
    return DeltaBounds(*(min(value / crowd, 1.0) for value in bounds))


def worst_delta(
    candidates: Sequence[PairRatios], crowd: int, epsilon: float, tolerance: float = TOLERANCE
) -> LargestDelta:
    """Return the largest delta over the candidates; its upper bound holds for every one of them.

    Candidates are skipped if a quicker bound of their delta is no larger than the one returned.
    """
    (_, _, best), *others = _ranked(candidates, crowd, epsilon)
    bounds = delta(best.ratios, crowd, epsilon, tolerance)
    upper = bounds.upper
    for ceiling, law, candidate in others:
        if ceiling <= upper:
            break
        if upper_bound(law, crowd) / crowd <= upper:
            continue
        candidate_bounds = delta(candidate.ratios, crowd, epsilon, tolerance)
        upper = max(upper, candidate_bounds.upper)
        if candidate_bounds.estimate > bounds.estimate:
            best, bounds = candidate, candidate_bounds
    return LargestDelta(DeltaBounds(bounds.lower, bounds.estimate, upper), best)


def largest_bound(
    candidates: Sequence[PairRatios], crowd: int, epsilon: float, sharp: bool = True
) -> tuple[float, PairRatios]:
    """Return a quick certified bound of the largest delta, and its candidate: see `upper_bound`."""
    largest, whose = 0.0, candidates[0]
    for ceiling, law, candidate in _ranked(candidates, crowd, epsilon):
        if ceiling <= largest:
            break
        bound = upper_bound(law, crowd, sharp) / crowd
        if bound > largest:
            largest, whose = bound, candidate
    return largest, whose


def likely_worst(candidates: Sequence[PairRatios], crowd: int, epsilon: float) -> PairRatios:
    """Return the candidate with the largest bound in closed form: the worst one, or nearly so."""
    return max(candidates, key=lambda one: chernoff_bound(one.ratios.law(epsilon, side=1), crowd))


def _ranked(
    candidates: Sequence[PairRatios], crowd: int, epsilon: float
) -> list[tuple[float, Law, PairRatios]]:
    """Return candidates with their bounds in closed form, the largest first.

    The candidate with the widest upward spread, which is likely to be the worst, comes before all
    others, so that it is always computed.
    """
    laws = [candidate.ratios.law(epsilon, side=1) for candidate in candidates]
    likely = max(range(len(laws)), key=lambda i: laws[i].mass @ np.maximum(laws[i].value, 0) ** 2)
    ceilings = [
        math.inf if i == likely else chernoff_bound(law, crowd) / crowd
        for i, law in enumerate(laws)
    ]
    return sorted(zip(ceilings, laws, candidates, strict=True), key=lambda one: -one[0])
