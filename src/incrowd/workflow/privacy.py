"""What a noise guarantees, by every analysis: the accountant's answers for people and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.accounting import enumeration, local, one_bit
from incrowd.accounting.candidates import papers_pair
from incrowd.accounting.certificates import (
    ANALYSES,
    ASSUMPTIONS,
    PROVED,
    candidates,
    certify,
    delta_bound,
    eta_bound,
)
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.schema import FREE_BIT, Schema
from incrowd.accounting.worst import delta, worst_delta
from incrowd.channels.bit_flip import BitFlip
from incrowd.errors import PrivacyError
from incrowd.numerics.law import Law
from incrowd.numerics.positive_part import Bounds
from incrowd.numerics.tail import positive_chance
from incrowd.survey import Domain

ENUMERATE = "enumerate"
MOST_ENUMERATED = 5  # bits
ALL_ANALYSES = (*ANALYSES, ENUMERATE)


@dataclass(frozen=True)
class Order:
    """One order of the papers' own pair: records as far apart as allowed, the crowd at one."""

    delta: float
    eta: float


@dataclass(frozen=True)
class Assessment:
    """What a noise gives in a crowd at epsilon, by one analysis.

    delta: upper is certified. eta: P[privacy ratio > e^epsilon]; for `blanket` a bound for every
    collection, for `outlier` the largest found (numerical), else exact. presence, absence: the
    papers' own pair in a homogeneous crowd, in either order; None with several copies.
    """

    analysis: str
    epsilon: float
    crowd: int
    copies: int
    delta: Bounds
    eta: float
    worst: str
    assumption: str
    proved: bool
    presence: Order | None
    absence: Order | None


def assess(
    analysis: str, schema: Schema, crowd: int, epsilon: float, copies: int = 1
) -> Assessment:
    """delta and eta at epsilon for everything a person sends, by one analysis.

    crowd: honest people. Raises PrivacyError for values out of range, an unknown analysis, or a
    crowd too large to enumerate.
    """
    bounds, eta, worst = _figures(analysis, schema, crowd, epsilon, copies)
    presence, absence = (
        _order(papers_pair(schema, first), crowd, epsilon) if copies == 1 else None
        for first in (True, False)
    )
    assumption = {**ASSUMPTIONS, ENUMERATE: enumeration.ASSUMPTION}[analysis]
    proved = {**PROVED, ENUMERATE: True}[analysis]
    return Assessment(
        analysis, epsilon, crowd, copies, bounds, eta, worst, assumption, proved, presence, absence
    )


def _figures(
    analysis: str, schema: Schema, crowd: int, epsilon: float, copies: int
) -> tuple[Bounds, float, str]:
    if analysis not in ALL_ANALYSES:
        raise PrivacyError.of("analysis", analysis, f"use one of {', '.join(ALL_ANALYSES)}")
    if analysis == ENUMERATE:
        return _enumerated(schema, crowd, epsilon, copies)
    if analysis == "outlier" and copies == 1:
        worst = worst_delta(candidates(analysis, schema), crowd, epsilon)
        return worst.delta, _largest_eta(worst.ratios, schema, crowd, epsilon), worst.words
    certificate = certify(analysis, schema, crowd, epsilon, copies)
    if analysis == "local":
        pair = papers_pair(schema.times(copies), presence=True)
        return certificate.delta, local.eta(pair, epsilon), certificate.worst
    eta = eta_bound(analysis, schema, crowd, epsilon, copies)
    return certificate.delta, eta, certificate.worst


def _order(ratios: Ratios, crowd: int, epsilon: float) -> Order:
    return Order(delta(ratios, crowd, epsilon).estimate, pair_eta(ratios, crowd, epsilon))


def pair_eta(ratios: Ratios, crowd: int, epsilon: float) -> float:
    """P[G(s_0) + G_1 + ... + G_(N-1) > 0], s_0 a report of x, the others of z (DESIGN 3.3).

    For a homogeneous crowd. Exact where the reports have few kinds, else numerical.
    """
    law = ratios.law(epsilon)
    return positive_chance(Law(law.value, ratios.log_mass + ratios.log_a), law, crowd - 1)


def _largest_eta(worst: Ratios, schema: Schema, crowd: int, epsilon: float) -> float:
    """The largest eta of the relation with the worst delta and of the papers' own pair."""
    tried = (worst, papers_pair(schema, presence=True), papers_pair(schema, presence=False))
    return max(pair_eta(ratios, crowd, epsilon) for ratios in tried)


def _enumerated(
    schema: Schema, crowd: int, epsilon: float, copies: int
) -> tuple[Bounds, float, str]:
    domain, channel = _single(schema, copies)
    if domain == FREE_BIT:
        found = one_bit.one_bit(channel, crowd, epsilon)
        largest, eta = found.worst_delta, found.worst_eta.value
    else:
        largest, eta_case = enumeration.enumerate_all(domain, channel, crowd, epsilon)
        eta = eta_case.value
    exact, others = largest.value, sorted(largest.others)
    crowd_words = ", ".join(f"{n:,} x {r:0{domain.bits}b}" for r, n in others if n)
    x, other = (f"{record:0{domain.bits}b}" for record in largest.pair)
    words = f"x = {x}, x' = {other}, the others hold {crowd_words or 'nothing'}"
    return Bounds(exact * (1 - 2e-9), exact * (1 - 1e-9), exact), eta, words


def _single(schema: Schema, copies: int) -> tuple[Domain, BitFlip]:
    """The one question (or the free bits) of a schema that can be enumerated."""
    if copies > 1 or len(schema.parts) > 1:
        what = "several copies" if copies > 1 else "questions of several kinds"
        raise PrivacyError.of("analysis", ENUMERATE, f"cannot do {what}; use blanket")
    (part, count), *_ = schema.parts
    if count > 1 and part.domain != FREE_BIT:
        raise PrivacyError.of("analysis", ENUMERATE, "does one question (or bits); use blanket")
    domain = Domain(count, 0, count) if count > 1 else part.domain
    if domain.bits > MOST_ENUMERATED:
        allowed = f"does at most {MOST_ENUMERATED} bits, not {domain.bits}; use blanket"
        raise PrivacyError.of("analysis", ENUMERATE, allowed)
    return domain, part.channel


def curves(
    schema: Schema, crowd: int, epsilons: Sequence[float], copies: int = 1
) -> dict[str, np.ndarray]:
    """Certified bounds of delta at every epsilon, for the analyses that scale to any crowd."""
    return {
        analysis: np.array([delta_bound(analysis, schema, crowd, e, copies) for e in epsilons])
        for analysis in ANALYSES
    }
