"""One upload to the shuffler, and back: stored once, however often it is sent."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from incrowd.collection.device.connection import Connection, Reply
from incrowd.collection.protocol.addresses import Link, checked_address
from incrowd.collection.protocol.bundle import MOST_BYTES, Bundle
from incrowd.collection.protocol.plaintext import filled
from incrowd.collection.protocol.upload import Upload, sealed_upload
from incrowd.encoding.records import People
from incrowd.errors import InWords, ProtocolError, UsageError
from incrowd.plans.slots import fit, most_reports
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import Memory
from incrowd.sampling.randomize import randomize_message, rounded
from incrowd.sampling.shuffle import permutation


def sealed_answers(
    bundle: Bundle, person: People, *, code: bytes, stratum: int, memory: Memory | None = None
) -> Upload:
    """The upload of one person, with randomness of the operating system.

    person: the encoded answers of exactly one. memory: of her device, for permanent responses.
    """
    keystream = Keystream.from_system()
    made = plaintexts(bundle, person, keystream, memory)
    order = permutation(bundle.places, keystream).tolist()
    return sealed_upload(bundle, code, stratum, made, order)


def plaintexts(
    bundle: Bundle, person: People, keystream: Keystream, memory: Memory | None = None
) -> list[bytes]:
    """The plaintexts of one person, dummies included, before they are put in random order.

    Amounts are rounded once. If there are more reports of some pool than slots, all noise of
    all messages is drawn again, except for permanent responses, which keep to the slots by
    themselves; what that costs is in the promise. Proof: docs/protocol.md, "Slots".
    """
    plan, person = bundle.plan, rounded(person, keystream)
    most = most_reports(plan.messages, bundle.slots)
    shapes = list(zip(plan.messages, most, strict=True))
    while True:
        drawn = [randomize_message(plan, m, person, keystream, memory, n) for m, n in shapes]
        reports = [[report.tobytes() for report in packed] for packed in drawn]
        if fit(plan.messages, bundle.slots, [len(packed) for packed in reports]):
            return filled(bundle.shape, sum(bundle.slots), reports)


# What an answer that says no means for the person who sent.


_COUNTED = "yours may already be counted"
# By the type of problem. The peer's own words are not shown: they may hold anything.
_MEANT = {
    "closed": "nothing should be sent any more",
    "withdrawn": "nothing of it counts; give your answers once more",
    "code-used": "if you sent nothing, ask whoever invited you",
    "code-unknown": "should be the code of your invitation; check every character of it",
    "not-open": "try again when it has opened",
    "not-found": f"{_COUNTED}; it should be withdrawn before the collection closes",
}
_FINAL = "nothing was stored; ask whoever runs this collection"
_LATER = "try again later; the same upload is sent then"
_ELSEWHERE = "nothing is sent to another address; check the link with whoever invited you"


def refused(reply: Reply) -> Exception:
    """The error for an answer that says no; its field is the type of the problem.

    Of an answer that no party of ours gives the field is `answer`.
    """
    found = f"was answered with {reply.status}"
    if reply.kind:
        said = reply.kind.title.rstrip(".")
        found = f"{found} ({said[:1].lower()}{said[1:]})"
    default = _LATER if reply.again else _ELSEWHERE if 300 <= reply.status < 400 else _FINAL
    name = reply.kind.name if reply.kind else "answer"
    return ProtocolError.of(name, InWords(found), _MEANT.get(name, default))


# The bundle that a link pins, and no other.


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
