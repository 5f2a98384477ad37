"""Real services whose processes are killed (kill -9) at random moments, and their peers.

A parent that has loaded everything forks the processes, so that each starts in a fraction of a
second: they run the same command as any other.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from incrowd.collection.delivery import acknowledgment
from incrowd.collection.protocol.signed import Signed

OCTETS = {"Content-Type": "application/octet-stream"}
PATIENCE = 600.0  # of a busy machine; nothing waits for it unless it fails


@contextmanager
def forking():
    """What starts a command in a new process; returns its id."""
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.oracles.killing"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )

    def start(*words):
        parent.stdin.write(json.dumps(list(map(str, words))) + "\n")
        parent.stdin.flush()
        return int(parent.stdout.readline())

    with parent:
        yield start
        parent.stdin.close()


class Service:
    """A command that runs in a folder, on a port of its own, with a clock of its own."""

    def __init__(self, start, command, folder, port):
        self.begin, self.words = start, (command, "run", folder)
        self.address, self.output = f"http://127.0.0.1:{port}", folder.parent / "output"
        self.later = folder.parent / "later"
        pause = "" if command == "collector" else "pause = 0.05\n"
        workers = "workers = 1\n" if command in ("collector", "second-mixer") else ""
        (folder / f"{command}.toml").write_text(f"port = {port}\n{pause}{workers}")
        self.kills = 0

    def start(self):
        self.pid = self.begin(self.output, self.later, *self.words)

    def start_and_wait(self):
        """Until it listens, and note how long that takes on this machine."""
        begun = time.monotonic()
        self.start()
        self.until_answered("/health", b"", "GET")
        self.seconds = time.monotonic() - begun

    def kill(self):
        """Also if it ended by itself, because nothing was left to do."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, 9)
        while os.path.exists(f"/proc/{self.pid}"):
            time.sleep(0.01)

    def killed_often(self, kills, seed, before=lambda: True):
        """At random moments, from before it listens to as long after; half of them are later.

        before: what becomes true before it is later, however slow the machine is.
        """
        moments = random.Random(seed)
        for number in range(kills):
            if number == kills // 2:
                self.eventually(before)
                self.later.touch()
            time.sleep(moments.uniform(0, 2 * self.seconds))
            self.kill()
            self.kills += 1
            self.start()

    def eventually(self, what):
        """Whether something becomes true while the process lives."""
        end = time.monotonic() + PATIENCE
        while not what():
            assert time.monotonic() < end, self.output.read_text()
            time.sleep(0.05)

    def until_answered(self, path, data, method="POST"):
        """The final answer to some bytes, and whether an answer before it was lost."""
        end, lost = time.monotonic() + PATIENCE, False
        while time.monotonic() < end:
            try:
                answer = httpx.request(
                    method, self.address + path, content=data, headers=OCTETS, timeout=10
                )
                if answer.status_code < 500:
                    return answer, lost
            except httpx.HTTPError:
                lost = True
            time.sleep(0.02)
        raise AssertionError(f"no answer to {path}")


class Peer(ThreadingHTTPServer):
    """Takes statements of one kind; nobody hears its first answer."""

    def __init__(self, kind):
        super().__init__(("127.0.0.1", 0), _Taking)
        self.kind, self.heard = kind, []
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers["content-length"])
        data = self.rfile.read(length)
        if len(data) < length:  # whoever sent it was killed
            return
        _, end = Signed.parse(self.server.kind, data)
        self.server.heard.append(data)
        if len(self.server.heard) == 1:
            return
        self.send_response(200)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(acknowledgment(data[:end]).encode())

    def log_message(self, *_):
        pass


def at_once(work, many):
    """The results of some work, each in a thread; all are there when `joined` is called."""
    results = {}

    def one(each):
        results[each] = work(each)

    threads = [threading.Thread(target=one, args=(each,)) for each in many]
    for thread in threads:
        thread.start()

    def joined():
        for thread in threads:
            thread.join(PATIENCE)
        assert len(results) == len(threads), "somebody waits for ever"
        return results

    joined.results = results
    return joined


LATER = timedelta(days=2)


def pass_time(machine, file):
    """Let time pass once a file exists: both clocks show more, as one."""
    begin = machine.read_clocks

    def read_clocks():
        now = begin()
        passed = LATER if Path(file).exists() else timedelta(0)
        seconds = now.seconds + passed.total_seconds()
        return now._replace(time=now.time + passed, seconds=seconds)

    machine.read_clocks = read_clocks


def fork_for_ever():
    """Read commands; print the id of the process that runs each."""
    import signal

    from incrowd.cli.app import main
    from incrowd.collection import (
        machine,
        parties,  # noqa: F401
    )

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in sys.stdin:
        output, later, *words = json.loads(line)
        if child := os.fork():
            print(child, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with open(output, "ab") as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        os.close(0)
        pass_time(machine, later)
        sys.argv = ["incrowd", *words]
        try:
            main()
        finally:
            os._exit(1)


if __name__ == "__main__":
    fork_for_ever()
