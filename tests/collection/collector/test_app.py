"""The collector as a service: what it answers, what it keeps, when the key goes."""

import asyncio
import gc
import json
import shutil
import warnings
import weakref
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.collector import keeper
from incrowd.collection.collector.app import application
from incrowd.collection.collector.places import load_private, new_key
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.settings import CollectorSettings, load_settings
from incrowd.collection.steady import CertainClock
from incrowd.errors import IncrowdError, UsageError
from incrowd.files import destroy
from tests.collection.collector.conftest import INVITED, PEOPLE, RECEIVER, release
from tests.conftest import slowly
from tests.oracles import make_vectors
from tests.oracles.serving import running

BEFORE = as_time(INVITED.opens)
OCTETS = {"Content-Type": "application/octet-stream"}


def served(places, talk, bundle=INVITED, now=BEFORE, **settings):
    """Runs a conversation with the application, from its start to its stop."""

    async def conversation():
        made = CollectorSettings(**{"workers": 1} | settings)
        service = application(places.root, bundle, RECEIVER, made, CertainClock(lambda: now))
        async with running(service) as client:
            return await talk(client)

    return asyncio.run(conversation())


def post(data, headers=OCTETS):
    async def talk(client):
        return await client.post("/release", content=data, headers=headers)

    return talk


async def until(holds):
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def test_a_release_is_acknowledged_opened_and_the_key_is_gone(keyed, sealed):
    data = release(sealed)
    signed, _ = Signed.parse(Header, data)
    folder = keyed.opened(signed)

    async def talk(client):
        first = await client.post("/release", content=data, headers=OCTETS)
        await until(lambda: not keyed.private.exists())
        again = await client.post("/release", content=data, headers=OCTETS)
        return first, again

    for answer in served(keyed, talk):
        assert (answer.status_code, answer.text) == (200, signed.acknowledgment)
    receipt, bundle = load_receipt(folder, INVITED.plan)
    assert (receipt.opened_people, bundle.digest) == (PEOPLE, INVITED.digest)
    assert not keyed.releases(INVITED).body(signed).exists()


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, *slowly(True)])
def test_the_process_forgets_the_key_as_well(keyed, sealed, kept):
    """The incorrect variant refers to it elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # what earlier tests left, so that it is not taken for a leak of this one
    private = PrivateKey(RECEIVER.kem, RECEIVER.secret)
    forgotten = weakref.ref(private)
    settings = CollectorSettings(workers=1)
    service = application(keyed.root, INVITED, private, settings, CertainClock(lambda: BEFORE))
    if kept:
        service.state.private = private
    del private

    async def conversation():
        async with running(service) as client:
            assert forgotten()
            await post(release(sealed))(client)
            await until(lambda: not keyed.private.exists())
            await asyncio.sleep(0.1)
            gc.collect()
            assert bool(forgotten()) == kept
            answer = await post(release(sealed))(client)
            assert answer.status_code == 200, "a repetition is acknowledged without it"

    asyncio.run(conversation())


@pytest.mark.parametrize(
    ("change", "status", "name"),
    [
        (lambda data: bytes(64) + data[64:], 403, "signature"),
        (lambda data: data[:-1], 422, "release"),
        (lambda data: b"", 422, "release"),
        (lambda data: data + b"x", 422, "release"),
    ],
)
def test_a_wrong_release_is_answered_by_its_kind(keyed, sealed, change, status, name):
    answer = served(keyed, post(change(release(sealed))))
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == f"urn:incrowd:problem:{name}"
    assert keyed.private.exists() and not keyed.opened_ones.exists()


def test_a_contradiction_stands_in_the_receipt_of_what_was_opened(keyed, sealed):
    data, other = release(sealed), release(sealed[::-1])

    async def talk(client):
        await client.post("/release", content=data, headers=OCTETS)
        await until(lambda: not keyed.private.exists())
        return await client.post("/release", content=other, headers=OCTETS)

    answer = served(keyed, talk)
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:incrowd:problem:contradiction"
    receipt, _ = load_receipt(keyed.opened(Signed.parse(Header, data)[0]))
    assert receipt.contradictions == [Signed.parse(Header, other)[0].encoded.hex()]


def test_other_addresses_methods_and_media_types(keyed):
    async def talk(client):
        return [
            await client.get("/"),
            await client.get("/release"),
            await client.post("/release", content=b"x", headers={"Content-Type": "text/plain"}),
            await client.get("/health"),
            await client.get("/ready"),
            await client.get("/metrics"),
        ]

    statuses = [answer.status_code for answer in served(keyed, talk)]
    assert statuses == [404, 405, 415, 200, 200, 200]


def test_a_slow_sender_is_cut_off(keyed, sealed):
    async def slowly():
        yield release(sealed)[:500]
        await asyncio.sleep(5)

    answer = served(keyed, post(slowly()), piece_seconds=0.05)
    assert answer.status_code == 408 and answer.json()["type"].endswith("slow")
    assert list(keyed.root.rglob(".incrowd-*")) == []


def test_a_full_disk_is_said_and_the_same_bytes_are_taken_later(keyed, sealed, monkeypatch):
    data = release(sealed)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        answer = served(keyed, post(data))
    assert (answer.status_code, answer.headers["retry-after"]) == (507, "60")
    assert served(keyed, post(data)).status_code == 200


def test_what_was_taken_before_a_stop_is_opened_after_it(keyed, sealed, monkeypatch):
    """The process ends when it has taken a release and not opened it."""
    with monkeypatch.context() as patch:
        patch.setattr(keeper, "open_release", lambda *_, **__: (_ for _ in ()).throw(OSError(5)))
        assert served(keyed, post(release(sealed))).status_code == 200
    assert not keyed.opened_ones.exists() and keyed.private.exists()

    async def wait(_):
        await until(lambda: not keyed.private.exists())

    served(keyed, wait)
    assert keyed.opened(Signed.parse(Header, release(sealed))[0]).exists()


def test_what_cannot_be_opened_is_not_ready(keyed, sealed, monkeypatch):
    def broken(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("incrowd.collection.collector.app.open_waiting", broken)

    async def talk(client):
        await asyncio.sleep(0.1)
        return await client.get("/ready")

    assert served(keyed, talk).status_code == 503


def test_the_key_stays_while_strata_may_come(keyed, sealed):
    two = make_vectors.bundle(strata=("a", "b"))
    data = release(sealed, two)
    signed, _ = Signed.parse(Header, data)

    async def talk(client):
        await client.post("/release", content=data, headers=OCTETS)
        await until(keyed.opened(signed).exists)

    served(keyed, talk, two)
    assert keyed.private.exists()
    late = as_time(two.disposes) + keeper.GRACE
    assert not keeper.is_complete(keyed, two, late - timedelta(seconds=1))
    assert keeper.forget(keyed, two, late) and not keyed.private.exists()


def test_a_key_is_overwritten_before_it_goes(keyed, tmp_path):
    """A second name of the same file tells what is left of it."""
    other = tmp_path / "other"
    other.hardlink_to(keyed.private)
    destroy(keyed.private)
    assert len(other.read_bytes()) == 32
    assert other.read_bytes() != RECEIVER.secret


def test_keys_are_made_once_and_are_for_nobody_else(places):
    made = new_key(places, 7)
    assert places.private.stat().st_mode & 0o777 == 0o600
    assert bytes.fromhex(places.public.read_text()) == made.encoded
    with pytest.raises(UsageError, match="each bundle needs its own key"):
        new_key(places, 7)
    bundle = make_vectors.bundle(key_configuration=made.encoded.hex())
    assert load_private(places.private, bundle).configuration(7) == made
    with pytest.raises(UsageError, match="does not match the public key"):
        load_private(places.private, INVITED)


def test_a_folder_is_for_one_bundle(keyed, tmp_path):
    assert keeper.keep_bundle(keyed, None).digest == INVITED.digest
    other = tmp_path / "b.json"
    other.write_bytes(make_vectors.OPEN.encoded)
    with pytest.raises(UsageError, match="another bundle"):
        keeper.keep_bundle(keyed, other)


def test_settings_come_from_the_file_then_the_environment(tmp_path, monkeypatch):
    (tmp_path / "collector.toml").write_text('port = 9000\nhost = "::1"\n')
    monkeypatch.setenv("INCROWD_COLLECTOR_PORT", "9001")
    settings = load_settings(CollectorSettings, tmp_path)
    assert (settings.host, settings.port) == ("::1", 9001)
    for name, value in (("INCROWD_COLLECTOR_WORKERS", "0"), ("INCROWD_COLLECTOR_PORT", "x")):
        monkeypatch.setenv(name, value)
        with pytest.raises(IncrowdError, match=f"{name}: got '{value}'; should be"):
            load_settings(CollectorSettings, tmp_path)
        monkeypatch.delenv(name)


def test_nothing_of_the_sender_is_kept_or_logged(keyed, sealed, caplog):
    """No address, no time of arrival, no header of the request."""
    caplog.set_level("DEBUG")
    before = datetime.now(UTC)

    async def talk(client):
        mark = {"User-Agent": "marked-agent", "X-Forwarded-For": "203.0.113.77", **OCTETS}
        await client.post("/release", content=release(sealed), headers=mark)
        bad = release(sealed, key=Ed25519PrivateKey.generate())
        await client.post("/release", content=bad, headers=mark)
        await until(lambda: not keyed.private.exists())

    served(keyed, talk)
    ours = "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("incrowd")
    )
    kept = b"".join(path.read_bytes() for path in keyed.root.rglob("*") if path.is_file())
    for mark in ("marked-agent", "203.0.113.77", str(before.year) + "-" + f"{before.month:02}-"):
        assert mark not in ours
    assert b"marked-agent" not in kept and b"203.0.113.77" not in kept
    receipt = json.loads(next(keyed.opened_ones.rglob("receipt.json")).read_text())
    assert not [key for key in receipt if "time" in key or "date" in key]


@pytest.mark.parametrize("lost", ["key", "folder"])
def test_what_could_not_be_opened_after_a_restart_is_not_taken(keyed, sealed, caplog, lost):
    """The mixer deletes what is acknowledged. And a lost key is no destroyed one."""
    data = release(sealed)

    async def talk(client):
        before = await client.get("/ready")
        keyed.private.unlink() if lost == "key" else shutil.rmtree(keyed.root)
        return [before, await client.get("/ready"), await post(data)(client)]

    assert [answer.status_code for answer in served(keyed, talk)] == [200, 503, 500]
    assert "finding the keys failed" in caplog.text and "was destroyed" not in caplog.text
    assert keyed.releases(INVITED).received() == []


def test_a_lost_key_is_not_reported_as_destroyed(keyed):
    keyed.private.unlink()
    assert not keeper.forget(keyed, INVITED, BEFORE)
    [finding] = [
        each
        for each in keeper.check_machine(keyed, INVITED, BEFORE)
        if each.subject == "the private key"
    ]
    assert not finding.good and "restore it" in finding.text
