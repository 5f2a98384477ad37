"""Over HTTP: the batch is acknowledged, opened and released; numbers show nobody."""

import asyncio
import errno
import re
import shutil
import threading
import time
from pathlib import Path

import httpx
import pytest

from incrowd.collection.delivery import acknowledgment
from incrowd.collection.mixer.second.app import application
from incrowd.collection.protocol.signed import sign
from incrowd.collection.steady import CertainClock
from tests.collection.mixer.second.conftest import (
    BUNDLE,
    CLOSED,
    DISPOSED,
    Mixer,
    in_order,
    releases,
    resigned,
)
from tests.conftest import slowly
from tests.oracles import mixers

OCTETS = {"Content-Type": "application/octet-stream"}


class Client:
    """Talks to an application that runs in another thread, from its start to its stop."""

    def __init__(self, app):
        self.context = app.router.lifespan_context(app)
        transport = httpx.ASGITransport(app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://second")
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def done(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def __enter__(self):
        self.done(self.context.__aenter__())
        return self

    def __exit__(self, *_):
        self.done(self.context.__aexit__(None, None, None))
        self.done(self.client.aclose())
        self.done(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def get(self, path):
        return self.done(self.client.get(path))

    def post(self, path, **given):
        return self.done(self.client.post(path, **given))


@pytest.fixture
def service(mixer):
    """A client, while the service runs."""
    app = application(
        mixer.settings.model_copy(update={"pause": 0.05}),
        BUNDLE,
        CertainClock(lambda: mixer.now),
        mixer.deliver,
    )
    with Client(app) as client:
        yield client


def post(client, batch, **headers):
    signed, body = batch
    return client.post("/batch", content=signed.encoded + body, headers=OCTETS | headers)


def until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_batch_is_acknowledged_and_released(service, mixer, batch, uploads):
    answer = post(service, batch)
    assert (answer.status_code, answer.text) == (200, acknowledgment(batch[0].encoded))
    until(lambda: len(mixer.sent) == 2)
    assert len(releases(mixer.sent)) == 2 and mixer.keys == []
    assert post(service, batch).text == answer.text
    assert post(service, mixers.batch(BUNDLE, uploads[1:])).status_code == 409
    assert service.get("/ready").status_code == 200 and service.get("/health").text == "ok\n"


def wrong(batch):
    signed, body = batch
    return {
        "signed by the second mixer": (sign(signed.header, mixers.SECOND), body, 403),
        "another body": (signed, body[::-1], 422),
        "too long": (signed, body + b"x", 422),
        "too short": (signed, body[:-1], 422),
        "of too few people": (*mixers.batch(BUNDLE, [mixers.upload(BUNDLE)]), 422),
    }


@pytest.mark.parametrize("number", range(5))
def test_a_wrong_batch_is_refused_and_leaves_nothing(service, mixer, batch, number):
    signed, body, status = list(wrong(batch).values())[number]
    assert post(service, (signed, body)).status_code == status
    assert mixer.keeper.shelf.received() == [] and not list(mixer.settings.folder.rglob("*.body"))


def test_other_media_types_and_addresses_are_refused(service, batch):
    assert post(service, batch, **{"Content-Type": "text/plain"}).status_code == 415
    assert service.get("/batch").status_code == 405 and service.get("/").status_code == 404


def test_nothing_is_taken_after_everything_was_destroyed(service, mixer, batch):
    mixer.now = DISPOSED
    assert post(service, batch).status_code == 410
    until(lambda: not mixer.settings.secret_file.exists())
    mixer.now = CLOSED  # the clock is set back
    assert post(service, batch).status_code == 410


def test_a_full_disk_is_answered_and_the_batch_comes_again(service, batch, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        assert post(service, batch).status_code == 507
    assert post(service, batch).status_code == 200


def test_it_is_not_ready_while_the_batch_cannot_be_released(service, mixer, batch, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("incrowd.reports.folder.Bucket.add", full)
        post(service, batch)
        until(lambda: service.get("/ready").status_code == 503)
    until(lambda: service.get("/ready").status_code == 200)
    until(lambda: len(mixer.sent) == 2)


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def metrics(client):
    lines = [line for line in client.get("/metrics").text.splitlines() if line[0] != "#"]
    return dict(line.rsplit(" ", 1) for line in lines)


def test_metrics_say_how_far_it_is(service, mixer, batch):
    assert metrics(service)["incrowd_private_key"] == "1.0"
    post(service, batch)
    until(lambda: metrics(service)["incrowd_releases_delivered"] == "2.0")
    found = metrics(service)
    assert found["incrowd_batches_taken"] == "1.0" and found["incrowd_private_key"] == "0.0"


def dropping(batch, many):
    envelopes = {n: in_order(batch[1], n) for n in (0, 1)}
    for at in range(many):
        envelopes[0][at] = bytes(len(envelopes[0][at]))
    return resigned(envelopes)


@pytest.mark.parametrize(("many", "shown"), [(1, 0), *slowly((19, 0), (20, 20), (21, 20))])
def test_metrics_do_not_change_with_a_single_report(service, batch, many, shown):
    post(service, dropping(batch, many))
    until(lambda: metrics(service)["incrowd_releases_delivered"] == "2.0")
    found = metrics(service)
    assert found['incrowd_envelopes_dropped_total{kind="unopened"}'] == f"{shown:.1f}"
    text = service.get("/metrics").text
    assert not re.search("cpu|seconds|python", text)


def test_a_service_that_stops_begins_anew(mixer, batch):
    settings = mixer.settings
    app = application(settings, BUNDLE, CertainClock(lambda: mixer.now), mixer.deliver)
    with Client(app) as client:
        post(client, batch)
    later = Mixer(settings)
    later.keeper.look()
    assert len(releases(mixer.sent + later.sent)) == 2


def test_a_folder_that_was_emptied_takes_no_batch_and_is_not_ready(service, mixer, batch, caplog):
    """The first mixer would delete what nobody can open."""
    assert service.get("/ready").status_code == 200
    shutil.rmtree(mixer.settings.folder)
    assert post(service, batch).status_code == 500
    assert service.get("/ready").status_code == 503
    assert "it does not exist; restore it" in caplog.text
    assert mixer.keeper.shelf.received() == [] and mixer.sent == []


def test_each_step_is_one_line(mixer, batch, caplog):
    caplog.set_level("INFO", "incrowd.service")
    mixer.released(batch)
    mixer.keeper.look()
    assert [each.getMessage() for each in caplog.records] == [
        "made the releases",
        "destroyed private.key",
        "destroyed signing.key",
        "delivered the release of stratum 0",
        "delivered the release of stratum 1",
    ]
