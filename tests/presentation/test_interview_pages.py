"""The pages of a kit in Chromium: the demonstration without a pointer, and what is printed."""

import json
import re
import subprocess

import pytest

import incrowd
from incrowd.interviews.assignment import random_lists
from incrowd.presentation.interview_kit import kit_files
from tests.oracles.node import BROWSER, node

pytestmark = pytest.mark.slow  # they start a browser

FORCED = {"kind": "forced", "yes": "1/6", "no": "1/6"}
LONG = "Did you, in any of the last three years, declare less income than you had? " * 2
SURVEY = {
    "name": "Bribes",
    "device": {"kind": "die"},
    "question": [
        {"id": "bribe", "type": "yesno", "text": "Did you ever pay a bribe?", "design": FORCED},
        {"id": "tax", "type": "yesno", "text": LONG, "design": FORCED},
    ],
}
SHEETS = 6


@pytest.fixture(scope="module", params=["en", "de"])
def visit(request, tmp_path_factory):
    """What a respondent sees, and how many pages print. Also the German page in the dark."""
    if node() is None or not (BROWSER / "node_modules").exists():
        pytest.skip("Chromium is not installed: python -m tests.oracles.node install")
    folder = tmp_path_factory.mktemp("kit")
    survey = incrowd.InterviewSurvey.of(SURVEY)
    for name, content in kit_files(survey, random_lists(SHEETS, ()), request.param).items():
        (folder / name).write_bytes(content)
    pages = [path.as_uri() for path in folder.glob("*.html") if path.stem != "demonstration"]
    demonstration = (folder / "demonstration.html").as_uri()
    given = {"demonstration": demonstration, "pages": pages, "dark": request.param == "de"}
    (program,), _ = node()
    done = subprocess.run(
        [program, "interview_kit.mjs"],
        cwd=BROWSER,
        input=json.dumps(given).encode(),
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    return request.param, json.loads(done.stdout)


def test_a_respondent_tries_out_the_die_without_a_pointer(visit):
    language, seen = visit
    yes, no = {"en": ("yes", "no"), "de": ("ja", "nein")}[language]
    assert seen["answer"] == no  # the arrow key chose the second answer
    face = int(re.search(r"\d", seen["you"])[0])
    said = yes if face == 6 else no  # 1 forces no, and 2 to 5 ask for the truth
    assert f"{said}" in re.search("[“„](.+?)[”“]", seen["heard"])[1]
    assert seen["heard"] != seen["before"]
    expected = "83" if said == yes else "17"
    assert expected in seen["shares"]


def test_many_draws_are_as_frequent_as_the_design_says(visit):
    """1,000 draws with shares of 1/6: six standard deviations, a false alarm below 1e-8."""
    _, seen = visit
    for row in seen["rows"]:
        _, counted, expected, _ = row
        assert expected in ("167", "833")
        assert abs(int(counted) - int(expected)) < 6 * (1000 * 5 / 36) ** 0.5
    assert sum(int(row[1]) for row in seen["rows"]) == 1000


def test_the_demonstration_is_accessible_and_asks_for_nothing(visit):
    _, seen = visit
    assert seen["axeBefore"] == seen["axe"] == seen["complaints"] == []
    assert not seen["tooWide"] and seen["blocked"]
    assert [url for url in seen["asked"] if not url.startswith("file:")] == []


def test_pages_print_on_both_papers(visit):
    _, seen = visit
    printed = {url.rsplit("/", 1)[1]: each for url, each in seen["pages"].items()}
    assert all(each["axe"] == [] for each in printed.values())
    for paper in ("A4", "Letter"):
        assert printed["cards-for-respondents.html"][paper] == 2  # one for each question
        assert printed["self-test.html"][paper] == 2  # the answers are on another page
        assert printed["interview-sheets.html"][paper] <= SHEETS / 2
        assert printed["instructions.html"][paper] <= 3
