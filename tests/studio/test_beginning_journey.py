"""A newcomer with an empty folder, in Chromium, with the keyboard only."""

import pytest

from incrowd.studio.projects import Projects
from tests.oracles.node import has_browser, in_browser
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]


@pytest.fixture(scope="module")
def beginning(tmp_path_factory):
    """What was read in the browser, and the folder."""
    folder = tmp_path_factory.mktemp("beginning")
    with running_studio(folder) as address:
        return in_browser("studio_beginning.mjs", address=address), folder


def test_every_page_is_accessible_and_fits_a_telephone(beginning):
    seen, _ = beginning
    assert {name: each for name, each in seen["axe"].items() if each} == {}
    assert not any(seen["wide"].values()) and len(seen["wide"]) == 10
    # The browser itself complains of the status of the refused address, in another window.
    assert seen["complaints"] == []


def test_an_empty_folder_says_what_to_do(beginning):
    seen, _ = beginning
    for words in ("Your first survey", "asks many people", "New here?", "Harassment at work"):
        assert words in seen["empty"]
    assert seen["first"] < 780  # on a telephone, without scrolling


def test_an_example_opens_and_questions_are_inserted_and_taken_back(beginning):
    seen, folder = beginning
    assert seen["title"] == "Harassment at work"
    own = ["harassed", "witnessed", "knows_help"]
    assert seen["inserted"] == [*own, "informed", "respected", "supported", "gender"]
    (name,) = Projects(folder).names()
    survey = Projects(folder).open(name).survey()
    assert [each.id for each in survey.questions] == own


def test_the_history_names_changes_and_versions(beginning):
    seen, _ = beginning
    assert "Question gender was added." in seen["history"]
    assert "Matrix agreement was added." in seen["history"]


def test_a_copy_is_made_archived_and_deleted(beginning):
    seen, _ = beginning
    assert "Draft" in seen["list"] and "90 people invited" in seen["list"]
    assert seen["archived"] == "Archived surveys: 1"
    assert seen["lost"] == ["The survey and its versions (1)"]
    assert seen["left"] == ["Harassment at work"]


def test_german_and_an_address_that_was_used(beginning):
    seen, _ = beginning
    assert "90 Personen eingeladen" in seen["german"] and "Womit" not in seen["german"]
    assert "Diese Adresse öffnet das Studio nicht" in seen["locked"]
