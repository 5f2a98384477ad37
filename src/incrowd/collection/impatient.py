"""HTTP/1.1 without patience: whoever is slow over the head of a request is cut off.

uvicorn waits for a head as long as it takes, and keeps headers of any number. A proxy should stand
before a service all the same; nothing here depends on it.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0  # from the first byte, or from the answer before it, to the end of a head
HEAD_BYTES = 1 << 16


class Impatient(HttpToolsProtocol):
    """Ends a connection whose head takes too long, or is too long.

    Bytes that come after an answer are no head, but are counted like one: the rest of a body that
    was refused. Bodies that are wanted have a time of their own, where they are read.
    """

    _due: asyncio.TimerHandle | None = None
    _bytes = 0

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

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._end()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._end()
        super().connection_lost(exc)

    def _begin(self) -> None:
        self._bytes = 0
        self._due = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _end(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
