"""The collector's HTTP service: it receives releases and opens them in the background."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from incrowd.collection import service
from incrowd.collection.arriving import Arriving
from incrowd.collection.collector.collections import check_body_file
from incrowd.collection.collector.dashboard import Dashboard
from incrowd.collection.collector.keeper import forget, is_complete, open_waiting
from incrowd.collection.collector.opening import kinds_of
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.progress import CollectorProgress, Gate, PeopleCount
from incrowd.collection.collector.receipt import Receipt, load_receipt, note_later
from incrowd.collection.folders import check_exists
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.collection.service import answer, exposition, gauge, no_such
from incrowd.collection.settings import CollectorSettings
from incrowd.collection.steady import SteadyClock, TimedClock
from incrowd.collection.steps import KEYS, STORING, ServiceSteps
from incrowd.collection.taking import Taking
from incrowd.errors import IncrowdError, InWords, ReportsError, UsageError
from incrowd.files import check_room


class Measured:
    """Metrics from the files, and events of this process since it started.

    refused: the number of refused releases by problem type.
    """

    def __init__(self, places: CollectorPlaces, bundle: Bundle, refused: Mapping[str, int]) -> None:
        self.places, self.bundle, self.refused = places, bundle, refused
        self._seconds, self._since = 0.0, 0.0

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Measure the seconds of the block, also while it runs."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._seconds, self._since = self._passed(), 0.0

    def _passed(self) -> float:
        return self._seconds + (time.monotonic() - self._since if self._since else 0.0)

    def text(self, steps: ServiceSteps) -> bytes:
        """Return the metrics in the text format of Prometheus, with the steps that fail."""
        return exposition((*self._metrics(), *steps.metrics()))

    def _metrics(self) -> Iterator[Metric]:
        root, opened = self.places.root, receipts(self.places)
        taken = len(self.places.releases(self.bundle).received())
        yield gauge("incrowd_releases_taken", "Releases that have arrived completely.", taken)
        yield gauge("incrowd_releases_opened", "Releases that have been opened.", len(opened))
        yield _by_kind(
            CounterMetricFamily(
                "incrowd_releases_refused", "Releases that were refused.", labels=["kind"]
            ),
            self.refused,
        )
        accepted = sum(receipt.accepted for receipt in opened)
        yield gauge("incrowd_reports_accepted", "Sealed reports that could be opened.", accepted)
        rejected = {
            kind: sum(receipt.rejected[kind] for receipt in opened)
            for kind in kinds_of(self.bundle)
        }
        yield _by_kind(
            GaugeMetricFamily(
                "incrowd_reports_rejected",
                "Sealed reports that could not be opened.",
                labels=["kind"],
            ),
            rejected,
        )
        yield CounterMetricFamily(
            "incrowd_opening_seconds", "Seconds spent opening releases.", self._passed()
        )
        free = shutil.disk_usage(root).free
        yield gauge("incrowd_disk_free_bytes", "Free disk space for releases, in bytes.", free)
        there = self.places.private.exists()
        yield gauge(
            "incrowd_private_key",
            "1 while the private key exists; it is destroyed after the last release is opened.",
            there,
        )


def receipts(places: CollectorPlaces) -> list[Receipt]:
    """Return the receipts of all opened releases."""
    return [load_receipt(folder)[0] for folder in sorted(places.opened_ones.glob("release-*"))]


def _by_kind(family: CounterMetricFamily | GaugeMetricFamily, numbers: Mapping[str, int]) -> Metric:
    for kind, number in sorted(numbers.items()):
        family.add_metric([kind], number)
    return family


PROBE_BYTES = 1 << 16  # that must be free for a release
LOOK = 3600.0  # seconds between two checks whether the key can be destroyed
_log = logging.getLogger("incrowd.collector")


def application(
    folder: Path,
    bundle: Bundle,
    private: PrivateKey,
    settings: CollectorSettings,
    clock: TimedClock | None = None,
    people: PeopleCount | None = None,
) -> Starlette:
    """Return the collector of one bundle, whose files are in a folder.

    POST /release stores a release on disk and responds with the SHA-256 of its signature and
    header; a repetition gets the same response. With two mixers, so does POST /invitations with
    the inviter's statement. GET /health, /ready, /metrics. Releases are opened
    while the application runs; one that is interrupted is opened at the next start. With a token
    in the settings, there is a dashboard. clock: by default that of this machine, which has to be
    steady. people: the count that the shuffler reports; by default it is requested from the address
    in the bundle.
    """
    places = CollectorPlaces(folder)
    clock = clock or SteadyClock(places.clock)
    service = _Service(places, bundle, private, settings, clock)
    gate = Gate(bundle, service.places)
    progress = CollectorProgress(bundle, gate, people or PeopleCount(bundle, clock), clock)
    shown = Dashboard(progress, gate, settings.token).routes if settings.token else []
    invitations = Route("/invitations", service.invitations, methods=["POST"])
    return Starlette(
        routes=[
            Route("/release", service.release, methods=["POST"]),
            Route("/health", service.health, methods=["GET"]),
            Route("/ready", service.ready, methods=["GET"]),
            Route("/metrics", service.metrics, methods=["GET"]),
            *([] if bundle.mixers == 1 else [invitations]),
            *shown,
        ],
        lifespan=service.lifespan,
        exception_handlers={HTTPException: no_such},
    )


class _Service:
    """The state of an application: whether releases wait, and whether the last opening failed.

    private: None after the key was destroyed.
    """

    def __init__(
        self,
        places: CollectorPlaces,
        bundle: Bundle,
        private: PrivateKey,
        settings: CollectorSettings,
        clock: TimedClock,
    ) -> None:
        self.places, self.bundle, self.settings, self.clock = places, bundle, settings, clock
        self.private: PrivateKey | None = private
        self.came, self.stopping = asyncio.Event(), False
        self.steps = ServiceSteps(STORING, KEYS, "opening")
        self.arriving = Arriving(settings.piece_seconds, _log, self.steps, self.came.set, self.note)
        self.measured = Measured(places, bundle, self.arriving.refused)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Open releases, earlier ones included, until the application stops."""
        opening = asyncio.create_task(self.opening())
        yield
        self.stopping = True
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await opening

    async def opening(self) -> None:
        """Open all waiting releases, then wait for more."""
        while True:
            self.came.clear()
            with suppress(IncrowdError, OSError), self.steps("opening"):
                await asyncio.to_thread(self.open_all)  # what fails is kept: try again later
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self.came.wait()

    def open_all(self) -> None:
        """Open waiting releases; destroy the key after the last one, also in this process."""
        if self.private is None:
            note_later(self.places, self.bundle)
            return
        given = self.places, self.bundle, self.private, self.settings.workers
        with self.measured.opening():
            for folder in open_waiting(*given, self.go_on):
                _log.info("opened %s", folder)
        if forget(self.places, self.bundle, self.clock.confirmed()):
            self.private = None
            _log.info("all releases are open; the private key was destroyed")

    def go_on(self, _: int) -> None:
        """Called between two pieces of a release. Raises ReportsError if the service stops."""
        if self.stopping:
            allowed = "start the collector again; it then opens the release from the beginning"
            raise ReportsError.of("release", InWords("was only partly opened"), allowed)

    async def health(self, _: Request) -> Response:
        """Report that the process runs."""
        return PlainTextResponse("ok\n")

    async def ready(self, _: Request) -> Response:
        """Report whether the last opening succeeded, and a release can be stored; 503 if not."""
        await asyncio.to_thread(self._check)
        failing = self.steps.failing
        return PlainTextResponse("no\n" if failing else "ok\n", 503 if failing else 200)

    def _check(self) -> None:
        self._has_key()
        with suppress(OSError), self.steps(STORING):
            check_room(self.places.root, PROBE_BYTES)

    def _has_key(self) -> bool:
        """Return whether a release can be opened, also after a restart, while one can arrive."""
        with suppress(UsageError), self.steps(KEYS):
            if not is_complete(self.places, self.bundle, self.clock.confirmed()):
                check_exists(self.places.private)
            return True
        return False

    async def metrics(self, _: Request) -> Response:
        """Return metrics for Prometheus: releases, reports by kind, opening time, disk space."""
        text = await asyncio.to_thread(self.measured.text, self.steps)
        return Response(text, media_type=service.METRICS_TYPE)

    async def release(self, request: Request) -> Response:
        """Receive a release, unless it could not be opened: the mixer deletes its own then."""
        if not await asyncio.to_thread(self._has_key):
            return answer(KINDS["fault"])
        shelf = self.places.releases(self.bundle)
        check = partial(check_body_file, self.bundle)
        return await self.arriving.receive(request, Taking(self.bundle, shelf, check))

    async def invitations(self, request: Request) -> Response:
        """Receive the inviter's statement."""
        return await self.arriving.receive(request, Taking(self.bundle, self.places.invitations))

    def note(self, kind: problem.ProblemKind) -> None:
        """Record proofs of cheating in the receipts."""
        if kind.name == "contradiction":
            note_later(self.places, self.bundle)
