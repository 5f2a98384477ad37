"""A channel that the package does not have: from the survey to the page, certified.

The discrete Laplace adds a two-sided geometric number to an answer and clamps the sum to the
range. Its law is written here, and all else follows from it. Oracles are plain numpy on a matrix
that is computed here in floating point.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import combinations_with_replacement, permutations, product
from typing import ClassVar
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy import stats

import incrowd
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.answers import AnswerChannel
from incrowd.accountant.channels.base import Range
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.registry import CHANNELS
from incrowd.accountant.schema import FREE_BIT, Domain, Part, Schema
from tests.conftest import run

WHOLE = 2**32
RATIO = 0.5
DAYS = 7  # answers: 0 to 6 days of a week


@dataclass(frozen=True)
class DiscreteLaplace(AnswerChannel):
    """Each step away from the answer is steps / 256 times as likely; the ends take all beyond."""

    steps: int
    options: int

    kind = "discrete laplace"
    parameters: ClassVar = {"ratio": Range(0, 1)}

    @classmethod
    def makers(cls):
        return {("ratio",): cls.from_ratio}

    @classmethod
    def from_ratio(cls, ratio, options):
        return cls(math.ceil(256 * ratio), options)

    def __str__(self):
        return f"discrete Laplace noise with ratio {self.steps}/256"

    @property
    def denominator(self):
        return WHOLE

    @cached_property
    def numerators(self):
        columns = []
        for answer in range(self.options):
            a = Fraction(self.steps, 256)
            chances = [a ** abs(report - answer) * (1 - a) for report in range(self.options)]
            chances[0], chances[-1] = a**answer, a ** (self.options - 1 - answer)
            columns.append([math.floor(WHOLE * chance / (1 + a)) for chance in chances])
            columns[-1][answer] += WHOLE - sum(columns[-1])
        return np.array(columns, object).T


def law(ratio, options):
    """P(report | answer), in floating point: the geometric mechanism, clamped."""
    places = np.arange(options)
    chances = ratio ** abs(places[:, None] - places) * (1 - ratio) / (1 + ratio)
    chances[0], chances[-1] = ratio**places / (1 + ratio), ratio ** places[::-1] / (1 + ratio)
    return chances


@pytest.fixture(autouse=True)
def registered():
    with mock.patch.dict(CHANNELS, {DiscreteLaplace.kind: DiscreteLaplace}):
        yield


def asked(type, **randomizer):
    return {
        "id": "days",
        "type": type,
        "edges": [*range(DAYS)],
        "randomizer": {"kind": "discrete laplace", **randomizer},
    }


def survey(type="amount", crowd=4000):
    return {
        "name": "Days of pain",
        "crowd": crowd,
        "privacy": {"epsilon": 1.0, "delta": 1e-6},
        "question": [asked(type, ratio=RATIO), {"id": "smokes", "type": "yesno"}],
    }


# --- what it promises


def collections(sent, crowd):
    """For all answers of the others the laws of what is collected, one for each own answer."""
    ordered = np.array(list(product(range(len(sent)), repeat=crowd)))
    _, group = np.unique(np.sort(ordered, axis=1), axis=0, return_inverse=True)
    for others in combinations_with_replacement(range(sent.shape[1]), crowd - 1):
        rest = reduce(np.multiply.outer, (sent[:, each] for each in others)).ravel()
        yield [np.bincount(group.ravel(), np.outer(column, rest).ravel()) for column in sent.T]


def largest_delta(sent, crowd, epsilon):
    """The largest delta over all collections, by listing them."""
    return max(
        np.maximum(laws[x] - math.exp(epsilon) * laws[other], 0).sum()
        for laws in collections(sent, crowd)
        for x, other in permutations(range(len(laws)), 2)
    )


def test_the_local_epsilon_is_that_of_its_law():
    exact = max(math.log(row.max() / row.min()) for row in law(RATIO, DAYS))
    assert DiscreteLaplace(128, DAYS).epsilon == pytest.approx(exact, rel=1e-7)
    assert exact == pytest.approx((DAYS - 1) * math.log(2))


@pytest.mark.parametrize(("options", "crowd"), [(3, 4), (4, 3)])
@pytest.mark.parametrize("analysis", ["blanket", "seat", "shuffle"])
def test_no_small_collection_exceeds_the_certificate(analysis, options, crowd):
    """The crowd is large enough for some pairs to hide; less noise than was certified must fail."""
    report = Schema.of([Part(Domain(options, 1, 1), DiscreteLaplace(180, options))])
    exceeded = False
    for epsilon in (0.05, 0.3, 0.6):
        upper = certify(analysis, report, crowd, epsilon).delta.upper
        assert largest_delta(law(180 / 256, options), crowd, epsilon) <= upper * (1 + 1e-6)
        exceeded |= largest_delta(law(0.3, options), crowd, epsilon) > upper
    assert exceeded


def test_two_questions_in_one_report():
    """With a yes/no question beside it, of which x and x' may differ as well."""
    parts = [Part(Domain(3, 1, 1), DiscreteLaplace(160, 3)), Part(FREE_BIT, BitFlip.at_least(0.3))]
    sent = np.kron(law(160 / 256, 3), [[0.7, 0.3], [0.3, 0.7]])
    for epsilon in (0.1, 0.5):
        exact = largest_delta(sent, 3, epsilon)
        for analysis in ("blanket", "seat", "shuffle"):
            assert exact <= certify(analysis, Schema.of(parts), 3, epsilon).delta.upper * (1 + 1e-6)


def test_what_local_promises_is_exact():
    report = Schema.of([Part(Domain(DAYS, 1, 1), DiscreteLaplace(128, DAYS))])
    sent = law(RATIO, DAYS)
    pairs = permutations(sent.T, 2)
    exact = max(np.maximum(x - math.exp(2.0) * other, 0).sum() for x, other in pairs)
    delta = certify("local", report, 2, 2.0).delta
    assert delta.lower <= exact * (1 + 1e-7) and exact <= delta.upper * (1 + 1e-7)
    assert delta.upper == pytest.approx(exact, rel=1e-6)


# --- what is sent, and what is estimated


def people(seed, number=4000):
    drawn = np.random.default_rng(seed)
    days = drawn.binomial(DAYS - 1, 0.3, number)
    return days, pa.table({"days": days, "smokes": drawn.choice(["yes", "no"], number)})


@pytest.mark.slow
def test_reports_follow_the_law():
    """Chi-square with a fixed seed and a false alarm rate of 1e-6; another ratio is rejected."""
    plan = incrowd.plan(incrowd.Survey.of(survey(crowd=20_000)))
    days, answers = people(1, 20_000)
    (joint, _) = incrowd.randomize(plan, answers, simulation_seed=2)
    bits = np.unpackbits(joint.packed, axis=1, count=DAYS, bitorder="little")
    assert (bits.sum(axis=1) == 1).all()
    seen, shares = bits.sum(axis=0), np.bincount(days, minlength=DAYS) / len(days)
    assert stats.chisquare(seen, 20_000 * law(RATIO, DAYS) @ shares).pvalue > 1e-6
    assert stats.chisquare(seen, 20_000 * law(0.6, DAYS) @ shares).pvalue < 1e-6


@pytest.mark.slow
def test_estimates_are_those_of_the_inverse_matrix():
    plan = incrowd.plan(incrowd.Survey.of(survey()))
    reports = incrowd.randomize(plan, people(3)[1], simulation_seed=4)
    estimates = incrowd.estimate(plan, reports)
    bits = np.unpackbits(reports[0].packed, axis=1, count=DAYS, bitorder="little")
    inverse = np.linalg.inv(law(RATIO, DAYS))
    shares = inverse @ bits.mean(axis=0)
    table = estimates.table("days")
    assert table.estimate == pytest.approx(shares, abs=1e-6)
    each = inverse[:, bits.argmax(axis=1)]  # what every report says of every answer
    assert table.standard_error == pytest.approx(each.std(axis=1) / math.sqrt(4000), rel=2e-2)
    mean = estimates.amounts["days"].mean
    assert mean.estimate == pytest.approx(shares @ np.arange(DAYS), abs=1e-5)
    error = (np.arange(DAYS) @ each).std() / math.sqrt(4000)
    assert mean.standard_error == pytest.approx(error, rel=2e-2)


@pytest.mark.slow
@pytest.mark.parametrize("type", ["number", "amount"])
def test_intervals_cover_the_truth(type):
    """60 surveys: of a 95% interval more than 12 misses have a chance of 1e-5; intervals of half
    that width miss about 20 times. The mean of all estimates is the truth within 4.5 errors."""
    truth = stats.binom.pmf(np.arange(DAYS), DAYS - 1, 0.3)
    plan = incrowd.plan(incrowd.Survey.of(survey(type)))
    missed, missed_by_half, shares = np.zeros(DAYS), np.zeros(DAYS), []
    for seed in range(60):
        reports = incrowd.randomize(plan, people(seed)[1], simulation_seed=seed)
        table = incrowd.estimate(plan, reports, tables=[["days"]]).table("days")
        low, high = table.low, table.high
        missed += (truth < low) | (truth > high)
        middle, half = (low + high) / 2, (high - low) / 4
        missed_by_half += abs(truth - middle) > half
        shares.append(table.estimate)
    assert missed.max() <= 12 < missed_by_half.mean()
    error = np.std(shares, axis=0) / math.sqrt(60)
    assert (abs(np.mean(shares, axis=0) - truth) < 4.5 * error).all()


# --- from the file to the page


@pytest.mark.slow
def test_from_the_file_to_the_page(tmp_path):
    (tmp_path / "survey.toml").write_text(
        """
name = "Days of pain"
crowd = 4000
[privacy]
epsilon = 1.0
[[question]]
id = "days"
type = "amount"
edges = [0, 1, 2, 3, 4, 5, 6]
randomizer = { kind = "discrete laplace", ratio = 0.5 }
[[question]]
id = "smokes"
type = "yesno"
"""
    )
    pa.csv.write_csv(people(5)[1], tmp_path / "answers.csv")
    for command in (
        "plan survey.toml -o plan.json",
        "verify plan.json",
        "card plan.json -o card.html",
        "randomize plan.json answers.csv -o reports",
        "estimate plan.json reports -o report.html",
    ):
        ended = run(*command.split(), cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())["plan"]
    randomizer = plan["survey"]["question"][0]["randomizer"]
    assert randomizer == {"kind": "discrete laplace", "memoized": False, "ratio": 0.5}
    card, page = ((tmp_path / f"{name}.html").read_text() for name in ("card", "report"))
    kept = law(RATIO, DAYS).max()
    assert f"the answer itself is sent with probability {kept:.4g} at most" in card
    assert "discrete laplace" in card and "days" in page and "mean" in page


@pytest.mark.parametrize(
    ("randomizer", "says"),
    [
        ({"ratio": 1.5}, "randomizer.ratio of days: got 1.5; should be less than 1"),
        ({}, "'discrete laplace' with no parameter; set ratio"),
        ({"spinner": 0.7}, "'discrete laplace' with spinner; set ratio"),
    ],
)
def test_wrong_numbers_say_what_works(randomizer, says):
    with pytest.raises(incrowd.SurveyError) as error:
        incrowd.Survey.of(survey() | {"question": [asked("number", **randomizer)]})
    assert says in str(error.value)


def test_without_registration_it_is_unknown():
    with mock.patch.dict(CHANNELS):
        del CHANNELS[DiscreteLaplace.kind]
        with pytest.raises(incrowd.SurveyError, match="use one of bit flip, warner"):
            incrowd.Survey.of(survey())
