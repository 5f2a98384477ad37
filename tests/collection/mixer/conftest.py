"""A shuffler for tests: in a temporary folder, with a clock that the test moves, or on a socket."""

import contextlib
import socket
import threading

import uvicorn

from incrowd.collection.connections import Impatient
from incrowd.collection.protocol.upload import upload_length
from tests.oracles.mixing import (
    INVITED,
    MERGED,
    OCTETS,
    PIECE,
    SHUFFLER,
    Collector,
    Site,
    code,
    content,
    found,
    sealed,
    upload,
)

__all__ = [
    "BYTES",
    "HEAD",
    "INVITED",
    "LENGTH",
    "MERGED",
    "OCTETS",
    "PIECE",
    "SHUFFLER",
    "START",
    "Collector",
    "Site",
    "code",
    "content",
    "found",
    "sealed",
    "served",
    "upload",
]

LENGTH = upload_length(INVITED)
START = b"POST /upload HTTP/1.1\r\nHost: s\r\n"
BYTES = b"Content-Type: application/octet-stream\r\n"
HEAD = START + BYTES + b"Content-Length: %d\r\n\r\n"


@contextlib.contextmanager
def served(folder, protocol=Impatient, body_seconds=20.0):
    site = Site(folder, invitations=3, body_seconds=body_seconds, pause=60)
    config = uvicorn.Config(
        site.app,
        http=protocol,
        access_log=False,
        log_config=None,
        timeout_keep_alive=1,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as door:
        running = threading.Thread(target=server.run, args=([door],))
        running.start()
        try:
            yield door.getsockname()[1]
        finally:
            server.should_exit = True
            running.join()
    site.close()
