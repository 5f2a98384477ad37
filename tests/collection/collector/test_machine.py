"""What a collector tells of itself: metrics, findings, and how it stops."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from incrowd.collection.collector import app, collections, keeper
from incrowd.collection.collector.app import application
from incrowd.collection.collector.keeper import GRACE, open_waiting
from incrowd.collection.folders import exclusive, unfinished
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.settings import CollectorSettings
from incrowd.collection.steady import CertainClock
from incrowd.collection.taking import Taking
from incrowd.errors import UsageError
from tests.collection.collector.conftest import INVITED, PEOPLE, RECEIVER, release
from tests.oracles.serving import running

OPENS = as_time(INVITED.opens)
OCTETS = {"Content-Type": "application/octet-stream"}
START = "from incrowd.cli import main; main()"
GARBAGE = 2


def taken(keyed, data):
    with Taking(INVITED, keyed.releases(INVITED)) as taking:
        taking.add(data)
        taking.done()


def damaged(sealed):
    """The last bytes of some are flipped: they do not open."""
    broken = [each[:-1] + bytes([each[-1] ^ 1]) for each in sealed[:GARBAGE]]
    return [*broken, *sealed[GARBAGE:]]


def read(text):
    """Of each metric the values, by its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_are_the_numbers_of_the_receipts_and_of_what_was_refused(keyed, sealed):
    data = release(damaged(sealed))

    async def conversation():
        settings = CollectorSettings(workers=1)
        service = application(keyed.root, INVITED, RECEIVER, settings, CertainClock(lambda: OPENS))
        async with running(service) as client:
            before = await client.get("/metrics")
            await client.post("/release", content=bytes(64) + data[64:], headers=OCTETS)
            await client.post("/release", content=data, headers=OCTETS)
            while keyed.private.exists():
                await asyncio.sleep(0.01)
            return before, await client.get("/metrics")

    before, after = asyncio.run(conversation())
    assert after.headers["content-type"].startswith("text/plain; version=0.0.4")
    first, found = read(before.text), read(after.text)
    assert first["incrowd_releases_taken",] == 0 and first["incrowd_private_key",] == 1
    assert found["incrowd_releases_taken",] == found["incrowd_releases_opened",] == 1
    assert found["incrowd_releases_refused_total", "signature"] == 1
    assert found["incrowd_reports_accepted",] == PEOPLE * INVITED.places - GARBAGE
    assert found["incrowd_reports_rejected", "unopened"] == GARBAGE
    assert found["incrowd_reports_rejected", "repeated"] == 0
    assert 0 < found["incrowd_opening_seconds_total",] < 60
    assert found["incrowd_disk_free_bytes",] > 0 and found["incrowd_private_key",] == 0
    ours = {name for name, *_ in found}
    assert all(name.startswith("incrowd_") for name in ours), "the library counts processor time"


def findings(keyed, now=OPENS):
    return {each.subject: each for each in keeper.check_machine(keyed, INVITED, now)}


def test_check_finds_who_can_read_the_key_what_waits_and_what_was_changed(keyed, sealed):
    keyed.root.chmod(0o700)
    keyed.private.chmod(0o640)
    taken(keyed, release(sealed))
    found = findings(keyed)
    assert not found["permissions of private.key"].good
    assert not found["release 0"].good and "waiting" in found["release 0"].text
    assert found["leftover files"].good and found["disk"].good
    keyed.private.chmod(0o600)
    (opened,) = open_waiting(keyed, INVITED, RECEIVER, 1)
    found = findings(keyed)
    assert found["permissions of private.key"].good
    assert f"{PEOPLE * INVITED.places} reports accepted" in found["release 0"].text
    assert not found["leftover files"].good and "private.key" in found["leftover files"].text
    keyed.private.unlink()
    assert findings(keyed, as_time(INVITED.disposes) + GRACE)["leftover files"].good
    with (opened / "message-1.parquet").open("ab") as file:
        file.write(b"x")
    assert "the file was changed after" in findings(keyed)["release 0"].text


def test_what_a_killed_process_left_is_found_and_removed_by_the_next(keyed):
    waiting = keyed.releases(INVITED).waiting
    waiting.mkdir()
    (waiting / ".incrowd-y").write_bytes(b"sealed")
    (keyed.opened_ones / ".incrowd-x").mkdir(parents=True)
    (keyed.opened_ones / ".incrowd-x" / "bucket").write_bytes(b"opened")
    assert len(unfinished(keyed.root)) == 2
    assert not findings(keyed)["leftover files"].good
    with exclusive(keyed.root, "collector"):
        assert unfinished(keyed.root) == []
        with (
            pytest.raises(UsageError, match="another collector is running"),
            exclusive(keyed.root, "collector"),
        ):
            pass


def test_opening_stops_between_two_pieces_and_leaves_nothing(keyed, sealed, monkeypatch):
    """The release is there for the next start; no folder is, and the application ends at once."""
    monkeypatch.setattr(collections, "PIECE_REPORTS", 1)
    seen = []

    def slowly(self, number):
        seen.append(number)
        time.sleep(0.02)
        right(self, number)

    right = app.ReleaseDesk.go_on
    monkeypatch.setattr(app.ReleaseDesk, "go_on", slowly)
    taken(keyed, release(sealed))

    async def conversation():
        service = application(
            keyed.root, INVITED, RECEIVER, CollectorSettings(workers=1), CertainClock(lambda: OPENS)
        )
        async with service.router.lifespan_context(service):
            while not seen:
                await asyncio.sleep(0.005)

    asyncio.run(conversation())
    assert len(seen) < len(sealed)
    assert not list(keyed.opened_ones.glob("*")) and unfinished(keyed.root) == []
    assert open_waiting(keyed, INVITED, RECEIVER, 1)


def process(keyed):
    environment = os.environ | {"INCROWD_COLLECTOR_PORT": "0"}
    return subprocess.Popen(
        [sys.executable, "-c", START, "collector", "run", keyed.root],
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )


def limits(number):
    """Of core dumps, and whether another process of the same user may look into it."""
    with open(f"/proc/{number}/limits") as file:
        line = next(line for line in file if line.startswith("Max core file size"))
    return line.split()[4:6]


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_collector_takes_what_is_on_its_way_and_stops_without_an_error(keyed, sealed, sign):
    """Half a release is there when it is told to stop; the other half still comes."""
    data = release(sealed)
    with process(keyed) as running:
        said = running.stderr.readline()
        port = int(said.rsplit(" ", 1)[1])
        assert limits(running.pid) == ["0", "0"]

        def halves():
            yield data[:700]
            running.send_signal(sign)
            time.sleep(0.5)
            yield data[700:]

        answer = httpx.post(f"http://127.0.0.1:{port}/release", content=halves(), headers=OCTETS)
        assert answer.status_code == 200 and "server" not in answer.headers
        assert running.wait(30) == 0
        assert "Traceback" not in running.stderr.read()
    assert list(keyed.releases(INVITED).starts.iterdir())


@pytest.mark.slow
def test_two_collectors_on_one_folder_are_one_too_many(keyed):
    with process(keyed) as first:
        first.stderr.readline()
        with process(keyed) as second:
            assert second.wait(30) == 2
            assert "another collector is running" in second.stderr.read()
        first.terminate()
        assert first.wait(30) == 0
