"""A survey page on a host of its own, a running shuffler and collector, a person in Chromium."""

import functools
import json
import socket
import subprocess
import threading
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pyarrow as pa
import pytest
import uvicorn

import incrowd
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.keys import load_private, new_key
from incrowd.collection.collector.places import Places
from incrowd.collection.collector.taking import read_start
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.rehearsal import crowd_of
from incrowd.collection.shuffler.app import application
from incrowd.collection.shuffler.config import Settings
from incrowd.collection.shuffler.init import Terms, make_bundle
from incrowd.collection.shuffler.invitations import issue, new_invitations
from incrowd.collection.shuffler.setup import install, open_store
from incrowd.collection.wire.bundle import TIME
from incrowd.collection.wire.upload import code_field
from incrowd.encoding.people import People
from tests.oracles.node import BROWSER, has_browser, node

PEOPLE = 60
PLACES = 50_000
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
    ],
}


@contextmanager
def hosted(folder):
    """The address of a host that sends the headers that the page's own file asks for."""
    lines = (folder / "_headers").read_text().splitlines()[1:]
    headers = [line.strip().split(": ", 1) for line in lines]

    class Handler(SimpleHTTPRequestHandler):
        def end_headers(self):
            for header in headers:
                self.send_header(*header)
            super().end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def written(folder, files):
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def in_browser(script, given):
    """What a script of the browser tests saw."""
    if not has_browser():
        pytest.skip("the browser is not installed: python -m tests.oracles.node install")
    (program,), _ = node()
    done = subprocess.run(
        [program, script],
        cwd=BROWSER,
        input=json.dumps(given).encode(),
        capture_output=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def seen(tmp_path_factory):
    """What a person saw, and what came of it."""
    return visit(tmp_path_factory.mktemp("page"))


def visit(folder, shots=None):
    """58 people send with the program, two answer at the page; the last closes the survey."""
    with ExitStack() as running:
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        bundle, signer = bundle_at(f"http://127.0.0.1:{door.getsockname()[1]}", folder)
        codes = running.enter_context(served(bundle, signer, folder, door))
        others = People.of(bundle.plan.survey, pa.table(others_answers(PEOPLE - 2)))
        fields = [code_field(code) for code in codes[2:]]
        assert send_each(bundle, others, Connection(), codes=fields).stored == PEOPLE - 2
        files = page_files(asked_in(folder / "bundle.json", None), shipped())
        bad = files | {"combobox.js": files["combobox.js"] + b"\n"}
        host = running.enter_context(hosted(written(folder / "public", files)))
        changed = running.enter_context(hosted(written(folder / "changed", bad)))
        given = {"page": host, "tampered": changed, "digest": bundle.digest.hex(), "codes": codes}
        given |= {"shuffler": bundle.addresses.shuffler, "shots": shots}
        found = in_browser("survey_page.mjs", given)
    signed, start = read_start(folder / "0.release")
    private = load_private(Places(folder / "collector").private, bundle)
    release = (folder / "0.release", start, signed, bundle, private, folder / "opened")
    open_release(*release, workers=1)
    about = {"bundle": bundle, "host": host, "opened": folder / "opened"}
    return SimpleNamespace(**found, **about, shuffler=bundle.addresses.shuffler)


def bundle_at(shuffler, folder):
    """The bundle of a survey that is released with the last of PEOPLE, and the signing key."""
    now = datetime.now(UTC)
    opens, closes = ((now + timedelta(days=days)).strftime(TIME) for days in (-1, 1))
    terms = Terms(
        period="November 2026",
        opens=opens,
        closes=closes,
        disposes=closes,
        wanted=PEOPLE,
        codes=True,
        local_only=True,
        shuffler=shuffler,
        collector="http://127.0.0.1:1",
        key_configuration=new_key(Places(folder / "collector")).encoded.hex(),
    )
    made = make_bundle(incrowd.plan(incrowd.Survey.of(SURVEY)), terms)
    (folder / "bundle.json").write_bytes(made.bundle.encoded)
    return made.bundle, made.private


@contextmanager
def served(bundle, signer, folder, door):
    """A shuffler on a socket, and the codes of its invitations; the release is put into a file."""
    settings = Settings(folder=folder / "shuffler", pause=0.1)
    install(settings, bundle, signer)
    store = open_store(settings)
    invited = new_invitations(store, PEOPLE)
    issue(store, invited)

    def deliver(start, body):
        (folder / "0.release").write_bytes(start + body.read_bytes())
        return True

    app = application(store, bundle, settings, deliver=deliver)
    server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_config=None))
    thread = threading.Thread(target=server.run, args=([door],))
    thread.start()
    try:
        yield [each.code for each in invited]
    finally:
        server.should_exit = True
        thread.join()
        store.engine.dispose()


def others_answers(number):
    """Everybody gives the same answers, which are not the ones given at the page."""
    same = {"smokes": "no", "health": "poor", "drinks": "milk", "visits": 0, "mood": "calm"}
    same |= {"place": "place 7", "numbers": "number 0"}
    return {id: [answer] * number for id, answer in same.items()}
