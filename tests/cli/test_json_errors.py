"""With --json everything is JSON: results on standard output, else objects on standard error."""

import json
import logging

import pytest

from tests.cli.conftest import ANSWERS, SURVEY


@pytest.fixture(autouse=True)
def silent():
    """Commands in this process share one log."""
    yield
    logging.getLogger("incrowd").handlers = []


WRONG = [
    (("plan", "none.toml"), "SurveyError", 2),
    (("verify", "none.json"), "PlanFileError", 2),
    (("simulate", SURVEY, ANSWERS, "--trials", "1"), "UsageError", 2),
    (("simulate", SURVEY, ANSWERS, "--loud"), "UsageError", 2),
    (("plan",), "UsageError", 2),
    (("simulate", SURVEY, "none.csv"), "UsageError", 2),
]


@pytest.mark.parametrize(("command", "kind", "code"), WRONG)
def test_an_error_is_one_object(call, command, kind, code):
    found, out, err = call(*command, "--json")
    assert (found, out) == (code, "")
    error = json.loads(err)["error"]
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert error["message"] and all(
        set(p) == {"field", "found", "allowed"} for p in error["problems"]
    )
    plain, _, text = call(*command)
    assert plain == code and "{" not in text.replace("{SURVEY}", "").replace("{ANSWERS}", "")


def test_options_have_their_own_names_in_the_object(call):
    _, _, err = call("simulate", SURVEY, ANSWERS, "--trials", "1", "--json")
    (problem,) = json.loads(err)["error"]["problems"]
    assert problem == {"field": "--trials", "found": "got 1", "allowed": "should be at least 2"}


def test_every_problem_is_in_the_object(call, tmp_path):
    (tmp_path / "s.toml").write_text("crowd = 0\n")
    error = json.loads(call("plan", tmp_path / "s.toml", "--json")[2])["error"]
    assert [problem["field"] for problem in error["problems"]] == [
        "name",
        "crowd",
        "privacy",
        "question",
    ]


def test_a_fault_is_an_object_too(call, monkeypatch):
    monkeypatch.setattr("incrowd.Survey.load", lambda _: 1 / 0)
    code, out, err = call("plan", SURVEY, "--json")
    lines = [json.loads(line) for line in err.splitlines()]
    assert (code, out) == (1, "") and lines[0]["error"]["kind"] == "fault"
    assert "ZeroDivisionError" in lines[0]["error"]["message"]


def test_notes_and_the_log_are_objects(call, tmp_path):
    target = tmp_path / "s.toml"
    code, out, err = call("--log", "info", "init", ANSWERS, "-o", target, "--json")
    lines = [json.loads(line) for line in err.splitlines()]
    assert code == 0 and {key for line in lines for key in line} == {"note"}
    assert any("reading" in line["note"] for line in lines)
    assert json.loads(out)["survey"] == target.read_text()


def test_the_log_holds_no_answers(call, tmp_path):
    (tmp_path / "s.toml").write_text(
        'name = "A"\ncrowd = 3\nprivacy = { epsilon = 9.0, analysis = "local" }\n'
        '[[question]]\nid = "a"\ntype = "choice"\noptions = ["secret one", "secret two"]\n'
    )
    (tmp_path / "a.csv").write_text("a\nsecret one\nsecret two\nsecret two\n")
    command = ("simulate", tmp_path / "s.toml", tmp_path / "a.csv", "--trials", "2")
    code, _, err = call("--log", "debug", *command)
    assert code == 0 and "a.csv as CSV" in err and "secret" not in err
