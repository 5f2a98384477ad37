"""The memory of four real services after the end: processes of their own, people over HTTP.

A process keeps much of what it saw until it stops, and this test does not say otherwise. It says
that no process ever had what its party should never see, beyond what the protocol shows it: the
whole memory, all files, and everything that was printed is searched for 8 bytes of each thing. A
false alarm has a probability below 1e-6. What a process does keep shows that the search sees it.
"""

import re
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
NEVER = {
    "inviter": {"nonce", "entry token", "envelope", "slot token", "report"},
    "first-mixer": {"code", "request", "slot token", "report"},
    "second-mixer": {"code", "request", "nonce", "entry token", "address"},
    "collector": {"code", "request", "nonce", "entry token", "envelope", "address"},
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
def test_no_process_ever_had_what_its_party_never_sees(tmp_path, capfd):
    with ExitStack() as running:
        doors = {name: running.enter_context(rehearsal._door()) for name in NEVER}
        at = {name: rehearsal._address(door) for name, door in doors.items()}
        prepared = PARTIES[2].prepare(PLAN, tmp_path, at)
        bundle, codes = prepared.bundle, rehearsal._invited(prepared.inviting(), PEOPLE)
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
    files = {name: seen(content(tmp_path / name), pieces) for name in NEVER}
    assert files == {name: set() for name in NEVER} and not seen(printed, pieces)
    remembered = {name: seen(each, pieces) for name, each in memories.items()}
    print(remembered)
    assert {name: kinds & NEVER[name] for name, kinds in remembered.items()} == files
    assert remembered["first-mixer"] and remembered["second-mixer"], "the search sees something"
    assert all(bundle.digest in each for each in memories.values())
