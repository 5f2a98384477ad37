"""What a noise guarantees, by every analysis: the accountant's answers for people and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.accounting.analyses import ANALYSES
from incrowd.accounting.analyses import analysis as registered
from incrowd.accounting.eta import pair_eta
from incrowd.accounting.pairs import papers_pair
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.schema import Schema, Sent, as_sent, check_crowd, check_epsilon
from incrowd.accounting.worst import delta
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
    collection, for `outlier` the largest found (numerical), else exact. by: the analysis that
    bounded delta, which `shuffle` chooses. presence, absence: the
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
    by: str
    presence: Order | None
    absence: Order | None


def assess(analysis: str, sent: Sent | Schema, crowd: int, epsilon: float) -> Assessment:
    """delta and eta at epsilon for everything a person sends, by one analysis.

    crowd: honest people. Raises PrivacyError for values out of range, an unknown analysis, or a
    crowd too large for `exact`.
    """
    by, sent = registered(analysis), as_sent(sent)
    check_crowd(crowd)
    check_epsilon(epsilon)
    (bounds, worst, least), chance = by.figures(sent, crowd, epsilon)
    presence, absence = (_papers_order(sent, first, crowd, epsilon) for first in (True, False))
    said = (worst, by.assumption, by.proved, least or by.name)
    return Assessment(
        by.name, epsilon, crowd, sent.copies, bounds, chance, *said, presence, absence
    )


def _papers_order(sent: Sent, presence: bool, crowd: int, epsilon: float) -> Order | None:
    schema = sent.single
    if schema is None or not all(part.channel.is_flip for part, _ in schema.parts):
        return None
    return _order(papers_pair(schema, presence), crowd, epsilon)


def _order(ratios: Ratios, crowd: int, epsilon: float) -> Order:
    return Order(delta(ratios, crowd, epsilon).estimate, pair_eta(ratios, crowd, epsilon))


def curves(sent: Sent | Schema, crowd: int, epsilons: Sequence[float]) -> dict[str, np.ndarray]:
    """Certified bounds of delta at every epsilon, for the analyses that scale to any crowd."""
    sent = as_sent(sent)
    return {name: by.bounds(sent, crowd, epsilons) for name, by in ANALYSES.items() if by.scalable}
