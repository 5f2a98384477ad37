"""The analysis `blanket`: a guarantee for every collection (Balle, Bell, Gascon, Nissim 2019)."""

from __future__ import annotations

from incrowd.accountant.analyses.composing import CrowdPairs
from incrowd.accountant.pairs import PairRatios, blanket_candidates
from incrowd.accountant.schema import Schema

FEW_CLASSES = 40  # classes of pairs of records


class Blanket(CrowdPairs):
    """The common part of the others' reports hides the pair; both orders are tried."""

    name = "blanket"
    assumption = "whole-crowd"

    def candidates(self, schema: Schema) -> list[PairRatios]:
        """Return every class of pairs of records, in either order."""
        return blanket_candidates(schema)

    def few(self, schema: Schema) -> list[PairRatios]:
        """Return the pairs; if there are many, a few that cover all of them."""
        return blanket_candidates(schema, FEW_CLASSES)


BLANKET = Blanket()
