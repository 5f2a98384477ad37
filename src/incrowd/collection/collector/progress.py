"""The progress of a collection, as shown on the dashboard.

It contains nothing that depends on answers, and nothing that grows with the number of reports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any

from incrowd.catalog.sentences import ENGLISH, LANGUAGES, in_words
from incrowd.collection.claims import bundle_guarantee
from incrowd.collection.collector.keeper import GRACE, missing_strata
from incrowd.collection.collector.opening import kinds_of
from incrowd.collection.collector.places import RECEIPT, CollectorPlaces
from incrowd.collection.collector.receipt import Receipt, load_receipt, receipts_of
from incrowd.collection.device.connection import Connection, Patience
from incrowd.collection.machine import Clock
from incrowd.collection.protocol.bundle import TIME, Bundle, as_time
from incrowd.collection.protocol.mixing import AnyRelease
from incrowd.collection.protocol.signed import Signed
from incrowd.errors import ProtocolError
from incrowd.estimation.estimate import count, estimate
from incrowd.estimation.receipts import cheating_sentence
from incrowd.plans import Guarantee
from incrowd.plans.digests import read_json
from incrowd.plans.plan import written_epsilon
from incrowd.plans.strata import releases
from incrowd.presentation.guarantee_text import (
    guarantee_heading,
    guarantee_sentence,
    guarantee_symbols,
)
from incrowd.presentation.layouts import page
from incrowd.reports.folder import stream_reports

OpenedRelease = tuple[Path, Receipt]


class Gate:
    """The opened releases, and the page of estimates of those with enough people."""

    def __init__(self, bundle: Bundle, places: CollectorPlaces) -> None:
        self.bundle, self.places = bundle, places
        self._reading, self._drawing = Lock(), Lock()
        self._seen: object = None
        self._opened: tuple[OpenedRelease, ...] = ()
        self._page = ("", "")

    def opened(self) -> tuple[OpenedRelease, ...]:
        """Return all opened releases, read again when a receipt changes."""
        with self._reading:
            files = sorted(self.places.opened_ones.glob(f"release-*/{RECEIPT}"))
            seen = [(file, file.stat().st_mtime_ns) for file in files]
            if seen != self._seen:
                folders = [file.parent for file in files]
                self._opened = tuple((each, load_receipt(each)[0]) for each in folders)
                self._seen = seen
            return self._opened

    def passed(self) -> tuple[OpenedRelease, ...]:
        """Return the releases with at least as many people as the plan asks for."""
        least = self.bundle.plan.least
        return tuple(each for each in self.opened() if each[1].opened_people >= least)

    @property
    def version(self) -> str | None:
        """The version of the page of estimates; None if there is no page yet."""
        passed = self.passed()
        return _version(passed) if passed else None

    def page(self) -> str:
        """Return the page of estimates; "" if there is no page yet.

        Raises ReportsError if the reports are of too few people or were changed.
        """
        with self._drawing:
            passed = self.passed()
            if passed and self._page[0] != _version(passed):
                self._page = _version(passed), self._drawn([folder for folder, _ in passed])
            return self._page[1] if passed else ""

    def _drawn(self, folders: list[Path]) -> str:
        plan = self.bundle.plan
        counted = count(plan, chain.from_iterable(map(stream_reports, folders)))
        return page(estimate(plan, counted, received=receipts_of(plan, folders)))


def main_part(html: str) -> str:
    """Return what is below the heading of a page, for another page with the same style sheet."""
    _, _, rest = html.partition("</h1>")
    return rest.partition("</main>")[0]


def _version(passed: Sequence[OpenedRelease]) -> str:
    receipts = "".join(receipt.model_dump_json() for _, receipt in passed)
    return hashlib.sha256(receipts.encode()).hexdigest()[:16]


# The number of people that the shuffler or the first mixer reports: requested once an hour, for all
# viewers.


PATIENCE = Patience(whole=0.0, one=5.0)
HOUR = timedelta(hours=1)
AGAIN = timedelta(minutes=1)  # after a request without a response
MOST_BYTES, MOST_PEOPLE = 1 << 25, 1 << 53


class PeopleCount:
    """People in each stratum, by name, as of some hour; empty until the service responds."""

    def __init__(self, bundle: Bundle, clock: Clock, connection: Connection | None = None) -> None:
        self.bundle, self.clock = bundle, clock
        self.connection = connection or Connection(patience=PATIENCE)
        self.people: Mapping[str, int] = {}
        self.hour: datetime | None = None  # of the latest count
        self.away = False
        self.next: datetime | None = None  # the time of the next request
        self._asking = Lock()

    def look(self) -> None:
        """Request the count, unless the service responded in this hour."""
        with self._asking:
            now = self.clock()
            if self.next and now < self.next <= now + HOUR:  # later only if the clock was set back
                return
            people, hour = self._asked(), now.replace(minute=0, second=0, microsecond=0)
            self.away, self.next = people is None, now + AGAIN
            if people is not None:
                self.people, self.hour, self.next = people, hour, hour + HOUR

    def _asked(self) -> dict[str, int] | None:
        """Return the current count; None without a valid response."""
        address = f"{self.bundle.upload_address}/count"
        try:
            reply = self.connection.ask("GET", address, most=MOST_BYTES)
        except ProtocolError:
            return None
        return _parsed(reply.body, self.bundle) if reply.status == 200 else None


class Uncounted(PeopleCount):
    """No count: for someone who reads a folder, and does not request anything."""

    def look(self) -> None:
        """Do nothing: there is nobody to ask."""


def _parsed(body: bytes, bundle: Bundle) -> dict[str, int] | None:
    """Return the people in each stratum, rounded down here as well; None if invalid."""
    try:
        counts = read_json(body.decode())["people"]
        people = {name: counts[name] for name in bundle.strata}
    except (ValueError, LookupError, TypeError):
        return None
    if not all(type(each) is int and 0 <= each < MOST_PEOPLE for each in people.values()):
        return None
    return {name: bundle.rounded(each) for name, each in people.items()}


MOST_STRATA = 100  # listed at most


class CollectorProgress:
    """The progress of a collection: counts of people, and releases."""

    def __init__(self, bundle: Bundle, gate: Gate, count: PeopleCount, clock: Clock) -> None:
        self.bundle, self.gate, self.count, self.clock = bundle, gate, count, clock
        self._promises: dict[tuple[int, bool], dict[str, Any]] = {}

    def facts(self) -> dict[str, Any]:
        """Return all facts, JSON-ready. Until the release, request the count of people."""
        bundle, now = self.bundle, self.clock()
        taken = self.gate.places.releases(bundle).received()
        whole = not missing_strata(taken, bundle)
        phase = _phase(bundle, now, len(taken), len(taken) - len(self.gate.opened()), whole)
        counting = phase in ("collecting", "closed")
        if counting:
            self.count.look()
        following = self.count.next if counting else None
        return {
            "title": bundle.wording.title,
            "period": bundle.period,
            "phase": phase,
            "now": now.strftime(TIME),
            "opens": bundle.opens,
            "closes": bundle.closes,
            "disposes": bundle.disposes,
            "as_of": self.count.hour and self.count.hour.strftime(TIME),
            "next_count": following and following.strftime(TIME),
            "counted_by": "shuffler" if bundle.mixers == 1 else "first mixer",
            "counter_away": self.count.away,
            "crowd": bundle.plan.survey.crowd,
            "counts_on_crowd": bundle.plan.guarantee.crowd is not None,
            "least_people": bundle.least_people,
            "small_strata": bundle.small_strata,
            **self._strata(taken),
            **self._opened(),
            "guarantee": self._guarantee(),
            "estimates": self.gate.version,
        }

    def _strata(self, taken: Sequence[Signed[AnyRelease]]) -> dict[str, Any]:
        """Return the first strata, and how many more there are.

        too_few: whether the second mixer had too few tokens, so that nothing was counted.
        """
        least, people = self.bundle.least_people, self.count.people
        reports = {n: signed.header.reports for signed in taken for n in signed.header.strata}
        rows = [
            {
                "name": name,
                "people": people.get(name),
                "missing": max(0, least - people.get(name, 0)),
                "released": number in reports,
                "too_few": reports.get(number) == 0,
            }
            for number, name in enumerate(self.bundle.strata[:MOST_STRATA])
        ]
        return {"strata": rows, "more_strata": len(self.bundle.strata) - len(rows)}

    def _opened(self) -> dict[str, Any]:
        """Return the facts in the receipts that do not depend on answers; no number of reports if
        services add noise."""
        receipts, counted = [receipt for _, receipt in self.gate.opened()], not self.bundle.lanes
        return {
            "opened_people": sum(receipt.opened_people for receipt in receipts),
            "sealed_reports": sum(receipt.reports for receipt in receipts) if counted else None,
            "rejected": {
                kind: sum(each.rejected[kind] for each in receipts)
                for kind in kinds_of(self.bundle)
            },
            "cheating": cheating_sentence(self.bundle.mixers) if self._contradicted else None,
        }

    def _guarantee(self) -> dict[str, Any] | None:
        """Return the guarantee for the smallest release, or for a release that were made now."""
        people = min((receipt.opened_people for _, receipt in self.gate.passed()), default=None)
        if people is None and self.count.people:
            people = _would_be_released(self.bundle, self.count.people)
        if people is None:
            return None
        if (key := (people, self._contradicted)) not in self._promises:
            guarantee = bundle_guarantee(self.bundle, people, contradicted=key[1])
            self._promises[key] = {
                "people": people,
                **_in_words(guarantee, ENGLISH),
                "translations": {
                    language: _in_words(guarantee, language)
                    for language in LANGUAGES
                    if language != ENGLISH
                },
                "epsilon": written_epsilon(guarantee.epsilon),
                "delta": guarantee.delta,
                "reduced_by": list(guarantee.reduced_by),
            }
        return self._promises[key]

    @property
    def _contradicted(self) -> bool:
        return bool(self.gate.places.releases(self.bundle).proofs())


def _in_words(guarantee: Guarantee, language: str) -> dict[str, str]:
    """Return a guarantee in a language."""
    return {
        "heading": in_words(guarantee_heading(guarantee), language),
        "sentence": guarantee_sentence(guarantee, language=language),
        "symbols": in_words(guarantee_symbols(guarantee), language),
    }


def _phase(bundle: Bundle, now: datetime, released: int, waiting: int, whole: bool) -> str:
    """Return the phase of a collection. whole: whether no stratum can still be released."""
    if waiting > 0:
        return "opening"
    if whole:
        return "opened"
    if now >= as_time(bundle.disposes) and released:
        return "opened"
    if now >= as_time(bundle.disposes) + GRACE:  # a release that was due may come late
        return "disposed"
    if now >= as_time(bundle.closes):
        return "closed"
    return "collecting" if now >= as_time(bundle.opens) else "not-open"


def _would_be_released(bundle: Bundle, people: Mapping[str, int]) -> int:
    """Return the people in the smallest release now possible; otherwise in the largest stratum."""
    counts = {number: people[name] for number, name in enumerate(bundle.strata)}
    due = releases(counts, bundle.least_people, bundle.small_strata)
    return min((sum(counts[n] for n in group) for group in due), default=max(counts.values()))
