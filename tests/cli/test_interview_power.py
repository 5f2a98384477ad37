"""`incrowd plan` and `incrowd interviews power` of surveys of interviews."""

import json
import tomllib

import pytest

SURVEY = """# Our study.
name = "Armed groups"
[device]
kind = "die"
[aim]
epsilon = 1.7  # one forced face of each kind
share = 0.2
difference = 0.1

[[question]]
id = "armed"
type = "yesno"
design = { kind = "auto" }  # to be chosen
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def survey(folder):
    (folder / "survey.toml").write_text(SURVEY)
    return folder / "survey.toml"


def test_a_plan_writes_the_chosen_design_into_the_survey(call, folder, survey):
    code, out, err = call("plan", "survey.toml", "-o", "planned.toml")
    assert code == 0 and "wrote planned.toml" in err
    assert "→ forced" in out and "1,476" in out  # (1.96 + 0.84)^2 2 (0.26 x 0.74 + 0.34 x 0.66) ...
    text = (folder / "planned.toml").read_text()
    (question,) = tomllib.loads(text)["question"]
    assert question["design"] == {"kind": "forced", "no": "1/6", "yes": "1/6"}
    assert "# Our study." in text and "# to be chosen" in text
    assert survey.read_text() == SURVEY
    code, out, _ = call("plan", "planned.toml", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["epsilon"] == pytest.approx(1.6094, abs=1e-4)
    assert [each["chosen"] for each in facts["designs"]].count(True) == 1


def test_a_plan_that_is_a_page_keeps_the_survey(call, folder, survey):
    code, _, _ = call("plan", "survey.toml", "--margin", "2%", "-o", "plan.html")
    page = (folder / "plan.html").read_text()
    assert code == 0 and "±2.0" in page and "asked openly" in page


def test_power_is_shown_and_written(call, folder, survey):
    call("plan", "survey.toml", "-o", "planned.toml")
    options = ("--share", "10%,20%", "--difference", "10%", "-o", "power.csv")
    code, out, _ = call("interviews", "power", "planned.toml", *options)
    assert code == 0 and "1,476" in out and "495" in out
    rows = (folder / "power.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 5 and "people_needed" in rows[0]
    code, out, _ = call(
        *("interviews", "power", "planned.toml", "--odds-ratio", "2", "--covariate", "normal"),
        *("--at-random", "10%", "--people", "1000", "--json"),
    )
    (found,) = json.loads(out)["forecasts"]
    assert code == 0 and found["people"] == [1000] and found["effect"] < found["expected"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("plan", "survey.toml", "--solve", "crowd"), "--solve"),
        (("plan", "survey.toml", "-o", "survey.toml"), "-o"),
        (("plan", "survey.toml", "-o", "plan.txt"), ".toml"),
        (("interviews", "power", "survey.toml"), "incrowd plan"),
        (("interviews", "power", "none.toml"), "none.toml"),
    ],
)
def test_wrong_use_says_what_would_work(call, survey, arguments, problem):
    code, out, err = call(*arguments)
    assert code == 2 and problem in err and not out
    assert survey.read_text() == SURVEY
