"""The base class of the analyses that bound one report and compose the bounds of several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from incrowd.accountant.analyses.base import LARGEST_EPSILON, QUICK, Analysis, AnalysisResult
from incrowd.accountant.analyses.local import LOCAL
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.composition import DeltaFunction, PrivacyCurve
from incrowd.accountant.curves import (
    STEPS,
    Orders,
    composed_curve,
    composed_delta,
    of_shifts,
    only_shifts,
)
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.numerics.precision import LEAST_COMPOSED, LEAST_PER_REPORT
from incrowd.accountant.pairs import PairRatios
from incrowd.accountant.schema import Contribution, Schema
from incrowd.accountant.search import BoundFunction, first_epsilon
from incrowd.accountant.shifts import shift_losses
from incrowd.accountant.worst import largest_bound, likely_worst, worst_delta

ADDITIVE = "additive"  # the bound of counts with additive noise, in certificates
SPREAD_OF_LOSS = 2.5  # times delta(0): sqrt(2 pi) if the loss is normal


class Composing(Analysis):
    """An analysis of one report; the privacy curves of several reports are composed."""

    @abstractmethod
    def one(self, schema: Schema, crowd: int, epsilon: float) -> AnalysisResult:
        """Return delta of one report at epsilon; the upper bound is certified."""

    def bound_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """Return a quick certified upper bound of delta for one report."""
        return self.one(schema, crowd, epsilon).delta.upper

    def searched_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """Return an estimate of that bound, for searching only."""
        return self.bound_one(schema, crowd, epsilon)

    def orders(self, schema: Schema, crowd: int, spread: float, search: bool = False) -> Orders:
        """Return bounds to compose, in either order; spread: the spread of all losses together.

        A bound for every pair of records in every crowd holds for both orders. search: for
        searching only; estimates are enough.
        """
        bound = self.searched_one if search else self.bound_one

        def delta(epsilon: float) -> float:
            return bound(schema, crowd, epsilon)

        return Orders(delta, delta, self.of_all)

    of_all = WorstPair(code="any-pair")

    def spread(self, schema: Schema, crowd: int) -> float:
        """Return the approximate standard deviation of one report's loss."""
        return SPREAD_OF_LOSS * self.bound_one(schema, crowd, 0.0)

    def bit(self, schema: Schema) -> Bit | None:
        """Return the channel of a report of one bit, whose whole curve is quick to compute, or
        None."""
        return None

    def curve(self, sent: Contribution, crowd: int, steps: int = STEPS) -> PrivacyCurve:
        """Return the privacy curve of everything one person sends."""
        return composed_curve(self, sent, crowd, steps)

    def certificate(self, sent: Contribution, crowd: int, epsilon: float) -> AnalysisResult:
        """Return delta of one report, or of the composition of everything."""
        if only_shifts(sent):
            delta = shift_losses(sent.shifts).delta(epsilon)
            return AnalysisResult(DeltaBounds(delta, delta, delta), (of_shifts(sent),), ADDITIVE)
        if not (sent.reports or sent.shifts):
            return LOCAL.certificate(sent, crowd, epsilon)
        if sent.single is None:
            return AnalysisResult(*composed_delta(self, sent, crowd, epsilon))
        return self.one(sent.single, crowd, epsilon)

    def bound(self, sent: Contribution, crowd: int, epsilon: float, steps: int = STEPS) -> float:
        """Return a quick certified upper bound of delta."""
        if only_shifts(sent):
            return shift_losses(sent.shifts).delta(epsilon)
        if not (sent.reports or sent.shifts):
            return LOCAL.bound(sent, crowd, epsilon)
        if sent.single is None:
            if epsilon >= sent.local_epsilon:
                return 0.0
            return self.curve(sent, crowd, steps).delta(epsilon)
        return self.bound_one(sent.single, crowd, epsilon)

    def bounds(self, sent: Contribution, crowd: int, epsilons: Sequence[float]) -> np.ndarray:
        """Return `bound` at every epsilon; everything is composed once."""
        if sent.single is not None or only_shifts(sent) or not (sent.reports or sent.shifts):
            return super().bounds(sent, crowd, epsilons)
        curve, points = self.curve(sent, crowd), np.asarray(epsilons, float)
        both = curve.forward.deltas(points), curve.backward.deltas(points)
        return np.asarray(np.maximum(*both))

    def epsilon(self, sent: Contribution, crowd: int, delta: float) -> float:
        """Return the smallest epsilon at which the certified delta is at most `delta`,
        rounded up."""
        if only_shifts(sent):
            losses = shift_losses(sent.shifts)
            highest = min(max(losses.losses[-1] + losses.error, 0.0), LARGEST_EPSILON)
            return first_epsilon(losses.delta, delta, highest)
        if not (sent.reports or sent.shifts):
            return LOCAL.epsilon(sent, crowd, delta)
        if sent.single is None:
            return self.curve(sent, crowd).epsilon(delta)
        return self.epsilon_of_one(sent.single, crowd, delta)

    def epsilon_of_one(self, schema: Schema, crowd: int, delta: float) -> float:
        """Return the smallest epsilon for one report."""

        def certified(epsilon: float) -> float:
            return self.one(schema, crowd, epsilon).delta.upper

        return first_epsilon(certified, delta, min(schema.local_epsilon, LARGEST_EPSILON))

    def least_delta(self, sent: Contribution) -> float:
        """Return the smallest delta for which noise can be calibrated; compositions need a larger
        one."""
        if sent.reports and sent.single is None:
            return max(LEAST_COMPOSED, LEAST_PER_REPORT * sent.copies)
        return super().least_delta(sent)

    def search_bounds(self, crowd: int, epsilon: float) -> tuple[BoundFunction, BoundFunction]:
        """Return, for several reports, compositions of estimates; the quick one is coarser.

        The estimates of bits use homogeneous crowds. These need nearly as much noise as the worst
        crowds, so that after such a search one or two certificates are enough.
        """

        def searched(sent: Contribution, steps: int) -> float:
            if epsilon >= sent.local_epsilon:
                return 0.0
            if only_shifts(sent) or not (sent.reports or sent.shifts):
                return self.bound(sent, crowd, epsilon)
            if sent.single is not None:
                return self.searched_one(sent.single, crowd, epsilon)
            return composed_curve(self, sent, crowd, steps, search=True).delta(epsilon)

        return lambda sent: searched(sent, QUICK), lambda sent: searched(sent, STEPS)


class CrowdPairs(Composing):
    """An analysis that tries pairs of records, each in a crowd, for one report."""

    @abstractmethod
    def candidates(self, schema: Schema) -> list[PairRatios]:
        """Return the pairs that can be the worst for one report. Raises PrivacyError for
        too many."""

    def few(self, schema: Schema) -> list[PairRatios]:
        """Return so few pairs that all of them can be tried at every dot of a curve."""
        return self.candidates(schema)

    def orders(self, schema: Schema, crowd: int, spread: float, search: bool = False) -> Orders:
        """Return the largest bound of all pairs, in either order."""
        candidates = self.few(schema)
        several = WorstPair(code="classes", number=len(candidates))
        worst = candidates[0].pair if len(candidates) == 1 else several
        delta = roughly(candidates, crowd)
        return Orders(delta, delta, worst)

    def spread(self, schema: Schema, crowd: int) -> float:
        """Return the approximate standard deviation of the loss of the pair that is likely the
        worst."""
        likely = [likely_worst(self.few(schema), crowd, 0.0)]
        return SPREAD_OF_LOSS * roughly(likely, crowd)(0.0)

    def one(self, schema: Schema, crowd: int, epsilon: float) -> AnalysisResult:
        """Return delta of the worst pair."""
        largest = worst_delta(self.candidates(schema), crowd, epsilon)
        return AnalysisResult(largest.delta, (largest.candidate.pair,))

    def bound_one(self, schema: Schema, crowd: int, epsilon: float) -> float:
        """Return a quick certified upper bound of delta for one report."""
        return largest_bound(self.candidates(schema), crowd, epsilon)[0]

    def epsilon_of_one(self, schema: Schema, crowd: int, delta: float) -> float:
        """Return the smallest epsilon for the likely worst pair, then with each pair that proves
        worse."""
        highest = min(schema.local_epsilon, LARGEST_EPSILON)
        candidates = self.candidates(schema)
        tried = [likely_worst(candidates, crowd, highest / 2)]
        while True:
            epsilon = first_epsilon(lambda e: largest_bound(tried, crowd, e)[0], delta, highest)
            bound, worst = largest_bound(candidates, crowd, epsilon)
            if bound <= delta or worst in tried:
                return epsilon
            tried.append(worst)

    def search_bounds(self, crowd: int, epsilon: float) -> tuple[BoundFunction, BoundFunction]:
        """Return, for one report, bounds that use only the pair that is worst at the quick bound's
        first call."""
        coarse, fine = super().search_bounds(crowd, epsilon)
        place: int | None = None

        def likely(schema: Schema) -> list[PairRatios]:
            candidates = self.candidates(schema)
            return candidates if place is None else candidates[place : place + 1] or candidates

        def quick(sent: Contribution) -> float:
            nonlocal place
            if sent.single is None:
                return coarse(sent)
            candidates = likely(sent.single)
            value, worst = largest_bound(candidates, crowd, epsilon)
            place = candidates.index(worst) if place is None else place
            return value

        def sharp(sent: Contribution) -> float:
            if sent.single is None:
                return fine(sent)
            return worst_delta(likely(sent.single), crowd, epsilon).delta.upper

        return quick, sharp


def roughly(candidates: list[PairRatios], crowd: int) -> DeltaFunction:
    """Return the largest bound of the candidates at any epsilon, for the dots of a curve."""
    return lambda epsilon: largest_bound(candidates, crowd, epsilon, sharp=False)[0]
