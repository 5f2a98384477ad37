"""Survey pages on hosts of their own, shufflers on loopback, and Chromium in front of them.

`python -m tests.oracles.pages` makes the pictures of the manual.
"""

import functools
import json
import socket
import subprocess
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import uvicorn

import incrowd
from incrowd.collection.collector.places import CollectorPlaces, new_key
from incrowd.collection.invitations import issue, new_invitations
from incrowd.collection.mixer.app import application
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.mixer.setup import install, open_store
from incrowd.collection.page.files import asked_in, page_files, shipped
from incrowd.collection.protocol.bundle import TIME
from incrowd.collection.protocol.sealed import X25519
from incrowd.collection.settings import ShufflerSettings
from tests.oracles.node import BROWSER, node

ROOT = Path(__file__).parents[2]


@contextmanager
def hosted(folder, port=0):
    """The address of a host that sends the headers that the page's own file asks for.

    port: by default any that is free.
    """
    lines = (folder / "_headers").read_text().splitlines()[1:]
    headers = [line.strip().split(": ", 1) for line in lines]

    class Handler(SimpleHTTPRequestHandler):
        def end_headers(self):
            for header in headers:
                self.send_header(*header)
            super().end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=folder))
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


def bundle_at(shuffler, survey, folder, kem=X25519, **changes):
    """The bundle of a survey, at a shuffler on this machine, and its signing key."""
    now = datetime.now(UTC)
    opens, closes = ((now + timedelta(days=days)).strftime(TIME) for days in (-1, 1))
    terms = ShufflerTerms(
        period="November 2026",
        opens=opens,
        closes=closes,
        disposes=closes,
        codes=True,
        shuffler=shuffler,
        collector="https://count.example",
        key_configuration=new_key(CollectorPlaces(folder / "collector"), kem=kem).encoded.hex(),
        **changes,
    )
    made = make_bundle(incrowd.plan(survey), terms)
    (folder / "bundle.json").write_bytes(made.bundle.encoded)
    return made.bundle, made.private


@contextmanager
def served(bundle, signer, folder, door, invitations):
    """A shuffler on a socket, and the codes of its invitations; the release is put into a file."""
    settings = ShufflerSettings(folder=folder / "shuffler", pause=0.1)
    install(settings, bundle, signer)
    store = open_store(settings)
    invited = new_invitations(store, invitations)
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


def pictures(folder):
    """The page of the health survey, wide and light, narrow and dark."""
    survey = incrowd.Survey.load(ROOT / "examples" / "health.toml")
    said = "Thank you for taking part. It takes two minutes."
    with ExitStack() as running:
        door = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        address = f"http://127.0.0.1:{door.getsockname()[1]}"
        bundle, signer = bundle_at(address, survey, folder, introduction=said)
        codes = running.enter_context(served(bundle, signer, folder, door, 1))
        files = page_files(asked_in(folder / "bundle.json", None), shipped())
        host = running.enter_context(hosted(written(folder / "public", files)))
        given = {"page": host, "digest": bundle.digest.hex(), "code": codes[0]}
        in_browser("pictures.mjs", given | {"folder": str(ROOT / "docs" / "pictures")})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        pictures(Path(made))
