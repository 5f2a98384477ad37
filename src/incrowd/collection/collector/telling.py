"""What the shuffler tells of people while they send: asked once an hour, for all who look."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from threading import Lock

from incrowd.collection.clock import Clock
from incrowd.collection.device.connection import Connection, Patience
from incrowd.collection.wire.bundle import Bundle
from incrowd.errors import ProtocolError
from incrowd.plans.digests import read_json

PATIENCE = Patience(whole=0.0, one=5.0)
HOUR = timedelta(hours=1)
AGAIN = timedelta(minutes=1)  # after a question that was not answered
MOST_BYTES, MOST_PEOPLE = 1 << 25, 1 << 53


class Told:
    """People of each stratum by its name, as of an hour; none until the shuffler has answered."""

    def __init__(self, bundle: Bundle, clock: Clock, connection: Connection | None = None) -> None:
        self.bundle, self.clock = bundle, clock
        self.connection = connection or Connection(patience=PATIENCE)
        self.people: Mapping[str, int] = {}
        self.hour: datetime | None = None  # of what is known
        self.away = False
        self.next: datetime | None = None  # when it is asked again
        self._asking = Lock()

    def look(self) -> None:
        """Ask, unless it was answered in this hour."""
        with self._asking:
            now = self.clock()
            if self.next and now < self.next <= now + HOUR:  # later only if the clock was set back
                return
            found, hour = self._asked(), now.replace(minute=0, second=0, microsecond=0)
            self.away, self.next = found is None, now + AGAIN
            if found is not None:
                self.people, self.hour, self.next = found, hour, hour + HOUR

    def _asked(self) -> dict[str, int] | None:
        """What it says now; None if it does not answer with a count."""
        address = f"{self.bundle.addresses.shuffler}/count"
        try:
            reply = self.connection.ask("GET", address, most=MOST_BYTES)
        except ProtocolError:
            return None
        return _parsed(reply.body, self.bundle) if reply.status == 200 else None


def _parsed(body: bytes, bundle: Bundle) -> dict[str, int] | None:
    """People of each stratum: rounded down here as well, whatever is said. None if it is none."""
    try:
        told = read_json(body.decode())["people"]
        people = {name: told[name] for name in bundle.strata}
    except (ValueError, LookupError, TypeError):
        return None
    if not all(type(each) is int and 0 <= each < MOST_PEOPLE for each in people.values()):
        return None
    return {name: bundle.rounded(each) for name, each in people.items()}
