"""A service in its process: where it listens, what it tells nobody, and how it stops."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
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

from incrowd.collection.protocol.problem import KINDS, MEDIA_TYPE, Kind, document
from incrowd.errors import UsageError

# What a service answers where it does not do what it was asked.


RETRY_AFTER = 5  # seconds
OCTETS = b"application/octet-stream"


def is_octets(media_type: bytes, coding: bytes | None) -> bool:
    """Whether a body is of bytes as they are: no parameters, and nothing compressed.

    Names of media types have no letter case (RFC 9110, section 8.3.1).
    """
    return media_type.lower() == OCTETS and coding is None


def answer(kind: Kind, detail: str = "", *, retry_after: int = RETRY_AFTER) -> Response:
    """A problem document. It holds nothing of what was sent."""
    headers = {"Retry-After": str(retry_after)} if kind.retry else {}
    return Response(document(kind, detail), kind.status, headers, MEDIA_TYPE)


async def no_such(_: Request, error: Exception) -> Response:
    """Of another address, or another method."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    kinds = {404: "no-resource", 405: "method"}
    return answer(KINDS[kinds.get(status, "fault")])


# What Prometheus reads of a service: its own numbers, and none that the library counts itself.


METRICS_TYPE = CONTENT_TYPE_PLAIN_0_0_4


@dataclass(frozen=True, eq=False)
class _Given(Collector):
    metrics: tuple[Metric, ...]

    def collect(self) -> Iterator[Metric]:
        """As the library asks for them."""
        return iter(self.metrics)


def exposition(metrics: Iterable[Metric]) -> bytes:
    """Metrics in the text format of Prometheus.

    Not of its default registry, which adds the processor time of this process: that changes with
    each upload.
    """
    registry = CollectorRegistry()
    registry.register(_Given(tuple(metrics)))
    return generate_latest(registry)


def gauge(name: str, help: str, value: float) -> Metric:
    """A number as it is now."""
    return GaugeMetricFamily(name, help, value=value)


# HTTP/1.1 without patience: whoever is slow over the head of a request is cut off.
#
# uvicorn waits for a head as long as it takes, keeps any number of headers, takes requests without
# a host, and forgets that a sender of several requests has gone. Put a proxy in front of a service
# all the same; nothing here depends on it.


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


GARBAGE = 100_000  # objects that make it worth to look for cycles among them
Announce = Callable[[], None]
STOP_SECONDS = 30  # for what is under way when the service is told to stop
LINE = "%(levelname)s %(name)s: %(message)s"


def listening(role: str, host: str, port: int) -> socket.socket:
    """A socket that listens. role: of the service, in a message. Raises UsageError."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else "no such host"
        allowed = f"{host} cannot be listened on: {reason}; set another one"
        raise UsageError.of(f"{role}.port", port, allowed) from None


def serve(application: Starlette, door: socket.socket, announce: Announce = lambda: None) -> None:
    """Serve until it is told to stop, then end what is under way.

    announce: says that it begins; whoever waited for that may stop it at once. Who asks is written
    down nowhere: no log of accesses, no address out of the headers of a proxy.
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
    server = uvicorn.Server(config)
    collect_garbage_seldom()
    announce()
    try:
        server.run([door])
    except (SystemExit, KeyboardInterrupt):
        if not server.started:
            raise  # else it only repeats the signal that it has obeyed


def collect_garbage_seldom() -> None:
    """What waits for its commit is no garbage: looking through it took a quarter of all time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)


def log_discreetly(*talkative: str) -> None:
    """Warnings to standard error, and of some loggers what happens as well."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_without_traceback)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format=LINE)
    for name in talkative:
        logging.getLogger(name).setLevel(logging.INFO)
    # What is no HTTP is no line: whoever sends it could fill the disk.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)


def _without_traceback(record: logging.LogRecord) -> bool:
    """A line says what failed; a traceback could hold what somebody sent."""
    if record.exc_info and record.exc_info[0]:
        record.msg, record.args = f"failed with {record.exc_info[0].__name__}", None
    record.exc_info = record.exc_text = record.stack_info = None
    return True
