"""The difference of two shares of the same people, whether or not one table holds both.

The noise of both is known, and so is its covariance. How many people have both is known from a
table that holds all questions alone; else it is between what Frechet's bounds allow, and the least
of it gives the largest error. Proof: docs/mathematics.md#shares-of-two-tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from incrowd.estimation.delta_method import named
from incrowd.estimation.quotients import Comparison
from incrowd.estimation.tables import HALF_WIDTH, LEVEL, NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.plans import Guarantee

UNKNOWN = (
    "no message holds all of these questions, so that it is not known how many people are in both "
    "shares: the error is the largest that there can be"
)
POSITIVE = (
    "no message holds all of these questions: the error takes both shares to be no less common "
    "together than if they had nothing to do with each other, as was stated"
)


@dataclass(frozen=True)
class ShareDifference:
    """One share less another: estimate, standard error, interval; and the guarantee that holds.

    first, second: what is said by the people of each share, answers by question.
    """

    first: Mapping[str, str]
    second: Mapping[str, str]
    figure: Comparison
    guarantee: Guarantee
    seed: int | None = None


class Share(NamedTuple):
    """An estimated share of people; noise: the variance of its noise; step: of one report."""

    answers: Mapping[str, str]
    estimate: float
    noise: float
    step: float


def difference_of_shares(
    first: Share,
    second: Share,
    *,
    noise_covariance: float,
    people: int,
    noise_only: bool,
    both: float | None = None,
    positive: bool = False,
) -> Comparison:
    """One share less another.

    both: the estimated share of people who are in both, where a table tells it. positive: whether
    it is known that those of one share are in the other at least as often as everybody is.
    """
    noise = max(first.noise + second.noise - 2 * noise_covariance, 0.0)
    a, b = (min(max(share.estimate, 0.0), 1.0) for share in (first, second))
    if both is None:
        both = a * b if positive else max(a + b - 1, 0.0)
    sampling = max(a * (1 - a) + b * (1 - b) - 2 * (both - a * b), 0.0) / people
    step = max(first.step, second.step) if noise_only else 1 / people
    error = math.sqrt(noise if noise_only else noise + sampling)
    reach = HALF_WIDTH * math.hypot(error, HALF_WIDTH * step if error else 0.0)
    estimate = first.estimate - second.estimate
    return Comparison(
        name=f"share of {named(first.answers)} less that of {named(second.answers)}",
        estimate=estimate,
        standard_error=error,
        low=estimate - reach,
        high=estimate + reach,
        scale="linear",
        level=LEVEL,
        errors=NOISE_ONLY if noise_only else NOISE_AND_SAMPLING,
    )
