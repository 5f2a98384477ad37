"""Simulations of every kind of interval that `estimate` makes."""

import json
import tomllib

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import incrowd
from incrowd.errors import IncrowdError
from incrowd.sampling.randomize import people_of_file
from incrowd.simulation import Everybody, _truth
from tests.conftest import one_in, run

SURVEY = """
name = "small"
crowd = 1500
[privacy]
epsilon = 6.0
analysis = "local"

[[question]]
id = "ill"
type = "choice"
options = ["no", "yes"]
optional = true

[[question]]
id = "sex"
type = "choice"
options = ["f", "m"]

[[table]]
questions = ["ill", "sex"]
"""
TRIALS = [20, pytest.param(400, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def people():
    """2,000 people: a fifth does not say whether they are ill; of the others a quarter is."""
    generator = np.random.default_rng(4)
    sex = np.where(generator.random(2000) < 0.4, "f", "m")
    ill = np.where(generator.random(2000) < np.where(sex == "f", 0.4, 0.15), "yes", "no")
    ill = np.where(np.arange(2000) % 5 == 0, None, ill)
    return incrowd.Survey.of(tomllib.loads(SURVEY)), pa.table({"ill": ill.tolist(), "sex": sex})


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {"simultaneous": "bonferroni"},
        {"weight_to": ["sex"]},
        {"of_those_who_answered": True, "simultaneous": "bonferroni"},
        {"weight_to": ["sex"], "of_those_who_answered": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("trials", one_in(2, TRIALS))
def test_intervals_of_every_kind_cover(people, trials, asked):
    """Means over the cells, and all cells at once, are at most 4 standard errors below 95%."""
    survey, answers = people
    found = incrowd.simulate(survey, answers, trials=trials, seed=6, **asked)
    least = 0.95 - 4 * np.sqrt(0.95 * 0.05 / trials)
    for quality in found.tables:
        assert quality.coverage.mean() > least
        assert np.all(np.abs(quality.bias) <= 5 * quality.bias_error + 1e-12)
        at_once = quality.simultaneous_coverage
        assert (at_once is None) == ("simultaneous" not in asked)
        assert at_once is None or at_once > max(least, quality.joint_coverage - 1e-12)
    if asked.get("of_those_who_answered"):
        assert found.tables[0].coverage.shape == (2,)  # without "no answer"


def test_the_truth_is_among_those_who_answered(people):
    """Oracle: counted by hand. The shares of all people are another truth."""
    survey, answers = people
    found = incrowd.simulate(survey, answers, trials=2, seed=1, of_those_who_answered=True)
    plain = incrowd.simulate(survey, answers, trials=2, seed=1)
    ill = np.array(answers["ill"].to_pylist(), object)
    valid = _truth(found.plan, _everybody(found.plan, answers), ("ill",), True)
    assert valid == pytest.approx([np.mean(ill[ill != None] == a) for a in ("no", "yes")])  # noqa: E711
    assert len(plain.tables[0].coverage) == 3 and np.isnan(found.tables[0].theoretical_error).all()


def _everybody(plan, answers):
    return Everybody.of(plan, people_of_file(plan.survey, answers))


@pytest.mark.slow
def test_the_command_says_which_intervals_it_tried(people, tmp_path):
    (tmp_path / "survey.toml").write_text(SURVEY)
    pa.csv.write_csv(people[1], tmp_path / "answers.csv")
    command = ["simulate", tmp_path / "survey.toml", tmp_path / "answers.csv", "--trials", "4"]
    command += ["--simultaneous", "max-t", "--weight-to", "sex", "--of-those-who-answered"]
    shown = run(*command)
    assert shown.returncode == 0 and "weighted to sex" in shown.stdout
    assert "max-t" in shown.stderr
    data = json.loads(run(*command, "--json").stdout)
    assert all(0 <= table["simultaneous_coverage"] <= 1 for table in data["tables"])
    assert data["tables"][0]["theoretical_standard_error"] is None
    assert data["simultaneous"] == "max-t" and data["weight_to"] == ["sex"]


def test_weights_to_a_question_that_is_not_there_are_refused(people):
    survey, answers = people
    with pytest.raises(IncrowdError, match="nothing"):
        incrowd.simulate(survey, answers, trials=2, weight_to=["nothing"])
