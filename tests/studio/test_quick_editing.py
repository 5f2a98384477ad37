"""Edits that are faster than the studio answers, and edits in two windows, in Chromium."""

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
name = "Quick"
crowd = 1000

[privacy]
epsilon = 1.0
delta = 1e-6

[[question]]
id = "health"
type = "choice"
options = ["good", "fair", "poor"]
"""


@pytest.fixture(scope="module")
def editing(tmp_path_factory):
    """What was read in the browser, and the survey at the end."""
    folder = tmp_path_factory.mktemp("editing")
    project = Projects(folder).create("Quick", TEXT)
    with running_studio(folder) as address:
        seen = in_browser("studio_editing.mjs", address=address)
    return seen, tomllib.loads(project.text())


def test_quick_edits_do_not_conflict_and_none_is_lost(editing):
    seen, survey = editing
    assert seen["complaints"] == [] and set(seen["quick"]) == {200}
    assert seen["fields"] == ["Good", "Fair", "Poor"]
    assert survey["question"][0]["labels"] == {"good": "Good", "fair": "Fair", "poor": "Poor"}
    assert survey["name"] == "QuicklyQuick"


def test_the_preview_follows_quick_edits(editing):
    seen, _ = editing
    assert "Good" in seen["preview"] and "Poor" in seen["preview"]


def test_one_step_back_leads_to_the_first_page(editing):
    seen, _ = editing
    assert seen["back"] == "Surveys"


def test_an_edit_in_an_older_window_is_refused_shown_and_not_lost(editing):
    seen, survey = editing
    assert "health.help" in seen["conflict"] and "In the last year." in seen["conflict"]
    assert seen["typed"] == ["How were you?", "2000"]
    assert seen["after"] == ["How were you?", "In the last year."]
    asked = survey["question"][0]
    assert (asked["text"], asked["help"]) == ("How were you?", "In the last year.")
    assert survey["crowd"] == 2000


def test_values_are_saved_when_the_page_of_precision_is_left(editing):
    seen, survey = editing
    assert (seen["epsilon"], seen["delta"]) == ("2", "1e-07")
    assert survey["privacy"] == {"epsilon": 1.5, "delta": 1e-7}  # after "undo"
