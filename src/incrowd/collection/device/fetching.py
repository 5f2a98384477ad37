"""The bundle that a link pins, and no other."""

from __future__ import annotations

import hashlib

from incrowd.collection.device.connection import Connection
from incrowd.collection.device.refusals import refused
from incrowd.collection.wire.addresses import Link
from incrowd.collection.wire.bundle import MOST_BYTES, Bundle
from incrowd.errors import InWords, ProtocolError


def fetch(link: Link, connection: Connection) -> Bundle:
    """The bundle at a link's address. Its digest is compared before anything of it is read.

    A shuffler that had other keys or another plan in it would be caught here. Raises ProtocolError
    if there is none, or another than the link pins.
    """
    reply = connection.ask("GET", f"{link.address}/bundle", most=MOST_BYTES)
    if reply.status != 200:
        raise refused(reply)
    if hashlib.sha256(reply.body).digest() != link.digest:
        found = InWords("is not the one that the link names")
        allowed = (
            f"its SHA-256 should be {link.digest.hex()}; nothing was sent: ask whoever invited you"
        )
        raise ProtocolError.of("bundle", found, allowed)
    return Bundle.parse(reply.body)
