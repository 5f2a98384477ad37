"""What the analyses have in common that try pairs of records, each in a crowd."""

from __future__ import annotations

from abc import abstractmethod

from incrowd.accounting.analyses.base import LARGEST_EPSILON, Found
from incrowd.accounting.analyses.composing import SPREAD_OF_LOSS, Composing
from incrowd.accounting.codes import WorstPair
from incrowd.accounting.composition import Delta
from incrowd.accounting.curves import Orders
from incrowd.accounting.pairs import Candidate
from incrowd.accounting.schema import Schema, Sent
from incrowd.accounting.search import Bound, first_epsilon
from incrowd.accounting.worst import largest_bound, likely_worst, worst_delta


class CrowdPairs(Composing):
    """An analysis that names the pairs of records to try for one report."""

    @abstractmethod
    def candidates(self, schema: Schema) -> list[Candidate]:
        """The pairs that can be the worst for one report. Raises PrivacyError for too many."""

    def few(self, schema: Schema) -> list[Candidate]:
        """At most so many that all can be tried at every dot of a curve."""
        return self.candidates(schema)

    def orders(self, schema: Schema, crowd: int, spread: float, search: bool = False) -> Orders:
        """The largest bound of all pairs, in either order."""
        found = self.few(schema)
        several = WorstPair(code="classes", number=len(found))
        worst = found[0].pair if len(found) == 1 else several
        delta = roughly(found, crowd)
        return Orders(delta, delta, worst)

    def spread(self, schema: Schema, crowd: int) -> float:
        """Standard deviation of one report's loss, about: of the pair that is likely the worst."""
        likely = [likely_worst(self.few(schema), crowd, 0.0)]
        return SPREAD_OF_LOSS * roughly(likely, crowd)(0.0)

    def one(self, schema: Schema, crowd: int, epsilon: float) -> Found:
        """delta of the worst pair."""
        largest = worst_delta(self.candidates(schema), crowd, epsilon)
        return Found(largest.delta, (largest.candidate.pair,))

    def bound_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """A certified upper bound of delta of one report alone, quickly."""
        return largest_bound(self.candidates(schema), crowd, epsilon)[0]

    def epsilon_of_one(self, schema: Schema, crowd: int, delta: float) -> float:
        """The smallest epsilon, first of few pairs, then with every one that turns out worse."""
        highest = min(schema.local_epsilon, LARGEST_EPSILON)
        found = self.candidates(schema)
        tried = [likely_worst(found, crowd, highest / 2)]
        while True:
            epsilon = first_epsilon(lambda e: largest_bound(tried, crowd, e)[0], delta, highest)
            bound, worst = largest_bound(found, crowd, epsilon)
            if bound <= delta or worst in tried:
                return epsilon
            tried.append(worst)

    def search_bounds(self, crowd: int, epsilon: float) -> tuple[Bound, Bound]:
        """Of one report both know only the pair of records that was the worst when the quick one
        was first asked."""
        coarse, fine = super().search_bounds(crowd, epsilon)
        place: int | None = None

        def known(schema: Schema) -> list[Candidate]:
            found = self.candidates(schema)
            return found if place is None else found[place : place + 1] or found

        def quick(sent: Sent) -> float:
            nonlocal place
            if sent.single is None:
                return coarse(sent)
            found = known(sent.single)
            value, worst = largest_bound(found, crowd, epsilon)
            place = found.index(worst) if place is None else place
            return value

        def sharp(sent: Sent) -> float:
            if sent.single is None:
                return fine(sent)
            return worst_delta(known(sent.single), crowd, epsilon).delta.upper

        return quick, sharp


def roughly(candidates: list[Candidate], crowd: int) -> Delta:
    """The largest bound of the candidates at any epsilon, for the dots of a curve."""
    return lambda epsilon: largest_bound(candidates, crowd, epsilon, sharp=False)[0]
