"""`incrowd new` and `incrowd example`: from an empty folder to a survey that can be planned."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from decimal import Decimal

import pytest

import incrowd
from incrowd.cli import drafting
from incrowd.cli.words import READY
from incrowd.drafts.new_survey import OFFERED, delta_for
from incrowd.drafts.ready_surveys import ready_text
from incrowd.guarantees.strength import strength_of

QUESTIONS = (
    "Do you smoke? yes / no",
    "How much stress do you have? low / medium / high",
    "Do you smoke? never / often",
    "How many days were you sick? 0-30",
)
COMMAND = [sys.executable, "-c", "from incrowd.cli import main; main()", "new"]


@pytest.fixture
def typed(call, monkeypatch, tmp_path):
    """Runs `new` in an empty folder; the lines are typed in the order of its questions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(drafting, "noise_advice", lambda _: [])  # it takes a second

    def run(*lines, options=()):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return call("new", *options)

    return run


def written(folder, name="survey.toml"):
    return tomllib.loads((folder / name).read_text())


def test_four_answers_make_a_survey(typed, tmp_path):
    code, out, err = typed("Work and health", *QUESTIONS, "", "2,400", "moderate")
    assert (code, out) == (0, "")
    assert [line for line in err.splitlines() if re.match(r"\d of 4", line)] != []
    assert err.splitlines()[-1] == "next: incrowd plan survey.toml -o plan.json"
    survey = written(tmp_path)
    assert survey["name"] == "Work and health"
    assert survey["people"] == {"invited": 2400, "expected": "50%"}
    assert survey["privacy"] == {"epsilon": 3.0, "delta": 1e-6}
    assert [each["type"] for each in survey["question"]] == ["yesno", "choice", "choice", "number"]
    ids = [each["id"] for each in survey["question"]]
    assert len(set(ids)) == 4 and ids[2] == f"{ids[0]}_2"
    loaded = incrowd.Survey.load(tmp_path / "survey.toml")
    assert 2 <= loaded.crowd < 1200  # of 1,200 who probably answer


def test_wrong_answers_are_asked_again_and_say_what_would_work(typed, tmp_path):
    code, _, err = typed("", "", "What?", QUESTIONS[0], "", "many", "3", "1000", "total", "weak")
    assert code == 0
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 5
    assert all("as in" in line for line in errors[:2])
    assert "such as 1000" in errors[2] and "at least 56" in errors[3]
    assert "strong, moderate, weak" in errors[4]
    assert written(tmp_path)["name"] == "My survey"
    assert written(tmp_path)["privacy"]["epsilon"] == 10.0


def test_an_assumption_about_a_question_is_a_decision(typed, tmp_path):
    options = ("--question", "Do you smoke?", "--question", QUESTIONS[1], "--yes")
    _, _, err = typed(options=options)
    (line,) = (line for line in err.splitlines() if line.startswith("to decide: "))
    assert line.startswith("to decide: do_you_smoke: ") and "yes and no" in line
    _, out, _ = typed(options=(*options, "--force", "--json"))
    assert json.loads(out)["undecided"] == [line.removeprefix("to decide: ")]


def test_enter_takes_what_is_offered(typed, tmp_path):
    assert typed("", QUESTIONS[0], "", "", "")[0] == 0
    survey = written(tmp_path)
    assert survey["people"]["invited"] == 1000 and survey["privacy"]["epsilon"] == 1.0


def test_options_are_not_asked(typed, tmp_path):
    options = ["--name", "Smoking", "--people", "90", "--expected", "80%", "--protection", "weak"]
    code, _, err = typed(options=(*options, "--question", QUESTIONS[0]))
    assert code == 0 and " of 4." not in err
    survey = written(tmp_path)
    assert survey["people"] == {"invited": 90, "expected": "80%"}
    assert survey["name"] == "Smoking" and survey["privacy"]["epsilon"] == 10.0


def test_an_end_of_the_input_writes_nothing(typed, tmp_path):
    code, out, err = typed("Smoking", QUESTIONS[0])
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: --question: is missing, and the input has ended")
    assert "nothing was written" in err and os.listdir(tmp_path) == []


@pytest.mark.slow
def test_an_interrupt_writes_nothing(tmp_path):
    asked = subprocess.Popen(
        COMMAND, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    first = asked.stderr.readline()
    time.sleep(0.2)
    asked.send_signal(signal.SIGINT)
    _, err = asked.communicate(timeout=30)
    assert first.startswith("1 of 4")
    assert asked.returncode == 130 and err.endswith("interrupted; nothing was written\n")
    assert os.listdir(tmp_path) == []


def test_an_existing_survey_stays_and_nothing_is_asked(typed, tmp_path):
    (tmp_path / "survey.toml").write_text("mine")
    code, _, err = typed("Smoking")
    assert code == 2 and "exists already" in err and " of 4." not in err
    assert (tmp_path / "survey.toml").read_text() == "mine"
    assert typed(options=("--yes", "--force"))[0] == 0


@pytest.mark.parametrize("ready", READY)
def test_a_ready_survey_keeps_its_questions_and_its_privacy(typed, tmp_path, ready):
    assert typed(ready, "", "")[0] == 0
    of, survey = tomllib.loads(ready_text(ready)), written(tmp_path)
    people = of.pop("people", None)
    crowd = of.pop("crowd", None)
    if people:
        assert survey.pop("people") == people
    else:  # half of them probably answer
        assert survey.pop("people") == {"invited": 2 * crowd, "expected": "50%"}
    stated, asked = survey.pop("privacy"), of.pop("privacy")
    assert stated.pop("delta") <= asked.pop("delta") and stated == asked
    assert survey == of


def test_yes_takes_a_ready_survey_of_other_people(typed, tmp_path):
    code, out, _ = typed(options=("--yes", "--people", "900", "--protection", "strong", "--json"))
    shown = json.loads(out)
    assert code == 0 and shown["survey"] == (tmp_path / "survey.toml").read_text()
    survey = written(tmp_path)
    assert survey["people"]["invited"] == 900 and survey["privacy"]["epsilon"] == 1.0
    assert shown["questions"] == [each["id"] for each in survey["question"]]
    assert shown["next"] == "incrowd plan survey.toml -o plan.json"


@pytest.mark.slow
def test_few_people_are_told_of_the_noise_from_services(call, tmp_path):
    options = ("--people", "120", "--yes", "--json", "-o", tmp_path / "few.toml")
    code, out, _ = call("new", "--question", QUESTIONS[0], *options)
    assert code == 0
    assert [line for line in json.loads(out)["advice"] if 'noise = "services"' in line] != []


@pytest.mark.parametrize("people", [2, 1000, 50_000, 50_001, 10**6, 5 * 10**7, 10**13])
def test_delta_is_small_enough_for_the_word(people):
    delta = delta_for(people)
    assert Decimal(repr(delta)) * people <= Decimal("0.05") and delta <= 1e-6
    assert 10 * delta > 1e-6 or 10 * delta * people > 0.0499  # not much smaller than needed
    for word, epsilon in OFFERED.items():
        assert strength_of(epsilon, delta, people) == word
        assert strength_of(epsilon * 1.001, delta, people) != word


@pytest.mark.slow
def test_every_line_that_is_commented_out_can_be_used(typed, tmp_path):
    """And the plan of the survey is accepted, with each of them."""
    assert typed(options=("--yes", "--question", QUESTIONS[0], "--question", QUESTIONS[1]))[0] == 0
    text = (tmp_path / "survey.toml").read_text()
    optional = re.findall(r"^# (\w+ = [^#\n]+)", text, flags=re.MULTILINE)
    assert [each.split()[0] for each in optional][:4] == [
        "language", "everybody", "local_epsilon", "noise",
    ]  # fmt: skip
    for each in optional[:4]:
        (tmp_path / "changed.toml").write_text(text.replace(f"# {each}", each))
        incrowd.plan(incrowd.Survey.load(tmp_path / "changed.toml"))


class TestExample:
    def test_a_list_names_each_one(self, call):
        code, out, err = call("example")
        assert code == 0 and [line.split()[0] for line in out.splitlines()] == [
            "health",
            "department",
            "interviews",
        ]
        assert err == "to write one here: incrowd example health\n"
        assert [each["name"] for each in json.loads(call("example", "--json")[1])] == [
            "health",
            "department",
            "interviews",
        ]

    @pytest.mark.parametrize("name", ["health", "department"])
    def test_an_example_is_written_and_its_answers_fit(self, call, tmp_path, name, monkeypatch):
        monkeypatch.chdir(tmp_path)
        code, out, _ = call("example", name, "--json")
        facts = json.loads(out)
        assert code == 0 and facts["next"] == f"incrowd plan {name}.toml -o plan.json"
        result = incrowd.check(incrowd.Survey.load(facts["survey"]), facts["answers"])
        assert result.accepted and result.people >= result.crowd
        assert call("example", name)[0] == 0  # again: they are the same files

    def test_answers_of_interviews_are_read(self, call, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        facts = json.loads(call("example", "interviews", "--json")[1])
        code, out, _ = call(*facts["next"].split()[1:], "--json")
        assert code == 0 and json.loads(out)["people"] == 300
        assert not json.loads(out)["warnings"]

    def test_another_file_of_the_name_stays(self, call, tmp_path):
        (tmp_path / "rand_hie.csv").write_text("mine")
        code, _, err = call("example", "health", "-o", tmp_path)
        assert code == 2 and "is not the example" in err
        assert os.listdir(tmp_path) == ["rand_hie.csv"]
        assert (tmp_path / "rand_hie.csv").read_text() == "mine"
        assert call("example", "health", "-o", tmp_path, "--force")[0] == 0

    @pytest.mark.parametrize(
        "words",
        [
            ("plan", "examples/health.toml"),
            ("check", "health.toml", "rand_hie.csv"),
            ("simulate", "health.toml", "rand_hie.csv"),
            ("privacy", "noise", "--survey", "health.toml"),
            ("init", "rand_hie.csv"),
            ("read", "health.toml", "rand_hie.csv"),
        ],
    )
    def test_a_missing_file_of_an_example_is_recognized(self, call, monkeypatch, tmp_path, words):
        monkeypatch.chdir(tmp_path)
        code, _, err = call(*words)
        assert code == 2 and "it does not exist" in err and "`incrowd example health`" in err

    def test_any_other_missing_file_is_not(self, call, tmp_path):
        assert "incrowd example" not in call("plan", tmp_path / "mine.toml")[2]
