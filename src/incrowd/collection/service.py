"""A service in its process: where it listens, what it tells nobody, and how it stops."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
from collections.abc import Callable

import uvicorn
from starlette.applications import Starlette

from incrowd.collection.impatient import Impatient
from incrowd.errors import UsageError

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
