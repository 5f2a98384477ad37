"""A shuffler for tests: in a temporary folder, with a clock that the test moves."""

import asyncio
import hashlib
from datetime import timedelta

import httpx
import numpy as np

from incrowd.collection.mixer import app, setup
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.release import parse_release
from incrowd.collection.protocol.upload import NO_CODE, Upload, new_code
from incrowd.collection.settings import ShufflerSettings
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
        self.settings = ShufflerSettings(folder=folder / "shuffler", **settings)
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
