"""The collector's HTTP service: it receives releases and opens them in the background."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from incrowd.collection.arriving import Arriving
from incrowd.collection.collector.collections import check_body_file
from incrowd.collection.collector.dashboard import Dashboard
from incrowd.collection.collector.keeper import forget, is_complete, open_waiting
from incrowd.collection.collector.opening import kinds_of
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.progress import CollectorProgress, Gate, PeopleCount
from incrowd.collection.collector.receipt import Receipt, load_receipt, note_later
from incrowd.collection.folders import check_exists
from incrowd.collection.metrics import by_kind, gauge
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.problem import ProblemKind
from incrowd.collection.protocol.sealed import PrivateKey
from incrowd.collection.settings import CollectorSettings
from incrowd.collection.steady import SteadyClock, TimedClock
from incrowd.collection.steps import KEYS, LOG, STORING, WORKING, ServiceSteps
from incrowd.collection.taking import Taking

LOOK = 3600.0  # seconds between two checks whether the key can be destroyed


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
    desk = ReleaseDesk(places, bundle, private, settings, clock)
    routes = [desk.route("/release", desk.release, "POST")]
    if bundle.mixers == 2:
        routes.append(desk.route("/invitations", desk.invitations, "POST"))
    if settings.token:
        gate = Gate(bundle, places)
        progress = CollectorProgress(bundle, gate, people or PeopleCount(bundle, clock), clock)
        routes += Dashboard(progress, gate, settings.token).routes
    return Starlette(**desk.parts(*routes))


class ReleaseDesk(Arriving):
    """Receives releases and the inviter's statement, and opens releases.

    private: None after the key was destroyed.
    """

    opened, interrupted = "release", "collection.release-interrupted"

    def __init__(
        self,
        places: CollectorPlaces,
        bundle: Bundle,
        private: PrivateKey,
        settings: CollectorSettings,
        clock: TimedClock,
    ) -> None:
        steps = ServiceSteps(STORING, KEYS, WORKING, "opening")
        super().__init__(steps, LOOK, settings.piece_seconds, places.root)
        self.places, self.bundle, self.settings, self.clock = places, bundle, settings, clock
        self.private: PrivateKey | None = private
        self._seconds, self._since = 0.0, 0.0  # spent opening

    def look(self) -> None:
        """Open waiting releases; destroy the key after the last one, also in this process."""
        with self.steps("opening"):
            if self.private is None:
                note_later(self.places, self.bundle)
                return
            given = self.places, self.bundle, self.private, self.settings.workers
            with self._measuring():
                for folder in open_waiting(*given, self.go_on):
                    LOG.info("opened %s", folder)
            if forget(self.places, self.bundle, self.clock.confirmed()):
                self.private = None
                LOG.info("all releases are open; the private key was destroyed")

    def check_keys(self) -> None:
        """Raise UsageError unless a release can be opened, while one can arrive."""
        if not is_complete(self.places, self.bundle, self.clock.confirmed()):
            check_exists(self.places.private)

    async def release(self, request: Request) -> Response:
        """Receive a release."""
        shelf = self.places.releases(self.bundle)
        check = partial(check_body_file, self.bundle)
        return await self.take_to_open(request, Taking(self.bundle, shelf, check))

    async def invitations(self, request: Request) -> Response:
        """Receive the inviter's statement."""
        return await self.take(request, Taking(self.bundle, self.places.invitations))

    def note(self, kind: ProblemKind) -> None:
        """Record proofs of cheating in the receipts."""
        if kind.name == "contradiction":
            note_later(self.places, self.bundle)

    @contextmanager
    def _measuring(self) -> Iterator[None]:
        """Measure the seconds of the block, also while it runs."""
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._seconds, self._since = self._passed(), 0.0

    def _passed(self) -> float:
        return self._seconds + (time.monotonic() - self._since if self._since else 0.0)

    def measured(self) -> Iterator[Metric]:
        """Yield metrics of the files, and of events since the service started."""
        opened = receipts(self.places)
        taken = len(self.places.releases(self.bundle).received())
        yield gauge("incrowd_releases_taken", "Releases that have arrived completely.", taken)
        yield gauge("incrowd_releases_opened", "Releases that have been opened.", len(opened))
        text = "Releases that were refused."
        yield by_kind(CounterMetricFamily, "incrowd_releases_refused", text, self.refused)
        if not self.bundle.lanes:
            yield from _of_reports(opened, self.bundle)
        text = "Seconds spent opening releases."
        yield CounterMetricFamily("incrowd_opening_seconds", text, self._passed())
        free = shutil.disk_usage(self.places.root).free
        yield gauge("incrowd_disk_free_bytes", "Free disk space for releases, in bytes.", free)
        there = self.places.private.exists()
        text = "1 while the private key exists; it is destroyed after the last release is opened."
        yield gauge("incrowd_private_key", text, there)


def _of_reports(opened: list[Receipt], bundle: Bundle) -> Iterator[Metric]:
    """Yield the numbers of reports, which nobody may know if services add noise."""
    accepted = sum(receipt.accepted for receipt in opened)
    yield gauge("incrowd_reports_accepted", "Sealed reports that could be opened.", accepted)
    rejected = {
        kind: sum(receipt.rejected[kind] for receipt in opened) for kind in kinds_of(bundle)
    }
    text = "Sealed reports that could not be opened."
    yield by_kind(GaugeMetricFamily, "incrowd_reports_rejected", text, rejected)


def receipts(places: CollectorPlaces) -> list[Receipt]:
    """Return the receipts of all opened releases."""
    return [load_receipt(folder)[0] for folder in sorted(places.opened_ones.glob("release-*"))]
