"""The collector's gate: estimates are shown of releases that enough people are in, no others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from threading import Lock

from incrowd.collection.collector.places import RECEIPT, Places
from incrowd.collection.collector.receipt import Receipt, load_receipt, receipts_of
from incrowd.collection.protocol.bundle import Bundle
from incrowd.estimation.estimate import count, estimate
from incrowd.presentation.page import page
from incrowd.reports.folder import stream_reports

Opened = tuple[Path, Receipt]


class Gate:
    """The releases that are opened, and the page of those that the gate lets through."""

    def __init__(self, bundle: Bundle, places: Places) -> None:
        self.bundle, self.places = bundle, places
        self._reading, self._drawing = Lock(), Lock()
        self._seen: object = None
        self._opened: tuple[Opened, ...] = ()
        self._page = ("", "")

    def opened(self) -> tuple[Opened, ...]:
        """All that is opened, read again when a receipt changes."""
        with self._reading:
            files = sorted(self.places.opened_ones.glob(f"release-*/{RECEIPT}"))
            seen = [(file, file.stat().st_mtime_ns) for file in files]
            if seen != self._seen:
                folders = [file.parent for file in files]
                self._opened = tuple((each, load_receipt(each)[0]) for each in folders)
                self._seen = seen
            return self._opened

    def passed(self) -> tuple[Opened, ...]:
        """Those that as many people are in as the plan counts on."""
        crowd = self.bundle.plan.survey.crowd
        return tuple(each for each in self.opened() if each[1].opened_people >= crowd)

    @property
    def version(self) -> str | None:
        """What tells one page from the next; none while there is none."""
        passed = self.passed()
        return _version(passed) if passed else None

    def page(self) -> str:
        """The page of estimates; "" while there is none. Made once, then kept.

        Raises ReportsError if the reports turn out to be of too few people, or were changed.
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
    """What stands below the heading of a page, for one with the same style sheet.

    Its style attributes are called data-style, since a strict policy forbids them: who shows the
    part sets them. No text holds such an attribute, whose quotation marks would be escaped.
    """
    _, _, rest = html.partition("</h1>")
    return rest.partition("</main>")[0].replace(' style="', ' data-style="')


def _version(passed: Sequence[Opened]) -> str:
    said = "".join(receipt.model_dump_json() for _, receipt in passed)
    return hashlib.sha256(said.encode()).hexdigest()[:16]
