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
from incrowd.collection.collector.places import Places
from incrowd.collection.collector.receipt import receipts_of
from incrowd.collection.wire.release import Signed
from tests.collection.collector.conftest import PLAN, RECEIVER, SHUFFLER, plaintexts, release
from tests.oracles import make_vectors

COMMAND = [sys.executable, "-c", "from incrowd.cli import main; main()", "collector", "run"]
STRATA = 6
BUNDLE = make_vectors.bundle(
    strata=tuple("abcdef"), closes="2100-01-01T00:00:00Z", disposes="2100-01-02T00:00:00Z"
)
OCTETS = {"Content-Type": "application/octet-stream"}
PATIENCE = 120


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
        signed, _ = Signed.parse(data)
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
    places, moments = Places(folder / "collector"), random.Random(seed)
    places.root.mkdir(parents=True)
    places.private.write_bytes(RECEIVER.private_bytes_raw())
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


@pytest.mark.slow
def test_a_collector_that_is_killed_a_hundred_times_opens_everything_once(tmp_path, free):
    for seed in range(10):
        check(*run(tmp_path / str(seed), kills=10, seed=seed, port=free()))
