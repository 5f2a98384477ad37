"""What everything that a person sends guarantees in a crowd: one function for every analysis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from incrowd.accounting.analyses import ANALYSES
from incrowd.accounting.analyses import analysis as registered
from incrowd.accounting.analyses.composing import Composing
from incrowd.accounting.codes import AssumptionCode, WorstPair
from incrowd.accounting.composition import PrivacyCurve
from incrowd.accounting.curves import STEPS
from incrowd.accounting.redraws import redraw_cost
from incrowd.accounting.schema import (
    AnySent,
    Schema,
    Sent,
    alternatives,
    as_sent,
    check_crowd,
    check_epsilon,
)
from incrowd.errors import PrivacyError
from incrowd.numerics.positive_part import Bounds


@dataclass(frozen=True)
class Certificate:
    """(epsilon, delta) of what one person sends, by one analysis.

    delta: lower and estimate are numerical, upper is certified. worst: the pair of records (and
    the crowd) that gave it, of each kind of report. proved: whether it holds for every collection.
    by: the analysis that bounded it, which `shuffle` chooses.
    """

    analysis: str
    epsilon: float
    delta: Bounds
    worst: tuple[WorstPair, ...]
    assumption: AssumptionCode
    proved: bool
    by: str


def certify(analysis: str, sent: AnySent | Schema, crowd: int, epsilon: float) -> Certificate:
    """delta at epsilon for everything a person sends, each report in a crowd of its own; of
    alternatives the largest.

    crowd: honest people, the same number for every report; `local` counts on none. Noise that was
    drawn again is charged (`redraw_cost`). Raises
    PrivacyError for an unknown analysis, one that cannot do what is sent, a crowd below 2 or an
    epsilon out of range.
    """
    by = registered(analysis)
    if by.shuffled:
        check_crowd(crowd)
    check_epsilon(epsilon)
    possible = tuple(dict.fromkeys(alternatives(sent)))
    cost = redraw_cost(by, possible[0], crowd)
    certificates = (by.certificate(s, crowd, max(epsilon - cost, 0.0)) for s in possible)
    delta, worst, least = max(certificates, key=lambda found: found.delta.upper)
    if cost:
        upper = delta.upper * math.exp(cost) if epsilon >= cost else 1.0
        delta = Bounds(delta.lower, max(delta.estimate, delta.lower), min(upper, 1.0))
    said = (worst, by.assumption, by.proved, least or by.name)
    return Certificate(analysis, epsilon, delta, *said)


def privacy_curve(
    analysis: str, sent: Sent | Schema, crowd: int, *, steps: int = STEPS
) -> PrivacyCurve:
    """The privacy curve of everything one person sends, each report in a crowd of its own.

    Pessimistic. analysis: `shuffle`, `seat`, `blanket` or `exact` (for one bit), which take the
    largest delta over all pairs of records at every epsilon (a convex curve again), or `outlier`,
    which takes the pair that is worst for one report. steps: grid points for a standard deviation
    of a collection's privacy loss.
    Raises PrivacyError as `certify` does.
    """
    by = registered(analysis)
    if not isinstance(by, Composing):
        known = [name for name, one in ANALYSES.items() if isinstance(one, Composing)]
        raise PrivacyError.of("analysis", analysis, f"it makes no curve; use {' or '.join(known)}")
    return by.curve(as_sent(sent), crowd, steps)
