"""Run a service: its socket, its HTTP server, its log, its metrics and its error responses."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from incrowd.collection.protocol.problem import KINDS, MEDIA_TYPE, ProblemKind, document
from incrowd.collection.steps import LOG
from incrowd.errors import UsageError

RETRY_AFTER = 5  # seconds
OCTETS = b"application/octet-stream"


def is_octets(media_type: bytes, coding: bytes | None) -> bool:
    """Return whether a body consists of plain bytes: no parameters, no compression.

    Media types are case-insensitive (RFC 9110, section 8.3.1).
    """
    return media_type.lower() == OCTETS and coding is None


def answer(kind: ProblemKind, detail: str = "", *, retry_after: int = RETRY_AFTER) -> Response:
    """Return a problem response. It contains nothing of the request."""
    headers = {"Retry-After": str(retry_after)} if kind.retry else {}
    return Response(document(kind, detail), kind.status, headers, MEDIA_TYPE)


async def no_such(_: Request, error: Exception) -> Response:
    """Return the response for an unknown address or method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    kinds = {404: "no-resource", 405: "method"}
    return answer(KINDS[kinds.get(status, "fault")])


METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, eq=False)
class _FixedMetrics(Collector):
    metrics: tuple[Metric, ...]

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; called by the library."""
        return iter(self.metrics)


def exposition(metrics: Iterable[Metric]) -> bytes:
    """Return metrics in the text format of Prometheus.

    The default registry is not used: it adds the CPU time of this process, which changes with
    each upload.
    """
    registry = CollectorRegistry()
    registry.register(_FixedMetrics(tuple(metrics)))
    return generate_latest(registry)


def gauge(name: str, help: str, value: float) -> Metric:
    """Return a metric with a single current value."""
    return GaugeMetricFamily(name, help, value=value)


# HTTP/1.1 with time limits: a connection is closed if the head of a request arrives too slowly, or
# if an answer is read too slowly.
#
# uvicorn waits for a head and for the reader of an answer without limit, stores any number of
# headers, accepts requests without a host, of other versions and protocols, and with two types, and
# does not notice that the sender of several requests has disconnected. Use a proxy in front of a
# service all the same; nothing here depends on it.


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
    _answering: RequestResponseCycle | None = None
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

    def pause_writing(self) -> None:
        """Start the timer: the peer does not read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Stop it: the peer has read everything."""
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
        """Cancel the last request and any request before it."""
        self._end()
        self._stop_watching()
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


def is_unambiguous(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request has one host (RFC 9112, section 3.2), and no doubled header.

    Bodies are at most in chunks: no other coding would be undone (section 6.1).
    """
    given = [(name, value) for name, value in headers if name in ONCE]
    only = dict(given)
    is_plain = only.get(b"transfer-encoding", b"chunked").lower() == b"chunked"
    return len(only) == len(given) and len(only.get(b"host", b"a b").split()) < 2 and is_plain


GARBAGE = 100_000  # new objects that trigger a search for reference cycles
Announce = Callable[[], None]
STOP_SECONDS = 30  # for requests in progress when the service stops
LINE = "%(levelname)s %(name)s: %(message)s"


def listening(role: str, host: str, port: int) -> socket.socket:
    """Return a listening socket. role: the name of the service in messages. Raises UsageError."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "no such host"
        allowed = f"{host} cannot be used: {reason}; set another port or host"
        raise UsageError.of(f"{role}.port", port, allowed) from None


class Server(uvicorn.Server):
    """A server that says that it listens, and handles signals from then on."""

    def __init__(self, config: uvicorn.Config, announce: Announce) -> None:
        super().__init__(config)
        self.announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving. The work of the service, which it logs, begins after the announcement."""
        self.announce()
        await super().startup(sockets)


def serve(application: Starlette, door: socket.socket, announce: Announce = lambda: None) -> None:
    """Serve until a signal stops the service, then finish the requests in progress.

    announce: called when serving begins; its caller may stop the service at once. Nothing records
    who sends requests: there is no access log, and addresses in proxy headers are ignored.
    """
    config = uvicorn.Config(
        application,
        http=Impatient,
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    server = Server(config, announce)
    collect_garbage_seldom()
    try:
        server.run([door])
    except (SystemExit, KeyboardInterrupt):
        if not server.started:
            raise  # otherwise it only repeats the signal that stopped the server


def collect_garbage_seldom() -> None:
    """Run the garbage collector seldom: scanning waiting uploads took a quarter of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)


def log_discreetly(*talkative: str) -> None:
    """Log warnings to standard error; log information of the named loggers and of steps, too."""
    talkative = (LOG.name, *talkative)
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_without_traceback)
    # A command sets the level of the logger of written files, to name them when it is interrupted.
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name in talkative)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format=LINE)
    for name in talkative:
        logging.getLogger(name).setLevel(logging.INFO)
    # Invalid HTTP is not logged: its sender could fill the disk.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)


def _without_traceback(record: logging.LogRecord) -> bool:
    """Remove tracebacks, which could contain data that was sent; the line names the error."""
    if record.exc_info and record.exc_info[0]:
        record.msg, record.args = f"failed with {record.exc_info[0].__name__}", None
    record.exc_info = record.exc_text = record.stack_info = None
    return True
