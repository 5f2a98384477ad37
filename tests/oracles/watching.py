"""A collector that is asked over HTTP by who has the token of its dashboard."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace

import httpx

from incrowd.collection.collector.app import application
from incrowd.collection.collector.progress import PATIENCE, PeopleCount
from incrowd.collection.device.connection import Connection, open_client
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.settings import CollectorSettings
from incrowd.collection.steady import CertainClock
from incrowd.plans.digests import canonical
from tests.oracles.make_vectors import INVITED, RECEIVER
from tests.oracles.serving import running

TOKEN = "0123456789abcdef0123456789abcdef"
KNOWN = {"Authorization": f"Bearer {TOKEN}"}
STATE, ESTIMATES = "/dashboard/state", "/dashboard/estimates"
BEFORE = as_time(INVITED.opens) + timedelta(hours=1, minutes=20)
OCTETS = {"Content-Type": "application/octet-stream"}
JSON = "application/json"


class Shuffler:
    """Answers /count, and counts how often it is asked."""

    def __init__(self, people, status=200):
        self.people, self.status, self.asked = people, status, 0

    def __call__(self, request):
        assert request.url.path.endswith("/count") and "authorization" not in request.headers
        self.asked += 1
        body = (
            self.people
            if isinstance(self.people, bytes)
            else canonical({"people": self.people}).encode()
        )
        return httpx.Response(self.status, stream=httpx.ByteStream(body))


def told_by(shuffler, clock, bundle=INVITED):
    client = open_client(httpx.MockTransport(shuffler))
    return PeopleCount(bundle, clock, Connection(client=client, patience=PATIENCE))


def served(places, talk, *, bundle=INVITED, now=BEFORE, shuffler=None, token=TOKEN):
    """Runs a conversation with the collector, from its start to its stop."""
    shuffler = shuffler or Shuffler({name: 0 for name in bundle.strata})

    async def conversation():
        service = application(
            places.root,
            bundle,
            RECEIVER,
            CollectorSettings(workers=1, token=token),
            CertainClock(lambda: now),
            told_by(shuffler, lambda: now, bundle),
        )
        async with running(service) as client:
            return await talk(client)

    return asyncio.run(conversation())


def asking(path, headers=KNOWN):
    return lambda client: client.get(path, headers=headers)


def opened(places, data, bundle=INVITED, **more):
    """What the dashboard says when a release is opened: its state, and the page of estimates."""
    folder = places.opened(Signed.parse(Header, data)[0])

    async def talk(client):
        answer = await client.post("/release", content=data, headers=OCTETS)
        assert answer.status_code == 200
        for _ in range(1000):
            state = await client.get(STATE, headers=KNOWN)
            if (folder / "receipt.json").exists() and state.json()["phase"] != "opening":
                break
            await asyncio.sleep(0.01)
        state, shown = [await client.get(each, headers=KNOWN) for each in (STATE, ESTIMATES)]
        return SimpleNamespace(state=state, facts=state.json(), page=shown, folder=folder)

    return served(places, talk, bundle=bundle, **more)
