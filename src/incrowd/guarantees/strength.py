"""The strength of a guarantee in four words, and the odds that it leaves to a guess.

The thresholds are those of docs/choosing.md.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from typing import Literal, get_args

from incrowd.plans import Guarantee

Strength = Literal["strong", "moderate", "weak", "practically-none"]
STRENGTHS: tuple[Strength, ...] = get_args(Strength)  # the strongest one first

EPSILONS = 1.0, 3.0, 10.0  # the largest epsilon of each strength but the last
SHARES = 0.05, 0.2, 1.0  # the same for delta times the people, which reaches none of the last one
GUESS = 0.2  # a guess about a person: the chance that it is right without the survey
NEARLY_SURE = 0.999  # a chance above which a guess is practically certain


def strength(guarantee: Guarantee, people: int | None = None) -> Strength:
    """Return the strength of what a guarantee states: the weaker of what epsilon and delta allow.

    If each of two services adds noise, what one of them may learn alone counts as well. If one
    party can read every answer, the guarantee states what readers of the results can learn.

    people: those who take part, or are expected, if that is known; the guarantee's crowd otherwise.
    """
    epsilon, service = guarantee.epsilon, guarantee.service_epsilon
    if service is not None and service < math.inf:
        epsilon = max(epsilon, service)
    return strength_of(epsilon, guarantee.delta, max(guarantee.crowd or 1, people or 1))


def strength_of(epsilon: float, delta: float = 0.0, people: int = 1) -> Strength:
    """Return the strength of an epsilon and a delta for a number of people.

    With delta = 1 / people, one could publish the answers of one random person and still keep the
    guarantee, so that practically nothing is left from there on.
    """
    by_epsilon = sum(epsilon > most for most in EPSILONS)
    share = delta * people
    by_delta = sum(share > most for most in SHARES[:-1]) + (share >= SHARES[-1])
    return STRENGTHS[max(by_epsilon, by_delta)]


def is_practically_none(guarantee: Guarantee, people: int | None = None) -> bool:
    """Return whether practically nothing is left of a guarantee. people: as for `strength`."""
    return strength(guarantee, people) == "practically-none"


def guess_after(epsilon: float, guess: float = GUESS) -> float | None:
    """Return the most that the chance of a guess can become, apart from delta.

    By Bayes' rule, its odds grow by a factor of at most e^epsilon. The result is rounded up to
    whole percent, or above 99% to tenths of a percent; None if a guess can become practically
    certain.
    """
    most = 1 / (1 + (1 - guess) / guess * math.exp(-epsilon))
    if most > NEARLY_SURE:
        return None
    digits = Decimal("0.01") if most <= 0.99 else Decimal("0.001")
    return float(Decimal(repr(most)).quantize(digits, ROUND_CEILING))
