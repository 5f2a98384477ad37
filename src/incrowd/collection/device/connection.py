"""HTTP requests to one peer, repeated with the same bytes until there is a response."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx

from incrowd.collection.protocol import problem
from incrowd.collection.responses import first_bytes
from incrowd.errors import ProtocolError

MEDIA_TYPE = "application/octet-stream"
AGAIN = frozenset({408, 429})  # in addition to 500 and above, and to problem types
HEADERS = {"User-Agent": "incrowd", "Accept-Encoding": "identity", "Accept": "*/*"}


@dataclass(frozen=True)
class Patience:
    """The limits on retrying, in seconds.

    whole: in total. one: for a single try. first, longest: pauses between tries, each twice the
    previous one and shortened at random by up to half, so that devices which were refused at the
    same time do not return at the same time.
    """

    whole: float = 120.0
    one: float = 30.0
    first: float = 0.5
    longest: float = 30.0

    def pauses(self) -> Iterator[float]:
        """Yield the pauses after the tries, without end."""
        pause = self.first
        while True:
            yield pause * random.uniform(0.5, 1.0)
            pause = min(2 * pause, self.longest)


@dataclass(frozen=True)
class Reply:
    """A response. kind: its problem type, if any. pause: the requested pause, in seconds."""

    status: int
    body: bytes
    kind: problem.ProblemKind | None = None
    pause: float = 0.0

    @property
    def again(self) -> bool:
        """Whether the same bytes may be accepted later."""
        passing = self.status in AGAIN or self.status >= 500
        return self.kind.retry if self.kind else passing


def open_client(transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """Return a client with a new connection for each request, no cookies and no redirections.

    It sends nothing that could distinguish devices.
    """
    return httpx.Client(
        transport=transport,
        headers=HEADERS,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        follow_redirects=False,
        limits=httpx.Limits(max_keepalive_connections=0),
    )


def _nothing(text: str) -> None:
    """Ignore a line."""


@dataclass(frozen=True)
class Connection:
    """A client and its time limits. notify: called with a line before every pause.

    now, sleep: a clock that only goes forward.
    """

    client: httpx.Client = field(default_factory=open_client)
    patience: Patience = Patience()
    notify: Callable[[str], None] = _nothing
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def ask(
        self, method: str, url: str, content: bytes = b"", most: int = problem.MOST_BYTES
    ) -> Reply:
        """Return the first final response, or the last one when time runs out.

        The same bytes are sent again if there is no response, or one that allows it, after its
        `Retry-After` or longer. most: bytes of a response; of a longer one, one more byte is read.
        Raises ProtocolError if there was no response.
        """
        end = self.now() + self.patience.whole
        for pause in self.patience.pauses():
            reply = self._tried(method, url, content, most)
            if reply and not reply.again:
                return reply
            pause = max(pause, reply.pause if reply else 0.0)
            if self.now() + pause > end:
                break
            why = f"the response was {reply.status}" if reply else "there was no response"
            self.notify(f"{why}; trying again in {pause:.0f} s")
            self.sleep(pause)
        if reply is None:
            raise ProtocolError.of("server", "collection.no-response")
        return reply

    def _tried(self, method: str, url: str, content: bytes, most: int) -> Reply | None:
        """Return the response to one try; None if there was none in time."""
        end = self.now() + self.patience.one
        headers = {"Content-Type": MEDIA_TYPE} if content else {}
        options: dict[str, Any] = {"content": content or None, "headers": headers}
        try:
            with self.client.stream(method, url, timeout=self.patience.one, **options) as answer:
                data = first_bytes(answer, most + 1, lambda: self.now() > end)
        except httpx.RequestError:
            return None
        if data is None:
            return None
        status = answer.status_code
        pause = _seconds(answer.headers.get("Retry-After", ""))
        return Reply(status, data, _kind(data, status), pause)


def _kind(body: bytes, status: int) -> problem.ProblemKind | None:
    """Return the type of a problem document; None for any other body."""
    try:
        return problem.parse_document(body, status)[0] if status >= 400 else None
    except ProtocolError:
        return None


def _seconds(text: str) -> float:
    """Parse `Retry-After`: a number or a time (RFC 9110, section 10.2.3); 0 if neither.

    A time that no calendar has is neither, in the year, the day or the zone.
    """
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        time = parsedate_to_datetime(text)
        aware = time if time.tzinfo else time.replace(tzinfo=UTC)
        return max(0.0, (aware - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError, TypeError, IndexError):
        return 0.0
