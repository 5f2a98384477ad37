"""What a noise guarantees, by every analysis: the accountant's answers for people and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.accounting.candidates import candidates, papers_pair
from incrowd.accounting.certificates import (
    ASSUMPTIONS,
    PROVED,
    SCALABLE,
    certify,
    delta_bound,
)
from incrowd.accounting.enumerated import enumerate_sent
from incrowd.accounting.eta import eta, largest_eta, pair_eta
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.schema import Schema, Sent, as_sent, check_crowd
from incrowd.accounting.worst import delta, worst_delta
from incrowd.channels.bit_flip import BitFlip
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
    papers' own pair in a homogeneous crowd, in either order; None with several reports, or with
    channels that are no bit flips.
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


def assess(analysis: str, sent: Sent | Schema, crowd: int, epsilon: float) -> Assessment:
    """delta and eta at epsilon for everything a person sends, by one analysis.

    crowd: honest people. Raises PrivacyError for values out of range, an unknown analysis, or a
    crowd too large to enumerate.
    """
    check_crowd(crowd)
    sent = as_sent(sent)
    bounds, chance, worst = _figures(analysis, sent, crowd, epsilon)
    presence, absence = (_papers_order(sent, first, crowd, epsilon) for first in (True, False))
    said = (worst, ASSUMPTIONS[analysis], PROVED[analysis])
    return Assessment(
        analysis, epsilon, crowd, sent.copies, bounds, chance, *said, presence, absence
    )


def _figures(analysis: str, sent: Sent, crowd: int, epsilon: float) -> tuple[Bounds, float, str]:
    """delta, eta and the worst case; where one computation gives both, it is made once."""
    if analysis == "enumerate":
        return enumerate_sent(sent, crowd, epsilon)
    if analysis == "outlier" and sent.single is not None:
        worst = worst_delta(candidates(analysis, sent.single), crowd, epsilon)
        chance = largest_eta(worst.candidate.ratios, sent.single, crowd, epsilon)
        return worst.delta, chance, worst.candidate.words
    certificate = certify(analysis, sent, crowd, epsilon)
    return certificate.delta, eta(analysis, sent, crowd, epsilon), certificate.worst


def _papers_order(sent: Sent, presence: bool, crowd: int, epsilon: float) -> Order | None:
    schema = sent.single
    if schema is None or not all(isinstance(part.channel, BitFlip) for part, _ in schema.parts):
        return None
    return _order(papers_pair(schema, presence), crowd, epsilon)


def _order(ratios: Ratios, crowd: int, epsilon: float) -> Order:
    return Order(delta(ratios, crowd, epsilon).estimate, pair_eta(ratios, crowd, epsilon))


def curves(sent: Sent | Schema, crowd: int, epsilons: Sequence[float]) -> dict[str, np.ndarray]:
    """Certified bounds of delta at every epsilon, for the analyses that scale to any crowd."""
    return {
        analysis: np.array([delta_bound(analysis, sent, crowd, e) for e in epsilons])
        for analysis in SCALABLE
    }
