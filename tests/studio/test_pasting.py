"""Questions pasted as text into a survey that has some already."""

import html

import pytest

from incrowd.studio.document import version
from incrowd.studio.operations import ids, questions
from tests.oracles.locked_survey import published_survey

TEXT = """\
name = "Habits"  # ours
crowd = 1000

[privacy]
epsilon = 1.0

[[question]]
id = "do_you_smoke"
type = "yesno"
text = "Do you smoke?"
"""
PASTED = """\
1. Do you smoke? yes / no
2. How often do you drink\u00adalcohol?\r
- never
- sometimes
- often

Which of these do you own? (select all that apply)
[ ] a car
[ ] a bike
How old are you? 18-99
"""
PAGE = "/p/habits/paste"


@pytest.fixture
def project(studio):
    return studio.projects.create("Habits", TEXT)


def fields(project, **more):
    return {"seen": version(project.text()), "text": PASTED, **more}


def test_what_is_understood_is_shown_and_nothing_is_inserted(browser, project):
    page = html.unescape(browser.post(PAGE, data=fields(project)).text)
    assert "Understood as 4 questions" in page
    for words in ("Do you smoke?", "never, sometimes, often", "a car, a bike", "How old are you?"):
        assert words in page
    assert "How often do you drinkalcohol?" in page  # without the soft hyphen
    assert page.count('name="take"') == 4 and project.text() == TEXT


def test_chosen_questions_are_inserted_as_one_version(browser, project):
    form = fields(project, insert="yes", take=["0", "1", "2"])
    answer = browser.post(PAGE, data=form)
    assert answer.headers["location"] == "/p/habits/design?open=do_you_smoke_2#questions"
    content = project.document().content
    assert ids(content)[:2] == ["do_you_smoke", "do_you_smoke_2"] and len(ids(content)) == 4
    added = questions(content)[2:]
    assert added[0]["options"] == ["never", "sometimes", "often"] and "values" not in added[0]
    assert (added[1]["type"], added[1]["options"]) == ("multi", ["a car", "a bike"])
    assert "# ours" in project.text()
    project.survey()
    assert project.undo() and project.text() == TEXT


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"text": ""}, "has no question"),
        ({"text": "Hello."}, "has no question"),
        ({"insert": "yes"}, "choose at least one question"),
        ({"insert": "yes", "take": "7"}, "choose at least one question"),
        ({"insert": "yes", "take": "0", "seen": "x"}, "changed"),
    ],
)
def test_a_mistake_keeps_what_was_pasted(browser, project, changes, named):
    form = fields(project) | changes
    answer = browser.post(PAGE, data=form)
    assert answer.status_code == 422 and named in html.unescape(answer.text)
    assert form["text"][:8] in answer.text and project.text() == TEXT


def test_nothing_is_pasted_into_a_published_survey(browser, studio):
    project = published_survey(studio.projects)
    assert '<fieldset class="whole" disabled>' in browser.get("/p/smoking/paste").text
    form = fields(project, insert="yes", take="0")
    answer = browser.post("/p/smoking/paste", data=form)
    assert answer.status_code == 422 and "can no longer be changed" in answer.text
