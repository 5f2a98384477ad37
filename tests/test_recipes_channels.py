"""A channel that the package does not have, from the survey to the page.

The discrete Laplace adds a two-sided geometric number to the answer and clamps the sum to the
range. Its law is written here; everything else follows from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.accountant.channels.answers import AnswerChannel
from incrowd.accountant.channels.base import Range
from incrowd.accountant.channels.registry import CHANNELS

WHOLE = 2**32
LAST = 6  # the largest answer: days of a week


@dataclass(frozen=True)
class DiscreteLaplace(AnswerChannel):
    """Each step away from the answer is `ratio` / 256 times as likely; ends take all beyond."""

    ratio: int
    options: int

    kind = "discrete laplace"
    parameters: ClassVar = {"ratio": Range(0, 1), "epsilon": Range(0)}

    @classmethod
    def makers(cls):
        return {("ratio",): cls.from_ratio}

    @classmethod
    def from_ratio(cls, ratio, options):
        return cls(math.ceil(256 * ratio), options)

    def __str__(self):
        return f"discrete Laplace noise with ratio {self.ratio}/256"

    @property
    def denominator(self):
        return WHOLE

    @cached_property
    def numerators(self):
        law = [whole(law_of(self.ratio, x, self.options)) for x in range(self.options)]
        return np.array(law, object).T


def law_of(ratio, answer, options):
    """The exact chances of all reports."""
    a = Fraction(ratio, 256)
    rest = (1 - a) / (1 + a)
    chances = [rest * a ** abs(report - answer) for report in range(options)]
    chances[0] = a**answer / (1 + a)
    chances[-1] = a ** (options - 1 - answer) / (1 + a)
    return chances


def whole(chances):
    """Multiples of 2^-32 that sum to 1; the largest takes the rest."""
    numerators = [math.floor(WHOLE * chance) for chance in chances]
    numerators[chances.index(max(chances))] += WHOLE - sum(numerators)
    return numerators


@pytest.fixture
def registered():
    with mock.patch.dict(CHANNELS, {DiscreteLaplace.kind: DiscreteLaplace}):
        yield


SURVEY = {
    "name": "Days of pain",
    "crowd": 4000,
    "privacy": {"epsilon": 1.0, "delta": 1e-6},
    "question": [
        {
            "id": "days",
            "type": "number",
            "edges": [*range(LAST + 1)],
            "randomizer": {"kind": "discrete laplace", "ratio": 0.5},
        },
        {"id": "smokes", "type": "yesno"},
    ],
}


def test_it(registered, tmp_path):
    survey = incrowd.Survey.of(SURVEY)
    plan = incrowd.plan(survey)
    print(plan.guarantee, plan.messages)
    rng = np.random.default_rng(1)
    days = rng.binomial(6, 0.3, 4000)
    answers = pa.table({"days": days, "smokes": np.where(rng.random(4000) < 0.2, "yes", "no")})
    reports = incrowd.randomize(plan, answers, simulation_seed=5)
    estimates = incrowd.estimate(plan, reports)
    print(estimates.table("days"))
    print(dir(incrowd))
