"""The real process, killed (kill -9) at random moments: nothing lost, nothing twice."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from incrowd.collection.delivery import acknowledgment
from incrowd.collection.mixer import setup
from incrowd.collection.protocol.bundle import TIME
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.settings import ShufflerSettings
from tests.collection.mixer.conftest import OCTETS, upload
from tests.oracles import make_vectors
from tests.oracles.make_vectors import SHUFFLER
from tests.oracles.releases import parse_release

WANTED = 40
DEVICES = 6  # at once
PATIENCE = 600  # seconds, of a busy machine
COMMAND = "from incrowd.cli import main; main()"
# What it may log: steps of its work, and that the collector did not answer; nothing about people.
LOGGED = re.compile(
    r"INFO incrowd\.service: (closed|signed the release of|delivered) strata [01]"
    r"|INFO incrowd\.service: deleted strata [01], which were delivered"
    r"|INFO incrowd\.service: destroyed the store's key, and deleted what is unreadable without it"
    r"|WARNING incrowd\.service: delivering to http://127\.0\.0\.1:\d+/release failed: \w+"
)


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent, and says so; now and then the answer is lost."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Taking)
        self.heard = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"


class Taking(BaseHTTPRequestHandler):
    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        signed, _ = Signed.parse(Header, data)
        self.server.heard.append(data)
        if len(self.server.heard) == 1:  # nobody hears that it came
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(acknowledgment(signed.encoded).encode())

    def log_message(self, *_):
        pass


class Shuffler:
    """The process, and where it listens."""

    def __init__(self, folder, clock=None):
        self.folder, self.process, self.port, self.clock = folder, None, 0, clock

    def start(self):
        given = {"INCROWD_SHUFFLER_PORT": str(self.port), "INCROWD_SHUFFLER_PAUSE": "0.1"}
        given |= faked(self.clock) if self.clock else {}
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "shuffler", "run", str(self.folder)],
            env=os.environ | given,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stderr.readline()
        assert "listening" in line, line + self.process.stderr.read()
        self.port = int(re.search(r"port (\d+)", line)[1])

    def kill(self, how=signal.SIGKILL):
        """The exit code, and what it wrote since it listens."""
        self.process.send_signal(how)
        code = self.process.wait(PATIENCE)
        with self.process.stderr as lines:
            return code, lines.read()


def faked(clock):
    """What makes a process read its clock from a file: a number of days beside the right time."""
    program = shutil.which("faketime")
    libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not program or not libraries:
        pytest.skip("faketime is not installed")
    return {
        "LD_PRELOAD": str(libraries[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",  # else locks that wait for a time wait too long
    }


class Crowd:
    """Devices that send until they hear something; stratum 0 until it is released, then 1."""

    def __init__(self, bundle, shuffler):
        self.bundle, self.shuffler = bundle, shuffler
        self.known, self.sure, self.stop = {}, threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self.send, args=(n,)) for n in range(DEVICES)]

    def send(self, first):
        with httpx.Client(trust_env=False, verify=False) as client:
            self.send_all(client, first)

    def send_all(self, client, first):
        number = first
        while not self.stop.is_set():
            one = upload(self.bundle, number, number % 2)
            self.known[number] = (one, self.until_answered(client, one))
            number += DEVICES - DEVICES % 2 + 1  # both strata in turn; no two send the same
            time.sleep(0.005)

    def until_answered(self, client, one):
        """The status, and whether an answer before it was lost."""
        lost = False
        while not self.stop.is_set():
            try:
                address = f"http://127.0.0.1:{self.shuffler.port}/upload"
                answer = client.post(address, content=one.encoded(self.bundle), headers=OCTETS)
                if answer.status_code < 500:
                    return answer.status_code, lost
            except httpx.HTTPError:
                lost = True
                time.sleep(0.02)
        return None, lost


def run(folder, kills, seed, how=signal.SIGKILL, **more):
    """Kill it so many times while people send; everything that was heard and is left."""
    collector = Collector()
    shuffler = Shuffler(folder)
    bundle = make_vectors.bundle(
        opens="2020-01-01T00:00:00Z",
        closes="2100-01-01T00:00:00Z",
        disposes="2100-01-01T00:00:00Z",
        wanted=WANTED,
        strata=("north", "south"),
        codes=False,
        addresses={"shuffler": "http://localhost:1", "collector": collector.address},
    )
    settings = ShufflerSettings(folder=folder, **more)
    setup.install(settings, bundle, SHUFFLER)
    if settings.database:
        (folder / "shuffler.toml").write_text(f'database = "{settings.database}"\n')
    moments, crowd = random.Random(seed), Crowd(bundle, shuffler)
    shuffler.start()
    for thread in crowd.threads:
        thread.start()
    for _ in range(kills):
        time.sleep(moments.uniform(0, 0.4))
        code, lines = shuffler.kill(how)
        if how != signal.SIGKILL:
            assert code == 0, "it is told to stop, and stops"
            assert all(map(LOGGED.fullmatch, lines.splitlines())), lines
        shuffler.start()
    deadline = time.monotonic() + PATIENCE
    while len(collector.heard) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    crowd.stop.set()
    for thread in crowd.threads:
        thread.join()
    shuffler.kill()
    collector.shutdown()
    collector.server_close()
    return bundle, settings, collector.heard, crowd.known


def check(bundle, settings, heard, known):
    store = setup.open_store(settings)
    by_stratum = {}
    for data in heard:
        signed, reports = parse_release(data, bundle)
        assert by_stratum.setdefault(signed.header.strata[0], (data, reports))[0] == data
    came = [each for _, reports in by_stratum.values() for each in reports]
    kept = [s.number for s in store.strata() if s.number not in by_stratum]
    came += store.sealed(kept) if kept else []
    store.engine.dispose()
    assert len(came) == len(set(came)), "something is there twice"
    there = set(came)
    for one, (status, lost) in known.values():
        found = sum(each in there for each in one.sealed)
        assert found in (0, bundle.places), "a part of an upload"
        if status in (200, 201):
            assert found, "lost"
        elif status == 410 and not lost:
            assert not found
    accepted = sum(status in (200, 201) for _, (status, _) in known.values())
    assert accepted >= WANTED and by_stratum
    return accepted


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nobody(tmp_path):
    check(*run(tmp_path / "shuffler", kills=1, seed=1))


@pytest.mark.slow
def test_a_process_that_is_told_to_stop_under_load_loses_nobody(tmp_path):
    """SIGTERM while people send: exit code 0, and nothing is logged about anybody."""
    check(*run(tmp_path / "shuffler", kills=1, seed=2, how=signal.SIGTERM))


@pytest.mark.slow
def test_a_process_whose_clock_jumps_loses_nobody_and_destroys_nothing(tmp_path):
    """Past closing and disposal, while people send, and back, with a new process in between.

    Nothing closes until a person confirms that the clock is right. What is released then stays
    released, whatever the clock does.
    """
    clock, folder = tmp_path / "clock", tmp_path / "shuffler"
    clock.write_text("+0d\n")
    collector, shuffler = Collector(), Shuffler(folder, clock)
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(days=5)
    bundle = make_vectors.bundle(
        opens="2020-01-01T00:00:00Z",
        closes=f"{soon:{TIME}}",
        disposes=f"{soon + timedelta(days=100):{TIME}}",
        codes=False,
        strata=("north", "south"),
        addresses={"shuffler": "http://localhost:1", "collector": collector.address},
    )
    settings = ShufflerSettings(folder=folder)
    setup.install(settings, bundle, SHUFFLER)
    shuffler.start()

    def send(number, stratum=0, method="POST"):
        content = upload(bundle, number, stratum).encoded(bundle)
        url = f"http://127.0.0.1:{shuffler.port}/upload"
        return httpx.request(method, url, content=content, headers=OCTETS).status_code

    def states():
        store = setup.open_store(settings)
        try:
            return [(stratum.state, stratum.people) for stratum in store.strata()]
        finally:
            store.engine.dispose()

    try:
        assert [send(number) for number in range(WANTED)] == [201] * WANTED
        assert (
            send(WANTED, 1) == 201
        )  # alone: its stratum is deleted when everything is disposed of
        clock.write_text("-4000d\n")  # before it opens
        assert (send(1), send(WANTED + 1)) == (403, 403)
        before = [("open", WANTED), ("open", 1)]
        for wrong in ("+10d\n", "+200d\n"):
            clock.write_text(wrong)
            time.sleep(2.5)  # it looks every 0.1 s
            assert (send(1), send(1, method="DELETE")) == (503, 503)
            assert shuffler.kill()[0] == -signal.SIGKILL
            shuffler.start()
            time.sleep(0.5)
            assert (send(1), send(1, method="DELETE")) == (503, 503)
            assert states() == before and settings.secret_file.exists() and not collector.heard
        clock.write_text("+0d\n")
        assert (send(1), send(WANTED + 1)) == (200, 201)
        clock.write_text("+10d\n")  # after closing
        now = f"{datetime.now(UTC) + timedelta(days=10):{TIME}}"
        words = [sys.executable, "-c", COMMAND, "confirm-clock", now, str(folder)]
        subprocess.run(words, env=os.environ | faked(clock), check=True)
        deadline = time.monotonic() + PATIENCE
        while len(collector.heard) < 2 and time.monotonic() < deadline:  # the first answer is lost
            clock.write_text("+11d\n" if collector.heard else "+10d\n")
            time.sleep(0.1)
        clock.write_text("+0d\n")
        answers = send(1), send(WANTED + 2), send(1, method="DELETE")
        assert answers == (410, 410, 410) and states()[1] == ("open", 1)
    finally:
        _, lines = shuffler.kill()
        collector.shutdown()
        collector.server_close()
    assert "WARNING incrowd.clock: the clock jumped by +86" in lines
    assert len(set(collector.heard)) == 1, "a release is repeated with other bytes"
    signed, reports = parse_release(collector.heard[0], bundle)
    numbers = [*range(WANTED), WANTED + 1]
    sent = {each for n in numbers for each in upload(bundle, n).sealed}
    assert signed.header.people == WANTED + 1 and set(reports) == sent


@pytest.mark.slow
def test_a_process_that_is_told_to_stop_often_loses_nobody(tmp_path):
    for seed in range(5):
        check(*run(tmp_path / str(seed), kills=10, seed=seed, how=signal.SIGTERM))


@pytest.mark.slow
def test_a_process_that_is_killed_a_hundred_times_loses_nobody(tmp_path):
    accepted = 0
    for seed in range(10):
        accepted += check(*run(tmp_path / str(seed), kills=10, seed=seed))
    print(f"{accepted:,} uploads were acknowledged")


@pytest.mark.slow
def test_on_postgresql_as_well(tmp_path, postgres):
    for seed in range(10):
        check(*run(tmp_path / str(seed), kills=10, seed=seed, database=postgres.database()))
