"""The HTTP service of a shuffler, or of the first of two mixers: the bundle decides.

Uploads are checked in the order that the protocol states.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from threading import Lock
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from incrowd.collection import service
from incrowd.collection.machine import Clock
from incrowd.collection.machine import system as system_clock
from incrowd.collection.mixer.keeper import Keeper
from incrowd.collection.mixer.onward import Courier, courier, onward
from incrowd.collection.mixer.store.keys import BusyError, FullError, StoreError
from incrowd.collection.mixer.store.store import Grouped, Store, StratumState
from incrowd.collection.mixer.store.writing import Outcome
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.bundle import Bundle, MixersBundle, as_time
from incrowd.collection.protocol.problem import KINDS, Kind
from incrowd.collection.protocol.tokens import has_entry
from incrowd.collection.protocol.upload import Upload, parse_upload, upload_length
from incrowd.collection.service import answer, exposition, is_octets, no_such
from incrowd.collection.settings import MixerSettings
from incrowd.errors import IncrowdError, ProtocolError, UsageError

# Published during a collection: so little that no number shows who sent when.


PEOPLE = "People of a stratum, rounded down to a multiple of the reserve, read once an hour."
STATE = "1 for the current state of a stratum."


class Counted:
    """The strata at the time of the first request in the current hour."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self._asking = Lock()
        self._hour: datetime | None = None
        self._strata: tuple[StratumState, ...] = ()

    def strata(self) -> tuple[StratumState, ...]:
        """Return the strata, read at most once per clock hour."""
        hour = self.clock().replace(minute=0, second=0, microsecond=0)
        with self._asking:
            if hour != self._hour:
                self._strata, self._hour = self.store.strata(), hour
            return self._strata

    def people(self) -> dict[int, int]:
        """Return the number of people in each stratum, rounded down."""
        return {s.number: self.store.bundle.rounded(s.people) for s in self.strata()}

    def text(self) -> bytes:
        """Return the counts and states in the format of Prometheus."""
        return exposition(self._metrics())

    def _metrics(self) -> Iterator[Metric]:
        counts = self.people()
        people = GaugeMetricFamily("incrowd_people", PEOPLE, labels=["stratum"])
        states = GaugeMetricFamily("incrowd_stratum_state", STATE, labels=["stratum", "state"])
        for stratum in self.strata():
            number = str(stratum.number)
            people.add_metric([number], counts[stratum.number])
            states.add_metric([number, stratum.state], 1)
        yield from (people, states)


UPLOAD = "/upload"
LOG = logging.getLogger("incrowd.mixer")  # what failed, never for whom
# A survey page may be on any host: responses do not depend on the origin, and cookies are ignored.
ANY_PAGE: dict[str, Any] = {
    "allow_origins": ["*"],
    "allow_methods": ["GET", "POST", "DELETE"],
    "allow_headers": ["Content-Type"],
    "expose_headers": ["Retry-After"],
    "max_age": 86_400,
}
OPEN_TO_PAGES = CORSMiddleware(Response(), **ANY_PAGE).simple_headers  # of every response
TAKEN = {201: Outcome.STORED, 200: Outcome.REPEATED}
DONE = {
    outcome: Response(status_code=code, headers=OPEN_TO_PAGES) for code, outcome in TAKEN.items()
}
Handler = Callable[[Request], Awaitable[Response]]


def application(
    store: Store,
    bundle: Bundle,
    settings: MixerSettings,
    clock: Clock = system_clock,
    deliver: Courier | None = None,
) -> Starlette:
    """Return the mixer of one bundle. It also closes, releases and delivers strata when due.

    deliver: passes on what was signed; by default it is posted to the bundle's address.
    """
    keeper = Keeper(store, settings, clock, deliver or courier(onward(bundle).address))
    desk = Desk(store, bundle, settings, clock)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(_look(keeper, settings.pause))
        yield
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        desk.grouped.close()

    app = Mixer(
        desk,
        routes=[
            Route("/bundle", _guarded(desk.show_bundle), methods=["GET"]),
            Route("/count", _guarded(desk.count), methods=["GET"]),
            Route("/metrics", _guarded(desk.metrics), methods=["GET"]),
            Route("/health", _guarded(desk.health), methods=["GET"]),
            Route("/ready", _guarded(desk.ready), methods=["GET"]),
        ],
        middleware=[Middleware(CORSMiddleware, **ANY_PAGE)],
        exception_handlers={HTTPException: no_such},
        lifespan=running,
    )
    app.state.keeper = keeper
    return app


async def _look(keeper: Keeper, pause: float) -> None:
    """Do all work that is due, again and again; whatever fails is tried again."""
    while True:
        try:
            await asyncio.to_thread(keeper.look)
        except UsageError:  # another process is doing it
            pass
        except Exception as error:
            LOG.error("closing failed: %s", _log_text(error))
        await asyncio.sleep(pause)


class Mixer(Starlette):
    """Passes uploads to the desk directly: the framework's layers cost more than their work."""

    def __init__(self, desk: Desk, **given: Any) -> None:
        super().__init__(**given)
        self.desk = desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        is_upload = scope["type"] == "http" and scope["path"] == UPLOAD
        if not is_upload or scope["method"] == "OPTIONS":  # a preflight request of a browser
            await super().__call__(scope, receive, send)
            return
        response = await self.desk.upload(scope, receive)
        if response.status_code not in TAKEN:
            response.headers.update(OPEN_TO_PAGES)
        await response(scope, receive, send)


class Desk:
    """Handles the requests of one mixer."""

    def __init__(self, store: Store, bundle: Bundle, settings: MixerSettings, clock: Clock) -> None:
        self.store, self.bundle, self.settings, self.clock = store, bundle, settings, clock
        self.grouped, self.counted = Grouped(store), Counted(store, clock)
        self.length = upload_length(bundle)
        self._announced = str(self.length).encode()
        self._opens, self._closes = as_time(bundle.opens), as_time(bundle.closes)
        self._room = max(1, settings.memory // self.length)

    async def show_bundle(self, _: Request) -> Response:
        """Return the bundle, whose digest is pinned by the link."""
        return Response(self.bundle.encoded, media_type="application/json")

    async def upload(self, scope: Scope, receive: Receive) -> Response:
        """Store or withdraw an upload."""
        act = {"POST": self._take, "DELETE": self._withdraw}.get(scope["method"])
        if act is None:
            return answer(KINDS["method"])
        if not self._room:
            return answer(KINDS["busy"])
        self._room -= 1
        try:
            body = await self._body(dict(scope["headers"]), receive)
            if isinstance(body, Kind):
                return answer(body)
            return await act(parse_upload(body, self.bundle))
        except StoreError as error:
            # The key may have been destroyed while the upload waited; then the collection is over.
            over = KINDS["closed" if act == self._take else "not-found"]
            return answer(over) if self.store.secrets is None else _refusal(error)
        except Exception as error:
            return _refusal(error)
        finally:
            self._room += 1

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | Kind:
        """Return the bytes of an upload, or a problem. Other lengths are refused unread."""
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

    async def _take(self, upload: Upload) -> Response:
        now = self.clock()
        if now < self._opens:
            return answer(KINDS["not-open"])
        if self._is_closed(now):
            return answer(KINDS["closed"])
        if not self._is_admitted(upload):
            return answer(KINDS["token"])
        outcome = await self.grouped.accept(upload)
        return DONE.get(outcome) or answer(KINDS[outcome.value])

    async def _withdraw(self, upload: Upload) -> Response:
        if self._is_closed(self.clock()):
            return answer(KINDS["not-found"])
        if not self._is_admitted(upload):
            return answer(KINDS["token"])
        is_open = await self.grouped.withdraw(upload)
        return Response(status_code=204) if is_open else answer(KINDS["not-found"])

    def _is_admitted(self, upload: Upload) -> bool:
        """Return whether an upload has the entry token that it needs.

        This takes about 50 microseconds, during which the interpreter does nothing else: another
        thread would not make it faster.
        """
        return not isinstance(self.bundle, MixersBundle) or has_entry(upload, self.bundle)

    def _is_closed(self, now: datetime) -> bool:
        return now >= self._closes or self.store.secrets is None

    async def count(self, _: Request) -> Response:
        """Return the people in each stratum, rounded down to a multiple of the reserve, hourly."""
        counts = await asyncio.to_thread(self.counted.people)
        names = self.bundle.strata
        return JSONResponse({"people": {names[at]: people for at, people in counts.items()}})

    async def metrics(self, _: Request) -> Response:
        """Return metrics for Prometheus; none of them changes with a single upload."""
        text = await asyncio.to_thread(self.counted.text)
        return Response(text, media_type=service.METRICS_TYPE)

    async def health(self, _: Request) -> Response:
        """Report that the process runs."""
        return Response("ok\n", media_type="text/plain")

    async def ready(self, _: Request) -> Response:
        """Report whether uploads can be stored; 503 if not."""
        try:
            await asyncio.to_thread(self.store.check)
        except StoreError as error:
            LOG.error("not ready: %s", error)
            return Response("no\n", 503, media_type="text/plain")
        return Response("ready\n", media_type="text/plain")


def _guarded(handler: Handler) -> Handler:
    """Return a handler that turns every error into a response and never logs a traceback."""

    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            return _refusal(error)

    return guarded


def _refusal(error: Exception) -> Response:
    if isinstance(error, ProtocolError):
        return answer(problem.kind_of(error))
    if isinstance(error, FullError):
        return answer(KINDS["full"])
    if isinstance(error, BusyError):
        return answer(KINDS["busy"])
    LOG.error("a request failed: %s", _log_text(error))
    return answer(KINDS["fault"])


def _log_text(error: Exception) -> str:
    """Return the text for the log: our own message, which names no row, or only the error type."""
    return str(error) if isinstance(error, IncrowdError) else type(error).__name__
