"""The second mixer's HTTP service: it receives the batch, and opens and releases it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress

from prometheus_client.core import CounterMetricFamily, Metric
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from incrowd.collection import service
from incrowd.collection.arriving import Arriving
from incrowd.collection.delivery import Courier, courier
from incrowd.collection.mixer.second.keeper import SecondKeeper, releases_in
from incrowd.collection.protocol.bundle import MixersBundle
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.service import answer, exposition, gauge, no_such
from incrowd.collection.settings import SecondMixerSettings
from incrowd.collection.steady import SteadyClock, TimedClock
from incrowd.collection.steps import KEYS, STORING, WORKING
from incrowd.collection.taking import Taking
from incrowd.errors import IncrowdError, InWords, ReportsError, UsageError
from incrowd.files import check_room

RELEASE = "/release"
PROBE_BYTES = 1 << 16  # that must be free for a batch
LOG = logging.getLogger("incrowd.second_mixer")


def application(
    settings: SecondMixerSettings,
    bundle: MixersBundle,
    clock: TimedClock | None = None,
    deliver: Courier | None = None,
) -> Starlette:
    """Return the second mixer of one bundle.

    POST /batch stores the batch on disk and responds with the SHA-256 of its signature and header;
    a repetition gets the same response. GET /health, /ready, /metrics. While the application runs,
    it opens the batch and delivers the releases. clock: by default that of this machine, which has
    to be steady. deliver: by default, a release is posted to the collector's address in the bundle.
    """
    clock = clock or SteadyClock(settings.clock_file)
    desk = _Desk(settings, bundle, clock, deliver or courier(bundle.collector_address + RELEASE))
    return Starlette(
        routes=[
            Route("/batch", desk.batch, methods=["POST"]),
            Route("/health", desk.health, methods=["GET"]),
            Route("/ready", desk.ready, methods=["GET"]),
            Route("/metrics", desk.metrics, methods=["GET"]),
        ],
        lifespan=desk.lifespan,
        exception_handlers={HTTPException: no_such},
    )


class _Desk:
    """The state of an application: whether it stops, and what fails."""

    def __init__(
        self,
        settings: SecondMixerSettings,
        bundle: MixersBundle,
        clock: TimedClock,
        deliver: Courier,
    ) -> None:
        self.settings, self.bundle = settings, bundle
        self.keeper = SecondKeeper(settings, bundle, clock, deliver, self.go_on)
        self.came, self.stopping, self.steps = asyncio.Event(), False, self.keeper.steps
        self.arriving = Arriving(settings.piece_seconds, LOG, self.steps, self.came.set)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Do what is due until the application stops."""
        working = asyncio.create_task(self.working())
        yield
        self.stopping = True
        self.came.set()
        await working

    async def working(self) -> None:
        """Look for work at every pause, and when the batch has come."""
        while not self.stopping:
            self.came.clear()
            try:
                with self.steps(WORKING):
                    await asyncio.to_thread(self.keeper.look)
            except (IncrowdError, OSError):  # nothing is lost: try again later
                pass
            with suppress(TimeoutError):
                async with asyncio.timeout(self.settings.pause):
                    await self.came.wait()

    def go_on(self) -> None:
        """Called between two pieces of the batch. Raises ReportsError if the service stops."""
        if self.stopping:
            allowed = "start the second mixer again; it then opens the batch from the beginning"
            raise ReportsError.of("batch", InWords("was only partly opened"), allowed)

    async def batch(self, request: Request) -> Response:
        """Receive the batch."""
        if self.keeper.is_over:
            return answer(KINDS["closed"], f"everything was destroyed on {self.bundle.disposes}")
        if not await asyncio.to_thread(self._has_keys):
            return answer(KINDS["fault"])
        return await self.arriving.receive(request, Taking(self.bundle, self.keeper.shelf))

    def _has_keys(self) -> bool:
        """Return whether a batch can be opened; the first mixer deletes what it got rid of."""
        with suppress(UsageError), self.steps(KEYS):
            self.keeper.check_keys()
            return True
        return False

    async def health(self, _: Request) -> Response:
        """Report that the process runs."""
        return PlainTextResponse("ok\n")

    async def ready(self, _: Request) -> Response:
        """Report whether the last work succeeded, and a batch can be stored; 503 if not."""
        await asyncio.to_thread(self._check)
        failing = self.steps.failing
        return PlainTextResponse("no\n" if failing else "ok\n", 503 if failing else 200)

    def _check(self) -> None:
        self._has_keys()
        with suppress(OSError), self.steps(STORING):
            check_room(self.settings.folder, PROBE_BYTES)

    async def metrics(self, _: Request) -> Response:
        """Return metrics for Prometheus; none changes with a single report."""
        text = await asyncio.to_thread(lambda: exposition(self._metrics()))
        return Response(text, media_type=service.METRICS_TYPE)

    def _metrics(self) -> Iterator[Metric]:
        taken = len(self.keeper.shelf.received())
        yield gauge("incrowd_batches_taken", "1 when the batch has arrived completely.", taken)
        yield _by_kind(
            "incrowd_batches_refused", "Batches that were refused.", self.arriving.refused
        )
        releases = releases_in(self.settings.releases)
        delivered = sum(not release.body.exists() for release in releases)
        yield gauge("incrowd_releases_made", "Strata that were released or refused.", len(releases))
        yield gauge("incrowd_releases_delivered", "Those that the collector has.", delivered)
        yield _by_kind(
            "incrowd_envelopes_dropped",
            "Envelopes of released strata that were dropped, rounded down to the reserve.",
            {kind: self.bundle.rounded(each) for kind, each in self.keeper.dropped.items()},
        )
        yield from self.steps.metrics()
        there = self.settings.secret_file.exists()
        text = "1 while the private key exists; it is destroyed before anything is sent."
        yield gauge("incrowd_private_key", text, there)


def _by_kind(name: str, text: str, numbers: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=["kind"])
    for kind, number in sorted(numbers.items()):
        family.add_metric([kind], number)
    return family
