"""The second mixer's HTTP service: it receives the batch, and opens and releases it."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, Metric
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from incrowd.collection.answering import answer
from incrowd.collection.arriving import Arriving
from incrowd.collection.delivery import Courier
from incrowd.collection.handover import sender
from incrowd.collection.metrics import by_kind, gauge
from incrowd.collection.mixer.second.keeper import SecondKeeper, releases_in
from incrowd.collection.protocol.bundle import MixersBundle
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.settings import SecondMixerSettings
from incrowd.collection.steady import SteadyClock, TimedClock
from incrowd.collection.taking import Taking

RELEASE = "/release"


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
    deliver = deliver or sender(bundle.collector_address, RELEASE, settings.folder)
    desk = BatchDesk(settings, bundle, clock, deliver)
    app = Starlette(**desk.parts(desk.route("/batch", desk.batch, "POST")))
    app.state.keeper = desk.keeper
    return app


class BatchDesk(Arriving):
    """Receives the batch, opens it and delivers the releases."""

    opened, interrupted = "batch", "collection.batch-interrupted"

    def __init__(
        self,
        settings: SecondMixerSettings,
        bundle: MixersBundle,
        clock: TimedClock,
        deliver: Courier,
    ) -> None:
        self.settings, self.bundle = settings, bundle
        self.keeper = SecondKeeper(settings, bundle, clock, deliver, self.go_on)
        super().__init__(self.keeper.steps, settings.pause, settings.piece_seconds, settings.folder)

    def look(self) -> None:
        """Do all the work that is due."""
        self.keeper.look()

    def check_keys(self) -> None:
        """Raise UsageError unless the private keys exist, while they are needed."""
        self.keeper.check_keys()

    async def batch(self, request: Request) -> Response:
        """Receive the batch."""
        if self.keeper.is_over:
            return answer(KINDS["closed"], f"everything was destroyed on {self.bundle.disposes}")
        return await self.take_to_open(request, Taking(self.bundle, self.keeper.shelf))

    def measured(self) -> Iterator[Metric]:
        """Yield how far the batch is."""
        taken = len(self.keeper.shelf.received())
        yield gauge("incrowd_batches_taken", "1 when the batch has arrived completely.", taken)
        text = "Batches that were refused."
        yield by_kind(CounterMetricFamily, "incrowd_batches_refused", text, self.refused)
        releases = releases_in(self.settings.releases)
        delivered = sum(not release.body.exists() for release in releases)
        yield gauge("incrowd_releases_made", "Strata that were released or refused.", len(releases))
        yield gauge("incrowd_releases_delivered", "Those that the collector has.", delivered)
        yield by_kind(
            CounterMetricFamily,
            "incrowd_envelopes_dropped",
            "Envelopes of released strata that were dropped, rounded down to the reserve.",
            {kind: self.bundle.rounded(each) for kind, each in self.keeper.dropped.items()},
        )
        there = self.settings.secret_file.exists()
        text = "1 while the private key exists; it is destroyed before anything is sent."
        yield gauge("incrowd_private_key", text, there)
