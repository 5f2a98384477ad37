"""The analysis `outlier`: a crowd in which everybody else holds the same record z.

Exact for such homogeneous crowds, and a lower bound on the worst case: mixed crowds can be worse.
It is the papers' analysis ("hiding an outlier"), extended to every relation of x, x', and z, and
to both orders.
"""

from __future__ import annotations

from incrowd.accountant.analyses.base import AnalysisResult
from incrowd.accountant.analyses.composing import CrowdPairs, roughly
from incrowd.accountant.curves import Orders, symmetric
from incrowd.accountant.pairs import PairRatios, largest_eta, outlier_candidates
from incrowd.accountant.schema import Contribution, Schema
from incrowd.accountant.worst import likely_worst, worst_delta


class Outlier(CrowdPairs):
    """Homogeneous crowds only: not a guarantee. Compositions use the worst pair of one report."""

    name = "outlier"
    assumption = "crowd-alike"
    proved = False

    def candidates(self, schema: Schema) -> list[PairRatios]:
        """Return the largest relations of x, x', and z."""
        return outlier_candidates(schema)

    def orders(self, schema: Schema, crowd: int, spread: float, search: bool = False) -> Orders:
        """Return bounds for the relation that is likely to be the worst at the spread of all
        losses."""
        worst = likely_worst(self.candidates(schema), crowd, spread)
        forward = backward = roughly([worst], crowd)
        if not symmetric(worst.ratios):
            backward = roughly([worst.swapped], crowd)
        return Orders(forward, backward, worst.pair)

    def eta(self, sent: Contribution, crowd: int, epsilon: float) -> float:
        """Return the largest eta of the papers' pair and of the relation with the worst delta.

        Numerical; for several reports, a bound.
        """
        return self.figures(sent, crowd, epsilon)[1]

    def figures(
        self, sent: Contribution, crowd: int, epsilon: float
    ) -> tuple[AnalysisResult, float]:
        """Return the certificate, and eta of the same relation."""
        schema = sent.single
        if schema is None:
            certificate = self.certificate(sent, crowd, epsilon)
            return certificate, self.eta_bound(sent, crowd, epsilon)
        largest = worst_delta(self.candidates(schema), crowd, epsilon)
        chance = largest_eta(largest.candidate.ratios, schema, crowd, epsilon)
        return AnalysisResult(largest.delta, (largest.candidate.pair,)), chance


OUTLIER = Outlier()
