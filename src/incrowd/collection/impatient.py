"""HTTP/1.1 without patience: whoever is slow over the head of a request is cut off.

uvicorn waits for a head as long as it takes, keeps headers of any number, takes requests without a
host, and forgets that a sender of several requests has gone. A proxy should stand before a service
all the same; nothing here depends on it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_SECONDS = 10.0  # from the first byte, or from the answer before it, to the end of a head
HEAD_BYTES = 1 << 16


class BadHead(Exception):
    """Ends the parsing of a request: uvicorn answers with 400, if anybody still listens."""


class Impatient(HttpToolsProtocol):
    """Ends a connection whose head takes too long, or is too long.

    Bytes that come after an answer are no head, but are counted like one: the rest of a body that
    was refused. Bodies that are wanted have a time of their own, where they are read.
    """

    _due: asyncio.TimerHandle | None = None
    _bytes = 0  # that came while a head was not complete
    _head = 0  # of the head itself; it can come in one piece with others
    _answering: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there, who may say nothing."""
        super().connection_made(transport)
        self._begin()

    def data_received(self, data: bytes) -> None:
        """Some of a head, or of a body."""
        if self._due is None and (self.cycle is None or self.cycle.response_complete):
            self._begin()
        super().data_received(data)
        if self._due is not None:
            self._bytes += len(data)
            if self._bytes > HEAD_BYTES:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """The first byte of a head."""
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Some of the first line."""
        self._add(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One line of the head."""
        self._add(len(name) + len(value) + len(": \r\n"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The head is whole. What has no host, or two, is answered with 400 (RFC 9112, 3.2)."""
        self._end()
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (not hosts and self.parser.get_http_version() == "1.1"):
            raise BadHead
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more: neither for the request that came last, nor for one before."""
        self._end()
        super().connection_lost(exc)
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _add(self, size: int) -> None:
        self._head += size
        if self._head > HEAD_BYTES:
            self.transport.abort()
            raise BadHead

    def _begin(self) -> None:
        self._bytes = 0
        self._due = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _end(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
