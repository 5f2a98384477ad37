"""A shuffler for tests: in a temporary folder, with a clock that the test moves."""

import asyncio
import hashlib
import os
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from unittest import mock

import httpx
import numpy as np
from sqlalchemy import event

from incrowd.collection.shuffler import app, setup
from incrowd.collection.shuffler.config import Settings
from incrowd.collection.wire.bundle import as_time
from incrowd.collection.wire.release import parse_release
from incrowd.collection.wire.upload import NO_CODE, Upload, new_code
from tests.oracles import make_vectors
from tests.oracles.make_vectors import SHUFFLER

INVITED = make_vectors.bundle(strata=("north", "south"), wanted=30)
MERGED = make_vectors.bundle(strata=("north", "south"), small_strata="merge", codes=False)
OCTETS = {"Content-Type": "application/octet-stream"}
PIECE = 8  # bytes: random ones are found in 100 MB by chance once in 10^7 tests
LOW_BITS = 22  # by which most of what is no needle is passed over


def sealed(bundle, name, count=None):
    """What looks sealed, and is recognized: the shuffler opens nothing."""
    header = bundle.key.header
    return tuple(
        header
        + hashlib.shake_256(f"{name}/{at}".encode()).digest(bundle.sealed_length - len(header))
        for at in range(count or bundle.places)
    )


def code(number):
    """The code of an invitation."""
    return new_code(hashlib.sha256(f"code {number}".encode()).digest()[:10]).encode()


def upload(bundle, name, stratum=0, invitation=None):
    field = NO_CODE if invitation is None else code(invitation)
    return Upload(field, stratum, sealed(bundle, name))


def content(folder):
    """Every byte of every file."""
    return b"\0".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def found(needles, hay):
    """How many of them begin somewhere with the same bytes; in one pass, whatever their number."""
    first = np.unique(np.frombuffer(b"".join(needle[:PIECE] for needle in needles), "<u8"))
    seen, low = np.zeros(first.size, bool), np.uint64((1 << LOW_BITS) - 1)
    begins = np.zeros(1 << LOW_BITS, bool)
    begins[first & low] = True
    for shift in range(PIECE):
        words = np.frombuffer(hay, "<u8", (len(hay) - shift) // PIECE, shift)
        words = words[begins[words & low]]
        at = np.minimum(np.searchsorted(first, words), first.size - 1)
        seen[at[first[at] == words]] = True
    return int(seen.sum())


class Collector:
    """Keeps every release that reaches it."""

    def __init__(self, bundle):
        self.bundle, self.heard = bundle, []
        self.away = self.answers_get_lost = False

    def __call__(self, start, body):
        if self.away:
            return False
        self.heard.append(start + body.read_bytes())
        return not self.answers_get_lost

    def releases(self):
        """By strata, what was signed and what is sealed; repeats have to be the same bytes."""
        found = {}
        for data in self.heard:
            signed, reports = parse_release(data, self.bundle)
            assert found.setdefault(signed.header.strata, (data, signed, reports))[0] == data, (
                "a release is repeated with other bytes"
            )
        numbers = [number for strata in found for number in strata]
        assert len(numbers) == len(set(numbers)), "a stratum is released twice"
        return {strata: (signed, reports) for strata, (_, signed, reports) in found.items()}


class Site:
    """A shuffler's folder, and the process that runs on it; `start` it again after a kill."""

    def __init__(self, folder, bundle=INVITED, invitations=0, **settings):
        self.bundle, self.collector = bundle, Collector(bundle)
        self.now = as_time(bundle.opens)
        self.settings = Settings(folder=folder / "shuffler", **settings)
        setup.install(self.settings, bundle, SHUFFLER)
        self.runner = asyncio.Runner()
        self.store = None
        self.start()
        if invitations:
            self.store.invite([code(number) for number in range(invitations)])

    def start(self):
        if self.store:
            self.store.engine.dispose()
        self.store = setup.open_store(self.settings)
        clock = lambda: self.now  # noqa: E731
        self.app = app.application(
            self.store, self.bundle, self.settings, clock, lambda *sent: self.collector(*sent)
        )
        self.keeper = self.app.state.keeper

    def close(self):
        self.runner.close()
        self.store.engine.dispose()

    def request(self, method, path, content=b"", headers=OCTETS):
        return self.together([(method, path, content, headers)])[0]

    def together(self, requests):
        """Several at once: they are one group."""

        async def ask():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://s") as client:
                asked = [client.request(m, p, content=c, headers=h) for m, p, c, h in requests]
                return await asyncio.gather(*asked)

        return self.runner.run(ask())

    def post(self, *uploads):
        """The status of each."""
        sent = [("POST", "/upload", each.encoded(self.bundle), OCTETS) for each in uploads]
        return [answer.status_code for answer in self.together(sent)]

    def delete(self, upload):
        return self.request("DELETE", "/upload", upload.encoded(self.bundle)).status_code

    def look(self, **later):
        self.now += timedelta(**later)
        self.keeper.look()

    def look_at(self, moment):
        self.now = as_time(getattr(self.bundle, moment))
        self.keeper.look()


class Killed(BaseException):
    """The process ends here: nothing of it runs any more."""


class Faults:
    """Counts the points at which a process can end, and ends it at one of them."""

    def __init__(self):
        self.left, self.full = None, False

    def point(self, *_, **__):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    def watch(self, engine):
        """Before each statement, before and after each commit; and whether the disk is full."""
        event.listen(engine, "before_cursor_execute", self.point)
        commit = engine.dialect.do_commit

        def committed(connection):
            self.point()
            commit(connection)
            self.point()

        engine.dialect.do_commit = committed
        event.listen(engine, "checkout", self._limit)

    def _limit(self, connection, *_):
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA max_page_count={1 if self.full else 1 << 30}")
        cursor.close()

    @contextmanager
    def armed(self, after):
        """Names and contents of files reach the disk in steps, too."""
        self.left = after
        steps = [(os, "fsync"), (Path, "replace"), (Path, "unlink"), (os, "posix_fallocate")]
        with ExitStack() as stack:
            for owner, name in steps:
                stack.enter_context(mock.patch.object(owner, name, self.around(owner, name)))
            try:
                yield
            finally:
                self.left = None

    def around(self, owner, name):
        """The function, which can end before and after its work."""
        right = getattr(owner, name)

        def watched(*args, **named):
            if str(args[0]).endswith(".lock"):  # a kernel drops the locks of who is killed
                return right(*args, **named)
            self.point()
            result = right(*args, **named)
            self.point()
            return result

        return watched
