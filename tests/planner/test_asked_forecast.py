"""The expected precision of the answers of those who are asked a question."""

from __future__ import annotations

import numpy as np
import pytest

import incrowd
from incrowd.planner.forecast import forecast
from tests.conftest import run

AMONG = {"few": 0.6, "some": 0.35, "many": 0.05}


def planned(asked: float, crowd: int = 20_000) -> incrowd.Plan:
    raw = {
        "name": "Habits",
        "crowd": crowd,
        "privacy": {"epsilon": 1.0},
        "question": [
            {"id": "smokes", "type": "yesno", "shares": {"yes": asked}},
            {
                "id": "count",
                "type": "choice",
                "options": [*AMONG],
                "shares": AMONG,
                "asked_if": "smokes = yes",
            },
        ],
    }
    return incrowd.plan(incrowd.Survey.of(raw))


def of_asked(plan: incrowd.Plan):
    (found,) = [each.asked for each in forecast(plan) if each.questions == ("count",)]
    assert found is not None
    return found


@pytest.mark.parametrize("asked", [0.4, 0.1])
def test_the_error_among_those_who_are_asked_is_that_of_drawn_collections(asked):
    """4,000 collections of cells; their spread has a relative error of 1.1%. The forecast takes the
    noise of the cells to be independent, which is at most a little too much."""
    plan, people = planned(asked), 20_000
    (message,) = [each for each in plan.messages if "count" in each.ids]
    q, generator = message.noise.q, np.random.default_rng(1)
    law = np.append(asked * np.array([*AMONG.values()]), 1 - asked)
    inside = generator.multinomial(people, law, size=4000)
    sent = generator.binomial(inside, 1 - q) + generator.binomial(people - inside, q)
    shares = (sent / people - q) / (1 - 2 * q)
    spread = (shares[:, :-1] / (1 - shares[:, -1:])).std(axis=0).max()
    found = of_asked(plan)
    assert found.share == pytest.approx(asked)
    assert 0.96 * spread < found.standard_error < 1.1 * spread
    assert forecast(plan)[1].standard_error < 0.8 * found.standard_error  # of all people


def test_only_questions_with_a_condition_have_it():
    assert [each.asked is None for each in forecast(planned(0.4))] == [True, False]


def test_plan_says_how_precise_and_warns_if_hardly_anybody_is_asked(tmp_path):
    file = tmp_path / "s.toml"
    text = """name = "Habits"
crowd = 2000
[privacy]
epsilon = 1.0
[[question]]
id = "smokes"
type = "yesno"
shares = {{ yes = {asked} }}
[[question]]
id = "count"
type = "choice"
options = ["few", "some"]
asked_if = "smokes = yes"
"""
    file.write_text(text.format(asked=0.4))
    often = run("plan", file).stderr + run("plan", file).stdout
    assert "count: about 40% of the people are asked; among them, each share" in often
    assert "are asked count" not in often
    file.write_text(text.format(asked=0.02))
    seldom = run("plan", file)
    words = " ".join((seldom.stdout + seldom.stderr).split())
    assert "warning: about 2.0% of the people are asked count" in words
