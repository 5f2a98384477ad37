"""A survey page on a host of its own, a running shuffler and collector, a person in Chromium."""

import socket
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import pyarrow as pa
import pytest

import incrowd
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.places import CollectorPlaces, load_private
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import X_WING
from incrowd.collection.protocol.upload import code_field
from incrowd.collection.rehearsal import crowd_of
from incrowd.collection.taking import read_start
from incrowd.encoding.records import EncodedAnswers
from tests.oracles.node import has_browser
from tests.oracles.pages import bundle_at, hosted, in_browser, served, written

PEOPLE = 60
PLACES = 5_000  # more than anybody scrolls through; ten times as many take seconds to plan
SURVEY = {
    "name": "Every type of question",
    "crowd": crowd_of(PEOPLE),
    "privacy": {"epsilon": 110.0, "analysis": "local"},
    "question": [
        {
            "id": "smokes",
            "type": "yesno",
            "text": {"en": "Do you smoke <at all>?", "de": "Rauchen Sie?"},
            "help": "Even one counts.",
            "labels": {"yes": {"en": "Yes, I do", "de": "Ja"}},
        },
        {
            "id": "health",
            "type": "choice",
            "options": ["good", "poor"],
            "optional": True,
            "text": "How is your health?",
        },
        {
            "id": "drinks",
            "type": "multi",
            "options": ["beer", "wine", "milk"],
            "at_most": 2,
            "text": "What do you drink?",
        },
        {"id": "visits", "type": "number", "edges": [0, 1, 3, 6], "text": "How many visits?"},
        {"id": "mood", "type": "text", "block": 16, "cohorts": 4, "text": "Your mood, in a word?"},
        {
            "id": "place",
            "type": "choice",
            "options": [f"place {number}" for number in range(PLACES)],
            "text": "Where do you live?",
        },
        {
            "id": "numbers",
            "type": "multi",
            "options": [f"number {number}" for number in range(30)],
            "at_most": 3,
            "optional": True,
            "text": "Which numbers do you like?",
        },
        {
            "id": "hours",
            "type": "amount",
            "edges": [0, 10, 1000.5],
            "text": {"en": "Hours of sport?", "de": "Stunden Sport?"},
        },
        {
            "id": "saved",
            "type": "amount",
            "edges": [0, 1500],
            "optional": True,
            "text": "What did you save?",
        },
    ],
}


@pytest.fixture(scope="session")
def seen(tmp_path_factory):
    """What a person saw, and what came of it."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    return visit(tmp_path_factory.mktemp("page"))


def visit(folder, shots=None):
    """58 people send with the program, two answer at the page, and the last closes the survey.

    One more takes her answers back.
    """
    with ExitStack() as running:
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        shuffler = f"http://127.0.0.1:{door.getsockname()[1]}"
        survey, ends = incrowd.Survey.of(SURVEY), {"wanted": PEOPLE, "local_only": True}
        bundle, signer = bundle_at(shuffler, survey, folder, **ends)
        codes = running.enter_context(served(bundle, signer, folder, door, PEOPLE + 1))
        others = EncodedAnswers.of(bundle.plan.survey, pa.table(others_answers(PEOPLE - 2)))
        fields = [code_field(code) for code in codes[2:PEOPLE]]
        assert send_each(bundle, others, Connection(), codes=fields).stored == PEOPLE - 2
        files = page_files(asked_in(folder / "bundle.json", None), shipped())
        bad = files | {"combobox.js": files["combobox.js"] + b"\n"}
        host = running.enter_context(hosted(written(folder / "public", files)))
        changed = running.enter_context(hosted(written(folder / "changed", bad)))
        given = {"page": host, "tampered": changed, "digest": bundle.digest.hex(), "codes": codes}
        given |= {"shuffler": shuffler, "shots": shots}
        quantum = running.enter_context(post_quantum(folder / "post-quantum"))
        given |= {"quantum": quantum.link}
        found = in_browser("survey_page.mjs", given)
    signed, start = read_start(folder / "0.release", Header)
    private = load_private(CollectorPlaces(folder / "collector").private, bundle)
    release = (folder / "0.release", start, signed, bundle, private, folder / "opened")
    open_release(*release, workers=1)
    about = {"bundle": bundle, "host": host, "opened": folder / "opened"}
    private = load_private(
        CollectorPlaces(folder / "post-quantum" / "collector").private, quantum.bundle
    )
    about |= {"quantum_bundle": quantum.bundle, "quantum_private": private}
    return SimpleNamespace(**found, **about, shuffler=shuffler)


@contextmanager
def post_quantum(folder):
    """A survey of one question that is sealed with X-Wing, at a shuffler and a host of its own."""
    folder.mkdir()
    privacy = {"epsilon": 3.0, "analysis": "local"}
    survey = SURVEY | {"question": SURVEY["question"][:1], "privacy": privacy}
    with ExitStack() as running:
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        shuffler = f"http://127.0.0.1:{door.getsockname()[1]}"
        bundle, signer = bundle_at(shuffler, incrowd.Survey.of(survey), folder, X_WING)
        (code,) = running.enter_context(served(bundle, signer, folder, door, 1))
        files = page_files(asked_in(folder / "bundle.json", None), shipped())
        host = running.enter_context(hosted(written(folder / "public", files)))
        yield SimpleNamespace(bundle=bundle, link=f"{host}#{bundle.digest.hex()}.{code}")


def others_answers(number):
    """Everybody gives the same answers, which are not the ones given at the page."""
    same = {"smokes": "no", "health": "poor", "drinks": "milk", "visits": 0, "mood": "calm"}
    same |= {"place": "place 7", "numbers": "number 0", "hours": 10, "saved": None}
    return {id: [answer] * number for id, answer in same.items()}
