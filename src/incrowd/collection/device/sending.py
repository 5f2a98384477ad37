"""One person's upload: seal it, send it to the shuffler, withdraw it; and fetch the bundle."""

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
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import InWords, ProtocolError, UsageError
from incrowd.plans.slots import fit, most_reports
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import Memory
from incrowd.sampling.randomize import randomize_message, rounded
from incrowd.sampling.shuffle import permutation


def sealed_answers(
    bundle: Bundle,
    person: EncodedAnswers,
    *,
    code: bytes,
    stratum: int,
    memory: Memory | None = None,
) -> Upload:
    """Return the upload of one person, with randomness of the operating system.

    person: the encoded answers of exactly one person. memory: secrets for permanent responses.
    """
    keystream = Keystream.from_system()
    reports = plaintexts(bundle, person, keystream, memory)
    order = permutation(bundle.places, keystream).tolist()
    return sealed_upload(bundle, code, stratum, reports, order)


def plaintexts(
    bundle: Bundle, person: EncodedAnswers, keystream: Keystream, memory: Memory | None = None
) -> list[bytes]:
    """Return the plaintexts of one person, including dummies, before the random permutation.

    Amounts are rounded once. If a pool has more reports than slots, all noise of all messages is
    drawn again, except permanent responses, which fit into their slots by construction; the
    promise includes the cost. Proof: docs/protocol.md, "Slots".
    """
    plan, person = bundle.plan, rounded(person, keystream)
    most = most_reports(plan.messages, bundle.slots, bundle.pools)
    shapes = list(zip(plan.messages, most, strict=True))
    while True:
        drawn = [randomize_message(plan, m, person, keystream, memory, n) for m, n in shapes]
        reports = [[report.tobytes() for report in packed] for packed in drawn]
        if fit(bundle.slots, [len(packed) for packed in reports], bundle.pools):
            return filled(bundle.shape, sum(bundle.slots), reports)


# The meaning of a refusal for the person who sent.


_COUNTED = "your answers may already be counted"
# By problem type. The text of the peer is not shown: it may contain anything.
_MEANT = {
    "closed": "nothing more should be sent",
    "withdrawn": "to take part after all, give your answers again",
    "code-used": "if you have not sent anything, ask the person who invited you",
    "code-unknown": "check each character of the code on your invitation",
    "not-open": "try again after it opens",
    "not-found": f"{_COUNTED}; it should be withdrawn before the collection closes",
}
_FINAL = "nothing was stored; ask the people who run this collection"
_LATER = "try again later; the same upload will be sent"
_ELSEWHERE = "nothing is sent to another address; ask the person who invited you for the right link"


def refused(reply: Reply) -> Exception:
    """Return the error for a refusal; its field is the problem type.

    The field is `answer` for a response that is not a known problem.
    """
    response = f"was answered with {reply.status}"
    if reply.kind:
        title = reply.kind.title.rstrip(".")
        response = f"{response} ({title[:1].lower()}{title[1:]})"
    default = _LATER if reply.again else _ELSEWHERE if 300 <= reply.status < 400 else _FINAL
    name = reply.kind.name if reply.kind else "answer"
    return ProtocolError.of(name, InWords(response), _MEANT.get(name, default))


# The part of a survey page that names its shuffler; see collection/page/templates/index.html.
_CONFIG = re.compile(rb'<script type="application/json" id="config">([^<]*)</script>')


def fetch(link: Link, connection: Connection) -> Bundle:
    """Return the bundle at a link's address. Its digest is compared before it is parsed.

    This detects a shuffler that uses other keys or another plan. Raises ProtocolError if there is
    no bundle or not the one that the link pins; UsageError if the address is a survey page.
    """
    reply = connection.ask("GET", f"{link.address}/bundle", most=MOST_BYTES)
    pinned = reply.status == 200 and hashlib.sha256(reply.body).digest() == link.digest
    if not pinned and (shuffler := _shuffler_of_page(link, connection, reply)):
        problem = InWords(f"leads to a survey page at {link.address}")
        allowed = f"replace that address with {shuffler}, and keep everything from # on"
        raise UsageError.of("link", problem, allowed)
    if reply.status != 200:
        raise refused(reply)
    if not pinned:
        problem = InWords("is not the one in the link")
        allowed = (
            f"its SHA-256 should be {link.digest.hex()}; nothing was sent; "
            "ask the person who invited you"
        )
        raise ProtocolError.of("bundle", problem, allowed)
    return Bundle.parse(reply.body)


def _shuffler_of_page(link: Link, connection: Connection, reply: Reply) -> str:
    """Return the address of the shuffler if the link leads to a survey page; otherwise "".

    A page's host has no bundle, or responds to every request with the page. A page may name any
    address: it is shown but not followed, and the link pins the bundle.
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
    """Send an upload until the shuffler confirms it.

    Returns "stored", or "repeated" if an earlier try succeeded. Raises ProtocolError whose field is
    the problem type; its text says whether the upload may be counted.
    """
    reply = _asked("POST", upload, bundle, connection)
    if reply.status == 201:
        return "stored"
    if reply.status == 200:
        return "repeated"
    raise refused(reply)


def withdraw(upload: bytes, bundle: Bundle, connection: Connection) -> None:
    """Withdraw an upload before the collection closes. Raises ProtocolError as `send`."""
    reply = _asked("DELETE", upload, bundle, connection)
    if reply.status != 204:
        raise refused(reply)


def _asked(method: str, upload: bytes, bundle: Bundle, connection: Connection) -> Reply:
    return connection.ask(method, f"{bundle.upload_address}/upload", upload)
