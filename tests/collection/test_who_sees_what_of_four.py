"""A whole collection with two mixers: people behind an address of their own, the four services'
processes, and the proxies of deploy/ in front of each.

What passes each proxy is recorded, and every log is read: of the proxies, and of the services. What
a party must not know stands in neither.
"""

import socket
import sys
import threading
import time
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import httpx
import pyarrow as pa
import pytest

import incrowd
from incrowd.collection import parties, rehearsal
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.device.connection import HEADERS, Connection
from incrowd.collection.device.sending import pending_answers, send
from incrowd.encoding.records import EncodedAnswers
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import permutation
from tests.collection.conftest import MARK, SENDER, ask, free_port, garbage, nginx, running

# The command line, whose clock is a day ahead once everybody has sent.
COMMAND = """
import sys
from datetime import timedelta
from pathlib import Path
from incrowd.collection import machine
end, read = Path(sys.argv.pop(1)), machine.read_clocks
def later():
    now, passed = read(), timedelta(days=end.exists())
    return now._replace(time=now.time + passed, seconds=now.seconds + passed.total_seconds())
machine.read_clocks = later
from incrowd.cli import main
main()
"""
ROLES = {"inviter": "people", "first-mixer": "people"}
ROLES |= {"second-mixer": "parties", "collector": "parties"}
PEOPLE, PIECE = 23, 24
SURVEY = {
    "name": "Four services",
    "crowd": 3,
    "privacy": {"epsilon": 8.0, "analysis": "local"},
    "question": [{"id": "smokes", "type": "yesno"}],
}
# What passes the proxy of each service, of all that people send; nothing else may.
PASSES = {
    "inviter": {"code", "blinded value", "blind signature"},
    "first-mixer": {"nonce", "entry token", "envelope"},
    "second-mixer": {"envelope"},
    "collector": {"sealed report"},
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs 127.0.0.77 on loopback"),
]


class Tee:
    """Passes bytes on to a port, in both directions, and records them."""

    def __init__(self, port):
        self.port, self.recorded = port, bytearray()
        self.door = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = self.door.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                caller = self.door.accept()[0]
            except OSError:  # closed
                return
            try:
                service = socket.create_connection(("127.0.0.1", self.port), 10)
            except OSError:
                caller.close()
                continue
            streams = bytearray(), bytearray()
            for number, ends in enumerate(((caller, service), (service, caller))):
                given = (*ends, streams[number])
                threading.Thread(target=self._pass, args=given, daemon=True).start()

    def _pass(self, source, target, stream):
        """Bytes of one direction stay together, so that nothing is missed at their seams."""
        try:
            while data := source.recv(1 << 16):
                stream += data
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.recorded += stream
        source.close()

    def close(self):
        self.door.close()


def forms(content):
    return {content, content.hex().encode(), content.hex().upper().encode()}


class Sender:
    """People who send from their own address, and all that must not be told of them."""

    def __init__(self, bundle):
        limits = httpx.Limits(max_keepalive_connections=0)
        transport = httpx.HTTPTransport(local_address=SENDER, limits=limits)
        self.client = httpx.Client(transport=transport, headers=HEADERS | {"User-Agent": MARK})
        self.bundle, self.connection = bundle, Connection(client=self.client)
        self.secrets = {name: [] for names in PASSES.values() for name in names}

    def __call__(self, code, smokes):
        people = EncodedAnswers.of(self.bundle.plan.survey, pa.table({"smokes": [smokes]}))
        pending = pending_answers(self.bundle, people, code=code, stratum=0)
        address = f"{self.bundle.inviter.address}/tokens"
        reply = self.connection.ask("POST", address, pending.request, most=1 << 20)
        order = permutation(self.bundle.places, Keystream.from_system()).tolist()
        upload = pending.upload(reply.body, self.bundle, order)
        assert send(upload.encoded(self.bundle), self.bundle, self.connection) == "stored"
        size = 256
        values, signatures = pending.request[48:], reply.body
        self.secrets["code"].append(code)
        self.secrets["blinded value"] += _pieces(values, size)
        self.secrets["blind signature"] += _pieces(signatures, size)
        self.secrets["nonce"].append(upload.entry[:32])
        self.secrets["entry token"].append(upload.entry[32:])
        self.secrets["envelope"] += [each[7:] for each in upload.sealed]
        self.secrets["sealed report"] += [each[7:] for each in pending.inners]

    def told_in(self, data):
        """What some bytes tell, of any person."""
        marks = {
            name: {f for each in many for f in forms(each[:PIECE])}
            for name, many in self.secrets.items()
        }
        marks["address"] = {SENDER.encode(), MARK.encode()}
        return {name for name, needles in marks.items() if any(n in data for n in needles)}


def _pieces(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


@contextmanager
def services(folder, change=lambda text: text):
    """The four services behind their proxies: bundle, codes, ports of the proxies, recordings."""
    ports = {role: free_port() for role in ROLES}
    with ExitStack() as stack:
        tees = {role: Tee(port) for role, port in ports.items()}
        for tee in tees.values():
            stack.callback(tee.close)
        fronts = {
            role: stack.enter_context(
                nginx(folder / f"nginx-{role}", kind, tees[role].address, change)
            )
            for role, kind in ROLES.items()
        }
        addresses = {role: f"http://127.0.0.1:{port}" for role, port in fronts.items()}
        plan = incrowd.plan(incrowd.Survey.of(SURVEY))
        prepared = parties.PARTIES[2].prepare(plan, folder, addresses)
        codes = rehearsal._invited(prepared.inviting(), PEOPLE)
        for role, port in ports.items():
            pause = "" if role == "collector" else "pause = 0.2\n"
            (folder / role / f"{role}.toml").write_text(f"port = {port}\n{pause}")
        for role, port in ports.items():
            (folder / f"log-{role}").mkdir()
            end = str(folder / parties.ALL_SENT)
            command = [sys.executable, "-c", COMMAND, end, role, "run", str(folder / role)]
            stack.enter_context(running(command, folder / f"log-{role}", port))
        yield SimpleNamespace(bundle=prepared.bundle, codes=codes, fronts=fronts, tees=tees)


def provoke(front, path):
    """What servers like to write about; none of it is a person's."""
    statuses = [ask(front, "POST", path, b"y" * (4 << 20)), ask(front, "GET", "/metrics")]
    garbage(front)
    ask(front, "POST", path, b"half", length=1000, cut=True)
    return statuses


def chain(folder, change=lambda text: text):
    """A collection from the first request to the tables; what passed each proxy, what logs tell."""
    with services(folder, change) as site:
        paths = {"inviter": "/tokens", "first-mixer": "/upload"}
        statuses = [provoke(site.fronts[role], path) for role, path in paths.items()]
        sender = Sender(site.bundle)
        for number, code in enumerate(site.codes):
            sender(code, ("yes", "no")[number % 2])
        sender.client.close()
        (folder / parties.ALL_SENT).touch()
        opened = folder / "collector" / "opened" / "release-0"
        end = time.monotonic() + 120
        while not rehearsal._all_opened([opened]):
            assert time.monotonic() < end, "it is not opened"
            time.sleep(0.2)
    receipt, _ = load_receipt(opened, site.bundle.plan)
    logs = {}
    for role in ROLES:
        files = [path for path in (folder / f"nginx-{role}").rglob("*") if path.is_file()]
        written = [path.read_bytes() for path in files if path.name != "nginx.conf"]
        logs[f"proxy of {role}"] = b"".join(written)
        logs[role] = (folder / f"log-{role}" / "output").read_bytes()
    return SimpleNamespace(
        statuses=statuses,
        receipt=receipt,
        passed={role: sender.told_in(bytes(tee.recorded)) for role, tee in site.tees.items()},
        logged={name: sender.told_in(log) for name, log in logs.items()},
        logs=logs,
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return chain(tmp_path_factory.mktemp("four"))


def test_the_collection_is_whole(seen):
    assert seen.statuses == [[413, 404], [413, 404]]
    assert seen.receipt.people == seen.receipt.used == seen.receipt.issued == PEOPLE
    assert not any(seen.receipt.rejected.values())


def test_what_passes_each_proxy_is_what_its_service_may_know(seen):
    """No invitation reaches a mixer, no nonce the inviter, and nothing of both the collector."""
    assert seen.passed == PASSES


def test_no_log_of_a_service_or_a_proxy_tells_anything(seen):
    assert all(log for name, log in seen.logs.items() if not name.startswith("proxy"))
    assert seen.logged == {name: set() for name in seen.logs}


def test_the_settings_that_proxies_come_with_are_found(tmp_path):
    """The wrong variant: addresses stand in the logs in front of the two that people send to."""

    def stock(text):
        text = text.replace("error_log /dev/null emerg;", "error_log FOLDER/error.log;")
        text = text.replace("access_log off;", "access_log FOLDER/access.log;")
        return text.replace('X-Forwarded-For ""', "X-Forwarded-For $remote_addr")

    found = chain(tmp_path / "stock", stock)
    people = {f"proxy of {role}" for role, kind in ROLES.items() if kind == "people"}
    assert {name for name, told in found.logged.items() if "address" in told} == people
    passed = {role for role, told in found.passed.items() if "address" in told}
    assert passed == {role for role, kind in ROLES.items() if kind == "people"}
