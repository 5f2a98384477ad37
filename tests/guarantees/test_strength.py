"""The strength of guarantees, against the words and the table of docs/choosing.md."""

import math
import re
from pathlib import Path

import pytest

from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.strength import (
    STRENGTHS,
    guess_after,
    is_practically_none,
    strength,
    strength_of,
)
from tests.oracles.releases import claims
from tests.oracles.service_plans import plan_of, survey_of

CHOOSING = (Path(__file__).parents[2] / "docs" / "choosing.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("epsilon", "delta", "people", "word"),
    [
        (0.5, 1e-6, 20_000, "strong"),  # delta is a fiftieth of 1 / crowd
        (1.0, 0.0, 20_000, "strong"),
        (1.01, 0.0, 20_000, "moderate"),
        (3.0, 1e-6, 20_000, "moderate"),
        (3.01, 1e-6, 20_000, "weak"),
        (10.0, 0.0, 250, "weak"),
        (10.01, 0.0, 250, "practically-none"),
        (20.0, 0.01, 250, "practically-none"),
        (0.1, 0.01, 100, "practically-none"),  # delta is 1 / crowd
        (0.1, 0.01, 99, "weak"),
        (0.1, 0.001, 199, "moderate"),
        (0.1, 0.001, 201, "weak"),
        (0.1, 0.001, 51, "moderate"),
        (0.1, 0.001, 49, "strong"),
        (math.inf, 0.0, 250, "practically-none"),
    ],
)
def test_words_follow_from_epsilon_and_from_delta_relative_to_the_people(
    epsilon, delta, people, word
):
    assert strength_of(epsilon, delta, people) == word


def test_a_larger_epsilon_or_delta_is_never_stronger():
    for epsilon in (0.1, 1.0, 2.5, 7.0, 11.0):
        for delta in (0.0, 1e-6, 1e-4, 1e-3, 0.01, 0.5):
            here = STRENGTHS.index(strength_of(epsilon, delta, 1000))
            assert STRENGTHS.index(strength_of(epsilon + 0.5, delta, 1000)) >= here
            assert STRENGTHS.index(strength_of(epsilon, min(2 * delta, 0.9), 1000)) >= here
            assert STRENGTHS.index(strength_of(epsilon, delta, 2000)) >= here


def test_the_table_of_odds_has_what_a_guess_can_become():
    """The manual shows three digits; a guess is rounded up, so that it is never shown smaller."""
    section = CHOOSING.partition("## Epsilon as odds")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\d.]+) \| [\d.,]+ \| ([\d.]+)% \| ([\d.]+)% \|$", section, re.M)
    assert len(rows) == 6
    for epsilon, fifth, half in ([float(each) for each in row] for row in rows):
        for shown, guess in ((fifth, 0.2), (half, 0.5)):
            most = guess_after(epsilon, guess)
            if shown > 99.85:
                assert most is None or most == 0.999
            else:
                assert shown - 0.051 < 100 * most < shown + 1


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0, 2.0, 4.0, 6.0, 7.5])
def test_a_guess_is_never_shown_smaller_than_it_can_become(epsilon):
    odds = 0.2 / 0.8 * math.exp(epsilon)
    assert odds / (1 + odds) <= guess_after(epsilon) < odds / (1 + odds) + 0.01


def test_a_guess_that_can_become_practically_certain_has_no_number():
    assert guess_after(20.0) is None and guess_after(math.inf) is None
    assert guess_after(8.0) == 0.999  # 99.87%
    assert guess_after(800.0, 1e-12) is None  # no overflow


def test_what_a_service_may_learn_alone_counts():
    plan = plan_of(survey_of(epsilon=1.0, service=3.5))
    over = guarantee_of(plan, 60, [claims()])
    assert strength(over) == "weak"
    assert strength(over.model_copy(update={"service_epsilon": 10.5})) == "practically-none"
    alone = guarantee_of(plan, 60)  # one party holds the answers: readers are promised epsilon
    assert strength(alone.model_copy(update={"service_epsilon": math.inf})) == "strong"


def test_people_count_for_delta_if_no_crowd_hides_them():
    guarantee = plan_of(survey_of(epsilon=1.0)).guarantee  # delta 1e-4
    assert guarantee.crowd is None
    assert strength(guarantee) == strength(guarantee, 60) == "strong"
    assert strength(guarantee, 1000) == "moderate"
    assert is_practically_none(guarantee, 10_000)
