"""What a noise guarantees, by every analysis: the accountant's answers for people and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.accounting.candidates import papers_pair
from incrowd.accounting.certificates import (
    ASSUMPTIONS,
    PROVED,
    SCALABLE,
    candidates,
    certify,
    delta_bound,
)
from incrowd.accounting.enumerated import enumerate_schema
from incrowd.accounting.eta import eta, largest_eta, pair_eta
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.schema import Schema, check_crowd
from incrowd.accounting.worst import delta, worst_delta
from incrowd.numerics.positive_part import Bounds


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
    check_crowd(crowd)
    bounds, chance, worst = _figures(analysis, schema, crowd, epsilon, copies)
    presence, absence = (
        _order(papers_pair(schema, first), crowd, epsilon) if copies == 1 else None
        for first in (True, False)
    )
    said = (worst, ASSUMPTIONS[analysis], PROVED[analysis])
    return Assessment(analysis, epsilon, crowd, copies, bounds, chance, *said, presence, absence)


def _figures(
    analysis: str, schema: Schema, crowd: int, epsilon: float, copies: int
) -> tuple[Bounds, float, str]:
    """delta, eta and the worst case; where one computation gives both, it is made once."""
    if analysis == "enumerate":
        return enumerate_schema(schema, crowd, epsilon, copies)
    if analysis == "outlier" and copies == 1:
        worst = worst_delta(candidates(analysis, schema), crowd, epsilon)
        return worst.delta, largest_eta(worst.ratios, schema, crowd, epsilon), worst.words
    certificate = certify(analysis, schema, crowd, epsilon, copies)
    return certificate.delta, eta(analysis, schema, crowd, epsilon, copies), certificate.worst


def _order(ratios: Ratios, crowd: int, epsilon: float) -> Order:
    return Order(delta(ratios, crowd, epsilon).estimate, pair_eta(ratios, crowd, epsilon))


def curves(
    schema: Schema, crowd: int, epsilons: Sequence[float], copies: int = 1
) -> dict[str, np.ndarray]:
    """Certified bounds of delta at every epsilon, for the analyses that scale to any crowd."""
    return {
        analysis: np.array([delta_bound(analysis, schema, crowd, e, copies) for e in epsilons])
        for analysis in SCALABLE
    }
