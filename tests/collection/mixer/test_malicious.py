"""A device that sends anything: it is refused, nothing of it is stored, nothing grows.

Bodies are made of random bytes and of right uploads that were changed; lengths and media types
are announced rightly and wrongly. No answer is a fault (5xx), no error is logged.
"""

import asyncio
import gc
import os
import random
import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from incrowd.collection.mixer.store import tables
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.upload import upload_length
from tests.collection.mixer.conftest import INVITED, Site, upload
from tests.conftest import examples

INVITATIONS = 20
LENGTH = upload_length(INVITED)
QUICK, SLOW = 2000, 100_000
TOGETHER = 50
GROWTH = 8 << 20  # bytes of memory that may stay: caches of the libraries
DISK = 24 << 20  # of the database with its log
LENGTHS = [b"-1", b"+5", b"0x10", b"1e3", b"", b" ", b"9" * 30, b"1, 2", "²".encode("latin-1")]
TYPES = [b"application/octet-stream"] * 6 + [b"text/plain", b"", b"\xff\xfe", b"x" * 5000]


async def call(app, method, headers, pieces, path="/upload"):
    """What an ASGI server hands over; status and body. An exception would be a traceback."""
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
    scope |= {"query_string": b"", "headers": headers, "http_version": "1.1", "scheme": "http"}
    scope |= {"asgi": {"version": "3.0"}, "client": None, "server": ("s", 80), "root_path": ""}
    coming, sent = iter(pieces), []

    async def receive():
        for piece in coming:
            return {"type": "http.request", "body": piece, "more_body": True}
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def changed(data, draw):
    """A right upload with a mistake or several."""
    made = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        at, more = draw.randrange(len(made) + 1), draw.randbytes(draw.randint(0, 40))
        act = draw.randrange(6)
        if act == 0 and at < len(made):
            made[at] ^= 1 << draw.randrange(8)
        elif act == 1:
            made[at : at + len(more)] = more
        elif act == 2:
            made[at:at] = more
        elif act == 3:
            del made[at : at + len(more)]
        elif act == 4:
            made[48:50] = draw.choice([b"\0\0", b"\0\1", b"\0\2", b"\xff\xff"])
        else:
            made[32:48] = draw.choice([bytes(16), draw.randbytes(16), b"0" * 16])
    return bytes(made)


def a_body(draw):
    """Some bytes; two thirds of them almost right."""
    right = upload(INVITED, draw.randrange(40), draw.randrange(2), draw.randrange(40))
    act = draw.randrange(6)
    if act == 0:
        return draw.randbytes(draw.choice([0, 1, 50, 1000, LENGTH - 1, LENGTH, LENGTH + 1]))
    if act == 1:
        return INVITED.digest + draw.randbytes(LENGTH - 32)
    return right.encoded(INVITED) if act == 2 else changed(right.encoded(INVITED), draw)


def a_request(draw):
    """A method, headers and the pieces of a body."""
    body = a_body(draw)
    announced = str(len(body)).encode() if draw.random() < 0.8 else str(LENGTH).encode()
    headers = [(b"content-type", draw.choice(TYPES)), (b"content-length", announced)]
    if draw.random() < 0.1:
        headers[1] = (b"content-length", draw.choice(LENGTHS))
    if draw.random() < 0.05:
        headers = headers[: draw.randrange(2)]
    cuts = sorted(draw.randrange(len(body) + 1) for _ in range(draw.randrange(4)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    return draw.choice(["POST", "POST", "POST", "DELETE"]), headers, pieces


def check_answer(status, body):
    assert status in (200, 201, 204) or 400 <= status < 500, "a fault"
    if status >= 400:
        kind, _ = problem.parse_document(body, status)
        assert kind.status == status


def attack(site, count, seed):
    """So many requests, in groups; how many were stored, and the longest group in seconds."""
    draw, stored, longest = random.Random(seed), 0, 0.0

    async def group():
        requests = [a_request(draw) for _ in range(TOGETHER)]
        return await asyncio.gather(*(call(site.app, *request) for request in requests))

    for _ in range(count // TOGETHER):
        start = time.perf_counter()
        for status, body in site.runner.run(group()):
            check_answer(status, body)
            stored += {201: 1}.get(status, 0)
        longest = max(longest, time.perf_counter() - start)
    return stored, longest


def used(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def withstands(folder, count, caplog):
    site = Site(folder, invitations=INVITATIONS)
    attack(site, 200, seed=1)  # until all that is loaded once is loaded
    gc.collect()
    tracemalloc.start()
    stored, longest = attack(site, count, seed=2)
    gc.collect()
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < GROWTH, f"{grown:,} bytes stay in memory"
    assert used(folder) < DISK, "the disk fills"
    assert longest < 30, "somebody waits"
    assert stored, "nothing was almost right"
    with site.store.engine.connect() as connection:
        rows = connection.scalar(select(func.count()).select_from(tables.reports))
    people = sum(stratum.people for stratum in site.store.strata())
    assert rows == people * INVITED.places and people <= INVITATIONS
    assert not [record for record in caplog.records if record.name.startswith("incrowd")]
    site.close()


@pytest.mark.slow
def test_a_device_that_sends_anything(tmp_path, caplog):
    withstands(tmp_path, QUICK, caplog)


@pytest.mark.slow
def test_a_hundred_thousand_bodies(tmp_path, caplog):
    withstands(tmp_path, SLOW, caplog)


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path, invitations=INVITATIONS)
    yield made
    made.close()


TRIES = settings(
    examples(200), derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@TRIES
@given(
    body=st.binary(max_size=200) | st.binary(max_size=60).map(lambda end: bytes(LENGTH - 60) + end),
    headers=st.lists(
        st.tuples(
            st.sampled_from([b"content-length", b"content-type", b"transfer-encoding", b"x"]),
            st.sampled_from([str(LENGTH).encode(), b"application/octet-stream", b"chunked"])
            | st.binary(max_size=30),
        ),
        max_size=6,
    ),
    method=st.sampled_from(["POST", "DELETE"]),
)
def test_any_headers_and_any_bytes(site, body, headers, method):
    status, content = site.runner.run(call(site.app, method, headers, [body]))
    check_answer(status, content)
    assert status >= 400


@pytest.mark.slow
@TRIES
@given(path=st.text(max_size=30), method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "TRACE"]))
def test_any_path_and_method(site, path, method):
    status, _ = site.runner.run(call(site.app, method, [], [], "/" + path))
    assert status in (200, 400, 404, 405)


class Endless:
    """Pieces without end, and how many were taken."""

    def __init__(self):
        self.taken = 0

    def __iter__(self):
        while True:
            self.taken += 1
            yield os.urandom(1 << 16)


@pytest.mark.parametrize("announced", [*LENGTHS, str(LENGTH - 1).encode(), None])
def test_a_wrong_length_is_refused_before_anything_is_read(site, announced):
    headers = [(b"content-type", b"application/octet-stream")]
    headers += [(b"content-length", announced)] if announced is not None else []
    body = Endless()
    status, _ = site.runner.run(call(site.app, "POST", headers, body))
    assert status == 400 and body.taken == 0


def test_more_than_was_announced_is_not_read_to_its_end(site):
    headers = [(b"content-type", b"application/octet-stream")]
    headers += [(b"content-length", str(LENGTH).encode())]
    body = Endless()
    status, _ = site.runner.run(call(site.app, "POST", headers, body))
    assert status == 400 and body.taken * (1 << 16) <= LENGTH + (2 << 16)
