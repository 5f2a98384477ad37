"""Comparisons end to end: real reports against the truth in the answers."""

import json
from pathlib import Path

import numpy as np
import pytest

import incrowd
from incrowd.errors import TableError
from tests.test_cli import run

EXAMPLES = Path(__file__).parent.parent / "examples"
FIRST, SECOND = "physical_limitation", "self_rated_health"


@pytest.fixture(scope="module")
def health():
    raw = incrowd.Survey.load(EXAMPLES / "health.toml").model_dump(by_alias=True)
    raw["privacy"] = {"epsilon": 16.0, "analysis": "local"}  # sharp enough to compare
    survey = incrowd.Survey.of(raw)
    answers = incrowd.load_answers(EXAMPLES / "rand_hie.csv", survey)
    made = incrowd.plan(survey)
    return made, answers, incrowd.randomize(made, answers, simulation_seed=11)


def counts(answers):
    pairs = list(zip(answers[FIRST].to_pylist(), answers[SECOND].to_pylist(), strict=True))
    return lambda group, answer: sum(p == (group, answer) for p in pairs)


def test_shares_differences_and_odds_are_near_the_truth(health):
    """Sixteen figures at 5 standard errors; the wrong variant, the other group's share, fails."""
    made, answers, reports = health
    found, n = incrowd.compare(made, reports, FIRST, SECOND), counts(answers)
    options = ("excellent", "good", "fair", "poor")
    groups = {g: sum(n(g, o) for o in options) for g in ("no", "yes")}
    truth = [n(g, o) / groups[g] for g in ("no", "yes") for o in options]
    values = np.array([s.estimate for s in found.shares])
    errors = np.array([s.standard_error for s in found.shares])
    assert np.all(np.abs(values - truth) < 5 * errors)
    assert np.any(np.abs(values - truth[::-1]) > 5 * errors)
    for item, option in zip(found.differences, options, strict=True):
        true = n("no", option) / groups["no"] - n("yes", option) / groups["yes"]
        assert abs(item.estimate - true) < 5 * item.standard_error
    odds = found.odds_ratios[0]
    no, yes = (n(g, "excellent") / (groups[g] - n(g, "excellent")) for g in ("no", "yes"))
    assert odds.estimable and abs(np.log(odds.estimate * yes / no)) < 5 * odds.standard_error
    assert found.independence.p_value < 1e-6 and found.seed == 11


def test_unrelated_questions_and_unknown_ones(health):
    made, _, reports = health
    with pytest.raises(TableError):
        incrowd.compare(made, reports, FIRST, "nothing")
    with pytest.raises(TableError):
        incrowd.compare(made, reports, FIRST, FIRST)


def test_the_command(health, tmp_path):
    made, _, reports = health
    (tmp_path / "plan.json").write_text(made.dumps())
    incrowd.save_reports(reports, tmp_path / "r.parquet")
    arguments = ("compare", tmp_path / "plan.json", tmp_path / "r.parquet", FIRST, SECOND)
    data = json.loads(run(*arguments, "--json").stdout)
    assert data["questions"] == [FIRST, SECOND] and len(data["shares"]) == 8
    people = run(*arguments)
    assert people.returncode == 0 and "independence" in people.stdout
    assert run(*arguments[:-1], "nothing").returncode == 2
