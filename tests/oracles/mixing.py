"""A shuffler or a first mixer for tests: in a temporary folder, with a clock that tests move."""

import asyncio
import hashlib
from datetime import timedelta
from functools import cache
from types import SimpleNamespace

import httpx
import numpy as np

from incrowd.collection.inviter.signing import sign_blinded
from incrowd.collection.mixer import app, setup
from incrowd.collection.protocol.blind import encode
from incrowd.collection.protocol.bundle import MixersBundle, as_time
from incrowd.collection.protocol.mixing import Batch
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.protocol.upload import NO_CODE, Upload, new_code
from incrowd.collection.settings import FirstMixerSettings, ShufflerSettings
from incrowd.collection.steady import CertainClock
from tests.oracles import make_vectors, mixers
from tests.oracles.make_vectors import SHUFFLER
from tests.oracles.releases import parse_release

INVITED = make_vectors.bundle(strata=("north", "south"), wanted=30)
MERGED = make_vectors.bundle(strata=("north", "south"), small_strata="merge", codes=False)
OCTETS = {"Content-Type": "application/octet-stream"}
PIECE = 8  # bytes: random ones are found in 100 MB by chance once in 10^7 tests
LOW_BITS = 22  # by which most of what is no needle is passed over


def sealed(bundle, name, count=None):
    """What looks sealed, and is recognized: the shuffler opens nothing."""
    header, length = bundle.envelope_key.header, bundle.envelope_length
    return tuple(
        header + hashlib.shake_256(f"{name}/{at}".encode()).digest(length - len(header))
        for at in range(count or bundle.places)
    )


def code(number):
    """The code of an invitation."""
    return new_code(hashlib.sha256(f"code {number}".encode()).digest()[:10]).encode()


@cache
def entry(bundle_digest, number):
    """A nonce, and what the inviter signed."""
    nonce, salt = (
        hashlib.sha256(f"{what} {number}".encode()).digest() for what in ("nonce", "salt")
    )
    message = encode(b"incrowd entry 2\0" + bundle_digest + nonce, (salt * 2)[:48])
    return nonce + sign_blinded(message.to_bytes(256), mixers.token_keys()[0])


def admission(bundle, number):
    """What admits an upload: the code of an invitation, or an entry token."""
    if isinstance(bundle, MixersBundle):
        return entry(bundle.digest, number)
    return NO_CODE if number is None else code(number)


def upload(bundle, name, stratum=0, invitation=None):
    return Upload(admission(bundle, invitation), stratum, sealed(bundle, name))


def two_mixers(**changes):
    """A bundle with two mixers and small envelopes."""
    given = {"strata": ("north", "south"), "disposes": "2099-01-01T00:00:00Z"}
    return mixers.bundle(second=mixers.SECOND_CLASSICAL, **given | changes)


def read_batch(data, bundle):
    """The signed header of a batch, and the envelopes of each stratum."""
    signed, at = Signed.parse(Batch, data)
    signed.check(bundle)
    body, size, by_stratum = data[at:], bundle.envelope_length, {}
    assert len(body) == signed.header.length(bundle)
    assert hashlib.sha256(body).digest() == signed.header.body
    at = 0
    for stratum, people in signed.header.people:
        end = at + people * bundle.places * size
        by_stratum[stratum] = [body[cut : cut + size] for cut in range(at, end, size)]
        at = end
    return signed, by_stratum


def content(folder):
    """Every byte of every file."""
    return b"\0".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def present(needles, hay):
    """The first bytes of those needles of which they are somewhere; in one pass, whatever their
    number."""
    first = np.unique(np.frombuffer(b"".join(needle[:PIECE] for needle in needles), "<u8"))
    seen, low = np.zeros(first.size, bool), np.uint64((1 << LOW_BITS) - 1)
    begins = np.zeros(1 << LOW_BITS, bool)
    begins[first & low] = True
    for shift in range(min(PIECE, len(hay) + 1)):
        words = np.frombuffer(hay, "<u8", (len(hay) - shift) // PIECE, shift)
        words = words[begins[words & low]]
        at = np.minimum(np.searchsorted(first, words), first.size - 1)
        seen[at[first[at] == words]] = True
    return {each.tobytes() for each in first[seen]}


def found(needles, hay):
    """How many of them begin somewhere with the same bytes."""
    return len(present(needles, hay))


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

    def batch(self):
        """The signed header of the only batch, and its envelopes by stratum; None if none came."""
        assert len(set(self.heard)) <= 1, "a second batch"
        return read_batch(self.heard[0], self.bundle) if self.heard else None

    def releases(self):
        """By strata, what was signed and what is sealed; repeats have to be the same bytes."""
        if isinstance(self.bundle, MixersBundle):
            signed, by_stratum = self.batch() or (None, {})
            people = dict(signed.header.people) if signed else {}
            heads = {n: SimpleNamespace(header=SimpleNamespace(people=people[n])) for n in people}
            return {(n,): (heads[n], envelopes) for n, envelopes in by_stratum.items()}
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
        two = isinstance(bundle, MixersBundle)
        kind, key = (FirstMixerSettings, mixers.FIRST) if two else (ShufflerSettings, SHUFFLER)
        self.settings = kind(folder=folder / "shuffler", **settings)
        setup.install(self.settings, bundle, key)
        self.runner = asyncio.Runner()
        self.store = None
        self.start()
        if invitations and not two:
            self.store.invite([code(number) for number in range(invitations)])

    def start(self):
        if self.store:
            self.store.engine.dispose()
        self.store = setup.open_store(self.settings)
        self.app = app.application(
            self.store,
            self.bundle,
            self.settings,
            self.clock(),
            lambda *sent: self.collector(*sent),
        )
        self.keeper = self.app.state.keeper

    def clock(self):
        """Its time counts; `tests.oracles.simulation` has one that can be wrong."""
        return CertainClock(lambda: self.now)

    def close(self):
        self.runner.close()
        self.store.engine.dispose()

    def bodies(self):
        """The files that wait to be delivered."""
        return list(self.settings.releases.glob("*.body"))

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
