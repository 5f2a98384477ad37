"""Planning with five questions in Chromium: from an empty folder to certified figures.

The pictures: STUDIO_PICTURES=folder pytest -m slow THIS_FILE.
"""

import re

import pytest

from tests.oracles.node import has_browser, in_browser
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What was read in the browser."""
    with running_studio(tmp_path_factory.mktemp("empty")) as address:
        return in_browser("studio_wizard.mjs", timeout=500, address=address)


def test_nothing_is_wrong_with_any_page_also_on_a_phone_and_in_german(seen):
    assert {name: found for name, found in seen["axe"].items() if found} == {}
    assert [name for name, wide in seen["wide"].items() if wide] == []
    assert [each for each in seen["complaints"] if "422" not in each] == []


def test_the_wizard_says_what_is_missing_and_remembers_what_was_typed(seen):
    assert "Give the survey a name." in seen["missing"]
    assert seen["remembered"] == "Office\nWorkshop\nCanteen"


def test_three_ways_have_their_errors(seen):
    assert len(seen["ways"]) == 3
    assert all(re.search(r"270 answers: ± [\d.]+ points", way) for way in seen["ways"])


def test_the_figures_are_certified_for_the_people_who_answer(seen):
    assert seen["summary"].startswith("270 answers: ±")
    assert "certified" in seen["marks"] and "estimate" not in seen["marks"]


def test_answers_are_outdated_once_the_values_change_and_come_back(seen):
    assert "certified" in seen["people"]
    assert all(text.startswith("The values have changed since.") for text in seen["outdated"])
    assert not any("people" in text or "±" in text for text in seen["outdated"])
    people, compared = seen["again"]
    assert "certified" in people and "changed since" not in people and "±" in compared


def test_the_preview_shows_the_new_promise(seen):
    before, after = ({*re.findall(r"[ (](196|412)[ ,.]", text)} for text in seen["promises"])
    assert (before, after) == ({"196"}, {"412"})  # 900 * 60%, four fifths of them, less 20


def test_the_design_says_what_happens_below_the_threshold(seen):
    assert "fewer than 216 people answer, nothing is released" in seen["expected"]
    assert "wird nichts freigegeben und alles gelöscht" in seen["german"]
    assert "Rauschen von zwei Diensten" in seen["germanWays"]
