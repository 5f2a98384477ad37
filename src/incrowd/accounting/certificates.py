"""What everything that a person sends guarantees in a crowd: one function for every analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.accounting import blanket, enumeration, local, outlier
from incrowd.accounting.candidates import candidates, local_candidates
from incrowd.accounting.composition import PrivacyCurve
from incrowd.accounting.curves import STEPS, all_dots, composed
from incrowd.accounting.enumerated import ANALYSIS, enumerate_sent
from incrowd.accounting.schema import Schema, Sent, as_sent, check_crowd, check_epsilon
from incrowd.accounting.worst import largest_bound, worst_delta
from incrowd.errors import PrivacyError
from incrowd.numerics.positive_part import Bounds

ANALYSES = ("blanket", "outlier", "local", ANALYSIS)
SCALABLE = ANALYSES[:3]  # for any schema and crowd
PROVED = {"blanket": True, "local": True, "outlier": False, ANALYSIS: True}
ASSUMPTIONS = {
    "blanket": blanket.ASSUMPTION,
    "outlier": outlier.ASSUMPTION,
    "local": local.ASSUMPTION,
    ANALYSIS: enumeration.ASSUMPTION,
}
NOTHING = Bounds(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Certificate:
    """(epsilon, delta) of what one person sends, by one analysis.

    delta: lower and estimate are numerical, upper is certified. worst: the pair of records (and
    the crowd) that gave it. proved: whether it holds for every collection.
    """

    analysis: str
    epsilon: float
    delta: Bounds
    worst: str
    assumption: str
    proved: bool


def certify(analysis: str, sent: Sent | Schema, crowd: int, epsilon: float) -> Certificate:
    """delta at epsilon for everything a person sends, each report in a crowd of its own.

    crowd: honest people, the same number for every report; `local` counts on none. Raises
    PrivacyError for an unknown analysis, one that cannot do what is sent, a crowd below 2 or an
    epsilon out of range.
    """
    _check_analysis(analysis)
    if analysis != "local":
        check_crowd(crowd)
    check_epsilon(epsilon)
    delta, worst = _figures(analysis, as_sent(sent), crowd, epsilon)
    return Certificate(analysis, epsilon, delta, worst, ASSUMPTIONS[analysis], PROVED[analysis])


def _check_analysis(analysis: str) -> None:
    if analysis not in ANALYSES:
        raise PrivacyError.of("analysis", analysis, f"use one of {', '.join(ANALYSES)}")


def _figures(analysis: str, sent: Sent, crowd: int, epsilon: float) -> tuple[Bounds, str]:
    if analysis == "local":
        return _local(sent, epsilon)
    if analysis == ANALYSIS:
        found = enumerate_sent(sent, crowd, epsilon)
        return found.delta, found.worst
    if sent.single is None:
        return _composed(analysis, sent, crowd, epsilon)
    largest = worst_delta(candidates(analysis, sent.single), crowd, epsilon)
    return largest.delta, largest.candidate.words


def _local(sent: Sent, epsilon: float) -> tuple[Bounds, str]:
    """The likelihood ratio of the farthest pair, without a crowd; exact where noises are few."""
    found = local_candidates(sent)
    low = high = 0.0
    if epsilon < sent.local_epsilon:
        low, high = (max(local.delta(one.ratios, epsilon, s) for one in found) for s in (-1, 1))
    return Bounds(low, min((low + high) / 2, 1.0), min(high, 1.0)), found[0].words


def _composed(analysis: str, sent: Sent, crowd: int, epsilon: float) -> tuple[Bounds, str]:
    """The composition at two grid steps; the error of connecting the dots is of second order."""
    if epsilon >= sent.local_epsilon:
        return NOTHING, "any, since all reports together tell less than epsilon"
    dots = all_dots(analysis, sent, crowd)
    curve = composed([(one.curve, count) for one, count in dots])
    fine = curve.delta(epsilon)
    coarse = composed([(one.coarser.curve, count) for one, count in dots]).delta(epsilon)
    drop = max(coarse - fine, 0.0)
    worst = "; ".join(dict.fromkeys(one.worst for one, _ in dots))
    lower = max(fine - drop - 2 * curve.doubt, 0.0)
    return Bounds(lower, max(fine - drop / 3, lower), fine), worst


def privacy_curve(
    analysis: str, sent: Sent | Schema, crowd: int, *, steps: int = STEPS
) -> PrivacyCurve:
    """The privacy curve of everything one person sends, each report in a crowd of its own.

    Pessimistic. analysis: `blanket`, which takes the largest delta over all pairs of records at
    every epsilon (a convex curve again), or `outlier`, which takes the pair that is worst for
    one report. steps: grid points for a standard deviation of a collection's privacy loss.
    Raises PrivacyError as `certify` does.
    """
    dots = all_dots(analysis, as_sent(sent), crowd, steps)
    return composed([(one.curve, count) for one, count in dots])


def delta_bound(
    analysis: str, sent: Sent | Schema, crowd: int, epsilon: float, steps: int = STEPS
) -> float:
    """A certified upper bound of delta alone, quickly; `steps` as in `privacy_curve`.

    Raises PrivacyError as `certify` does.
    """
    _check_analysis(analysis)
    sent = as_sent(sent)
    if analysis == "local":
        return _local(sent, epsilon)[0].upper
    if analysis == ANALYSIS:
        return enumerate_sent(sent, crowd, epsilon).delta.upper
    if sent.single is None:
        tells = epsilon < sent.local_epsilon
        return privacy_curve(analysis, sent, crowd, steps=steps).delta(epsilon) if tells else 0.0
    return largest_bound(candidates(analysis, sent.single), crowd, epsilon)[0]


def eta_bound(analysis: str, sent: Sent | Schema, crowd: int, epsilon: float) -> float:
    """eta for every collection: the least of delta(e) / (1 - exp(e - epsilon)) over e < epsilon.

    Where the ratio exceeds e^epsilon, at least 1 - exp(e - epsilon) of the mass counts in delta(e).
    """
    if epsilon == 0:
        return 1.0
    sent = as_sent(sent)
    tries = epsilon * (1 - np.geomspace(0.5, 0.002, 14))
    if sent.single is None and analysis in ("blanket", "outlier"):
        curve = privacy_curve(analysis, sent, crowd)
        values = [curve.delta(e) for e in tries]
    else:
        values = [delta_bound(analysis, sent, crowd, e) for e in tries]
    bounds = np.array(values) / -np.expm1(tries - epsilon)
    return min(float(bounds.min()), 1.0)
