"""The time that may close a collection, delete rows and destroy keys.

A clock that is wrong for a moment must destroy nothing. So its time counts only after the clock has
been steady for an hour: since an earlier reading of the same boot, it advanced as much as the time
since boot. Then the same is done at the same time as without this rule. After a start of the
machine or a jump of the clock, what depends on the time alone waits for up to an hour, or until a
person confirms the clock.

Only two readings are compared: if the clock is wrong by the same amount twice, and nobody reads it
in between, the second reading confirms the first. A service that runs reads it every ten seconds.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Protocol

from incrowd.collection import machine
from incrowd.collection.machine import Clock, ClockReading, MachineFinding
from incrowd.errors import UsageError
from incrowd.files import write_private

HOUR = 3600.0  # seconds for which a clock has to be steady
TOLERANCE = 10.0  # seconds by which a steady clock may be adjusted
NEVER = datetime.min.replace(tzinfo=UTC)  # before everything that depends on the time
CLOCK_FILE = "clock.json"  # in the folder of a service
FORMAT = "incrowd clock 1"
LOG = logging.getLogger("incrowd.clock")
WAITS = (
    "what depends on the time alone (closing, deleting, destroying keys) waits until the clock has "
    "been steady for an hour, or until `incrowd confirm-clock`"
)


class TimedClock(Protocol):
    """A clock that also states which time counts."""

    def __call__(self) -> datetime:
        """Return the time of the clock."""

    def confirmed(self) -> datetime:
        """Return the same time if it is confirmed; otherwise NEVER."""


@dataclass(frozen=True)
class CertainClock:
    """A clock whose time always counts, such as that of a rehearsal."""

    read: Clock

    def __call__(self) -> datetime:
        """Return the time of the clock."""
        return self.read()

    def confirmed(self) -> datetime:
        """Return the same."""
        return self.read()


class SteadyClock:
    """The clock of this machine, whose time counts after it has been steady for an hour.

    file: the first reading since which the clock has been steady. It outlives this process. Several
    processes can share it.
    """

    def __init__(self, file: Path, read: Callable[[], ClockReading] | None = None) -> None:
        self.file, self._read = file, read or (lambda: machine.read_clocks())
        self._first: ClockReading | None = None
        self._lock = Lock()

    def __call__(self) -> datetime:
        """Return the time of the clock."""
        return self._read().time

    def confirmed(self) -> datetime:
        """Return the time of the clock if it is confirmed; otherwise NEVER.

        Log a jump, and wait from then on. If the file cannot be written, the reading is kept in
        memory.
        """
        with self._lock:
            now, stored = self._read(), load_reading(self.file)
            first = stored or self._first
            if first is None or not is_steady(first, now):
                if first is not None and _is_one_boot(first, now):
                    LOG.warning("%s; %s", _reason(first, now), WAITS)
                first = now
            if first != stored:
                _store(self.file, first)
            self._first = first
            return now.time if now.seconds - first.seconds >= HOUR else NEVER


def is_steady(first: ClockReading, now: ClockReading) -> bool:
    """Return whether the clock advanced as much as the time since the same boot."""
    return _is_one_boot(first, now) and abs(_jump(first, now)) <= TOLERANCE


def _is_one_boot(first: ClockReading, now: ClockReading) -> bool:
    return first.boot == now.boot and first.seconds <= now.seconds


def _jump(first: ClockReading, now: ClockReading) -> float:
    """Return by how many seconds the clock was set forward between two readings."""
    return (now.time - first.time).total_seconds() - (now.seconds - first.seconds)


def _reason(first: ClockReading, now: ClockReading) -> str:
    if not _is_one_boot(first, now):
        return "the machine was started again"
    return f"the clock jumped by {_jump(first, now):+,.0f} seconds"


# --- the file ------------------------------------------------------------------------------------


def load_reading(file: Path) -> ClockReading | None:
    """Return the reading in a file, or None if there is none."""
    try:
        content = json.loads(file.read_bytes())
        if content["format"] != FORMAT:
            return None
        time = datetime.fromisoformat(content["time"]).astimezone(UTC)
        return ClockReading(time, float(content["seconds"]), str(content["boot"]))
    except (OSError, ValueError, LookupError, TypeError, OverflowError):
        return None


def _store(file: Path, reading: ClockReading) -> None:
    """Write a reading. If that fails, an older one must not be trusted either."""
    content = {"format": FORMAT} | reading._asdict() | {"time": reading.time.isoformat()}
    try:
        write_private(file, json.dumps(content).encode(), overwrite=True)
    except OSError:
        with suppress(OSError):
            file.unlink(missing_ok=True)


# --- a person ------------------------------------------------------------------------------------


CLOSE = timedelta(minutes=2)  # between the clock and the time that a person states


def confirm(file: Path, stated: datetime) -> datetime:
    """Count the time of this machine from now on; return it. stated: the time on another clock.

    Raises UsageError if the two differ by more than two minutes.
    """
    now = machine.read_clocks()
    if abs(now.time - stated) > CLOSE:
        raise UsageError.of(
            "time",
            "collection.clocks-differ",
            stated=f"{stated:%Y-%m-%dT%H:%M:%SZ}",
            clock=f"{now.time:%Y-%m-%dT%H:%M:%SZ}",
        )
    hour = timedelta(seconds=HOUR)
    _store(file, now._replace(time=now.time - hour, seconds=now.seconds - HOUR))
    return now.time


def waiting(file: Path, moment: datetime) -> list[str]:
    """Return the line for the start of a service whose clock does not count by that moment."""
    first, now = load_reading(file), machine.read_clocks()
    passed = now.seconds - first.seconds if first and is_steady(first, now) else 0.0
    counts = now.time + timedelta(seconds=max(0.0, HOUR - passed))
    if counts <= moment or passed >= HOUR:
        return []
    return [f"the clock counts from {counts:%Y-%m-%dT%H:%M:%SZ}: {WAITS}"]


def steadiness(file: Path) -> Iterator[MachineFinding]:
    """Check since when a service's clock has been steady."""
    first, now = load_reading(file), machine.read_clocks()
    if first is None:
        yield MachineFinding("time", True, "counts an hour after the service has started")
    elif not is_steady(first, now):
        yield MachineFinding("time", False, f"{_reason(first, now)}; {WAITS}")
    else:
        left = HOUR - (now.seconds - first.seconds)
        text = f"counts in {left / 60:.0f} minutes" if left > 0 else "has been steady for an hour"
        yield MachineFinding("time", True, text)
