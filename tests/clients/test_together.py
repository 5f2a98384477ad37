"""Two mixers with three clients, whose answers all arrive: the program, Node, and two browsers.

The noise is so small that no bit of all reports is flipped but with a probability of 1e-6: tables
are those of the answers, exactly, and a lost or changed answer shows in them.
"""

from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.collection import in_node, parties, rehearsal
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.device.connection import Connection
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.protocol.addresses import Link
from incrowd.encoding.records import EncodedAnswers
from incrowd.survey import Survey
from tests.oracles.node import has_browser
from tests.oracles.pages import hosted, in_browser, written

SENDERS = ["program", "node", "one browser", "another browser"]
# How many people of each client smoke, and do not; the browsers are one person each.
SMOKES = {"program": [5, 8], "node": [3, 5], "one browser": [1, 0], "another browser": [0, 1]}
PEOPLE = 23
SURVEY = {
    "name": "Three clients",
    "crowd": 3,
    "privacy": {"epsilon": 110.0, "analysis": "local"},
    "question": [
        {"id": "smokes", "type": "yesno", "text": {"en": "Do you smoke?", "de": "Rauchen Sie?"}},
        {"id": "sender", "type": "choice", "options": SENDERS, "text": "How do you send?"},
    ],
    "message": [
        {"questions": ["smokes", "sender"]},
        {"questions": ["smokes", "sender"], "cells": True},
    ],
}
YES, NO = "#q1-0", "#q1-1"


def answers(*senders):
    """The answers of everybody who sends in these ways, as in a file of answers."""
    return [
        {"smokes": smokes, "sender": sender}
        for sender in senders
        for smokes, number in zip(("yes", "no"), SMOKES[sender], strict=True)
        for _ in range(number)
    ]


@pytest.fixture
def services(tmp_path):
    """Starts the four services, one of which may be another than the real one."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    with ExitStack() as running:

        def start(invited, **changed):
            plan = incrowd.plan(Survey.of(SURVEY))
            programs = parties.PARTIES[2].services | changed
            doors = {name: running.enter_context(rehearsal._door()) for name in programs}
            addresses = {name: rehearsal._address(door) for name, door in doors.items()}
            prepared = parties.PARTIES[2].prepare(plan, tmp_path, addresses)
            codes = rehearsal._invited(prepared.inviting(), invited)
            processes = [
                running.enter_context(rehearsal._process(each, tmp_path / name, doors[name]))
                for name, each in programs.items()
            ]
            for name in ("inviter", "first-mixer"):  # a page does not wait for a service to start
                Connection().ask("GET", f"{addresses[name]}/bundle")
            page = page_files(asked_in(tmp_path / "collector" / "bundle.json", None), shipped())
            host = running.enter_context(hosted(written(tmp_path / "public", page)))
            return SimpleNamespace(
                bundle=prepared.bundle,
                codes=codes,
                addresses=addresses,
                processes=processes,
                host=host,
                folder=tmp_path,
            )

        yield start


def at_page(host, bundle, code, *checked, locale="en-GB"):
    link = Link(host, bundle.digest, code.decode())
    return {"link": str(link), "checked": checked, "locale": locale}


@pytest.mark.slow
@pytest.mark.skipif(in_node.node() is None, reason="Node 20 or newer is not installed")
def test_three_clients_in_one_collection(services):
    site = services(PEOPLE)
    bundle, others = site.bundle, answers("program", "node")
    browsers, codes = site.codes[:2], site.codes[2:]
    elsewhere = site.host.replace("127.0.0.1", "localhost")  # another origin of the same host
    people = [
        at_page(site.host, bundle, browsers[0], YES, "#q2-2"),
        at_page(elsewhere, bundle, browsers[1], NO, "#q2-3", locale="de-DE"),
    ]
    first, second = in_browser("together.mjs", {"people": people})
    assert (first["outcome"], second["outcome"]) == (
        "Your answers were sent",
        "Ihre Antworten wurden gesendet",
    )
    assert first["origin"] != second["origin"] and first["complaints"] == second["complaints"] == []
    asked = [site.addresses[name] for name in ("inviter", "first-mixer")]
    for seen, host in ((first, site.host), (second, elsewhere)):
        assert all(url.startswith((host, *asked)) for url in seen["asked"])
        sent = [url for url in seen["asked"] if url.endswith(("/tokens", "/upload", "/bundle"))]
        assert set(sent) == {f"{asked[0]}/bundle", f"{asked[0]}/tokens", f"{asked[1]}/upload"}
        assert not any(code.decode() in url for url in seen["asked"] for code in browsers)
        assert seen["referrers"] == []

    table = pa.Table.from_pylist(others)
    encoded = EncodedAnswers.of(bundle.plan.survey, table)
    node = rehearsal.InNode(in_node.node(), answers("node"))
    rest = encoded, codes, [0] * len(others), node, lambda _: None
    crowd = rehearsal._sent(bundle, *rest)
    assert crowd.stored == len(others) == PEOPLE - 2 and not crowd.refused

    (site.folder / parties.ALL_SENT).touch()
    opened = site.folder / "collector" / "opened" / "release-0"
    rehearsal._wait_for(lambda: rehearsal._all_opened([opened]), site.processes)
    receipt, _ = load_receipt(opened, bundle.plan)
    assert receipt.people == receipt.opened_people == receipt.issued == receipt.used == PEOPLE
    assert receipt.tokens == [PEOPLE * slots for slots in bundle.slots]
    assert receipt.reports == receipt.accepted == PEOPLE * bundle.places
    assert not any(receipt.rejected.values()) and receipt.contradictions == []
    reports = incrowd.load_reports(opened)
    estimates = incrowd.estimate(bundle.plan, reports, tables=[["smokes", "sender"]])
    (table,) = estimates.tables
    counts = PEOPLE * np.asarray(table.estimate)
    everybody = np.array([SMOKES[sender] for sender in SENDERS])[:, ::-1].T  # no, then yes
    assert np.abs(counts - everybody).max() < 1e-3


def silent_to_pages(folder):
    """An inviter that does not let pages read its answers."""
    app = parties._inviter(folder)
    app.user_middleware.clear()
    return app


def mute_to_pages(folder):
    """A first mixer that does not let pages send to it."""
    app = parties._first_mixer(folder)
    app.user_middleware.clear()
    return app


@pytest.mark.slow
def test_an_inviter_that_does_not_admit_pages_is_seen(services):
    """The wrong variant: the page cannot show the survey."""
    site = services(1, **{"inviter": silent_to_pages})
    person = at_page(site.host, site.bundle, site.codes[0], YES, "#q2-2")
    with pytest.raises(AssertionError, match="The survey cannot be shown"):
        in_browser("together.mjs", {"people": [person]})


@pytest.mark.slow
def test_a_first_mixer_that_does_not_admit_pages_is_seen(services):
    """The wrong variant: the page cannot send, and says so."""
    site = services(1, **{"first-mixer": mute_to_pages})
    person = at_page(site.host, site.bundle, site.codes[0], YES, "#q2-2")
    [seen] = in_browser("together.mjs", {"people": [person]})
    assert "does not respond" in seen["outcome"]
    assert any("CORS" in complaint for complaint in seen["complaints"])
