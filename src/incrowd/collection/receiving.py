"""What services that receive from devices have in common: requests of one length, and refusals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Protocol

from prometheus_client.core import Metric
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from incrowd.collection.folders import check_exists
from incrowd.collection.mixer.store.keys import BusyError, FullError, Secrets, StoreError
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.collection.protocol.problem import KINDS, ProblemKind
from incrowd.collection.seldom import SeldomLog
from incrowd.collection.service import METRICS_TYPE, answer, exposition, is_octets
from incrowd.collection.settings import StoreSettings
from incrowd.collection.steady import TimedClock
from incrowd.collection.steps import KEYS, LOG, STORING, WORKING, ServiceSteps, log_text
from incrowd.errors import ProtocolError, UsageError

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
Handler = Callable[[Request], Awaitable[Response]]
Act = Callable[[bytes], Awaitable[Response]]


class CheckedStore(Protocol):
    """A store that knows whether it works. secrets: None after its key was destroyed."""

    secrets: Secrets | None

    def check(self, size: int) -> None:
        """Raise StoreError unless it can store this many bytes."""


class Receiving:
    """Receives bodies of one length, as many at a time as fit into the memory of its settings."""

    def __init__(
        self,
        store: CheckedStore,
        bundle: Bundle,
        settings: StoreSettings,
        length: int,
        clock: TimedClock,
        steps: ServiceSteps,
    ) -> None:
        self.steps = steps
        self.store, self.bundle, self.settings, self.length = store, bundle, settings, length
        self.clock, self._closes = clock, as_time(bundle.closes)
        self.log = SeldomLog(LOG)
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
            return answer(over) if self.store.secrets is None else self._refusal(error)
        except Exception as error:
            return self._refusal(error)
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

    async def health(self, _: Request) -> Response:
        """Report that the process runs."""
        return Response("ok\n", media_type="text/plain")

    async def ready(self, _: Request) -> Response:
        """Report whether the store can take what a device sends, and the keys exist; 503 if not."""
        try:
            await asyncio.to_thread(self._check)
        except (StoreError, UsageError):
            return Response("no\n", 503, media_type="text/plain")
        return Response("ready\n", media_type="text/plain")

    def _check(self) -> None:
        with self.steps(STORING):
            self.store.check(self.length)
        with self.steps(KEYS):
            check_exists(*(self.settings.private_files if self.store.secrets else ()))

    async def metrics(self, _: Request) -> Response:
        """Return metrics for Prometheus; none of them changes with a single request."""
        text = await asyncio.to_thread(lambda: exposition(self._metrics()))
        return Response(text, media_type=METRICS_TYPE)

    def _metrics(self) -> Iterator[Metric]:
        yield from self.steps.metrics()

    def guarded(self, handler: Handler) -> Handler:
        """Return a handler that turns every error into a response and never logs a traceback."""

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except Exception as error:
                return self._refusal(error)

        return guarded

    def _refusal(self, error: Exception) -> Response:
        """Return the response to an error; those that are not the sender's are logged, seldom."""
        if isinstance(error, ProtocolError):
            return answer(problem.kind_of(error))
        if isinstance(error, BusyError):
            return answer(KINDS["busy"])
        if isinstance(error, StoreError):
            self.steps.fail(STORING, error)
            return answer(KINDS["full" if isinstance(error, FullError) else "fault"])
        text = f"a request failed: {log_text(error)}"
        self.log(logging.ERROR, type(error).__name__, text)
        return answer(KINDS["fault"])


def working(
    look: Callable[[], None], steps: ServiceSteps, pause: float, close: Callable[[], None]
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """Return a service's lifespan, in which the work that is due is done again and again.

    look: does it. steps: log why it fails. pause: seconds between two calls. close: called at the
    end.
    """

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(_look(look, steps, pause))
        yield
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        close()

    return running


async def _look(look: Callable[[], None], steps: ServiceSteps, pause: float) -> None:
    while True:
        with suppress(Exception), steps(WORKING), suppress(UsageError):  # another process does it
            await asyncio.to_thread(look)
        await asyncio.sleep(pause)
