"""What every analysis answers. Each is one object, in a module of its own beside this one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.curves import STEPS
from incrowd.accountant.numerics.positive_part import Bounds
from incrowd.accountant.schema import Sent, as_sent, check_promise
from incrowd.accountant.search import (
    CLOSE,
    MIDDLE,
    Bound,
    Family,
    first_epsilon,
    gaussian_signal,
    smallest,
)

QUICK = 4  # steps of the quick composition
ROUGH = 0.9  # share of the wanted value that ends the quick search
CLOSE_COMPOSED = 0.996  # the composition itself is looser than `CLOSE`
WHOLE_CROWD = (
    "The shuffler removes every link between a report and its sender, and the whole crowd of "
    "honest people sends as the plan says; nothing is assumed about their answers."
)
LARGEST_EPSILON = 699.0  # e^epsilon is still a number


class Found(NamedTuple):
    """delta at some epsilon, and the pair of records (and the crowd) that gave it, in words.

    by: the analysis that bounded it, if that is another than the one that was asked.
    """

    delta: Bounds
    worst: str
    by: str = ""


class Analysis(ABC):
    """One way to derive what everything a person sends guarantees in a crowd.

    Only `name`, `assumption` and `certificate` have to be given; what is here follows from them.
    The crowd is the number of honest people; each report has a crowd of its own.

    name: as it is written in surveys and plans. assumption: what it rests on, in sentences.
    proved: whether it holds for every collection. shuffled: whether it counts on a shuffler and a
    crowd; if not, it promises delta = 0. scalable: whether it takes any schema and any crowd, so
    that it can be planned with. joint: leads from the claim to the assumption.
    crowds: which collections its formula speaks of, if not of all. below_limit: the share of the
    error in the large-crowd limit that a plan of a finite crowd may come down to.
    """

    name: str
    assumption: str
    proved: bool = True
    shuffled: bool = True
    scalable: bool = True
    joint: str = "; this assumes: "
    crowds: str = ""
    below_limit: float = 1.0

    @abstractmethod
    def certificate(self, sent: Sent, crowd: int, epsilon: float) -> Found:
        """delta at epsilon; the upper bound is certified."""

    def bound(self, sent: Sent, crowd: int, epsilon: float, steps: int = STEPS) -> float:
        """A certified upper bound of delta alone, quickly.

        steps: of a composition, grid points for a standard deviation of a collection's loss.
        """
        return self.certificate(sent, crowd, epsilon).delta.upper

    def bounds(self, sent: Sent, crowd: int, epsilons: Sequence[float]) -> np.ndarray:
        """`bound` at every epsilon."""
        return np.array([self.bound(sent, crowd, epsilon) for epsilon in epsilons])

    def eta(self, sent: Sent, crowd: int, epsilon: float) -> float:
        """P[privacy ratio > e^epsilon], or a bound of it."""
        return self.eta_bound(sent, crowd, epsilon)

    def eta_bound(self, sent: Sent, crowd: int, epsilon: float) -> float:
        """A bound of eta: the least of delta(e) / (1 - exp(e - epsilon)) over e < epsilon.

        Where the ratio exceeds e^epsilon, at least 1 - exp(e - epsilon) of the mass counts in
        delta(e).
        """
        if epsilon == 0:
            return 1.0
        tries = epsilon * (1 - np.geomspace(0.5, 0.002, 14))
        found = self.bounds(sent, crowd, list(tries)) / -np.expm1(tries - epsilon)
        return min(float(found.min()), 1.0)

    def figures(self, sent: Sent, crowd: int, epsilon: float) -> tuple[Found, float]:
        """The certificate and eta; where one computation gives both, it is made once."""
        return self.certificate(sent, crowd, epsilon), self.eta(sent, crowd, epsilon)

    def epsilon(self, sent: Sent, crowd: int, delta: float) -> float:
        """The smallest epsilon at which the bound of delta is at most `delta`, rounded up.

        Raises PrivacyError if there is none.
        """

        def bound(epsilon: float) -> float:
            return self.bound(sent, crowd, epsilon)

        return first_epsilon(bound, delta, min(sent.local_epsilon, LARGEST_EPSILON))

    def noise(self, family: Family, crowd: int, epsilon: float, delta: float) -> BitFlip:
        """The smallest noise for which what is sent gives (epsilon, delta), certified.

        Raises PrivacyError if there is none, or a value is out of range.
        """
        check_promise(crowd, epsilon, delta)

        def certified(sent: Sent) -> float:
            return self.certificate(sent, crowd, epsilon).delta.upper

        quick, sharp = self.search_bounds(crowd, epsilon)
        close = CLOSE if as_sent(family(MIDDLE)).single else CLOSE_COMPOSED
        phases = [(quick, ROUGH), (sharp, close), (certified, close)]
        return smallest(family, crowd, epsilon, delta, phases)

    def search_bounds(self, crowd: int, epsilon: float) -> tuple[Bound, Bound]:
        """A quick and a sharp bound of delta, both to search with only."""
        return (
            lambda sent: self.bound(sent, crowd, epsilon, QUICK),
            lambda sent: self.bound(sent, crowd, epsilon),
        )

    def large_crowd_signal(self, epsilon: float, delta: float, crowd: int) -> float:
        """mu^2 N that all messages together may have in the large-N limit.

        mu is the signal of the Gaussian mechanism that gives (epsilon, delta):
        docs/mathematics.md#large-crowds.
        """
        return gaussian_signal(epsilon, delta) ** 2 * crowd

    def promised_delta(self, delta: float) -> float:
        """The delta of a promise, where the survey asks for `delta`."""
        return delta if self.shuffled else 0.0

    @property
    def heading(self) -> str:
        """What a promise by this analysis may be called."""
        return "Guarantee" if self.proved else "Privacy"

    def claim(self, factor: str, chance: str) -> str:
        """What is promised, in plain words without a full stop.

        factor: e^epsilon. chance: delta, as "one in a million".
        """
        said = (
            "hanging any one person's answer changes the probability of any conclusion by at most "
            f"a factor of {factor}, plus {chance}"
        )
        return f"C{said}" if self.proved else f'By the analysis "{self.name}": c{said}'

    def formula(self, factor: str, delta: str) -> str:
        """What is promised, as an inequality. factor: e^epsilon."""
        return (
            f"For all answers D and D′ of the crowd that differ in one person's{self.crowds}, and "
            "every set S of what can be published: "
            f"P[published(D) ∈ S] ≤ {factor} · P[published(D′) ∈ S] + {delta}."
        )

    def kind(self, delta: Bounds) -> str:
        """What its figures are, in a few words."""
        return "guarantee" if self.proved else ""
