"""Asking a peer over HTTP: the same bytes again until there is an answer, and nobody else."""

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
from incrowd.errors import InWords, ProtocolError

MEDIA_TYPE = "application/octet-stream"
AGAIN = frozenset({408, 429})  # beside all of 500 and more, and what its type says
HEADERS = {"User-Agent": "incrowd", "Accept-Encoding": "identity", "Accept": "*/*"}


@dataclass(frozen=True)
class Patience:
    """How long to try, in seconds.

    whole: from the first try on. one: for a single try, however slowly its answer comes. first,
    longest: pauses between tries, each twice the one before and shortened at random by up to half,
    so that devices which were turned away together do not come back together.
    """

    whole: float = 120.0
    one: float = 30.0
    first: float = 0.5
    longest: float = 30.0

    def pauses(self) -> Iterator[float]:
        """The pauses after the tries, without end."""
        pause = self.first
        while True:
            yield pause * random.uniform(0.5, 1.0)
            pause = min(2 * pause, self.longest)


@dataclass(frozen=True)
class Reply:
    """An answer. kind: of the problem, if it is one of ours. pause: what it asks for, seconds."""

    status: int
    body: bytes
    kind: problem.Kind | None = None
    pause: float = 0.0

    @property
    def again(self) -> bool:
        """Whether the same bytes may be accepted later."""
        passing = self.status in AGAIN or self.status >= 500
        return self.kind.retry if self.kind else passing


def open_client(transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """A client with a connection for each request, which keeps no cookie and follows nobody.

    All devices look alike to it: what could tell them apart is not sent.
    """
    return httpx.Client(
        transport=transport,
        headers=HEADERS,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        follow_redirects=False,
        limits=httpx.Limits(max_keepalive_connections=0),
    )


def _nothing(text: str) -> None:
    """Where nobody is told."""


@dataclass(frozen=True)
class Connection:
    """A client and its patience. told: is given a line before every pause.

    now, sleep: a clock that only goes forward.
    """

    client: httpx.Client = field(default_factory=open_client)
    patience: Patience = Patience()
    told: Callable[[str], None] = _nothing
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def ask(
        self, method: str, url: str, content: bytes = b"", most: int = problem.MOST_BYTES
    ) -> Reply:
        """The first answer that is final; the last one if patience ends before.

        The same bytes are sent again if there is no answer, or one that says so, after what it
        asks for (`Retry-After`) or longer. most: bytes of an answer; of a longer one so many and
        one more are read. Raises ProtocolError if there was none.
        """
        end = self.now() + self.patience.whole
        for pause in self.patience.pauses():
            reply = self._tried(method, url, content, most)
            if reply and not reply.again:
                return reply
            pause = max(pause, reply.pause if reply else 0.0)
            if self.now() + pause > end:
                break
            why = f"was answered with {reply.status}" if reply else "was not answered"
            self.told(f"it {why}; trying again in {pause:.0f} s")
            self.sleep(pause)
        if reply is None:
            allowed = "check the link and the network, and try again; the same upload is sent then"
            raise ProtocolError.of("shuffler", InWords("gave no answer"), allowed)
        return reply

    def _tried(self, method: str, url: str, content: bytes, most: int) -> Reply | None:
        """The answer to one try; None if there was none in time."""
        end = self.now() + self.patience.one
        headers = {"Content-Type": MEDIA_TYPE} if content else {}
        options: dict[str, Any] = {"content": content or None, "headers": headers}
        try:
            with self.client.stream(method, url, timeout=self.patience.one, **options) as answer:
                body = bytearray()
                for piece in answer.iter_raw():
                    body += piece
                    if self.now() > end:
                        return None
                    if len(body) > most:
                        break
        except httpx.RequestError:
            return None
        data, status = bytes(body[: most + 1]), answer.status_code
        pause = _seconds(answer.headers.get("Retry-After", ""))
        return Reply(status, data, _kind(data, status), pause)


def _kind(body: bytes, status: int) -> problem.Kind | None:
    """Of a problem document; of anything else the status decides."""
    try:
        return problem.parse_document(body, status)[0] if status >= 400 else None
    except ProtocolError:
        return None


def _seconds(text: str) -> float:
    """Of a `Retry-After`: a number, or a time (RFC 9110, section 10.2.3); 0 if it is neither."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
