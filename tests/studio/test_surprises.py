"""Designing without surprises, in Chromium.

The pictures: STUDIO_PICTURES=folder pytest -m slow THIS_FILE.
"""

import pytest

from incrowd.studio.document import version
from incrowd.studio.projects import Projects
from incrowd.studio.publication import parsed, save_publication
from tests.oracles.locked_survey import published_survey
from tests.oracles.node import has_browser, in_browser
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]
TEXT = """\
name = "Habits"
crowd = 1000

[privacy]
epsilon = 1.0

[[question]]
id = "smokes"
type = "yesno"
text = "Do you smoke?"

[[question]]
id = "health"
type = "choice"
text = "How are you?"
options = ["good", "fair", "poor"]

[[question]]
id = "daily"
type = "yesno"
text = "Do you smoke every day?"
asked_if = "smokes = yes"

[[question]]
id = "age"
type = "number"
edges = [0, 18, 65]
text = "How old are you?"
"""
SMOKE, HEALTH, DAILY, AGE = (
    "Do you smoke?",
    "How are you?",
    "Do you smoke every day?",
    "How old are you?",
)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What was read in the browser."""
    folder = tmp_path_factory.mktemp("surprises")
    project = Projects(folder).create("Habits", TEXT)
    save_publication(
        project, parsed({"introduction": "Hello.\nIt takes two minutes."}), version("")
    )
    published_survey(Projects(folder))
    with running_studio(folder) as address:
        return in_browser("studio_surprises.mjs", timeout=400, address=address)


def test_questions_move_with_the_keyboard_and_keep_the_focus(seen):
    assert seen["keyboard"] == [[HEALTH, SMOKE, DAILY, AGE], SMOKE]
    titles, problem = seen["refused"]
    assert titles == [HEALTH, SMOKE, DAILY, AGE] and "decides who is asked" in problem
    assert seen["dragged"] == [AGE, HEALTH, SMOKE, DAILY]


def test_answers_move_and_come_back_with_their_type(seen):
    assert seen["answers"] == [["fair", "good", "poor"], "good"]
    assert seen["draggedAnswers"] == seen["answersAgain"] == ["poor", "fair", "good"]


def test_the_preview_is_a_telephone_at_the_open_question(seen):
    (shown,), width = seen["preview"]
    assert shown == [DAILY, True] and 320 <= width <= 390
    assert seen["introduction"] and seen["wideWindow"] > 900


def test_pasted_questions_are_inserted(seen):
    assert seen["pasted"] == ["Do you sleep well?", "How often do you run?"]


def test_a_published_survey_is_locked_and_its_new_version_is_not(seen):
    assert seen["locked"] == [True] * 4
    assert seen["version"] == ["Smoking, version 2", True]


def test_a_value_that_was_entered_before_the_page_could_save_it_is_saved(seen):
    assert seen["early"] == "1.75"


def test_nothing_is_said_to_run_when_the_studio_has_ended(seen):
    words, *running = seen["ended"]
    assert "The studio has ended" in words and running == [False, False]


def test_everyone_can_use_the_pages(seen):
    assert {name: faults for name, faults in seen["axe"].items() if faults} == {}
    assert not any(seen["wide"].values()) and seen["complaints"] == []
