"""The memory of four real services after the end: processes of their own, people over HTTP.

The whole memory of each process, all files, and everything that was printed is searched for 8 bytes
of each thing; a false alarm has a probability below 1e-6. A process remembers what the protocol
shows its party until it stops, which shows that the search sees it, and nothing else: not what its
party should never see, and no key that was destroyed.
"""

import re
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from incrowd.collection import rehearsal
from incrowd.collection.parties import ALL_SENT, PARTIES
from incrowd.collection.protocol.sealed import X_WING, PrivateKey
from tests.collection.attacks.conftest import PEOPLE, PLAN, all_reports, marks, person, seen
from tests.oracles.mixing import content

SENDER, MARK = "127.77.77.77", "Mark-of-a-sender"
BLOCK = 1 << 20
WRITTEN = re.compile(r"^(\w+)-(\w+) rw.*\n(?:\w+: .*\n)*?Rss: +[1-9]", re.MULTILINE)
SEES = {
    "inviter": {"address", "code", "request"},
    "first-mixer": {"address", "nonce", "entry token", "envelope"},
    "second-mixer": {"envelope", "slot token", "report"},
    "collector": {"slot token", "report"},
}


def memory(process):
    """All bytes that a process may write, and has written."""
    regions, blocks = Path(f"/proc/{process.pid}/smaps").read_text(), []
    with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as file:
        for start, end in WRITTEN.findall(regions):
            at, end = int(start, 16), int(end, 16)
            file.seek(at)
            blocks += [file.read(min(BLOCK, end - each)) for each in range(at, end, BLOCK)]
    return b"".join(each for each in blocks if each != bytes(len(each)))


def key_pieces(content):
    """What would be recognized of a file with a key: its bytes, or the ends of lines of digits."""
    return [content] if len(content) == 32 else [line[-64:] for line in content.split()]


class Device:
    """Sends over HTTP, from an address of its own and with headers that would be remembered."""

    def __init__(self, bundle):
        self.bundle = bundle
        transport = httpx.HTTPTransport(local_address=SENDER)
        headers = {"User-Agent": MARK, "X-Forwarded-For": MARK}
        headers["Content-Type"] = "application/octet-stream"
        self.client = httpx.Client(transport=transport, headers=headers, timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def ask(self, request):
        address = self.bundle.inviter.address
        answer = self.client.post(f"{address}/tokens", content=request)
        assert answer.status_code == 200
        return answer.content

    def send(self, upload):
        content = upload.encoded(self.bundle)
        answer = self.client.post(f"{self.bundle.first.address}/upload", content=content)
        assert answer.status_code == 201


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_remembers_what_its_party_sees_and_nothing_else(tmp_path, capfd):
    with ExitStack() as running:
        doors = {name: running.enter_context(rehearsal._door()) for name in SEES}
        at = {name: rehearsal._address(door) for name, door in doors.items()}
        prepared = PARTIES[2].prepare(PLAN, tmp_path, at)
        bundle, codes = prepared.bundle, rehearsal._invited(prepared.inviting(), PEOPLE)
        keys = {path.parent.name: [] for path in prepared.secrets}
        for path in prepared.secrets:
            keys[path.parent.name] += key_pieces(path.read_bytes())
        second = PrivateKey(X_WING, (tmp_path / "second-mixer" / "private.key").read_bytes())
        processes = {
            name: running.enter_context(rehearsal._process(service, tmp_path / name, doors[name]))
            for name, service in PARTIES[2].services.items()
        }
        device = running.enter_context(Device(bundle))
        people = [
            person(*each, device.ask, bundle)
            for each in zip(codes, all_reports(PEOPLE), strict=True)
        ]
        for each in people:
            device.send(each.upload)
        (tmp_path / ALL_SENT).touch()
        opened = tmp_path / "collector" / "opened" / "release-0"
        rehearsal._wait_for(
            lambda: rehearsal._all_opened([opened]) and not rehearsal._left(prepared),
            [*processes.values()],
        )
        memories = {name: memory(process) for name, process in processes.items()}
    printed = "".join(capfd.readouterr()).encode()
    pieces = marks(people, bundle, second) | {"address": [SENDER.encode(), MARK.encode()]}
    pieces |= {"key": [piece for each in keys.values() for piece in each]}
    files = {name: seen(content(tmp_path / name), pieces) for name in SEES}
    assert files == {name: set() for name in SEES} and not seen(printed, pieces)
    assert {name: seen(each, pieces) for name, each in memories.items()} == SEES
    assert all(bundle.digest in each for each in memories.values())
