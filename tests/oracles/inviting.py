"""An inviter for tests: in a temporary folder, with fixed keys and a clock that the test moves."""

import asyncio
from datetime import timedelta
from functools import cache
from unittest import mock

import httpx

from incrowd.collection.inviter import app, setup
from incrowd.collection.inviter.init import InviterKeys
from incrowd.collection.inviter.signing import PrivateTokenKey
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.tokens import TokenRequest
from incrowd.collection.settings import InviterSettings
from incrowd.collection.steady import CertainClock
from tests.oracles import mixers
from tests.oracles.shuffler import Shuffler, said

OCTETS = {"Content-Type": "application/octet-stream"}
MESSAGES = len(mixers.PLAN.messages)
KEYS = InviterKeys(mixers.INVITER, tuple(mixers.token_keys()[: 1 + MESSAGES]))
PARSED = cache(PrivateTokenKey.parse)  # OpenSSL looks for the primes of a key anew each time
CODES = [f"{number:016d}".encode() for number in range(4)]


@cache
def bundle():
    return mixers.bundle()


def pending(code=CODES[0]):
    """What a person who has nothing to say stores."""
    return mixers.pending(bundle(), [bundle().shape.dummy] * bundle().places, code=code)


class Inviter:
    """A folder, and the process that runs on it; `start` it again after a kill."""

    def __init__(self, folder, codes=CODES[:3], of=None, **settings):
        self.bundle, self.heard, self.away = of or bundle(), [], False
        self.now = as_time(self.bundle.opens)
        self.settings = InviterSettings(folder=folder / "inviter", **settings)
        tokens = mixers.token_keys()[: 1 + len(self.bundle.plan.messages)]
        setup.install(self.settings, self.bundle, InviterKeys(mixers.INVITER, tuple(tokens)))
        self.runner, self.store = asyncio.Runner(), None
        self.start()
        self.store.invite(codes)

    def start(self):
        if self.store:
            self.store.engine.dispose()
        with mock.patch.object(PrivateTokenKey, "parse", PARSED):
            self.store = setup.open_store(self.settings)
        clock = CertainClock(lambda: self.now)
        self.app = app.application(self.store, self.settings, clock, self.deliver)
        self.keeper = self.app.state.keeper

    def deliver(self, start, body):
        """Play the collector."""
        assert body is None
        self.heard.append(start)
        return not self.away

    def close(self):
        self.runner.close()
        self.store.engine.dispose()

    def together(self, *bodies, headers=OCTETS):
        """The answers to requests that come at once."""

        async def ask():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://i") as client:
                asked = [client.post("/tokens", content=body, headers=headers) for body in bodies]
                return await asyncio.gather(*asked)

        return self.runner.run(ask())

    def post(self, body):
        """The status, and the bytes or the name of the problem."""
        (answer,) = self.together(body)
        if answer.status_code == 200:
            return 200, answer.content
        kind, _ = problem.parse_document(answer.content, answer.status_code)
        return answer.status_code, kind.name

    def get(self, path):
        async def ask():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://i") as client:
                return await client.get(path)

        return self.runner.run(ask())

    def look(self, **later):
        self.now += timedelta(**later)
        self.keeper.look()

    def look_at(self, moment):
        self.now = as_time(getattr(self.bundle, moment))
        self.keeper.look()


class Services(Shuffler):
    """An honest inviter and first mixer that are played, as a device meets them."""

    def __init__(self, invitations=CODES, faults=()):
        super().__init__(bundle(), list(faults))
        self.codes = dict.fromkeys(invitations)

    def handled(self, request):
        if request.url.path.endswith("/tokens"):
            assert request.url.host == "invite.example"
            return self.tokens(request.read())
        if request.method != "GET":
            assert request.url.host == "first.example"
        return super().handled(request)

    def tokens(self, body):
        if self.closed:
            return said("closed")
        code = TokenRequest.parse(body, self.bundle).code
        if code not in self.codes:
            return said("code-unknown")
        if self.codes[code] not in (None, body):
            return said("code-used")
        self.codes[code] = body
        return httpx.Response(200, content=mixers.answer(body, self.bundle))

    def sent_to(self, path):
        """The bodies that came to an address, in order."""
        return [r.content for r in self.requests if r.method != "GET" and r.url.path.endswith(path)]
