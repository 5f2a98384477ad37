"""HTTP connections with time limits, and checks of what the parser accepts.

A connection is closed if the head of a request arrives too slowly, or if an answer is read too
slowly. uvicorn waits for a head and for the reader of an answer without limit, stores any number of
headers, accepts requests without a host, of other versions and protocols, and with two types, and
does not notice that the sender of several requests has disconnected. Use a proxy in front of a
service nevertheless; nothing here depends on it.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

HEAD_SECONDS = 10.0  # from the first byte, or from the answer before it, to the end of a head
HEAD_BYTES = 1 << 16
WRITE_SECONDS = 30.0  # in which a reader has to take WRITE_BYTES of an answer, or all that is left
WRITE_BYTES = 1 << 15
AT_ONCE = struct.pack("ii", 1, 0)  # of SO_LINGER: drop what was not sent
ONCE = {  # headers that say one thing; with two of them, services and proxies could disagree
    *(b"host", b"content-type", b"content-length", b"content-encoding", b"transfer-encoding"),
    *(b"authorization", b"expect", b"origin", b"access-control-request-method"),
}


class BadHead(Exception):
    """Stops parsing a request; uvicorn responds with 400 if the peer is still connected."""


class Impatient(HttpToolsProtocol):
    """Closes a connection whose request head is too slow or too long, or whose reader is too slow.

    Bytes that arrive after a response (the rest of a refused body) are counted like a head. Bodies
    that are read have their own time limit, where they are read.
    """

    _due: asyncio.TimerHandle | None = None
    _bytes = 0  # received while a head was incomplete
    _head = 0  # bytes of the head itself, which can arrive together with other data
    _raw = b""  # what was received with the current head
    _in_head = False
    _cycles: tuple[RequestResponseCycle, ...] = ()  # being answered, or waiting for that
    _unread: asyncio.TimerHandle | None = None
    _left = 0  # bytes that were not read when that timer began

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer: the peer may send nothing."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that all that is not read is noticed
        self._begin()

    def data_received(self, data: bytes) -> None:
        """Receive part of a head or of a body."""
        if self._due is None and (self.cycle is None or self.cycle.response_complete):
            self._begin()
        self._raw += data
        super().data_received(data)
        if not self._in_head:
            self._raw = b""
        if self._due is not None:
            self._bytes += len(data)
            if self._bytes > HEAD_BYTES:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """Start a head."""
        self._head, self._in_head = 0, True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Receive part of the first line."""
        self._add(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Receive one header line."""
        self._add(len(name) + len(value) + len(": \r\n"))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Check the complete head; another one than the protocol promises gives 400.

        The parser also accepts other versions and protocols, and several spaces.
        """
        self._end()
        self._in_head = False
        line = b"%s %s HTTP/1.1\r\n" % (self.parser.get_method(), self.url)
        if line not in self._raw or not is_unambiguous(self.headers):
            raise BadHead
        super().on_headers_complete()
        unanswered = (cycle for cycle in self._cycles if not cycle.response_complete)
        self._cycles = (*unanswered, self.cycle)

    def pause_writing(self) -> None:
        """Start the timer: the peer does not read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Stop the timer: the peer has read everything."""
        super().resume_writing()
        self._stop_watching()

    def _watch(self) -> None:
        self._left = self.transport.get_write_buffer_size()
        self._unread = self.loop.call_later(WRITE_SECONDS, self._read_enough)

    def _read_enough(self) -> None:
        """Close the connection unless its reader goes on; the kernel drops the rest."""
        if self._left - self.transport.get_write_buffer_size() < WRITE_BYTES:
            line = self.transport.get_extra_info("socket")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            self.transport.abort()
        else:
            self._watch()

    def _stop_watching(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel every request that is not answered yet."""
        self._end()
        self._stop_watching()
        super().connection_lost(exc)
        for cycle in self._cycles:
            if not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

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


def is_unambiguous(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request has one host (RFC 9112, section 3.2), and no doubled header.

    Bodies are at most in chunks: no other coding would be undone (section 6.1).
    """
    given = [(name, value) for name, value in headers if name in ONCE]
    only = dict(given)
    is_plain = only.get(b"transfer-encoding", b"chunked").lower() == b"chunked"
    return len(only) == len(given) and len(only.get(b"host", b"a b").split()) < 2 and is_plain
