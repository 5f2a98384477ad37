"""A researcher's first hour, in Chromium: from an SPSS file to a rehearsed collection.

The pictures of the manual come from here: STUDIO_PICTURES=docs/pictures pytest -m slow THIS_FILE.
"""

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas
import pyreadstat
import pytest

import incrowd
from tests.oracles.node import has_browser, in_browser
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]
MANUAL = Path(__file__).parents[2] / "docs" / "studio.md"
PEOPLE = 1200  # rows of the file
REHEARSING = 800
PAGES = ("design", "precision", "publish", "publish/rehearsal", "watch", "results")


def spss_file(path):
    """Coming to work although ill: invented answers, with 9 for those who refused."""
    generator = np.random.default_rng(20261126)
    sector = generator.integers(1, 4, PEOPLE)
    age = generator.integers(18, 66, PEOPLE)
    ill = generator.random(PEOPLE) < np.array([0.2, 0.35, 0.6])[sector - 1]
    refused = generator.random(PEOPLE) < 0.06
    columns = {
        "ill_at_work": np.where(refused, 9, ill).astype(float),
        "sector": sector.astype(float),
        "age": age.astype(float),
    }
    labels = {
        "ill_at_work": {0.0: "No", 1.0: "Yes", 9.0: "refused"},
        "sector": {1.0: "Care", 2.0: "School", 3.0: "Office"},
    }
    pyreadstat.write_sav(
        pandas.DataFrame(columns), str(path), variable_value_labels=labels, file_label="Ill at work"
    )


@pytest.fixture(scope="module")
def journey(tmp_path_factory):
    """What the researcher read, and the folder that the studio has written."""
    folder = tmp_path_factory.mktemp("journey")
    spss_file(folder / "ill_at_work.sav")
    with running_studio(folder / "surveys") as address:
        told = {
            "address": address,
            "data": str(folder / "ill_at_work.sav"),
            "people": REHEARSING,
            "narrow": ["/", *(f"/p/ill-at-work/{page}" for page in PAGES)],
        }
        return in_browser("studio.mjs", timeout=600, **told), folder


def command(line, folder, output):
    """What a command that the studio shows writes in the folder of the survey."""
    words = shlex.split(line.splitlines()[-1])  # after the line that changes to the folder
    assert words[0] == "incrowd"
    words = words[1:]
    if "-o" in words:
        del words[words.index("-o") : words.index("-o") + 2]
    run = [sys.executable, "-m", "incrowd", *words, "-o", str(output)]
    subprocess.run(run, cwd=folder, check=True, capture_output=True)
    return output.read_text()


def test_every_state_is_accessible_and_nothing_is_cut_off(journey):
    seen, _ = journey
    assert len(seen["axe"]) == 17
    assert {state: wrong for state, wrong in seen["axe"].items() if wrong} == {}
    assert [state for state, wide in seen["wide"].items() if wide] == []
    assert set(seen["german"]) >= {"Umfragen", "Genauigkeit und Schutz", "Ergebnisse"}


def test_nothing_is_fetched_from_elsewhere_and_no_page_complains(journey):
    seen, _ = journey
    assert seen["asked"] == ["127.0.0.1"]
    assert seen["complaints"] == []


def test_decisions_are_made_by_clicking(journey):
    seen, folder = journey
    assert any("9 was taken to mean no answer" in each for each in seen["decisions"])
    assert seen["check"] == "The data fit the survey: 1,200 rows."
    assert "DECIDE:" not in (folder / "surveys/ill-at-work/survey.toml").read_text()


def test_the_survey_is_the_draft_with_what_was_changed(journey):
    """An independent way to the same survey: that of `incrowd init`, and the three changes."""
    seen, folder = journey
    drafted = tomllib.loads(incrowd.draft(folder / "ill_at_work.sav").toml)
    drafted["question"][0]["text"] = "Did you come to work although you were ill?"
    drafted["regression"] = [{"outcome": "ill_at_work", "on": ["sector"]}]
    drafted["privacy"]["epsilon"] = 2.0
    written = tomllib.loads((folder / "surveys/ill-at-work/survey.toml").read_text())
    assert written == drafted
    assert seen["regression"] == "Did you come to work although you were ill? ~ sector"


def test_the_plan_is_that_of_the_command(journey, tmp_path):
    seen, folder = journey
    project = folder / "surveys/ill-at-work"
    planned = command("incrowd plan survey.toml --no-side-by-side", project, tmp_path / "plan.json")
    assert (project / "plan.json").read_text() == planned
    assert "certified" in seen["marks"] and "estimate" not in seen["marks"]


def test_files_are_those_of_the_commands_that_are_shown(journey, tmp_path):
    seen, folder = journey
    project = folder / "surveys/ill-at-work"
    assert seen["json"] == command(seen["command"], project, tmp_path / "a.json")
    assert seen["script"] == command(seen["regressing"], project, tmp_path / "b.R")
    assert seen["fit"], "the regression has coefficients"


def test_the_researcher_is_counted_with_the_invented_people(journey):
    seen, _ = journey
    assert seen["answered"].startswith("Your answers were sent")
    estimates = json.loads(seen["json"])
    people = {each["people"] for each in estimates["tables"]}
    assert people == {REHEARSING + 1}


def test_the_manual_has_the_number_of_people_that_she_read(journey):
    seen, _ = journey
    people = seen["people"].split()[0]
    assert people.replace(",", "").isdecimal()
    assert f"{people} people are enough" in MANUAL.read_text()
