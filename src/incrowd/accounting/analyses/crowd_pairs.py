"""What the analyses have in common that try pairs of records, each in a crowd."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from incrowd.accounting.analyses.base import LARGEST_EPSILON, Analysis, Found
from incrowd.accounting.composition import PrivacyCurve
from incrowd.accounting.curves import STEPS, composed_curve, composed_delta
from incrowd.accounting.pairs import Candidate
from incrowd.accounting.schema import Schema, Sent
from incrowd.accounting.search import Bound, first_epsilon
from incrowd.accounting.worst import largest_bound, likely_worst, worst_delta


class CrowdPairs(Analysis):
    """An analysis that names the pairs of records to try for one report, and composes reports."""

    @abstractmethod
    def candidates(self, schema: Schema) -> list[Candidate]:
        """The pairs that can be the worst for one report. Raises PrivacyError for too many."""

    def few(self, schema: Schema) -> list[Candidate]:
        """At most so many that all can be tried at every dot of a curve."""
        return self.candidates(schema)

    def orders(
        self, schema: Schema, crowd: int, spread: float
    ) -> tuple[list[Candidate], list[Candidate]]:
        """The pairs that count in either order, where all losses together spread like that."""
        found = self.few(schema)
        return found, found

    def curve(self, sent: Sent, crowd: int, steps: int = STEPS) -> PrivacyCurve:
        """The privacy curve of everything one person sends."""
        return composed_curve(self, sent, crowd, steps)

    def certificate(self, sent: Sent, crowd: int, epsilon: float) -> Found:
        """delta of the worst pair, or of the composition of several reports."""
        if sent.single is None:
            return Found(*composed_delta(self, sent, crowd, epsilon))
        largest = worst_delta(self.candidates(sent.single), crowd, epsilon)
        return Found(largest.delta, largest.candidate.words)

    def bound(self, sent: Sent, crowd: int, epsilon: float, steps: int = STEPS) -> float:
        """A certified upper bound of delta alone, quickly."""
        if sent.single is None:
            tells = epsilon < sent.local_epsilon
            return self.curve(sent, crowd, steps).delta(epsilon) if tells else 0.0
        return largest_bound(self.candidates(sent.single), crowd, epsilon)[0]

    def bounds(self, sent: Sent, crowd: int, epsilons: Sequence[float]) -> np.ndarray:
        """`bound` at every epsilon; the reports are composed once."""
        if sent.single is not None:
            return super().bounds(sent, crowd, epsilons)
        curve = self.curve(sent, crowd)
        return np.array([curve.delta(epsilon) for epsilon in epsilons])

    def epsilon(self, sent: Sent, crowd: int, delta: float) -> float:
        """The smallest epsilon, first of few pairs, then with every one that turns out worse."""
        if sent.single is None:
            return self.curve(sent, crowd).epsilon(delta)
        highest = min(sent.local_epsilon, LARGEST_EPSILON)
        found = self.candidates(sent.single)
        tried = [likely_worst(found, crowd, highest / 2)]
        while True:
            epsilon = first_epsilon(lambda e: largest_bound(tried, crowd, e)[0], delta, highest)
            bound, worst = largest_bound(found, crowd, epsilon)
            if bound <= delta or worst in tried:
                return epsilon
            tried.append(worst)

    def search_bounds(self, crowd: int, epsilon: float) -> tuple[Bound, Bound]:
        """Of several reports the quick one is a coarse composition.

        Of one report both know only the pair of records that was the worst when the quick one was
        first asked.
        """
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
