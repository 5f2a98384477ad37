"""A works council asks 90 colleagues, from an empty folder to a report, without a command line.

Everything is in German. A colleague of another organization unpacks the package and starts what it
says; 60 people answer, some of them in a browser. The test writes a page with the time of each step
and everything that people read, for a reader who knows German: `texts.md` in its folder.

The pictures: STUDIO_PICTURES=folder pytest -m slow THIS_FILE.
"""

import json
import os
import subprocess
import tomllib

import pytest

from tests.oracles.german_pages import english_in
from tests.oracles.node import BROWSER, has_browser, node
from tests.oracles.studio import running_studio

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not has_browser(), reason="the packages of tests/browser are not installed"),
]
NAME = "klima-im-betrieb"
QUESTION = "Wurden Sie in den letzten zwölf Monaten am Arbeitsplatz gemobbt?"
ASKED = "Haben Sie deswegen mit jemandem gesprochen?"
STEP = "| {name} | {seconds:.1f} |"


def acted(act, **given):
    """What was read in one act."""
    (program,), _ = node()
    run = subprocess.run(
        [program, str(BROWSER / "works_council.mjs")],
        input=json.dumps({"act": act, "shots": os.environ.get("STUDIO_PICTURES"), **given}),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("works-council")


@pytest.fixture(scope="module")
def journey(folder):
    """What was read in each act."""
    surveys, acts = folder / "surveys", {}
    shared = {"state": str(folder / "state.json"), "folder": str(folder)}
    with running_studio(surveys) as address:
        acts["design"] = acted("design", address=address, question=QUESTION, asked=ASKED, **shared)
    (folder / "texts.md").write_text(written(acts))
    print(f"{folder / 'texts.md'} has the time and the texts of each step")
    return acts


def written(acts):
    """A page with the time of each step, and each text where it is read first."""
    steps = [step for seen in acts.values() for step in seen["steps"]]
    lines = ["| step | seconds |", "|---|---|", *(STEP.format(**step) for step in steps)]
    known = set()
    for step in steps:
        lines += ["", f"## {step['name']}", ""]
        for kind, text in step["texts"]:
            if (kind, text) not in known:
                lines.append(f"- {kind}: {text}")
            known.add((kind, text))
    return "\n".join([*lines, ""])


def of_all(journey, kind):
    """What was noticed of one kind, by the names of the states."""
    return {name: wrong for seen in journey.values() for name, wrong in seen[kind].items() if wrong}


def test_every_state_is_accessible_and_fits_on_a_phone(journey):
    assert sum(len(seen["axe"]) for seen in journey.values()) >= 26
    assert of_all(journey, "axe") == {}
    assert of_all(journey, "wide") == {}


def test_nothing_is_fetched_from_elsewhere_and_no_page_complains(journey):
    assert {host for seen in journey.values() for host in seen["asked"]} == {"127.0.0.1"}
    complaints = [each for seen in journey.values() for each in seen["complaints"]]
    assert [each for each in complaints if "status of 422" not in each] == []


def test_no_sentence_is_english(journey):
    for text in ("Every change is saved in survey.toml.", "You have to know that."):
        assert english_in(text)
    found = {
        text: english_in(text)
        for seen in journey.values()
        for step in seen["steps"]
        for _, text in step["texts"]
    }
    assert {text: reason for text, reason in found.items() if reason} == {}


def test_the_survey_is_what_she_typed(journey, folder):
    survey = tomllib.loads((folder / "surveys" / NAME / "survey.toml").read_text())
    assert survey["people"] == {"invited": 90, "expected": 0.67, "everybody": True}
    group, bullied, asked = survey["question"]
    assert (group["options"], survey["privacy"]["noise"]) == (
        ["Verwaltung", "Produktion"],
        "services",
    )
    assert (bullied["text"], asked["text"]) == (QUESTION, ASKED)
    assert asked["asked_if"] == f"{bullied['id']} = yes"
    assert survey["language"] == "de"


def test_the_wizard_says_what_is_missing(journey):
    assert "wie viele Personen Sie einladen" in journey["design"]["missing"]


def test_the_promise_is_certified_and_in_words(journey):
    promised = journey["design"]["promised"]
    assert "zertifiziert" in promised and "Schätzung" not in promised
    assert "60 Antworten" in promised
