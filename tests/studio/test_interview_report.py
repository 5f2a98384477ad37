"""The report of interviews in the studio: what the library returns, with its call."""

import json
import shlex
import subprocess
import sys
from urllib.parse import urlencode

import numpy as np
import pytest
from starlette.datastructures import QueryParams

from incrowd import interviews
from incrowd.errors import UsageError
from incrowd.interviews.answers import InterviewAnswers
from incrowd.presentation.write import content
from incrowd.studio.interview_calls import ANALYSES, analysis_of
from tests.conftest import one_in
from tests.oracles.interview_studio import SURVEY

PATH = "/p/groups/report"
STOLE = """
[[question]]
id = "stole"
type = "yesno"
design = { kind = "forced", yes = "1/6", no = "1/6" }
"""
PEOPLE = 300


def answers():
    """Invented answers of people, who roll a die."""
    rng = np.random.default_rng(43)
    age, female = rng.integers(18, 80, PEOPLE), rng.integers(0, 2, PEOPLE)
    armed = rng.random(PEOPLE) < np.where(female, 0.1, 0.4)
    die = rng.integers(1, 7, PEOPLE)
    said = np.where(die == 1, "no", np.where(die == 6, "yes", np.where(armed, "yes", "no")))
    paid = np.array(["never", "once", "often"])[rng.integers(0, 3, PEOPLE)]
    civic = np.where(rng.random(PEOPLE) < np.where(armed, 0.7, 0.3), "yes", "no")
    stole = np.where(die == 1, "no", np.where(die == 6, "yes", said))[rng.permutation(PEOPLE)]
    rows = zip(said, paid, stole, age, female, civic, strict=True)
    lines = (",".join(map(str, row)) for row in rows)
    return "\n".join(["armed,paid,stole,age,female,civic", *lines])


@pytest.fixture
def project(browser, studio):
    project = studio.projects.create("Groups", SURVEY + STOLE)
    added = browser.post("/p/groups/answers", files={"file": ("typed.csv", answers())})
    assert added.status_code == 303
    return project


@pytest.fixture
def read(project):
    """The answers, as the commands take them."""

    def reading():
        return InterviewAnswers.load(project.path / "interviews.parquet")

    return reading


def address(file="", **choice):
    return f"{PATH}{'/file' * bool(file)}?{urlencode(choice | {'format': file}, doseq=True)}"


CHOICES = {
    "estimate": (
        {"by": "female", "method": "likelihood"},
        {"by": "female", "method": "likelihood"},
    ),
    "compare": ({"of": "armed", "by": "age", "threshold": "40,5"},) * 2,
    "table": ({"names": ["armed", "female"]},) * 2,
    "correlate": ({"names": ["armed", "age"]},) * 2,
    "regress": (
        {"outcome": "armed", "on": ["age", "female"], "errors": "robust"},
        {"formula": "armed ~ age + female", "errors": "robust"},
    ),
    "outcome": ({"formula": "civic ~ age + armed"},) * 2,
    "honesty": ({"questions": ["armed", "stole"], "model": "always-no"},) * 2,
    "sensitivity": ({"question": "armed"},) * 2,
}


def arguments(view):
    given = dict(CHOICES[view][1])
    if "threshold" in given:
        given["threshold"] = 40.5
    return given


def test_every_analysis_is_tested():
    assert CHOICES.keys() == ANALYSES.keys()


@pytest.mark.parametrize("view", one_in(len(ANALYSES), sorted(ANALYSES, key="correlate".__ne__)))
def test_a_choice_is_a_call_of_the_library(browser, project, read, view):
    file = browser.get(address("json", view=view, **CHOICES[view][0]))
    assert file.status_code == 200, file.text
    expected = getattr(interviews, ANALYSES[view].function)(read(), **arguments(view))
    assert json.loads(file.text) == json.loads(content(expected, ".json"))
    page = browser.get(address(view=view, **CHOICES[view][0]))
    assert page.status_code == 200 and "Reproduce this result" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("view", ANALYSES)
def test_the_command_and_python_make_the_same_result(browser, project, view):
    browser.get(address(view=view, **CHOICES[view][0]))
    call = analysis_of(QueryParams(urlencode({"view": view, **CHOICES[view][0]}, doseq=True))).call
    command = [sys.executable, "-m", *shlex.split(call.command("result.json", "en"))]
    subprocess.run(command, cwd=project.path, check=True, capture_output=True)
    script = f"{call.python()}\nimport incrowd.presentation.write as w\nw.save(result, 'py.json')"
    subprocess.run([sys.executable, "-c", script], cwd=project.path, check=True)
    file = browser.get(address("json", view=view, **CHOICES[view][0])).text
    for name in ("result.json", "py.json"):
        assert json.loads((project.path / name).read_text()) == json.loads(file)


@pytest.mark.parametrize(
    "format",
    [
        "csv",
        "R",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("html", "docx", "xlsx")),
    ],
)
def test_every_format_is_a_file(browser, project, format):
    choice = {"view": "regress", "outcome": "armed", "on": "female"}
    file = browser.get(address(format, **choice))
    assert file.status_code == 200
    assert file.headers["content-disposition"].endswith(f"groups-regress.{format}")


@pytest.mark.slow
def test_pictures_are_files(browser, project):
    choice = urlencode({"view": "regress", "outcome": "armed", "on": "female"})
    for format, begins in (("png", b"\x89PNG"), ("svg", b"<svg")):
        file = browser.get(f"{PATH}/picture?{choice}&number=0&format={format}")
        assert file.content.startswith(begins)
    wrong = browser.get(f"{PATH}/picture?{choice}&number=7&format=png")
    assert wrong.status_code == 422 and "use a link of the page" in wrong.text


def test_nothing_is_shown_before_something_is_chosen(browser, project):
    page = browser.get(f"{PATH}?view=regress")
    assert page.status_code == 200 and "Reproduce this result" not in page.text
    assert browser.get(f"{PATH}/file?view=regress&format=csv").status_code == 422


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"view": "dice"}, "dice"),
        ({"view": "regress", "formula": "armed ~ height"}, "height"),
        ({"view": "compare", "of": "armed", "by": "age", "threshold": "old"}, "old"),
    ],
)
def test_a_wrong_choice_is_named(browser, project, choice, said):
    page = browser.get(address(**choice))
    assert page.status_code == 422 and said in page.text


def test_a_report_without_answers_leads_to_them(browser, studio):
    studio.projects.create("Groups", SURVEY)
    page = browser.get(PATH)
    assert page.status_code == 200 and 'href="/p/groups/answers"' in page.text


def test_a_changed_design_changes_the_result(browser, project):
    choice = address("json", view="regress", formula="armed ~ female")
    before = browser.get(choice).text
    text = project.text().replace('yes = "1/6", no = "1/6"', 'yes = "1/6", no = "0"')
    project.survey_path.write_text(text)
    assert browser.get(choice).text != before


def test_names_that_a_formula_cannot_have_are_quoted():
    query = QueryParams("view=regress&outcome=armed&on=age&on=home+town")
    assert analysis_of(query).formula == "armed ~ age + `home town`"


def test_an_unknown_view_is_refused():
    with pytest.raises(UsageError, match="dice"):
        analysis_of(QueryParams("view=dice"))
