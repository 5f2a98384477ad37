"""The analysis `seat`: a guarantee for every collection, and nearly exact."""

from __future__ import annotations

from incrowd.accountant import seat
from incrowd.accountant.analyses.base import AnalysisResult
from incrowd.accountant.analyses.composing import Composing
from incrowd.accountant.analyses.exact import one_bit_channel
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.curves import Orders
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.schema import Schema

SEARCHED = 6  # classes of records that a search uses


class Seat(Composing):
    """All others may be identified: what is hidden is whose seat the person took. Both orders."""

    name = "seat"
    assumption = "whole-crowd"
    below_limit = 0.97  # by experiment: 0.985 for copies of two bits

    def one(self, schema: Schema, crowd: int, epsilon: float) -> AnalysisResult:
        """Return delta of the worst class of records; the bound is a closed formula, so not
        refined."""
        bound = seat.bound(schema, crowd, epsilon)
        return AnalysisResult(DeltaBounds(*[bound.delta] * 3), (bound.worst,))

    def bit(self, schema: Schema) -> Bit | None:
        """Return reports of one bit are composed as in `exact`, whose bounds are the smallest."""
        return one_bit_channel(schema)

    def bound_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """Return the same bound, a few percent looser and several times as fast."""
        return seat.bound(schema, crowd, epsilon, sharp=False).delta

    def searched_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """Return delta of the classes that reveal the most in a large crowd, which makes searches
        fast."""
        return seat.bound(schema, crowd, epsilon, most=SEARCHED).delta

    def orders(self, schema: Schema, crowd: int, spread: float, search: bool = False) -> Orders:
        """Return the same bound at any epsilon, for all classes or for those that a search uses."""

        def delta(epsilon: float) -> float:
            most = SEARCHED if search else 0
            return seat.bound(schema, crowd, epsilon, sharp=False, most=most).delta

        return Orders(delta, delta, self.of_all)


SEAT = Seat()
