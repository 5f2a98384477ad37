"""With --json everything is JSON: results on standard output, else objects on standard error."""

import json
import logging
import re

import pytest

from incrowd.catalog.sentences import Keyword, sentence
from incrowd.cli.console import error_lines
from incrowd.errors import Of, Place, Problem, UsageError
from tests.cli.conftest import ANSWERS, SURVEY
from tests.conftest import slowly


@pytest.fixture(autouse=True)
def silent():
    """Commands in this process share one log."""
    log = logging.getLogger("incrowd")
    level = log.level
    yield
    log.handlers = []
    log.setLevel(level)


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
        set(p) == {"path", "field", "code", "arguments", "message"} for p in error["problems"]
    )
    plain, _, text = call(*command)
    assert plain == code and "{" not in text.replace("{SURVEY}", "").replace("{ANSWERS}", "")


def test_options_have_their_own_names_in_the_object(call):
    _, _, err = call("simulate", SURVEY, ANSWERS, "--trials", "1", "--json")
    (problem,) = json.loads(err)["error"]["problems"]
    assert (problem["path"], problem["field"]) == (["--trials"], "--trials")
    assert problem["message"] == "got 1; should be from 2 to 1,000,000"


class Quantity(float):
    """A value that only Python knows."""


def test_a_problem_is_plain_data(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["incrowd", "--json"])
    path = ("question", 1, "options", Of("health"))
    hint = sentence("shared.did-you-mean", name=Keyword("unknown", "crowd"))
    mistakes = UsageError(
        Problem(path, "shared.use-one-of", value=float("nan"), choices=(Quantity(1), hint)),
        Problem((Place("row", 5), "health"), "shared.use-one-of", value="x" * 10**6, choices=[]),
    )
    (text,) = error_lines(mistakes)
    first, second = json.loads(text)["error"]["problems"]
    assert first["path"] == ["question", 1, "options", {"of": "health"}]
    assert first["field"] == "question[2].options of health"
    assert first["code"] == "shared.use-one-of"
    name = {"code": "shared.did-you-mean", "arguments": {"name": "--solve crowd"}}
    assert first["arguments"] == {"value": "nan", "choices": [1.0, name]}
    assert "did you mean --solve crowd? " in first["message"]
    assert second["path"] == [{"row": 5}, "health"]
    assert len(second["arguments"]["value"]) < 200


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


@pytest.mark.slow
def test_every_file_that_is_read_or_written_is_in_the_log(call, tmp_path):
    """From the survey to the estimates, the ledger and the card."""

    def logged(*command):
        code, _, err = call("--log", "info", *command)
        assert code == 0, err
        found = re.findall(r"^INFO [\w.]+: (?:reading|wrote) (\S+?)(?:,.*| as .*)?$", err, re.M)
        return set(found)

    names = "s.toml p.json a.csv o.txt r.parquet t.json e.html l.json c.md m.toml"
    at = {name.partition(".")[0]: str(tmp_path / name) for name in names.split()}
    (tmp_path / "o.txt").write_text("x\ny\n")
    (tmp_path / "s.toml").write_text(
        'name = "A"\ncrowd = 400\nprivacy = { epsilon = 20.0, analysis = "local" }\n'
        '[[question]]\nid = "a"\ntype = "choice"\noptions_file = "o.txt"\n'
    )
    (tmp_path / "a.csv").write_text("a\n" + "x\ny\n" * 200)
    (tmp_path / "m.toml").write_text("[a]\nx = 0.5\ny = 0.5\n")
    asked = [
        ("plan {s} -o {p} --no-side-by-side", "sop"),
        ("randomize {p} {a} -o {r}", "par"),
        ("tally {p} {r} -o {t}", "prt"),
        ("estimate {p} {r} --margins {m} -o {e}", "prme"),
        ("verify {p} {r}", "pr"),
        ("ledger {l} --new", "l"),
        ("ledger {l} {p} {r}", "lpr"),
        ("card {p} -o {c}", "pc"),
    ]
    for command, files in asked:
        assert logged(*command.format(**at).split()) == {at[file] for file in files}, command
    assert call("--log", "warning", "verify", at["p"])[2].count("reading") == 0


def test_what_the_parser_refuses_is_a_problem_too(call):
    wrong = [
        (("plan", SURVEY, "--reports-per-person", "x"), "--reports-per-person", "got 'x'"),
        (("plan",), "SURVEY", "is missing"),
        (("plan", SURVEY, "--sovle", "crowd"), "--sovle", "is not an option"),
        (("plan", SURVEY, "-o"), "-o", "is missing"),
        (("simulate", SURVEY, ANSWERS, "--trials", "9.5"), "--trials", "got '9.5'"),
    ]
    for command, field, found in wrong:
        code, _, err = call(*command)
        assert code == 2 and err.startswith(f"error: {field}: {found}; ") and "Usage" not in err
        if field == "-o":  # --json would be its value
            continue
        code, _, err = call("plan", "--json") if field == "SURVEY" else call(*command, "--json")
        (problem,) = json.loads(err)["error"]["problems"]
        assert code == 2 and problem["field"] == field
        assert problem["message"].startswith(f"{found}; ")
    assert "did you mean" in call("plan", SURVEY, "--sovle", "crowd")[2]


@pytest.mark.parametrize("wrapped", [False, *slowly(True)])
@pytest.mark.parametrize("json_too", [False, True])
def test_an_interrupt_says_whether_anything_was_written(
    call, monkeypatch, tmp_path, json_too, wrapped
):
    """Also where Python wraps it in another error, as while a class is made."""

    def interrupt(*_, **more):
        if wrapped:
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        raise KeyboardInterrupt

    command = ("plan", SURVEY, "-o", tmp_path / "p.json", "--no-side-by-side")
    command += ("--json",) if json_too else ()
    said = "interrupted; nothing was written"
    for place, text in (("incrowd.plan", said), ("incrowd.cli.show_plans.plan", "interrupted")):
        with monkeypatch.context() as patched:
            patched.setattr(place, interrupt)
            code, out, err = call(*command)
        line = err.splitlines()[-1]
        message = json.loads(line)["error"]["message"] if json_too else line
        assert (code, out, message) == (130, "", text)
        assert (tmp_path / "p.json").exists() == (text == "interrupted")
