"""eta, the papers' cut-off: P[ratio > e^epsilon]. See docs/mathematics.md#eta."""

from __future__ import annotations

from incrowd.accounting import local
from incrowd.accounting.candidates import local_candidates, outlier_candidates, papers_pair
from incrowd.accounting.certificates import eta_bound
from incrowd.accounting.enumerated import enumerate_sent
from incrowd.accounting.ratios import Ratios
from incrowd.accounting.schema import Schema, Sent, as_sent
from incrowd.accounting.worst import worst_delta
from incrowd.numerics.exceedance import positive_chance
from incrowd.numerics.law import Law


def eta(analysis: str, sent: Sent | Schema, crowd: int, epsilon: float) -> float:
    """P[privacy ratio > e^epsilon] of everything one person sends.

    `local` and `enumerate`: exact. `blanket`: a bound for every collection. `outlier`: the largest
    of the relation with the worst delta and of the papers' own pair in both orders, numerical;
    with several reports a bound. Raises PrivacyError as `certify` does.
    """
    sent = as_sent(sent)
    if analysis == "local":
        return min(max(local.eta(one.ratios, epsilon) for one in local_candidates(sent)), 1.0)
    if analysis == "enumerate":
        return enumerate_sent(sent, crowd, epsilon).eta
    if analysis == "outlier" and sent.single is not None:
        worst = worst_delta(outlier_candidates(sent.single), crowd, epsilon).candidate.ratios
        return largest_eta(worst, sent.single, crowd, epsilon)
    return eta_bound(analysis, sent, crowd, epsilon)


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
