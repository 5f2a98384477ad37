"""What a schema guarantees in a crowd: one function for every analysis and any copies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from incrowd.accounting import blanket, enumeration, local, outlier
from incrowd.accounting.candidates import (
    Candidate,
    blanket_candidates,
    outlier_candidates,
    papers_pair,
)
from incrowd.accounting.composition import PrivacyCurve, connect_the_dots, sampled
from incrowd.accounting.enumerated import ANALYSIS, enumerate_schema
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.schema import Schema, check_crowd, check_epsilon
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
CANDIDATES: dict[str, Callable[[Schema], list[Candidate]]] = {
    "blanket": blanket_candidates,
    "outlier": outlier_candidates,
}
STEPS = 12  # grid points for one standard deviation of a collection's privacy loss
MOST_STEPS = 4000
NEGLIGIBLE = 1e-13


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


def certify(
    analysis: str, schema: Schema, crowd: int, epsilon: float, copies: int = 1
) -> Certificate:
    """delta at epsilon for everything a person sends: `copies` reports, each in its own crowd.

    Raises PrivacyError for an unknown analysis, a crowd below 2 or an epsilon out of range.
    """
    check_crowd(crowd)
    check_epsilon(epsilon)
    if analysis == "local":
        delta, worst = _local(schema, epsilon, copies)
    elif analysis == ANALYSIS:
        delta, _, worst = enumerate_schema(schema, crowd, epsilon, copies)
    elif copies == 1:
        found = worst_delta(candidates(analysis, schema), crowd, epsilon)
        delta, worst = found.delta, found.words
    else:
        delta, worst = _composed(analysis, schema, crowd, epsilon, copies)
    return Certificate(analysis, epsilon, delta, worst, ASSUMPTIONS[analysis], PROVED[analysis])


def candidates(analysis: str, schema: Schema) -> list[Candidate]:
    """The pairs that an analysis of a crowd has to try. Raises PrivacyError if it is unknown."""
    if analysis not in CANDIDATES:
        raise PrivacyError.of("analysis", analysis, f"use one of {', '.join(ANALYSES)}")
    return CANDIDATES[analysis](schema)


def _local(schema: Schema, epsilon: float, copies: int) -> tuple[Bounds, str]:
    """Exact: the likelihood ratio of the farthest pair, without a crowd."""
    everything = schema.times(copies)
    value = 0.0
    if epsilon < everything.local_epsilon:
        value = local.delta(papers_pair(everything, presence=True), epsilon)
    return Bounds(value, value, value * (1 + 1e-12)), "the farthest pair, without a crowd"


def delta_bound(
    analysis: str, schema: Schema, crowd: int, epsilon: float, copies: int, steps: int = STEPS
) -> float:
    """A certified upper bound of delta alone, quickly; `steps` as in `privacy_curve`."""
    if analysis == "local":
        return _local(schema, epsilon, copies)[0].upper
    if analysis == ANALYSIS:
        return enumerate_schema(schema, crowd, epsilon, copies).delta.upper
    if copies > 1:
        return (privacy_curve(analysis, schema, crowd, copies, steps)[0] ** copies).delta(epsilon)
    return largest_bound(candidates(analysis, schema), crowd, epsilon)


def _composed(
    analysis: str, schema: Schema, crowd: int, epsilon: float, copies: int
) -> tuple[Bounds, str]:
    """The composition at two grid steps; the error of connecting the dots is of second order."""
    curve, worst = privacy_curve(analysis, schema, crowd, copies)
    fine = (curve**copies).delta(epsilon)
    coarse, _ = privacy_curve(analysis, schema, crowd, copies, steps=STEPS // 2)
    drop = max((coarse**copies).delta(epsilon) - fine, 0.0)
    return Bounds(max(fine - drop, 0.0), max(fine - drop / 3, 0.0), fine), worst


def privacy_curve(
    analysis: str, schema: Schema, crowd: int, copies: int = 1, steps: int = STEPS
) -> tuple[PrivacyCurve, str]:
    """The privacy curve of one report in its crowd, and the pair it belongs to.

    Pessimistic. `copies` says how often it will be composed, hence how far its tails matter. With
    several pairs of records `blanket` takes the largest delta at every epsilon (a convex curve
    again); `outlier` takes the pair that is worst for one report.
    """
    found = candidates(analysis, schema)
    total = largest_bound(found, crowd, 0.0, sharp=False)
    step = 2.5 * total / steps
    chosen, worst = _chosen(analysis, found, crowd, step * steps * math.sqrt(copies))
    orders = [chosen, [(words, ratios.swapped) for words, ratios in chosen]]
    forward, backward = (
        sampled(
            partial(largest_bound, order, crowd, sharp=False),
            step,
            4 * steps,
            NEGLIGIBLE / copies,
            MOST_STEPS,
        )
        for order in (orders if not _symmetric(chosen) else orders[:1] * 2)
    )
    length = max(len(forward), len(backward))
    return connect_the_dots(_padded(forward, length), _padded(backward, length), step), worst


def _chosen(
    analysis: str, found: list[Candidate], crowd: int, epsilon: float
) -> tuple[list[Candidate], str]:
    if analysis == "blanket":
        return found, found[0][0] if len(found) == 1 else f"any of {len(found)} kinds of pairs"
    worst = worst_delta(found, crowd, epsilon)
    return [(worst.words, worst.ratios)], worst.words


def _symmetric(chosen: list[Candidate]) -> bool:
    """Whether one pair has the same curve in both orders."""
    if len(chosen) > 1:
        return True  # all pairs are tried in both orders, so that the maximum is symmetric
    ratios = chosen[0][1]
    return _atoms(ratios) == _atoms(ratios.swapped)


def _atoms(ratios: Ratios) -> set[tuple[float, ...]]:
    """The atoms, rounded so that equal ones are equal."""
    atoms = np.stack([ratios.log_a, ratios.log_b, ratios.log_mass], axis=1)
    return set(map(tuple, np.round(atoms, 8) + 0.0))


def _padded(curve: np.ndarray, length: int) -> np.ndarray:
    """The last bound holds for every larger epsilon as well."""
    return np.pad(curve, (0, length - len(curve)), mode="edge")


def eta_bound(analysis: str, schema: Schema, crowd: int, epsilon: float, copies: int = 1) -> float:
    """eta for every collection: the least of delta(e) / (1 - exp(e - epsilon)) over e < epsilon.

    Where the ratio exceeds e^epsilon, at least 1 - exp(e - epsilon) of the mass counts in delta(e).
    """
    if epsilon == 0:
        return 1.0
    tries = epsilon * (1 - np.geomspace(0.5, 0.002, 14))
    if copies > 1 and analysis != "local":
        composed = privacy_curve(analysis, schema, crowd, copies)[0] ** copies
        values = [composed.delta(e) for e in tries]
    else:
        values = [delta_bound(analysis, schema, crowd, e, copies) for e in tries]
    bounds = np.array(values) / -np.expm1(tries - epsilon)
    return min(float(bounds.min()), 1.0)
