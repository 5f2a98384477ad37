"""The whole chain for real: a sender, nginx, the shuffler's process, PostgreSQL; then every log.

Everything that such servers like to write about is forced: 413, 502, a wrong code, a duplicate
key, a deadlock, a database that is gone. Neither an address, nor a code, nor a key of a row, nor
the place of a row (which tells when it came), nor a digest of a report may stand anywhere. The
settings that they come with have to be found by the same reader.
"""

import hashlib
import os
import re
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from incrowd.collection.mixer import setup
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.protocol.upload import Upload, new_code, upload_length
from incrowd.collection.settings import ShufflerSettings
from tests.collection.conftest import (
    DEPLOY,
    MARK,
    SENDER,
    ask,
    free_port,
    garbage,
    nginx,
    postgresql,
    running,
)
from tests.oracles import make_vectors
from tests.oracles.make_vectors import SHUFFLER

COMMAND = "from incrowd.cli import main; main()"
BUNDLE = make_vectors.bundle(
    opens="2020-01-01T00:00:00Z", closes="2100-01-01T00:00:00Z", disposes="2100-01-02T00:00:00Z"
)
PEOPLE = 4
PLACE = re.compile(rb"tuple \(\d+,\d+\)")  # ctid: in a table of its own, the order of arrival
HURRY = ("fsync=off", "deadlock_timeout=50ms")
NGINX_STOCK = "error_log FOLDER/error.log;"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.77 on loopback")


def code(number):
    return new_code(hashlib.sha256(b"chain %d" % number).digest()[:10]).encode()


def upload(number):
    header = BUNDLE.key.header
    bodies = (os.urandom(BUNDLE.sealed_length - len(header)) for _ in range(BUNDLE.places))
    return Upload(code(number), 0, tuple(header + body for body in bodies))


def forms(content):
    """How bytes are written down."""
    return {content, content.hex().encode(), content.hex().upper().encode()}


def told(data, uploads, secrets):
    """What some bytes tell."""
    sealed = [each for one in uploads for each in one.sealed]
    tags = [secrets.tag(each) for each in sealed]
    marks = {
        "address": {SENDER.encode(), MARK.encode()},
        "code": {one.entry for one in uploads},
        "key": {
            f for x in tags + [secrets.code_tag(one.entry) for one in uploads] for f in forms(x)
        },
        "digest": {f for x in sealed for f in forms(hashlib.sha256(x).digest())},
        "report": {f for x in sealed for f in forms(x[7:23])},
    }
    found = {name for name, needles in marks.items() if any(needle in data for needle in needles)}
    return found | ({"place"} if PLACE.search(data) else set())


def deadlock(server, database, store, one, send):
    """Two sessions that wait for each other, and the shuffler's is the one that is ended."""
    tag, code_tag = store.secrets.tag(one.sealed[-1]), store.secrets.code_tag(one.entry)
    waits = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with server.connect(database) as other, server.connect(database) as watching:
        other.execute("SET deadlock_timeout = '60s'")
        other.execute("BEGIN")
        other.execute("INSERT INTO reports VALUES (1, %s, 0, %s, %s)", (tag, b"m", b"x"))
        status = []
        sending = threading.Thread(target=lambda: status.append(send(one)))
        sending.start()
        deadline = time.monotonic() + 20
        while not watching.execute(waits).fetchone()[0]:
            assert time.monotonic() < deadline, "nobody waits"
        other.execute("SELECT * FROM codes WHERE tag = %s FOR UPDATE", (code_tag,))
        sending.join()
        other.execute("ROLLBACK")
    return status[0]


@contextmanager
def shuffler(folder, server):
    """Its process, and its store beside it."""
    port, address = free_port(), server.database()
    settings = ShufflerSettings(folder=folder / "shuffler", database=address)
    folder.mkdir(parents=True)
    setup.install(settings, BUNDLE, SHUFFLER)
    (settings.folder / "shuffler.toml").write_text(f'database = "{address}"\nport = {port}\n')
    store = setup.open_store(settings)
    store.invite([code(number) for number in range(PEOPLE)])
    command = [sys.executable, "-c", COMMAND, "shuffler", "run", str(settings.folder)]
    try:
        with running(command, folder, port) as process:
            yield port, process, store, address.split("/")[3].split("?")[0]
    finally:  # also where a test is skipped, because another server is missing
        store.engine.dispose()


def chain(folder, configuration, change):
    """All that can go wrong; the statuses, and what each log tells. Only logs are read."""
    uploads = [upload(number) for number in range(PEOPLE)]
    stranger, thief = (
        upload(PEOPLE),
        Upload(code(3), 0, (*uploads[0].sealed[1:], upload(9).sealed[0])),
    )
    with (
        postgresql(*HURRY, configuration=configuration) as server,
        shuffler(folder / "shuffler", server) as (port, process, store, database),
        nginx(folder / "nginx", "people", port, change) as front,
    ):

        def send(one, method="POST"):
            return ask(front, method, "/upload", one.encoded(BUNDLE))

        found = [send(uploads[0]), send(uploads[0]), send(stranger), send(thief), send(uploads[1])]
        found.append(send(uploads[1], "DELETE"))
        found.append(ask(front, "POST", "/upload", bytes(upload_length(BUNDLE) + 1)))
        found.append(ask(front, "POST", "/upload", b"y" * (4 << 20)))
        found.append(ask(front, "GET", "/metrics"))
        garbage(front)
        ask(front, "POST", "/upload", b"half", length=upload_length(BUNDLE), cut=True)
        with pytest.raises(StoreError) as refused:
            store.invite([code(0)])
        found.append(deadlock(server, database, store, uploads[2], send))
        found.append(send(uploads[2]))
        server.stop()
        found.append(send(uploads[3]))
        process.kill()
        process.wait()
        found.append(send(uploads[3]))
        time.sleep(0.2)
        logs = {"PostgreSQL": (server.folder / "log").read_bytes()}
        secrets = store.secrets
    logs["shuffler"] = (folder / "shuffler" / "output").read_bytes()
    logs["error"] = f"{refused.value!r} {refused.value}".encode()
    written = [path for path in (folder / "nginx").rglob("*") if path.is_file()]
    logs["nginx"] = b"".join(p.read_bytes() for p in written if p.name != "nginx.conf")
    return (
        found,
        logs,
        {name: told(log, [*uploads, stranger], secrets) for name, log in logs.items()},
    )


STATUSES = [201, 200, 403, 422, 201, 204, 400, 413, 404, 503, 201, 500, 502]


@pytest.mark.slow
def test_no_log_of_the_chain_tells_anything(tmp_path):
    settings = (DEPLOY / "postgresql.conf").read_text()
    statuses, logs, found = chain(tmp_path / "c", settings, lambda text: text)
    assert statuses == STATUSES
    assert b"deadlock" in logs["PostgreSQL"] and b"duplicate key" in logs["PostgreSQL"]
    assert found == {name: set() for name in logs}


@pytest.mark.slow
def test_the_settings_that_servers_come_with_are_found(tmp_path):
    def stock(text):
        text = text.replace("error_log /dev/null emerg;", NGINX_STOCK)
        return text.replace("access_log off;", "access_log FOLDER/access.log;")

    statuses, _, found = chain(tmp_path / "c", "# as it comes", stock)
    assert statuses == STATUSES
    assert found["nginx"] == {"address"}
    assert found["PostgreSQL"] >= {"key", "place"}
    assert found["shuffler"] == found["error"] == set(), "it does not depend on the others"
