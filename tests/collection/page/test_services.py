"""What a survey page is told if services add the noise: figures, and who runs both services."""

import html
import json
import re
import socket
from contextlib import ExitStack

import pytest

from incrowd.collection.claims import claims_of_plan
from incrowd.collection.page.files import PageContent, asked_in, page_files, shipped
from incrowd.guarantees.collected import guarantee_of
from incrowd.survey import Survey
from tests.conftest import BULLIED, DEPARTMENT, services_plan
from tests.oracles.node import has_browser
from tests.oracles.pages import bundle_at, hosted, in_browser, served, written

CONFIG = re.compile(r'<script type="application/json" id="config">(.*?)</script>', re.DOTALL)


def told(plan, **changes):
    """The promise in the configuration of the page."""
    promise = guarantee_of(plan, claims=[claims_of_plan(plan, **changes)])
    content = PageContent(plan, ("https://mix.example",), promise, "", "Bullying", "en")
    page = page_files(content, shipped())["index.html"].decode()
    text = html.unescape(CONFIG.search(page).group(1))
    return json.loads(text, parse_constant=pytest.fail)["promise"]


def test_a_page_is_told_the_factor_and_that_no_crowd_is_needed():
    """e^2 is 7.389..."""
    promise = told(services_plan())
    assert promise["services"] and promise["factor"] == "7.39" and promise["delta"] == "1e-05"
    assert promise["crowd"] is promise["local_factor"] is promise["service_factor"] is None


def test_a_service_may_learn_more_than_readers():
    """e^3 is 20.08..."""
    promise = told(services_plan(3.0))
    assert promise["factor"] == "7.39" and promise["service_factor"] == "20.1"


def test_readers_are_protected_from_one_party_but_not_beside_a_joint_report():
    promise = told(services_plan(), one_party=True)
    assert promise["factor"] == "7.39" and promise["service_factor"] is None
    joint = told(services_plan(joint=True), one_party=True)
    assert joint["services"] and joint["factor"] is joint["service_factor"] is None


def test_a_joint_report_beside_the_cells_needs_a_crowd():
    assert told(services_plan(joint=True))["crowd"] == 60


@pytest.mark.parametrize("tag", ["en", "de"])
def test_texts_about_services_name_no_crowd_and_no_factor_of_a_coalition(tag):
    """Nothing is left towards both services, and any number of people may answer."""
    texts = shipped()[tag]
    for key in ("added", "added_alone", "promise_rests_services", "cheat_both_added"):
        assert "{crowd}" not in texts[key] and "{factor}" not in texts[key]


def in_two_languages():
    text = {"en": "Were you bullied at work?", "de": "Wurden Sie bei der Arbeit gemobbt?"}
    raw = {"name": "Bullying", "crowd": 60, "question": [BULLIED | {"text": text}, DEPARTMENT]}
    raw["privacy"] = {"epsilon": 2.0, "delta": 1e-5, "noise": "services"}
    return Survey.of(raw | {"table": [{"questions": ["bullied", "department"]}]})


def visit(folder, **changes):
    """What a person reads in English and in German."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    with ExitStack() as running:
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        shuffler = f"http://127.0.0.1:{door.getsockname()[1]}"
        bundle, signer = bundle_at(shuffler, in_two_languages(), folder, **changes)
        codes = running.enter_context(served(bundle, signer, folder, door, 1))
        files = page_files(asked_in(folder / "bundle.json", None), shipped())
        host = running.enter_context(hosted(written(folder / "public", files)))
        given = {"page": host, "digest": bundle.digest.hex(), "code": codes[0]}
        return in_browser("services_page.mjs", given)


@pytest.mark.slow
def test_a_person_reads_that_only_both_services_together_could_read_her_answers(tmp_path):
    seen = visit(tmp_path)
    english, german = seen["english"], seen["german"]
    (claim,) = english["claims"]
    assert "the mixing service and the counting service each add invented numbers" in claim
    assert "moderate protection" in english["promise"][1]  # epsilon 2
    assert (
        "7.39 times" in english["promise"][0] and "do not work together" in english["promise"][-1]
    )
    assert not re.search(r"\b60\b|honest people", " ".join(english["promise"]))
    assert any("nothing would protect you" in line for line in english["cheat"])
    assert english["sent"] == ["Yes / south", "together with Were you bullied at work?"]
    assert "sealed pieces with your answers" in english["example"] and english["redraws"] == 0
    assert "nur gemeinsam könnten sie es wieder abziehen" in german["claims"][0]
    for each in (english, german):
        assert (each["tooWide"], each["axe"], each["complaints"]) == (False, [], [])


@pytest.mark.slow
def test_a_person_reads_that_one_party_can_read_her_answers(tmp_path):
    seen = visit(tmp_path, local_only=True)["english"]
    assert "before it shows them to anybody else" in seen["claims"][0]
    alone, promise = seen["promise"]  # no strength: nothing is left toward that party
    assert "It can read yours" in alone and "7.39 times" in promise
    cheating = " ".join(seen["cheat"])
    assert "can read your answers" in cheating and "cannot see" not in cheating
