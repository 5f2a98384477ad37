"""The analysis `local`: no shuffler is trusted. A guarantee that does not depend on the crowd."""

from __future__ import annotations

import math

from incrowd.accountant import local_ratios
from incrowd.accountant.analyses.base import Analysis, AnalysisResult
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.curves import STEPS, linked_curve
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.numerics.precision import grown
from incrowd.accountant.pairs import local_candidates
from incrowd.accountant.schema import Contribution, as_contribution, check_promise
from incrowd.accountant.search import MIDDLE, NoiseFamily, smallest_local
from incrowd.errors import PrivacyError

FEW = 200  # reports whose joint ratios take milliseconds; a million take seconds
LARGEST = 300.0  # an epsilon whose exponential can still be multiplied


class Local(Analysis):
    """The likelihood ratio of the farthest pair; exact if there are few different noises."""

    name = "local"
    assumption = "nobody-trusted"
    shuffled = False

    def certificate(self, sent: Contribution, crowd: int, epsilon: float) -> AnalysisResult:
        """Return delta at epsilon; it does not depend on the crowd, and includes one person's
        redraws.

        Of many reports, the joint ratios are thinned: there, composed curves are often closer.
        Raises PrivacyError if counts shift: nothing is left of noise that is known.
        """
        check_no_shifts(sent)
        candidates = local_candidates(sent)
        low = high = 0.0
        if epsilon < sent.redraws:
            high = 1.0
        elif epsilon < sent.local_epsilon:
            low, high = (
                max(
                    local_ratios.delta(one.ratios, epsilon - sent.redraws, side)
                    for one in candidates
                )
                for side in (-1, 1)
            )
            high = grown(high, sent.redraws)
            if sent.copies > FEW:
                high = min(high, self.bound(sent, crowd, epsilon))
                low = min(low, high)
        bounds = DeltaBounds(low, min((low + high) / 2, 1.0), min(high, 1.0))
        return AnalysisResult(bounds, (candidates[0].pair,))

    def bound(self, sent: Contribution, crowd: int, epsilon: float, steps: int = STEPS) -> float:
        """Return that delta, or for many reports a bound of it that takes less time."""
        check_no_shifts(sent)
        if sent.copies <= FEW or not sent.redraws <= epsilon < sent.local_epsilon:
            return super().bound(sent, crowd, epsilon, steps)
        return grown(linked_curve(sent.every).delta(epsilon - sent.redraws), sent.redraws)

    def eta(self, sent: Contribution, crowd: int, epsilon: float) -> float:
        """Return the exact P[ratio > e^epsilon], at most 1."""
        check_no_shifts(sent)
        candidates = local_candidates(sent)
        return min(max(local_ratios.eta(one.ratios, epsilon) for one in candidates), 1.0)

    def noise(self, family: NoiseFamily, crowd: int, epsilon: float, delta: float) -> BitFlip:
        """Return the smallest noise with that local epsilon; delta is 0 and the crowd does not
        matter."""
        check_promise(2, epsilon, delta)
        check_no_shifts(as_contribution(family(MIDDLE)))
        return smallest_local(family, epsilon)

    def large_crowd_signal(self, epsilon: float, delta: float, crowd: int) -> float:
        """Return that of one report with local epsilon: only the shares of the messages matter."""
        return math.expm1(min(epsilon, LARGEST))


def check_no_shifts(sent: Contribution) -> None:
    """Raise PrivacyError if services hide counts that shift: together they know their noise."""
    if sent.shifts:
        raise PrivacyError.of("analysis", "accountant.nothing-left", value=LOCAL.name)


LOCAL = Local()
