"""Run the HTTP server of a service: its socket, its signals and its log."""

from __future__ import annotations

import gc
import logging
import socket
import sys
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from incrowd.catalog.sentences import sentence, system_words
from incrowd.collection.connections import Impatient
from incrowd.collection.steps import LOG
from incrowd.errors import UsageError

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
        is_ours = error.errno and error.errno > 0  # the others are of names of hosts
        reason = system_words(error) if is_ours else sentence("collection.no-such-host")
        raise UsageError.of(
            (role, "port"), "collection.port-unusable", value=port, host=host, reason=reason
        ) from None


class Server(uvicorn.Server):
    """A server that announces itself once it handles signals, and says before it waits for the
    requests in progress that it ends."""

    def __init__(self, config: uvicorn.Config, announce: Announce, ending: Announce) -> None:
        super().__init__(config)
        self.announce, self.ending = announce, ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what requests wait for, then the requests."""
        self.ending()
        await super().shutdown(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving. The work of the service, which it logs, begins after the announcement."""
        self.announce()
        await super().startup(sockets)


def serve(
    application: ASGIApp,
    door: socket.socket,
    announce: Announce = lambda: None,
    *,
    ending: Announce = lambda: None,
    patience: int = STOP_SECONDS,
    quiet: bool = False,
) -> None:
    """Serve until a signal stops the service, then finish the requests in progress.

    announce: called when serving begins; its caller may stop the service at once. ending: called
    before requests in progress are finished. patience: seconds for them. quiet: whether it is not
    logged that some were cut off. Nothing records who sends requests: there is no access log, and
    addresses in proxy headers are ignored.
    """
    config = uvicorn.Config(
        application,
        http=Impatient,
        lifespan="on",
        access_log=False,
        log_config=None,
        log_level="error",  # invalid HTTP is not logged: its sender could fill the disk
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=patience,
    )
    server = Server(config, announce, ending)
    if quiet:
        logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
    collect_garbage_seldom()
    try:
        server.run([door])
    except (SystemExit, KeyboardInterrupt):
        if not server.started:
            raise  # otherwise it only repeats the signal that stopped the server


def collect_garbage_seldom() -> None:
    """Run garbage collection less often: scanning waiting uploads took a quarter of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)


def log_discreetly() -> None:
    """Log warnings to standard error, and the steps of a service's work."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_without_traceback)
    # A command sets the level of the logger of written files, to name them when it is interrupted.
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name == LOG.name)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], format=LINE)
    LOG.setLevel(logging.INFO)


def _without_traceback(record: logging.LogRecord) -> bool:
    """Remove tracebacks, which could contain data that was sent; the line names the error."""
    if record.exc_info and record.exc_info[0]:
        record.msg, record.args = f"failed with {record.exc_info[0].__name__}", None
    record.exc_info = record.exc_text = record.stack_info = None
    return True
