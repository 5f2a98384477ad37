"""A questionnaire with conditions, a section and a matrix, in Chromium: designed, rehearsed, and
read.

The pictures: STUDIO_PICTURES=folder pytest -m slow THIS_FILE.
"""

import tomllib

import pytest

from incrowd.studio.projects import Projects
from tests.oracles.node import has_browser, in_browser
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]
TEXT = """\
name = "Habits"
crowd = 600

[privacy]
epsilon = 3.0
delta = 1e-5

[[question]]
id = "smokes"
type = "yesno"
text = "Do you smoke?"
"""


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    """What was read in the browser, and the survey at the end."""
    folder = tmp_path_factory.mktemp("questionnaire")
    project = Projects(folder).create("Habits", TEXT)
    with running_studio(folder) as address:
        seen = in_browser("studio_questionnaire.mjs", timeout=400, address=address, people=300)
    return seen, tomllib.loads(project.text())


def test_a_condition_is_built_and_shown_in_words(journey):
    seen, _ = journey
    assert seen["condition"] == (
        "Asked if “Do you smoke?” is “yes” and “How old are you?” is at least 30"
    )
    assert seen["operators"] == ["is at least", "is below", "is", "is not"]


def test_mistakes_and_refused_edits_are_explained(journey):
    seen, survey = journey
    assert "this is not one of the answers" in seen["mistake"]
    assert "edit that condition first" in seen["refused"]
    assert survey["question"][0]["id"] == "smokes"


def test_the_survey_has_its_parts(journey):
    seen, survey = journey
    ids = [each["id"] for each in survey["question"]]
    assert ids == ["smokes", "do_you_smoke", "how_old_are", "i_am_calm", "i_am_tired"]
    assert seen["order"] == ids
    assert survey["question"][1]["asked_if"] == "smokes = yes"
    assert survey["section"] == [{"id": "smoking", "title": "Smoking"}]
    assert survey["matrix"][0]["options"] == ["never", "often"]
    assert survey["page"] == {"consent": "You can stop at any time."}


def test_those_who_are_asked_have_figures_of_their_own(journey):
    seen, _ = journey
    assert len(seen["precision"]) == 1
    again = "Of those who were asked: Do you smoke every day?"
    assert again in seen["rehearsed"] and seen["rehearsed"].count("Do you smoke every day?") == 1
    assert again in seen["tables"]
    assert len(set(seen["tables"])) == len(seen["tables"]) == 6
    assert len(set(seen["captions"])) == len(seen["captions"])


def test_everyone_can_use_the_pages(journey):
    seen, _ = journey
    assert {name: faults for name, faults in seen["axe"].items() if faults} == {}
    assert not any(seen["wide"].values())
    refused = [each for each in seen["complaints"] if "422" in each]  # the question that decides
    assert len(refused) == 1 and seen["complaints"] == refused
