"""The collector as a service: takes releases over HTTP, opens them behind the scenes."""

from __future__ import annotations

import asyncio
import errno
import logging
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from incrowd.collection import service
from incrowd.collection.collector.dashboard import Dashboard
from incrowd.collection.collector.keeper import forget, open_waiting
from incrowd.collection.collector.opening import KINDS
from incrowd.collection.collector.places import Places, starts_in
from incrowd.collection.collector.progress import Gate, Progress, Told
from incrowd.collection.collector.receipt import Receipt, load_receipt, note_contradictions
from incrowd.collection.collector.taking import Taking, acknowledgement
from incrowd.collection.machine import Clock, system
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.service import OCTETS, answer, exposition, gauge, is_octets, no_such
from incrowd.collection.settings import CollectorSettings
from incrowd.errors import IncrowdError, InWords, ProtocolError, ReportsError


class Measured:
    """What the files say, and what this process has seen since it started.

    refused: releases, by the type of problem that answered them.
    """

    def __init__(self, places: Places) -> None:
        self.places = places
        self.refused: Counter[str] = Counter()
        self._seconds, self._since = 0.0, 0.0

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Counts the seconds of the block, also while it runs."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._seconds, self._since = self._passed(), 0.0

    def _passed(self) -> float:
        return self._seconds + (time.monotonic() - self._since if self._since else 0.0)

    def text(self) -> bytes:
        """In the text format of Prometheus."""
        return exposition(self._metrics())

    def _metrics(self) -> Iterator[Metric]:
        root, opened = self.places.root, receipts(self.places)
        taken = len(starts_in(self.places.starts))
        yield gauge("incrowd_releases_taken", "Releases that are wholly here.", taken)
        yield gauge("incrowd_releases_opened", "Releases that are opened.", len(opened))
        yield _by_kind(
            CounterMetricFamily("incrowd_releases_refused", "Refused ones.", labels=["kind"]),
            self.refused,
        )
        accepted = sum(receipt.accepted for receipt in opened)
        yield gauge("incrowd_reports_accepted", "Sealed reports that could be opened.", accepted)
        rejected = {kind: sum(receipt.rejected[kind] for receipt in opened) for kind in KINDS}
        yield _by_kind(
            GaugeMetricFamily("incrowd_reports_rejected", "Those that were not.", labels=["kind"]),
            rejected,
        )
        yield CounterMetricFamily("incrowd_opening_seconds", "Spent opening.", self._passed())
        free = shutil.disk_usage(root).free
        yield gauge("incrowd_disk_free_bytes", "Room where releases are kept.", free)
        there = self.places.private.exists()
        yield gauge("incrowd_private_key", "1 until everything is opened.", there)


def receipts(places: Places) -> list[Receipt]:
    """Those of all releases that are opened."""
    return [load_receipt(folder)[0] for folder in sorted(places.opened_ones.glob("release-*"))]


def _by_kind(family: CounterMetricFamily | GaugeMetricFamily, numbers: Mapping[str, int]) -> Metric:
    for kind, number in sorted(numbers.items()):
        family.add_metric([kind], number)
    return family


_answer = partial(answer, retry_after=60)
LOOK = 3600.0  # seconds between two looks whether the key can go
_log = logging.getLogger("incrowd.collector")


def application(
    folder: Path,
    bundle: Bundle,
    private: X25519PrivateKey,
    settings: CollectorSettings,
    clock: Clock = system,
    told: Told | None = None,
) -> Starlette:
    """The collector of one bundle, whose files are in a folder.

    POST /release takes a release and answers with the SHA-256 of its signature and header, once
    it is on the disk; the same again is answered alike. GET /health, /ready, /metrics. What is
    taken is opened while the application runs; what it is at when it stops is opened next time.
    With a token in the settings there is the dashboard. told: what the shuffler says of people; by
    default it is asked at the bundle's address.
    """
    service = _Service(Places(folder), bundle, private, settings, clock)
    gate = Gate(bundle, service.places)
    progress = Progress(bundle, gate, told or Told(bundle, clock), clock)
    shown = Dashboard(progress, gate, settings.token).routes if settings.token else []
    return Starlette(
        routes=[
            Route("/release", service.release, methods=["POST"]),
            Route("/health", service.health, methods=["GET"]),
            Route("/ready", service.ready, methods=["GET"]),
            Route("/metrics", service.metrics, methods=["GET"]),
            *shown,
        ],
        lifespan=service.lifespan,
        exception_handlers={HTTPException: no_such},
    )


class _Service:
    """The state of an application: whether there is something to open, and what last failed."""

    def __init__(
        self,
        places: Places,
        bundle: Bundle,
        private: X25519PrivateKey,
        settings: CollectorSettings,
        clock: Clock,
    ) -> None:
        self.places, self.bundle, self.private = places, bundle, private
        self.settings, self.clock = settings, clock
        self.came, self.failed, self.stopping = asyncio.Event(), False, False
        self.measured = Measured(places)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Opens what comes, and what had come before, until the application stops."""
        opening = asyncio.create_task(self.opening())
        yield
        self.stopping = True
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await opening

    async def opening(self) -> None:
        """Open whatever waits, then wait for more."""
        while True:
            self.came.clear()
            try:
                await asyncio.to_thread(self.open_all)
                self.failed = False
            except (IncrowdError, OSError) as error:  # the release is still there: try again later
                self.failed = True
                _log.error("a release could not be opened: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self.came.wait()

    def open_all(self) -> None:
        """Open what waits; destroy the key if that was all."""
        given = self.places, self.bundle, self.private, self.settings.workers
        with self.measured.opening():
            for made in open_waiting(*given, self.go_on):
                _log.info("opened %s", made)
        if forget(self.places, self.bundle, self.clock()):
            _log.info("everything is opened; the private key is destroyed")

    def go_on(self, _: int) -> None:
        """Between two pieces of a release. Raises ReportsError if all is to stop."""
        if self.stopping:
            allowed = "try again: the collector opens it from its beginning when it starts"
            raise ReportsError.of("release", InWords("was left half opened"), allowed)

    async def health(self, _: Request) -> Response:
        """Whether it runs."""
        return PlainTextResponse("ok\n")

    async def ready(self, _: Request) -> Response:
        """Whether nothing that was taken failed to open."""
        return PlainTextResponse("no\n" if self.failed else "ok\n", 503 if self.failed else 200)

    async def metrics(self, _: Request) -> Response:
        """For Prometheus: releases, reports by kind, seconds of opening, room on the disk."""
        text = await asyncio.to_thread(self.measured.text)
        return Response(text, media_type=service.METRICS_TYPE)

    async def release(self, request: Request) -> Response:
        """Take a release."""
        headers = dict(request.headers.raw)
        if not is_octets(headers.get(b"content-type", b""), headers.get(b"content-encoding")):
            return _answer(problem.KINDS["media-type"], f"should be {OCTETS.decode()}, as it is")
        try:
            acknowledged = await self.taken(request)
        except ProtocolError as error:
            return await self.refused(error)
        except (TimeoutError, ClientDisconnect):
            return _answer(problem.KINDS["slow"])
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            _log.error("a release could not be kept: %s", error.strerror)
            return _answer(problem.KINDS["full" if full else "fault"])
        self.came.set()
        return PlainTextResponse(acknowledged)

    async def taken(self, request: Request) -> str:
        """All of a release, as it arrives."""
        with Taking(self.bundle, self.places) as taking:
            stream = request.stream()
            async for piece in _in_time(stream, self.settings.piece_seconds):
                taking.add(piece)
            return acknowledgement(await asyncio.to_thread(taking.done))

    async def refused(self, error: ProtocolError) -> Response:
        """Say what is wrong with a release, and note it where it proves that somebody cheats."""
        kind = problem.kind_of(error)
        self.measured.refused[kind.name] += 1
        if kind.name == "contradiction":
            await asyncio.to_thread(note_contradictions, self.places, self.bundle)
        _log.warning("a release was refused: %s", error)
        return _answer(kind, str(error))


async def _in_time(stream: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    """Pieces, none of which takes longer. Raises TimeoutError."""
    while True:
        try:
            async with asyncio.timeout(seconds):
                piece = await anext(stream)
        except StopAsyncIteration:
            return
        yield piece
