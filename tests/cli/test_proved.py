"""The option --proved of `verify` and `card`."""

import builtins
import json

import pytest
import typer
from typer.testing import CliRunner

import incrowd
from incrowd.catalog.sentences import sentence
from incrowd.cli import checking
from incrowd.errors import ProofError, UsageError
from tests.conftest import local_plan, second_round, yes_no_question

pytest.importorskip("flint")

from incrowd.accountant.proved import Enclosure


def run(command, *arguments):
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("proved") / "plan.json"
    questions = [{"id": "a", "type": "yesno"}]
    privacy = {"epsilon": 1.0, "delta": 1e-6}
    survey = {"name": "x", "crowd": 1000, "privacy": privacy, "questions": questions}
    path.write_text(incrowd.plan(incrowd.Survey.model_validate(survey)).dumps())
    return path


def test_verify_states_what_was_proved(plan_file):
    done = run(checking.verify, plan_file, "--proved")
    assert done.exit_code == 0
    assert "proved by interval arithmetic in" in done.output
    done = run(checking.verify, plan_file, "--proved", "--json")
    proved = json.loads(done.stdout)["proved"]
    assert set(proved) == {"delta_low", "delta_high", "epsilon", "seconds"}
    assert 0.9e-6 < float(proved["delta_low"]) <= float(proved["delta_high"]) <= 1e-6
    assert isinstance(proved["delta_high"], str) and isinstance(proved["seconds"], float)


def test_the_card_carries_it(plan_file):
    done = run(checking.card, plan_file, "--proved")
    assert done.exit_code == 0 and "in interval arithmetic" in done.stdout
    assert "in interval arithmetic" not in run(checking.card, plan_file).stdout
    facts = json.loads(run(checking.card, plan_file, "--proved", "--json").stdout)
    assert float(facts["proved"]["delta_high"]) <= 1e-6


def test_without_a_shuffler(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(local_plan(yes_no_question("a")).dumps())
    done = run(checking.verify, path, "--proved", "--json")
    assert done.exit_code == 0 and json.loads(done.stdout)["proved"]["delta_high"] == "0"


def test_a_reason_and_exit_code_1(plan_file, monkeypatch):
    def no_proof(*_, **__):
        reason = sentence("accountant.proof-takes-longer", seconds=60)
        raise ProofError.of("proof", "accountant.unproved", reason=reason)

    monkeypatch.setattr("incrowd.verification.prove", no_proof)
    done = run(checking.verify, plan_file, "--proved", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["proved"] == {"reason": "takes longer than 60 seconds"}
    done = run(checking.card, plan_file, "--proved")
    assert done.exit_code == 1 and "interval arithmetic" not in done.stdout
    assert "there is no proof in interval arithmetic: it takes longer" in done.stderr


def test_a_bound_above_the_promise_is_exit_code_1(plan_file, monkeypatch):
    for low, text in (
        ("0.009", "IT IS AT LEAST 0.009, ABOVE the promised 1e-06"),
        ("0", "nor disp"),
    ):
        wrong = Enclosure("1.0", low, "0.01", 1.0)
        monkeypatch.setattr("incrowd.verification.prove", lambda *_, wrong=wrong, **__: wrong)
        done = run(checking.verify, plan_file, "--proved")
        assert done.exit_code == 1 and text in done.output


def test_the_extra_is_named_if_it_is_missing(plan_file, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "flint":
            raise ModuleNotFoundError("No module named 'flint'", name="flint")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    error = run(checking.verify, plan_file, "--proved").exception
    assert isinstance(error, UsageError) and "incrowd[proved]" in str(error)


@pytest.mark.slow
def test_a_second_round(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(second_round().dumps())
    done = run(checking.verify, path, "--proved", "--json")
    assert "proved" in json.loads(done.stdout)
