"""The base of all services of a collection: scheduled work, health, readiness, metrics."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from prometheus_client.core import Metric
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from incrowd.collection.answering import answer, no_such
from incrowd.collection.metrics import METRICS_TYPE, exposition
from incrowd.collection.protocol.problem import KINDS, kind_of
from incrowd.collection.seldom import SeldomLog
from incrowd.collection.steps import LOG, WORKING, ServiceSteps, log_text
from incrowd.errors import IncrowdError, ProtocolError

RequestHandler = Callable[[Request], Awaitable[Response]]


class CollectionService:
    """A service: its scheduled work, in a thread until the service stops, and its routes.

    steps: the steps of the work, and which of them fail. pause: seconds between two looks for work.
    """

    needed: Collection[str] = ()  # steps without which the service is not ready; by default, all

    def __init__(self, steps: ServiceSteps, pause: float) -> None:
        self.steps, self.pause = steps, pause
        self.log = SeldomLog(LOG)
        self.stopping = False
        self._awake = asyncio.Event()

    # --- what a service defines ------------------------------------------------------------------

    def look(self) -> None:
        """Do all the work that is due. If it fails, the next call continues."""
        raise NotImplementedError

    def probes(self) -> Mapping[str, Callable[[], object]]:
        """Return the checks that decide whether the service is ready, by step."""
        raise NotImplementedError

    def measured(self) -> Iterator[Metric]:
        """Yield the metrics of the service, in addition to those of its steps."""
        yield from ()

    def close(self) -> None:
        """Release what the service uses. Called after it has stopped."""

    # --- its work --------------------------------------------------------------------------------

    def wake(self) -> None:
        """Look for work now."""
        self._awake.set()

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Work until the application stops, and finish the work that has begun by then."""
        working = asyncio.create_task(self._work())
        yield
        self.stopping = True
        self.wake()
        await working
        self.close()

    async def _work(self) -> None:
        while not self.stopping:
            self._awake.clear()
            with suppress(Exception), self.steps(WORKING):  # it is logged, and tried again later
                await asyncio.to_thread(self.look)
            with suppress(TimeoutError):
                async with asyncio.timeout(self.pause):
                    await self._awake.wait()

    # --- its requests ----------------------------------------------------------------------------

    def parts(self, *routes: Route) -> dict[str, Any]:
        """Return the arguments of the application that serves these routes and those of all."""
        shared = {"/health": self.health, "/ready": self.ready, "/metrics": self.metrics}
        return {
            "routes": [*routes, *(self.route(path, act) for path, act in shared.items())],
            "lifespan": self.lifespan,
            "exception_handlers": {HTTPException: no_such},
        }

    def route(self, path: str, handler: RequestHandler, method: str = "GET") -> Route:
        """Return a route whose handler turns every error into a response, without a traceback."""

        async def guarded(request: Request) -> Response:
            try:
                return await handler(request)
            except Exception as error:
                return self.refusal(error)

        return Route(path, guarded, methods=[method])

    def refusal(self, error: Exception) -> Response:
        """Return the response to an error. Errors of the service are logged, at a limited rate."""
        if isinstance(error, ProtocolError):
            return answer(kind_of(error))
        self.log(logging.ERROR, type(error).__name__, f"a request failed: {log_text(error)}")
        return answer(KINDS["fault"])

    async def health(self, _: Request) -> Response:
        """Report that the process runs."""
        return PlainTextResponse("ok\n")

    async def ready(self, _: Request) -> Response:
        """Report whether the service can do what others need of it; 503 if not."""
        await asyncio.to_thread(self._probe)
        failing = self.steps.failing.keys() & (self.needed or self.steps.names)
        return PlainTextResponse("no\n" if failing else "ready\n", 503 if failing else 200)

    def _probe(self) -> None:
        for step, probe in self.probes().items():
            with suppress(IncrowdError, OSError), self.steps(step):
                probe()

    async def metrics(self, _: Request) -> Response:
        """Return metrics for Prometheus; none of them changes with a single request."""
        text = await asyncio.to_thread(self._exposition)
        return Response(text, media_type=METRICS_TYPE)

    def _exposition(self) -> bytes:
        return exposition((*self.measured(), *self.steps.metrics()))
