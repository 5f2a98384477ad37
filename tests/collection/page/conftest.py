"""A survey page on a host of its own, a shuffler and a collector that run, and a person in Chromium."""

import functools
import json
import subprocess
import threading
from contextlib import ExitStack, contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import incrowd
from incrowd.collection import rehearsal
from incrowd.collection.device.connection import Connection
from incrowd.collection.device.crowd import send_each
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.wire.upload import code_field
from incrowd.encoding.people import People
from tests.oracles.node import node

BROWSER = Path(__file__).parents[2] / "browser"
PEOPLE = 60
PLACES = 50_000
SURVEY = {
    "name": "Every type of question",
    "crowd": rehearsal.crowd_of(PEOPLE),
    "privacy": {"epsilon": 110.0, "analysis": "local"},
    "question": [
        {
            "id": "smokes",
            "type": "yesno",
            "text": {"en": "Do you smoke <at all>?", "de": "Rauchen Sie?"},
            "help": "Even one counts.",
            "labels": {"yes": {"en": "Yes, I do", "de": "Ja"}},
        },
        {"id": "health", "type": "choice", "options": ["good", "poor"], "optional": True, "text": "How is your health?"},
        {"id": "drinks", "type": "multi", "options": ["beer", "wine", "milk"], "at_most": 2, "text": "What do you drink?"},
        {"id": "visits", "type": "number", "edges": [0, 1, 3, 6], "text": "How often did you see a doctor?"},
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
}  # fmt: skip


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
    if not (BROWSER / "node_modules" / "playwright-core").is_dir() or node() is None:
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
    plan = incrowd.plan(incrowd.Survey.of(SURVEY))
    with ExitStack() as running:
        doors = [running.enter_context(rehearsal._door()) for _ in range(2)]
        places = [folder / "shuffler", folder / "collector"]
        addresses = [rehearsal._address(door) for door in doors]
        bundle, signer = rehearsal._bundle(plan, PEOPLE, addresses, places[1])
        invited = rehearsal._installed(bundle, signer, *places, PEOPLE)
        (folder / "bundle.json").write_bytes(bundle.encoded)
        services = rehearsal._shuffler, rehearsal._collector
        parts = zip(services, places, doors, strict=True)
        processes = [running.enter_context(rehearsal._process(*part)) for part in parts]
        codes = [each.code for each in invited]
        others = People.of(plan.survey, pa.table(others_answers(PEOPLE - 2)))
        fields = [code_field(code) for code in codes[2:]]
        send_each(bundle, others, Connection(), codes=fields)
        files = page_files(asked_in(folder / "bundle.json", None), shipped())
        host = running.enter_context(hosted(written(folder / "public", files)))
        bad = files | {"combobox.js": files["combobox.js"] + b"\n"}
        changed = running.enter_context(hosted(written(folder / "changed", bad)))
        given = {
            "page": host,
            "digest": bundle.digest.hex(),
            "codes": codes,
            "shuffler": addresses[0],
        }
        found = in_browser("survey_page.mjs", given | {"shots": shots, "tampered": changed})
        opened = places[1] / "opened" / "release-0"
        rehearsal._wait_for(lambda: (opened / "receipt.json").exists(), processes)
    return SimpleNamespace(**found, bundle=bundle, host=host, shuffler=addresses[0], opened=opened)


def others_answers(number):
    """Everybody gives the same answers, which are not the ones given at the page."""
    same = {"smokes": "no", "health": "poor", "drinks": "milk", "visits": 0, "mood": "calm"}
    same |= {"place": "place 7", "numbers": "number 0"}
    return {id: [answer] * number for id, answer in same.items()}
