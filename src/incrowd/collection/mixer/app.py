"""The HTTP service of a shuffler, or of the first of two mixers: the bundle decides.

Uploads are checked in the order that the protocol states.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime
from threading import Lock
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from incrowd.collection.answering import answer
from incrowd.collection.delivery import Courier
from incrowd.collection.grouping import Grouped
from incrowd.collection.machine import Clock
from incrowd.collection.mixer.keeper import Keeper
from incrowd.collection.mixer.onward import onward
from incrowd.collection.mixer.store.store import MOST_ROWS, Store, StratumState
from incrowd.collection.mixer.store.writing import UploadOutcome
from incrowd.collection.protocol.bundle import Bundle, MixersBundle, as_time
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.protocol.tokens import has_entry
from incrowd.collection.protocol.upload import Upload, parse_upload, upload_length
from incrowd.collection.receiving import ANY_PAGE, OPEN_TO_PAGES, Receiving
from incrowd.collection.settings import MixerSettings
from incrowd.collection.steady import SteadyClock, TimedClock

# Published during a collection: so little that no number shows who sent when.


PEOPLE = "People of a stratum, rounded down to a multiple of the reserve, read once an hour."
STATE = "1 for the current state of a stratum."


class StrataCounts:
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

    def metrics(self) -> Iterator[Metric]:
        """Return the counts and states as metrics."""
        counts = self.people()
        people = GaugeMetricFamily("incrowd_people", PEOPLE, labels=["stratum"])
        states = GaugeMetricFamily("incrowd_stratum_state", STATE, labels=["stratum", "state"])
        for stratum in self.strata():
            number = str(stratum.number)
            people.add_metric([number], counts[stratum.number])
            states.add_metric([number, stratum.state], 1)
        yield from (people, states)


UPLOAD = "/upload"
TAKEN = {201: UploadOutcome.STORED, 200: UploadOutcome.REPEATED}
DONE = {
    outcome: Response(status_code=code, headers=OPEN_TO_PAGES) for code, outcome in TAKEN.items()
}


def application(
    store: Store,
    bundle: Bundle,
    settings: MixerSettings,
    clock: TimedClock | None = None,
    deliver: Courier | None = None,
) -> Starlette:
    """Return the mixer of one bundle. It also closes, releases and delivers strata when due.

    clock: by default that of this machine, which has to be steady. deliver: passes on what was
    signed; by default it is posted to the bundle's address.
    """
    clock = clock or SteadyClock(settings.clock_file)
    keeper = Keeper(store, settings, clock, deliver or onward(bundle).courier(settings.folder))
    desk = MixerDesk(store, bundle, settings, clock, keeper)
    routes = desk.route("/bundle", desk.show_bundle), desk.route("/count", desk.count)
    app = Mixer(desk, middleware=[Middleware(CORSMiddleware, **ANY_PAGE)], **desk.parts(*routes))
    app.state.keeper = keeper
    return app


class Mixer(Starlette):
    """Passes uploads to the desk directly: the framework's layers cost more than their work."""

    def __init__(self, desk: MixerDesk, **given: Any) -> None:
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


class MixerDesk(Receiving):
    """Handles the requests of one mixer."""

    store: Store

    def __init__(
        self,
        store: Store,
        bundle: Bundle,
        settings: MixerSettings,
        clock: TimedClock,
        keeper: Keeper,
    ) -> None:
        super().__init__(store, bundle, settings, upload_length(bundle), clock, keeper)
        self.counted = StrataCounts(store, clock)
        self.grouped = Grouped(store.take, max(1, MOST_ROWS // bundle.places))

    async def upload(self, scope: Scope, receive: Receive) -> Response:
        """Store or withdraw an upload."""
        if scope["method"] == "POST":
            return await self.received(scope, receive, self._take, KINDS["closed"])
        if scope["method"] == "DELETE":
            return await self.received(scope, receive, self._withdraw, KINDS["not-found"])
        return answer(KINDS["method"])

    async def _take(self, body: bytes) -> Response:
        upload = parse_upload(body, self.bundle)
        if self.clock() < as_time(self.bundle.opens):
            return answer(KINDS["not-open"])
        if late := self.too_late(KINDS["closed"]):
            return late
        if not self._is_admitted(upload):
            return answer(KINDS["token"])
        outcome = await self.grouped.accept(upload)
        return DONE.get(outcome) or answer(KINDS[outcome.value])

    async def _withdraw(self, body: bytes) -> Response:
        upload = parse_upload(body, self.bundle)
        if late := self.too_late(KINDS["not-found"]):
            return late
        if not self._is_admitted(upload):
            return answer(KINDS["token"])
        [prepared] = self.store.prepare(upload)
        is_open = await self.grouped.alone(self.store.withdraw, prepared)
        return Response(status_code=204) if is_open else answer(KINDS["not-found"])

    def _is_admitted(self, upload: Upload) -> bool:
        """Return whether an upload has the entry token that it needs.

        This takes about 50 microseconds, during which the interpreter does nothing else: another
        thread would not make it faster.
        """
        return not isinstance(self.bundle, MixersBundle) or has_entry(upload, self.bundle)

    async def count(self, _: Request) -> Response:
        """Return the people in each stratum, rounded down to a multiple of the reserve, hourly."""
        counts = await asyncio.to_thread(self.counted.people)
        names = self.bundle.strata
        return JSONResponse({"people": {names[at]: people for at, people in counts.items()}})

    def measured(self) -> Iterator[Metric]:
        """Yield the metrics of the strata."""
        return self.counted.metrics()

    def close(self) -> None:
        """Wait for the writer to finish."""
        self.grouped.close()
