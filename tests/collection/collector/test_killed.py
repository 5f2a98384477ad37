"""The real collector, killed (kill -9) at random moments: every release is opened once, whole."""

import random
import re
import subprocess
import sys
import threading
import time

import httpx
import pytest

import incrowd
from incrowd.collection.collector.keeper import forget, open_waiting
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.receipt import receipts_of
from incrowd.collection.folders import exclusive, unfinished
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from tests.collection.collector.conftest import PLAN, RECEIVER, SHUFFLER, plaintexts, release
from tests.oracles import make_vectors
from tests.oracles.dying import in_child, lives_for
from tests.oracles.releases import arrived

COMMAND = [sys.executable, "-c", "from incrowd.cli import main; main()", "collector", "run"]
STRATA = 6
BUNDLE = make_vectors.bundle(
    strata=tuple("abcdef"), closes="2100-01-01T00:00:00Z", disposes="2100-01-02T00:00:00Z"
)
ONE = make_vectors.INVITED
OCTETS = {"Content-Type": "application/octet-stream"}
PATIENCE = 600  # seconds, of a busy machine


class Collector:
    """The process, and where it listens."""

    def __init__(self, places, port):
        self.places, self.address = places, f"http://127.0.0.1:{port}"
        (places.root / "collector.toml").write_text(f"port = {port}\nworkers = 1\n")

    def start(self):
        with open(self.places.root.parent / "output", "ab") as output:
            self.process = subprocess.Popen(
                [*COMMAND, self.places.root], stdout=output, stderr=output
            )

    def kill(self):
        self.process.kill()
        self.process.wait()


def send(collector, releases, acknowledged):
    """A shuffler's patience: each release until it is acknowledged, the same bytes."""
    for data in releases:
        signed, _ = Signed.parse(Header, data)
        deadline = time.monotonic() + PATIENCE
        while signed.header.strata not in acknowledged and time.monotonic() < deadline:
            try:
                answer = httpx.post(f"{collector.address}/release", content=data, headers=OCTETS)
                if answer.status_code == 200:
                    acknowledged[signed.header.strata] = answer.text
            except httpx.HTTPError:
                time.sleep(0.02)


def run(folder, kills, seed, port):
    """Kill it so many times while releases come; everything has to be open in the end."""
    places, moments = CollectorPlaces(folder / "collector"), random.Random(seed)
    places.root.mkdir(parents=True)
    places.private.write_bytes(RECEIVER.secret)
    places.bundle.write_bytes(BUNDLE.encoded)
    plain = plaintexts(bundle=BUNDLE)
    sealed = [make_vectors.seal(each, f"{n}", BUNDLE) for n, each in enumerate(plain)]
    releases = [release(sealed, BUNDLE, SHUFFLER, strata=(n,)) for n in range(STRATA)]
    collector, acknowledged = Collector(places, port), {}
    collector.start()
    sending = threading.Thread(target=send, args=(collector, releases, acknowledged))
    sending.start()
    for _ in range(kills):
        time.sleep(moments.uniform(0, 3.0))  # it starts within one second, or two
        collector.kill()
        collector.start()
    sending.join()
    deadline = time.monotonic() + PATIENCE
    while places.private.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    collector.kill()
    return places, acknowledged, (folder / "output").read_text()


def check(places, acknowledged, output):
    assert len(acknowledged) == STRATA
    assert not places.private.exists(), output
    folders = sorted(places.opened_ones.iterdir())
    assert len(folders) == STRATA
    found = receipts_of(PLAN, folders)
    assert [receipt.opened_people for receipt in found] == [found[0].people] * STRATA
    counted = {
        tuple(len(collection) for collection in incrowd.load_reports(each)) for each in folders
    }
    assert len(counted) == 1, "a release is open in part, or twice"
    left = [path for path in (places.root / "waiting").iterdir() if path.suffix == ".body"]
    assert left == []
    assert not re.search("Traceback", output)


# --- at every step of opening --------------------------------------------------------------------


def opening(places, after=None):
    """All that a collector does with what it has taken, in a process; whether it came to its end.

    after: how many steps it lives for.
    """

    def work():
        if after is not None:
            lives_for(after)
        with exclusive(places.root, "collector"):
            open_waiting(places, ONE, RECEIVER, workers=1)
            forget(places, ONE, as_time(ONE.closes))

    return in_child(work)


def whole(places, right):
    """Whether the release is open, once, with all that belongs to it and nothing else.

    right: the sorted reports of each message; each opening draws their order anew.
    """
    [folder] = places.opened_ones.iterdir()
    receipts_of(PLAN, [folder], files=True)
    assert [sorted(map(bytes, each.packed)) for each in incrowd.load_reports(folder)] == right
    assert not unfinished(places.root) and not list(places.releases(ONE).waiting.iterdir())
    return not places.private.exists()


def opened_after_kills(folder, every):
    """It is killed at each step in turn, or some of them; how many steps there are."""
    plain = plaintexts(bundle=ONE)
    sealed = [make_vectors.seal(each, f"{n}", ONE) for n, each in enumerate(plain)]
    right = [
        sorted(each[3 : 3 + ONE.shape.width(n)] for each in plain if each[1:3] == n.to_bytes(2))
        for n in range(len(PLAN.messages))
    ]
    data, after = release(sealed, ONE, SHUFFLER), 0
    while True:
        places = arrived(folder / str(after), ONE, data)
        ended = opening(places, after)
        if not ended:
            gone = not places.private.exists()
            there = places.opened_ones.exists() and any(
                each.name.startswith("release") for each in places.opened_ones.iterdir()
            )
            assert there or not gone, "the key is gone before the release is open"
            assert opening(places)
        assert whole(places, right), after
        if ended:
            return after
        after += every


@pytest.mark.slow
def test_a_collector_that_is_killed_while_it_opens_opens_everything_once(tmp_path):
    assert opened_after_kills(tmp_path, every=3) > 10


@pytest.mark.slow
def test_a_collector_that_is_killed_at_each_step_opens_everything_once(tmp_path):
    assert opened_after_kills(tmp_path, every=1) > 10


@pytest.mark.slow
def test_a_collector_that_is_killed_a_hundred_times_opens_everything_once(tmp_path, free):
    for seed in range(10):
        check(*run(tmp_path / str(seed), kills=10, seed=seed, port=free()))
