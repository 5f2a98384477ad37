"""What may be told while it is collected: so little that no number shows who came when."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from threading import Lock

from prometheus_client.core import GaugeMetricFamily, Metric

from incrowd.collection.clock import Clock
from incrowd.collection.metrics import exposition
from incrowd.collection.store.store import Store, Stratum

PEOPLE = "People of a stratum, rounded down to a multiple of the reserve, read once an hour."
STATE = "1 for the state that a stratum is in."


class Counted:
    """The strata as they were when somebody first asked in this hour."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock
        self._asking = Lock()
        self._hour: datetime | None = None
        self._strata: tuple[Stratum, ...] = ()

    def strata(self) -> tuple[Stratum, ...]:
        """Read at most once an hour, by the clock of the wall."""
        hour = self.clock().replace(minute=0, second=0, microsecond=0)
        with self._asking:
            if hour != self._hour:
                self._strata, self._hour = self.store.strata(), hour
            return self._strata

    def people(self) -> dict[int, int]:
        """Of each stratum, rounded down."""
        return {s.number: self.store.bundle.rounded(s.people) for s in self.strata()}

    def text(self) -> bytes:
        """The same as Prometheus reads it."""
        return exposition(self._metrics())

    def _metrics(self) -> Iterator[Metric]:
        counts = self.people()
        people = GaugeMetricFamily("incrowd_people", PEOPLE, labels=["stratum"])
        states = GaugeMetricFamily("incrowd_stratum_state", STATE, labels=["stratum", "state"])
        for stratum in self.strata():
            number = str(stratum.number)
            people.add_metric([number], counts[stratum.number])
            states.add_metric([number, stratum.state], 1)
        yield from (people, states)
