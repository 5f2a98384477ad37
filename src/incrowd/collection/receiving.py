"""The common part of services that receive from devices: requests of one length, and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from incrowd.collection.answering import answer, is_octets
from incrowd.collection.folders import check_exists
from incrowd.collection.mixer.store.keys import BusyError, FullError, Secrets, StoreError
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.collection.protocol.problem import KINDS, ProblemKind
from incrowd.collection.service import CollectionService
from incrowd.collection.settings import StoreSettings
from incrowd.collection.steady import TimedClock
from incrowd.collection.steps import KEYS, STORING, ServiceSteps
from incrowd.errors import UsageError

SUCCESSES = range(200, 300)
# A survey page may be on any host: responses do not depend on the origin, and cookies are ignored.
ANY_PAGE: dict[str, Any] = {
    "allow_origins": ["*"],
    "allow_methods": ["GET", "POST", "DELETE"],
    "allow_headers": ["Content-Type"],
    "expose_headers": ["Retry-After"],
    "max_age": 86_400,
}
OPEN_TO_PAGES = CORSMiddleware(Response(), **ANY_PAGE).simple_headers  # of every response
UNCONFIRMED_RETRY = 60  # seconds, while the clock may be wrong


class CheckedStore(Protocol):
    """A store that knows whether it works. secrets: None after its key was destroyed."""

    secrets: Secrets | None

    def check(self, size: int) -> None:
        """Raise StoreError unless it can store this many bytes."""


class ScheduledWork(Protocol):
    """The scheduled work of a service, and its steps."""

    steps: ServiceSteps

    def look(self) -> None:
        """Do all the work that is due. Raises UsageError if another process is doing it."""


class Receiving(CollectionService):
    """A service that receives bodies of one length, as many at a time as fit into its memory."""

    needed = STORING, KEYS

    def __init__(
        self,
        store: CheckedStore,
        bundle: Bundle,
        settings: StoreSettings,
        length: int,
        clock: TimedClock,
        keeper: ScheduledWork,
    ) -> None:
        super().__init__(keeper.steps, settings.pause)
        self.keeper = keeper
        self.store, self.bundle, self.settings, self.length = store, bundle, settings, length
        self.clock, self._closes = clock, as_time(bundle.closes)
        self._announced = str(length).encode()
        self._room = max(1, settings.memory // length)

    async def received(
        self,
        scope: Scope,
        receive: Receive,
        act: Callable[[bytes], Awaitable[Response]],
        over: ProblemKind,
    ) -> Response:
        """Return the response of an act to a body. over: the problem once the key is destroyed."""
        if not self._room:
            return answer(KINDS["busy"])
        self._room -= 1
        try:
            body = await self._body(dict(scope["headers"]), receive)
            if isinstance(body, ProblemKind):
                return answer(body)
            response = await act(body)
            if response.status_code in SUCCESSES:
                self.steps.succeed(STORING)
            return response
        except StoreError as error:  # the key may have been destroyed while the body waited
            return answer(over) if self.store.secrets is None else self.refusal(error)
        except Exception as error:
            return self.refusal(error)
        finally:
            self._room += 1

    def too_late(self, over: ProblemKind) -> Response | None:
        """Return the response to a request after closing; None before. over: its problem.

        While the clock may be wrong, nobody is refused for good: the same bytes are sent again.
        """
        if self.store.secrets is not None:
            if self.clock() < self._closes:
                return None
            if self.clock.confirmed() < self._closes:
                return answer(KINDS["busy"], retry_after=UNCONFIRMED_RETRY)
        return answer(over)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | ProblemKind:
        """Return the bytes of a body, or a problem. Other lengths are refused unread."""
        if headers.get(b"content-length") != self._announced:
            return KINDS["length"]
        if not is_octets(headers.get(b"content-type", b""), headers.get(b"content-encoding")):
            return KINDS["media-type"]
        body, more = b"", True
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        return KINDS["slow"]
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > self.length:
                        return KINDS["length"]
        except TimeoutError:
            return KINDS["slow"]
        return body

    async def show_bundle(self, _: Request) -> Response:
        """Return the bundle, whose digest is pinned by the link."""
        return Response(self.bundle.encoded, media_type="application/json")

    def look(self) -> None:
        """Do all the work that is due."""
        with suppress(UsageError):  # another process does it
            self.keeper.look()

    def probes(self) -> Mapping[str, Callable[[], object]]:
        """Return the checks that decide whether the service is ready, by step."""
        private = self.settings.private_files if self.store.secrets else ()
        return {
            STORING: lambda: self.store.check(self.length),
            KEYS: lambda: check_exists(*private),
        }

    def refusal(self, error: Exception) -> Response:
        """Return the response to an error; those that are not the sender's are logged, seldom."""
        if isinstance(error, BusyError):
            return answer(KINDS["busy"])
        if isinstance(error, StoreError):
            self.steps.fail(STORING, error)
            return answer(KINDS["full" if isinstance(error, FullError) else "fault"])
        return super().refusal(error)
