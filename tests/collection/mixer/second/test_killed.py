"""A second mixer that is killed anywhere: nothing has left it, or the same bytes go out again."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from incrowd.collection.delivery import acknowledgment
from incrowd.collection.folders import exclusive
from incrowd.collection.mixer.second.keeper import SERVICE
from incrowd.collection.protocol.mixing import MixedRelease
from incrowd.collection.protocol.signed import Signed
from incrowd.errors import ProtocolError
from incrowd.files import write_private
from tests.collection.mixer.second.conftest import (
    BUNDLE,
    PEOPLE,
    Mixer,
    files,
    in_order,
    opened,
    releases,
    settings_in,
)
from tests.conftest import slowly
from tests.oracles import mixers

STEPS = ("fsync", "rename", "replace", "unlink")
KILLED = 77
PATIENCE = 600  # seconds, of a busy machine


def dying(after):
    """Files reach the disk, or leave it, in steps; the process ends before the one so numbered."""
    left = [after]

    def around(right):
        def step(*args, **named):
            left[0] -= 1
            if left[0] < 0:
                os._exit(KILLED)
            return right(*args, **named)

        return step

    for name in STEPS:
        setattr(os, name, around(getattr(os, name)))


class Life:
    """A folder, and what processes in it did before they ended."""

    def __init__(self, folder):
        folder.mkdir(parents=True)
        self.settings, self.log = settings_in(folder / "second"), folder / "log"
        self.log.touch()

    def note(self, **facts):
        with self.log.open("a") as log:
            log.write(json.dumps(facts) + "\n")

    def said(self, key):
        facts = map(json.loads, self.log.read_text().splitlines())
        return [each[key] for each in facts if key in each]

    def live(self, batch, after=None):
        """Take the batch and do all that is due, in a process; whether it came to its end."""
        if child := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        try:
            if after is not None:
                dying(after)
            mixer = Mixer(self.settings)
            mixer.keeper.courier = self.deliver
            with exclusive(self.settings.folder, SERVICE):
                mixer.take(batch)
                self.note(acknowledged=True)
                mixer.keeper.look()
            os._exit(0)
        finally:
            os._exit(1)

    def deliver(self, start, body):
        keys = [path.name for path in self.settings.private_files if path.exists()]
        waiting = [path.name for path in (self.settings.folder / "waiting").iterdir()]
        self.note(sent=[start.hex(), body.read_bytes().hex()], left=keys + waiting)
        return True


def killed_at(folder, batch, other, order, every):
    """It is killed at each step in turn, or some of them; how many steps there are."""
    after = 0
    while True:
        life = Life(folder / str(after))
        ended = life.live(batch, after)
        for path in life.settings.folder.rglob("*"):
            assert not path.is_file() or path.read_bytes() not in order, "the order of the batch"
        if life.said("acknowledged"):
            with pytest.raises(ProtocolError, match="contradiction"):
                Mixer(life.settings).take(other)
        if not life.settings.releases.exists():
            assert not life.said("sent"), "sent before everything is on disk"
        assert life.live(batch)
        assert not any(life.said("left")), "a key, or the batch, outlives the first byte"
        sent = [(bytes.fromhex(start), bytes.fromhex(body)) for start, body in life.said("sent")]
        found = releases(sent)
        assert {n: len(rows) // BUNDLE.places for n, (_, rows) in found.items()} == PEOPLE
        present = files(life.settings)
        left = {n for n in present if "contradictions" not in n and not n.endswith(".lock")}
        public = {"bundle.json", "starts/0.start"}
        assert left == public | {f"releases/{n}.start" for n in PEOPLE}, after
        if ended:
            return after
        after += every


@pytest.fixture(scope="module")
def orders(batch):
    """The opened reports of each stratum, and of all, in the order of the batch."""
    rows = {n: [each.encoded for each in opened(in_order(batch[1], n), n)] for n in PEOPLE}
    each = [b"".join(rows[n]) for n in PEOPLE]
    return [*each, b"".join(each)]


@pytest.fixture(scope="module")
def other(uploads):
    return mixers.batch(BUNDLE, uploads)


@pytest.mark.slow
def test_one_that_is_killed_at_some_steps(tmp_path, batch, other, orders):
    assert killed_at(tmp_path, batch, other, orders, every=9) > 20


@pytest.mark.slow
def test_one_that_is_killed_at_each_step(tmp_path, batch, other, orders):
    assert killed_at(tmp_path, batch, other, orders, every=1) > 20


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["keys later", *slowly("not together")])
def test_wrong_orders_of_the_steps_are_seen(tmp_path, batch, other, orders, monkeypatch, wrong):
    """The keys are destroyed after everything is delivered; releases appear one by one."""
    if wrong == "keys later":
        monkeypatch.setattr("incrowd.collection.mixer.second.keeper.SecondKeeper._settle", id)
    else:

        @contextmanager
        def at_once(path):
            path.mkdir(exist_ok=True)
            yield path

        monkeypatch.setattr("incrowd.collection.mixer.second.releasing.new_folder", at_once)
    with pytest.raises(AssertionError):
        killed_at(tmp_path, batch, other, orders, every=9)


# --- the real process ----------------------------------------------------------------------------


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent; now and then the answer is lost."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Taking)
        self.heard = []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Taking(BaseHTTPRequestHandler):
    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        _, end = Signed.parse(MixedRelease, data)
        self.server.heard.append((data[:end], data[end:]))
        if len(self.server.heard) == 1:  # nobody hears that it came
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(acknowledgment(data[:end]).encode())

    def log_message(self, *_):
        pass


def started(folder):
    """The process, and its address."""
    given = {"INCROWD_SECOND_MIXER_PORT": "0", "INCROWD_SECOND_MIXER_PAUSE": "0.1"}
    command = "from incrowd.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "second-mixer", "run", str(folder)],
        env=os.environ | given,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = process.stderr.readline()
    assert "listening" in line, line + process.stderr.read()
    port = re.search(r"port (\d+)", line)[1]
    return process, f"http://127.0.0.1:{port}/batch"


@pytest.mark.slow
def test_the_real_process_killed_at_random_moments(tmp_path):
    collector, moments = Collector(), random.Random(5)
    bundle = mixers.bundle(
        second=mixers.SECOND_CLASSICAL,
        disposes="2100-01-01T00:00:00Z",
        collector={
            "address": f"http://127.0.0.1:{collector.server_port}",
            "key_configuration": BUNDLE.collector.key_configuration,
        },
    )
    settings = settings_in(tmp_path / "second")
    write_private(settings.bundle_file, bundle.encoded, overwrite=True)
    signed, body = mixers.batch(bundle, [mixers.upload(bundle) for _ in range(23)])
    for number in range(6):
        process, address = started(settings.folder)
        headers = {"Content-Type": "application/octet-stream"}
        with suppress(httpx.HTTPError):
            httpx.post(address, content=signed.encoded + body, headers=headers, timeout=0.5)
        time.sleep(moments.uniform(0, 0.6))
        process.send_signal(signal.SIGTERM if number % 3 == 2 else signal.SIGKILL)
        process.wait(PATIENCE)
        process.stderr.close()
    process, _ = started(settings.folder)
    deadline = time.monotonic() + PATIENCE
    while (settings.releases / "0.body").exists() or not settings.releases.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.kill()
    process.wait()
    process.stderr.close()
    collector.shutdown()
    collector.server_close()
    assert len(set(collector.heard)) == 1 and len(collector.heard) >= 2
    assert not any(path.exists() for path in settings.private_files)
