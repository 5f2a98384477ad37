"""The recipes of docs/architecture.md for a command and for a statistical method, carried out once.

Those for a channel, a type of question and a format of files have tests of their own.
"""

import json
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
import typer

import incrowd
from incrowd import views
from incrowd.cli import later
from incrowd.cli.console import print_json, say
from incrowd.cli.options import AsJson, PlanArgument
from incrowd.errors import UsageError
from tests.conftest import run

# --- a command: a function in a module of cli, and a line of COMMANDS ----------------------------


def bits(
    plan: PlanArgument,
    least: Annotated[int, typer.Option(help="Leave out what is shorter.")] = 0,
    json: AsJson = False,
) -> None:
    """Show how many bits each person sends."""
    if least < 0:
        raise UsageError.of("least", least, "should be at least 0")
    sizes = [m.bits for m in incrowd.Plan.load(plan).messages if m.bits >= least]
    if json:
        print_json({"bits": sizes})
    else:
        say(f"bits: {', '.join(map(str, sizes))}")


@pytest.fixture
def command():
    module = ModuleType("incrowd.cli.sizes")
    module.bits = bits
    line = ("sizes:bits", "Show how many bits each person sends.")
    with (
        mock.patch.dict(sys.modules, {module.__name__: module}),
        mock.patch.dict(later.COMMANDS, {"bits": line}),
    ):
        yield


def test_a_command_runs_prints_json_and_says_what_is_wrong(command, tmp_path, tiny):
    (tmp_path / "plan.json").write_text(tiny.dumps())
    done = run("bits", tmp_path / "plan.json")
    assert (done.returncode, done.stderr.strip()) == (0, "bits: 1")
    assert json.loads(run("bits", tmp_path / "plan.json", "--json").stdout) == {"bits": [1]}
    wrong = run("bits", tmp_path / "plan.json", "--least", "-1")
    assert wrong.returncode == 2 and "least: got -1; should be at least 0" in wrong.stderr
    assert "how many bits" in run("--help").stdout
    assert "Leave out what is shorter" in run("bits", "--help").stdout


# --- a statistical method: a function of estimates that returns plain data -----------------------


@dataclass(frozen=True)
class Odds(views.Tabular):
    """The odds of one answer. standard_error: of noise plus sampling, by the delta method."""

    question: str
    answer: str
    estimate: float
    standard_error: float

    def long_table(self) -> views.Sheet:
        """Return the answer and its odds."""
        return views.Sheet("odds", ("answer", "odds"), ((self.answer, self.estimate),))


def odds(estimates: incrowd.Estimates, question: str, answer: str) -> Odds:
    """The odds of an answer, p / (1 - p). Raises UsageError if there is no such answer."""
    table = next(table for table in estimates.tables if table.questions == (question,))
    (answers,) = table.answers
    if answer not in answers:
        raise UsageError.of("answer", answer, f"use one of {', '.join(answers)}")
    share, error = (
        float(values[answers.index(answer)]) for values in (table.estimate, table.standard_error)
    )
    return Odds(question, answer, share / (1 - share), error / (1 - share) ** 2)


@pytest.fixture(scope="module")
def tiny():
    question = {"id": "a", "type": "yesno"}
    privacy = {"epsilon": 1.0, "delta": 1e-6, "analysis": "blanket"}
    raw = {"name": "one", "crowd": 5000, "privacy": privacy, "question": [question]}
    return incrowd.plan(incrowd.Survey.of(raw | {"tables": "any"}))


def test_a_method_covers_the_truth_and_is_handed_on_as_a_table(tiny):
    """100 collections of 5,000 people, 30% yes. Fewer than 86 intervals that cover the
    odds have a chance of 2e-4 at 95%; errors that are half as large must be found."""
    answers = pa.table({"a": np.where(np.arange(5000) < 1500, "yes", "no")})
    estimates = [
        odds(incrowd.estimate(tiny, incrowd.randomize(tiny, answers, simulation_seed=n),
                              noise_only=True), "a", "yes")
        for n in range(100)
    ]  # fmt: skip
    distances = np.array([abs(each.estimate - 3 / 7) / each.standard_error for each in estimates])
    assert (distances < 1.96).sum() >= 86
    assert (distances < 0.98).sum() < 86, "wrong: half the error"
    assert estimates[0].to_arrow().column_names == ["answer", "odds"]
    with pytest.raises(UsageError, match="use one of"):
        odds(incrowd.estimate(tiny, incrowd.randomize(tiny, answers, simulation_seed=0)), "a", "x")
