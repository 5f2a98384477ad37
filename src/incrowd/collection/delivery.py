"""Deliver what a service signed: the same bytes each time, until they are acknowledged."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

from incrowd.collection.responses import first_bytes
from incrowd.collection.steps import LOG

N = TypeVar("N")

SECONDS = 300.0
ANSWER_BYTES = 1024  # of an acknowledgment, which has 64 and a few around them
PIECE = 1 << 20  # bytes of a body read at a time

Courier = Callable[[bytes, Path | None], bool]  # signed header, body -> whether it was acknowledged


def acknowledgment(start: bytes) -> str:
    """Return the acknowledgment of a statement: SHA-256 of signature and header, hexadecimal."""
    return hashlib.sha256(start).hexdigest()


def courier(address: str) -> Courier:
    """Return a function that posts signed statements to an address and follows no redirections."""

    def deliver(start: bytes, body: Path | None) -> bool:
        import httpx  # slow to load; not needed at start

        length = len(start) + (body.stat().st_size if body else 0)
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(length)}
        headers["Accept-Encoding"] = "identity"
        content = pieces(start, body)
        given: Any = {"content": content, "headers": headers, "timeout": SECONDS}
        try:
            with httpx.stream("POST", address, **given) as answer:
                end = time.monotonic() + SECONDS
                beginning = first_bytes(answer, ANSWER_BYTES, lambda: time.monotonic() > end)
        except httpx.HTTPError as error:
            LOG.warning("delivering to %s failed: %s", address, type(error).__name__)
            return False
        is_right = beginning is not None and acknowledgment(start).encode() in beginning
        is_acknowledged = answer.status_code == 200 and is_right
        if not is_acknowledged:
            reason = "no acknowledgment" if answer.status_code == 200 else answer.status_code
            LOG.warning("delivering to %s failed: answered %s", address, reason)
        return is_acknowledged

    return deliver


def pieces(start: bytes, path: Path | None) -> Iterator[bytes]:
    """Yield the bytes of a statement and its body."""
    yield start
    if path is None:
        return
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(hours=1)


class Pauses(Generic[N]):
    """When deliveries are tried again: the pause doubles after each refusal.

    If the clock was set back, nothing waits longer than one pause. longest: the longest pause.
    """

    def __init__(self, longest: timedelta = LONGEST_PAUSE) -> None:
        self.longest = longest
        self._pauses: dict[N, tuple[datetime, timedelta]] = {}

    def is_due(self, name: N, now: datetime) -> bool:
        """Return whether a delivery may be tried."""
        again, pause = self._pauses.get(name, (now, FIRST_PAUSE))
        return not now < again <= now + pause

    def refused(self, name: N, now: datetime) -> None:
        """Pause deliveries after a refusal."""
        _, pause = self._pauses.get(name, (now, FIRST_PAUSE))
        self._pauses[name] = now + pause, min(2 * pause, self.longest)
