"""The interface of every analysis. Each analysis is one object, in a separate module."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.codes import AnalysisName, AssumptionCode, WorstPair
from incrowd.accountant.curves import STEPS
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.accountant.numerics.precision import LEAST_DELTA
from incrowd.accountant.schema import Contribution, as_contribution, check_promise
from incrowd.accountant.search import (
    CLOSE,
    MIDDLE,
    BoundFunction,
    NoiseFamily,
    first_epsilon,
    gaussian_signal,
    smallest,
)

QUICK = 4  # the steps of the quick composition
ROUGH = 0.9  # the share of the wanted value that ends the quick search
CLOSE_COMPOSED = 0.996  # as `CLOSE`, for compositions, whose bounds are looser
LARGEST_EPSILON = 699.0  # in a crowd, so that e^epsilon is finite


class AnalysisResult(NamedTuple):
    """delta at some epsilon, and the pair of records (and the crowd) that attains it.

    worst: one pair for each kind of report, if several were composed. by: the analysis that gave
    the bound, if it is not the one that was called.
    """

    delta: DeltaBounds
    worst: tuple[WorstPair, ...]
    by: str = ""


class Analysis(ABC):
    """One way to derive a guarantee for everything a person sends in a crowd.

    Subclasses have to define only `name`, `assumption` and `certificate`; the rest follows from
    them. The crowd is the number of honest people; each report has a separate crowd.

    name: as in surveys and plans. assumption: the code of what it assumes. proved: whether it holds
    for every collection. shuffled: whether it needs a shuffler and a crowd; if not, it promises
    delta = 0. scalable: whether it supports any schema and any crowd, so that plans can use it.
    below_limit: the smallest possible error of a plan for a finite crowd, as a share of the error
    in the large-crowd limit.
    """

    name: AnalysisName
    assumption: AssumptionCode
    proved: bool = True
    shuffled: bool = True
    scalable: bool = True
    below_limit: float = 1.0

    def __repr__(self) -> str:
        kind = "guarantee" if self.proved else "not a guarantee"
        return f"{type(self).__name__}({self.assumption}; {kind})"

    @abstractmethod
    def certificate(self, sent: Contribution, crowd: int, epsilon: float) -> AnalysisResult:
        """Return delta at epsilon; the upper bound is certified."""

    def bound(self, sent: Contribution, crowd: int, epsilon: float, steps: int = STEPS) -> float:
        """Return a certified upper bound of delta alone, quickly.

        steps: grid points of a composition per standard deviation of a collection's loss.
        """
        return self.certificate(sent, crowd, epsilon).delta.upper

    def bounds(self, sent: Contribution, crowd: int, epsilons: Sequence[float]) -> np.ndarray:
        """Return `bound` at every epsilon."""
        return np.array([self.bound(sent, crowd, epsilon) for epsilon in epsilons])

    def eta(self, sent: Contribution, crowd: int, epsilon: float) -> float:
        """Return P[privacy ratio > e^epsilon], or a bound of it."""
        return self.eta_bound(sent, crowd, epsilon)

    def eta_bound(self, sent: Contribution, crowd: int, epsilon: float) -> float:
        """Return a bound of eta: the minimum of delta(e) / (1 - exp(e - epsilon)) over e < epsilon.

        If the ratio exceeds e^epsilon, at least 1 - exp(e - epsilon) of the mass contributes to
        delta(e).
        """
        if epsilon == 0:
            return 1.0
        tries = epsilon * (1 - np.geomspace(0.5, 0.002, 14))
        bounds = self.bounds(sent, crowd, list(tries)) / -np.expm1(tries - epsilon)
        return min(float(bounds.min()), 1.0)

    def figures(
        self, sent: Contribution, crowd: int, epsilon: float
    ) -> tuple[AnalysisResult, float]:
        """Return the certificate and eta; subclasses may compute both at once."""
        return self.certificate(sent, crowd, epsilon), self.eta(sent, crowd, epsilon)

    def epsilon(self, sent: Contribution, crowd: int, delta: float) -> float:
        """Return the smallest epsilon at which the bound of delta is at most `delta`, rounded up.

        Raises PrivacyError if no epsilon is enough.
        """

        def bound(epsilon: float) -> float:
            return self.bound(sent, crowd, epsilon)

        highest = min(sent.local_epsilon, LARGEST_EPSILON) if self.shuffled else sent.local_epsilon
        return first_epsilon(bound, delta, highest)

    def noise(self, family: NoiseFamily, crowd: int, epsilon: float, delta: float) -> BitFlip:
        """Return the smallest noise for which what is sent has (epsilon, delta), certified.

        Raises PrivacyError if no noise is enough, or if a value is out of range.
        """
        check_promise(crowd, epsilon, delta)

        def certified(sent: Contribution) -> float:
            return self.certificate(sent, crowd, epsilon).delta.upper

        quick, sharp = self.search_bounds(crowd, epsilon)
        close = CLOSE if as_contribution(family(MIDDLE)).single else CLOSE_COMPOSED
        phases = [(quick, ROUGH), (sharp, close), (certified, close)]
        return smallest(family, crowd, epsilon, delta, phases)

    def search_bounds(self, crowd: int, epsilon: float) -> tuple[BoundFunction, BoundFunction]:
        """Return a quick and a sharp bound of delta, both for searching only."""
        return (
            lambda sent: self.bound(sent, crowd, epsilon, QUICK),
            lambda sent: self.bound(sent, crowd, epsilon),
        )

    def least_delta(self, sent: Contribution) -> float:
        """Return the smallest delta for which the noise can be calibrated.

        Bounds of a smaller delta consist of allowances for rounding, which more noise does not
        reduce, until the local epsilon alone gives the guarantee.
        """
        return LEAST_DELTA if self.shuffled and sent.reports else 0.0

    def large_crowd_signal(self, epsilon: float, delta: float, crowd: int) -> float:
        """Return the mu^2 N that all messages together may have in the large-N limit.

        mu is the signal of the Gaussian mechanism with (epsilon, delta):
        docs/mathematics.md#large-crowds.
        """
        return gaussian_signal(epsilon, delta) ** 2 * crowd

    def promised_delta(self, delta: float) -> float:
        """Return the delta that is promised if the survey requests `delta`."""
        return delta if self.shuffled else 0.0
