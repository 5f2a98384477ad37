"""eta, the papers' cut-off: P[ratio > e^epsilon]. See docs/mathematics.md#eta."""

from __future__ import annotations

from incrowd.accounting.pairs import papers_pair
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.schema import Schema
from incrowd.numerics.exceedance import positive_chance
from incrowd.numerics.law import Law


def largest_eta(worst: Ratios, schema: Schema, crowd: int, epsilon: float) -> float:
    """The largest eta of one relation and of the papers' own pair, in a homogeneous crowd."""
    tried = (worst, papers_pair(schema, presence=True), papers_pair(schema, presence=False))
    return max(pair_eta(ratios, crowd, epsilon) for ratios in tried)


def pair_eta(ratios: Ratios, crowd: int, epsilon: float) -> float:
    """P[G(s_0) + G_1 + ... + G_(N-1) > 0], s_0 a report of x, the others of z.

    For a homogeneous crowd. Exact where the reports have few kinds, else numerical.
    """
    law = ratios.law(epsilon)
    own = Law(law.value, ratios.log_mass + ratios.log_a)
    return min(positive_chance(own, law, crowd - 1), 1.0)
