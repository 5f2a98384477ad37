"""The bundle that a link pins, and no other."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import replace

from incrowd.collection.device.connection import Connection, Reply
from incrowd.collection.device.refusals import refused
from incrowd.collection.wire.addresses import Link, checked_address
from incrowd.collection.wire.bundle import MOST_BYTES, Bundle
from incrowd.errors import InWords, ProtocolError, UsageError

# Where a survey page says which shuffler it sends to; see collection/page/templates/index.html.
_CONFIG = re.compile(rb'<script type="application/json" id="config">([^<]*)</script>')


def fetch(link: Link, connection: Connection) -> Bundle:
    """The bundle at a link's address. Its digest is compared before anything of it is read.

    A shuffler that had other keys or another plan in it would be caught here. Raises ProtocolError
    if there is none, or another than the link pins; UsageError if a survey page is there.
    """
    reply = connection.ask("GET", f"{link.address}/bundle", most=MOST_BYTES)
    pinned = reply.status == 200 and hashlib.sha256(reply.body).digest() == link.digest
    if not pinned and (shuffler := _shuffler_of_page(link, connection, reply)):
        found = InWords(f"leads to a survey page at {link.address}")
        allowed = f"write {shuffler} in the place of that address, and keep what follows from # on"
        raise UsageError.of("link", found, allowed)
    if reply.status != 200:
        raise refused(reply)
    if not pinned:
        found = InWords("is not the one that the link names")
        allowed = (
            f"its SHA-256 should be {link.digest.hex()}; nothing was sent: ask whoever invited you"
        )
        raise ProtocolError.of("bundle", found, allowed)
    return Bundle.parse(reply.body)


def _shuffler_of_page(link: Link, connection: Connection, reply: Reply) -> str:
    """The address of the shuffler, if a survey page is where the link leads; else nothing.

    A page's host has no bundle, or answers every request with the page. Any page may name any
    address: it is shown and not followed, and the link pins the bundle.
    """
    with suppress(ProtocolError, ValueError, TypeError, LookupError):
        if reply.status == 404 and not reply.kind:
            once = replace(connection, patience=replace(connection.patience, whole=0.0))
            reply = once.ask("GET", f"{link.address}/", most=MOST_BYTES)
        if reply.status == 200 and (config := _CONFIG.search(reply.body)):
            return checked_address(str(json.loads(config[1])["shuffler"]))
    return ""
