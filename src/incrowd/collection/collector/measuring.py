"""What a collector tells Prometheus. All of it is about whole releases: it knows no upload."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from incrowd.collection.collector.opening import KINDS
from incrowd.collection.collector.places import Places, starts_in
from incrowd.collection.collector.receipt import Receipt, load_receipt
from incrowd.collection.service import exposition, gauge


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
