"""Interviews with a die in Chromium: from an empty folder to the report of 300 invented answers.

The pictures: STUDIO_PICTURES=folder pytest -m slow THIS_FILE.
"""

import random
import re

import pytest

from tests.oracles.node import has_browser, in_browser
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]
PEOPLE = 300


def answers():
    """Invented answers: a third of the people, who roll a die."""
    chance = random.Random(43)
    rows = ["armed,age,region"]
    for _ in range(PEOPLE):
        die, armed = chance.randint(1, 6), chance.random() < 1 / 3
        said = "no" if die == 1 else "yes" if die == 6 else "yes" if armed else "no"
        rows.append(f"{said},{chance.randint(18, 80)},{chance.choice(['North', 'South'])}")
    return "\n".join(rows)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What was read in the browser."""
    with running_studio(tmp_path_factory.mktemp("empty")) as address:
        wrong = "armed,age,region\nyes,20,North\nperhaps,30,South\n"
        told = {"address": address, "wrong": wrong, "answers": answers()}
        return in_browser("studio_interviews.mjs", timeout=500, **told)


def test_nothing_is_wrong_with_any_page_also_on_a_phone_dark_and_in_german(seen):
    assert {name: found for name, found in seen["axe"].items() if found} == {}
    assert [name for name, wide in seen["wide"].items() if wide] == []
    assert [each for each in seen["complaints"] if not re.search("409|422", each)] == []


def test_the_design_offers_what_a_die_has(seen):
    first, second = seen["choices"]
    assert "yes 1/6" in first and "more than 5 times as sure" in first
    assert "yes 2/6" in second and "more than 2 times as sure" in second
    assert 'yes = "1/3"' in seen["stronger"] and 'id = "armed"' in seen["stronger"]
    assert "the 6 equally likely outcomes of the die" in seen["mistake"]


def test_two_windows_lose_nothing(seen):
    assert "changed elsewhere" in seen["conflict"] and "300" in seen["conflict"]
    assert "Groups under arms" in seen["both"] and "people = 300" in seen["both"]


def test_the_kit_is_made_for_the_expected_interviews(seen):
    assert seen["expected"] == "300"
    assert "demonstration" in seen["demonstration"].lower()


def test_wrong_files_are_named_and_the_right_one_is_read(seen):
    assert "photo.csv" in seen["wrong"]
    assert "row 2, armed: got 'perhaps'" in seen["rows"]
    assert "What arrived in 300 interviews" in seen["read"] and "16.7 to 83.3" in seen["read"]


def test_the_report_has_the_share_that_the_die_leaves(seen):
    """The moment estimate by hand: (share of yes - 1/6) / (4/6)."""
    said = [row.split(",")[0] for row in answers().splitlines()[1:]]
    estimate = (said.count("yes") / PEOPLE - 1 / 6) / (4 / 6)
    assert f"{100 * estimate:.1f}" in " ".join(seen["shares"])
    assert "factor of at most 5" in seen["promise"]
    assert "North" in seen["by"][0] and "South" in seen["by"][0]


def test_the_regression_has_its_command_and_its_file(seen):
    assert "armed ~ age" in seen["command"] and "incrowd interviews regress" in seen["command"]
    assert seen["saved"] == "armed-groups-regress.docx"
    assert seen["requests"] == 0


def test_german_pages_and_the_list(seen):
    assert "Regression" in seen["german"] and "Standardfehler" in seen["german"]
    assert "wird in Interviews beantwortet" in seen["elsewhere"]
    assert "Antworten liegen vor" in seen["home"]
