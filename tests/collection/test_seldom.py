"""Whoever sends nonsense to a service fills no disk with its log."""

import asyncio
import logging
import sqlite3

import httpx

from incrowd.collection.collector.app import application
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.seldom import SeldomLog
from incrowd.collection.settings import CollectorSettings
from incrowd.collection.steady import CertainClock
from tests.oracles.make_vectors import INVITED, RECEIVER
from tests.oracles.mixing import OCTETS, Site, upload
from tests.oracles.watching import BEFORE

MANY = 50


class Time:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_kind_has_one_line_a_minute_that_counts_the_others(caplog):
    time = Time()
    log = SeldomLog(logging.getLogger("test"), time)
    for second in range(150):
        time.now = float(second)
        for _ in range(10):
            log(logging.WARNING, "one", "a line")
        log(logging.WARNING, "two", "another line")
    assert caplog.messages == [
        "a line",
        "another line",
        "a line (and 599 times more since the last such line)",
        "another line (and 59 times more since the last such line)",
        "a line (and 599 times more since the last such line)",
        "another line (and 59 times more since the last such line)",
    ]


def test_a_collector_that_gets_nonsense_writes_a_line_for_each_kind(tmp_path, caplog):
    settings, clock = CollectorSettings(workers=1), CertainClock(lambda: BEFORE)
    CollectorPlaces(tmp_path).private.touch()
    service = application(tmp_path, INVITED, RECEIVER, settings, clock)

    async def talk():
        transport = httpx.ASGITransport(service)
        async with httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
            for number in range(MANY):
                nonsense = number.to_bytes(4) * 100
                answer = await client.post("/release", content=nonsense, headers=OCTETS)
                assert 400 <= answer.status_code < 500
            return (await client.get("/metrics")).text

    metrics = asyncio.run(talk())
    assert len(caplog.messages) == 1 and "refused: " in caplog.text
    assert f"}} {MANY}.0" in metrics, "the number is in the metrics"


def test_a_shuffler_whose_database_fails_writes_a_line_for_each_kind(tmp_path, caplog):
    site = Site(tmp_path, invitations=MANY)
    with sqlite3.connect(tmp_path / "shuffler" / "store.sqlite") as database:
        database.execute("DROP TABLE reports")
    try:
        assert set(site.post(*(upload(site.bundle, number) for number in range(MANY)))) == {500}
        assert site.post(upload(site.bundle, 0)) == [500]
    finally:
        site.close()
    assert len(caplog.messages) == 1 and "storing failed: " in caplog.text
