"""The inviter's HTTP service. Requests are checked in the order that the protocol states."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from incrowd.collection.answering import OCTETS, answer
from incrowd.collection.delivery import Courier
from incrowd.collection.grouping import Grouped
from incrowd.collection.handover import sender
from incrowd.collection.inviter.keeper import INVITATIONS, InviterKeeper
from incrowd.collection.inviter.signing import PrivateTokenKey, sign_blinded
from incrowd.collection.inviter.store import InviterStore, SigningDecision
from incrowd.collection.machine import cores
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.protocol.tokens import TokenRequest, request_length
from incrowd.collection.receiving import ANY_PAGE, Receiving
from incrowd.collection.settings import InviterSettings
from incrowd.collection.steady import SteadyClock, TimedClock

MOST = 1000  # requests in one transaction


def application(
    store: InviterStore,
    settings: InviterSettings,
    clock: TimedClock | None = None,
    deliver: Courier | None = None,
) -> Starlette:
    """Return the inviter of one bundle. It also closes, and delivers its statement.

    clock: by default that of this machine, which has to be steady. deliver: sends the statement to
    the collector; by default it is posted to the bundle's address.
    """
    clock = clock or SteadyClock(settings.clock_file)
    deliver = deliver or sender(store.bundle.collector_address, INVITATIONS, settings.folder)
    keeper = InviterKeeper(store, settings, clock, deliver)
    desk = TokenDesk(store, settings, clock, keeper)
    routes = desk.route("/tokens", desk.tokens, "POST"), desk.route("/bundle", desk.show_bundle)
    app = Starlette(middleware=[Middleware(CORSMiddleware, **ANY_PAGE)], **desk.parts(*routes))
    app.state.keeper = keeper
    return app


class TokenDesk(Receiving):
    """Signs the tokens of one bundle."""

    store: InviterStore

    def __init__(
        self,
        store: InviterStore,
        settings: InviterSettings,
        clock: TimedClock,
        keeper: InviterKeeper,
    ) -> None:
        length = request_length(store.bundle)
        super().__init__(store, store.bundle, settings, length, clock, keeper)
        self.grouped = Grouped(store.take, MOST)
        self._signers = ThreadPoolExecutor(cores(), "incrowd-signer")

    async def tokens(self, request: Request) -> Response:
        """Sign the values of a request, after its code is durably used."""
        over = KINDS["closed"]
        return await self.received(request.scope, request.receive, self._sign, over)

    async def _sign(self, body: bytes) -> Response:
        request = TokenRequest.parse(body, self.store.bundle)
        if self.clock() < as_time(self.bundle.opens):
            return answer(KINDS["not-open"])
        keys = self.store.keys
        if late := self.too_late(KINDS["closed"]):
            return late
        if keys is None:
            return answer(KINDS["closed"])
        decision = await self.grouped.accept(self.store.prepare(request))
        if decision is not SigningDecision.SIGN:
            return answer(KINDS[decision.value])
        loop, of_values = asyncio.get_running_loop(), self._of_values(keys)
        tokens = await loop.run_in_executor(self._signers, signed, request.blinded, of_values)
        return Response(tokens, media_type=OCTETS.decode())

    def _of_values(self, keys: Sequence[PrivateTokenKey]) -> list[PrivateTokenKey]:
        """Return the private key of each value of a request."""
        entry, *messages = keys
        return [entry, *(messages[message] for message in self.store.bundle.slot_messages)]

    def close(self) -> None:
        """Wait for the writer and the signers to finish."""
        self.grouped.close()
        self._signers.shutdown()


def signed(blinded: Sequence[bytes], keys: Sequence[PrivateTokenKey]) -> bytes:
    """Return the blind signatures of a request's values, one after the other.

    Raises SigningError if one is incorrect: then none may be answered.
    """
    return b"".join(map(sign_blinded, blinded, keys))
