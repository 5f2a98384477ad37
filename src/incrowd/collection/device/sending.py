"""One upload to the shuffler, and back: stored once, however often it is sent."""

from __future__ import annotations

from typing import Literal

from incrowd.collection.device.connection import Connection, Reply
from incrowd.collection.device.refusals import refused
from incrowd.collection.wire.bundle import Bundle

Outcome = Literal["stored", "repeated"]


def send(upload: bytes, bundle: Bundle, connection: Connection) -> Outcome:
    """Send an upload until the shuffler says that it has it.

    Returns "stored", or "repeated" if an earlier try had come through. Raises ProtocolError, its
    field the type of the problem; whether anything was counted is in its words.
    """
    reply = _asked("POST", upload, bundle, connection)
    if reply.status == 201:
        return "stored"
    if reply.status == 200:
        return "repeated"
    raise refused(reply)


def withdraw(upload: bytes, bundle: Bundle, connection: Connection) -> None:
    """Take an upload back before the collection closes. Raises ProtocolError as `send`."""
    reply = _asked("DELETE", upload, bundle, connection)
    if reply.status != 204:
        raise refused(reply)


def _asked(method: str, upload: bytes, bundle: Bundle, connection: Connection) -> Reply:
    return connection.ask(method, f"{bundle.addresses.shuffler}/upload", upload)
