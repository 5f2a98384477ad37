"""One person's upload: seal it, get its tokens, send it, withdraw it; and fetch the bundle."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from typing import Literal

import numpy as np

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.collection.device.connection import Connection, Reply
from incrowd.collection.protocol.addresses import Link, checked_address
from incrowd.collection.protocol.blind import SIGNATURE_BYTES
from incrowd.collection.protocol.bundle import (
    CODE_BYTES,
    DIGEST_BYTES,
    MOST_BYTES,
    NONCE_BYTES,
    Bundle,
    MixersBundle,
    ShufflerBundle,
)
from incrowd.collection.protocol.plaintext import filled, in_lanes
from incrowd.collection.protocol.problem import MOST_BYTES as PROBLEM_BYTES
from incrowd.collection.protocol.tokens import Pending, sealed_slots
from incrowd.collection.protocol.upload import Upload, sealed_upload
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import ProtocolError, UsageError
from incrowd.plans.slots import fit, most_reports
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import DeviceKeys
from incrowd.sampling.randomize import randomize_message, rounded
from incrowd.sampling.shuffle import permutation


def sealed_answers(
    bundle: ShufflerBundle,
    person: EncodedAnswers,
    *,
    code: bytes,
    stratum: int,
    memory: DeviceKeys | None = None,
) -> Upload:
    """Return the upload of one person for one shuffler, with randomness of the operating system.

    person: the encoded answers of exactly one person. memory: secrets for permanent responses.
    """
    keystream = Keystream.from_system()
    reports = plaintexts(bundle, person, keystream, memory)
    orders = (span.start + permutation(len(span), keystream) for span in bundle.slot_spans)
    order = np.concatenate(list(orders)).tolist()
    return sealed_upload(bundle, code, stratum, reports, order)


def pending_answers(
    bundle: MixersBundle,
    person: EncodedAnswers,
    *,
    code: bytes,
    stratum: int,
    memory: DeviceKeys | None = None,
) -> Pending:
    """Return the same for two mixers, before tokens are requested. It is stored first."""
    reports = plaintexts(bundle, person, Keystream.from_system(), memory)
    nonce = os.urandom(NONCE_BYTES)
    return Pending.of(bundle, code, stratum, nonce, sealed_slots(bundle, stratum, reports))


def drawn(
    bundle: Bundle,
    person: EncodedAnswers,
    *,
    code: bytes,
    stratum: int,
    memory: DeviceKeys | None = None,
) -> Upload | Pending:
    """Return the upload of one person, for two mixers without its tokens.

    Arguments are as for `sealed_answers`.
    """
    if isinstance(bundle, MixersBundle):
        return pending_answers(bundle, person, code=code, stratum=stratum, memory=memory)
    assert isinstance(bundle, ShufflerBundle), "there is no other kind"
    return sealed_answers(bundle, person, code=code, stratum=stratum, memory=memory)


def with_code(sealed: bytes | Pending, code: bytes, bundle: Bundle) -> bytes | Pending:
    """Return the same sealed reports with another code, if it can still be changed.

    An upload to the first of two mixers has no code.
    """
    if isinstance(sealed, Pending):
        return replace(sealed, request=_recoded(sealed.request, code))
    return _recoded(sealed, code) if isinstance(bundle, ShufflerBundle) else sealed


def _recoded(data: bytes, code: bytes) -> bytes:
    return data[:DIGEST_BYTES] + code + data[DIGEST_BYTES + CODE_BYTES :]


def with_tokens(pending: Pending, bundle: MixersBundle, connection: Connection) -> Upload:
    """Request the tokens of an upload until the inviter answers; return the upload.

    Raises ProtocolError whose path is the problem type, or `inviter` if any token is not valid:
    then nothing is uploaded, since an upload without it would tell the inviter whose it is.
    """
    most = max(PROBLEM_BYTES, SIGNATURE_BYTES * len(bundle.token_keys))
    reply = connection.ask("POST", f"{bundle.inviter.address}/tokens", pending.request, most=most)
    if reply.status != 200:
        raise refused(reply)
    order = permutation(bundle.places, Keystream.from_system()).tolist()
    try:
        return pending.upload(reply.body, bundle, order)
    except ProtocolError:
        raise ProtocolError.of("inviter", "collection.invalid-tokens") from None


def plaintexts(
    bundle: Bundle, person: EncodedAnswers, keystream: Keystream, memory: DeviceKeys | None = None
) -> list[bytes]:
    """Return the plaintexts of one person, including dummies, before the random permutation: with
    one shuffler, all reports, then dummies; with two mixers, the same for each message; if services
    add noise, the same for each lane.

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
            if bundle.lanes:
                return in_lanes(bundle.shape, bundle.lanes, reports)
            separate = isinstance(bundle, MixersBundle)
            slots = bundle.slots if separate else [sum(bundle.slots)]
            return filled(bundle.shape, slots, reports)


# The meaning of a refusal for the person who sent.


# By problem type. The text of the peer is not shown: it may contain anything.
_MEANT = {
    "closed": sentence("collection.send-nothing-more"),
    "withdrawn": sentence("collection.randomized-once"),
    "code-used": sentence("collection.ask-for-code"),
    "code-unknown": sentence("collection.check-code"),
    "not-open": sentence("collection.try-when-open"),
    "not-found": sentence("collection.withdrawn-too-late"),
}
_ELSEWHERE = sentence("collection.no-redirection")
_ASK, _LATER = sentence("collection.ask-sealed"), sentence("collection.later-sealed")


def refused(reply: Reply, final: Sentence = _ASK, later: Sentence = _LATER) -> Exception:
    """Return the error for a refusal; its path is the problem type.

    The path is `answer` for a response that is not a known problem. final, later: what to do after
    a refusal that is final or not, unless its type says more.
    """
    advice = later if reply.again else _ELSEWHERE if 300 <= reply.status < 400 else final
    if not (kind := reply.kind):
        return ProtocolError.of(
            "answer", "collection.unknown-refusal", status=reply.status, advice=advice
        )
    return ProtocolError.of(
        kind.name,
        "collection.refusal",
        status=reply.status,
        type=sentence(kind.code),
        advice=_MEANT.get(kind.name, advice),
    )


# The part of a page that names the service that invites; see collection/page/templates/index.html.
_CONFIG = re.compile(rb'<script type="application/json" id="config">([^<]*)</script>')


def fetch(link: Link, connection: Connection) -> Bundle:
    """Return the bundle at a link's address. Its digest is compared before it is parsed.

    Raises ProtocolError and UsageError as `fetched`.
    """
    return Bundle.parse(fetched(link, connection))


def fetched(link: Link, connection: Connection) -> bytes:
    """Return the text of the bundle at a link's address.

    This detects a service that uses other keys or another plan. Raises ProtocolError if there is
    no bundle or not the one that the link pins; UsageError if the address is a survey page.
    """
    reply = connection.ask("GET", f"{link.address}/bundle", most=MOST_BYTES)
    pinned = reply.status == 200 and hashlib.sha256(reply.body).digest() == link.digest
    if not pinned and (address := _service_of_page(link, connection, reply)):
        raise UsageError.of("link", "collection.link-to-page", page=link.address, address=address)
    if reply.status != 200:
        final = sentence("collection.ask-nothing-sent")
        raise refused(reply, final, later=sentence("collection.later-nothing-sent"))
    if not pinned:
        right = link.digest.hex()
        raise ProtocolError.of("bundle", "collection.bundle-unlike-link", right=right)
    return reply.body


def _service_of_page(link: Link, connection: Connection, reply: Reply) -> str:
    """Return the address of the service that invites if a link leads to a survey page; otherwise
    "".

    A page's host has no bundle, or responds to every request with the page. A page may name any
    address: it is shown but not followed, and the link pins the bundle.
    """
    with suppress(ProtocolError, ValueError, TypeError, LookupError):
        if reply.status == 404 and not reply.kind:
            once = replace(connection, patience=replace(connection.patience, whole=0.0))
            reply = once.ask("GET", f"{link.address}/", most=MOST_BYTES)
        if reply.status == 200 and (config := _CONFIG.search(reply.body)):
            return checked_address(str(json.loads(config[1])["services"][0]))
    return ""


SendOutcome = Literal["stored", "repeated"]


def send(upload: bytes, bundle: Bundle, connection: Connection) -> SendOutcome:
    """Send an upload until the shuffler, or the first mixer, confirms it.

    Returns "stored", or "repeated" if an earlier try succeeded. Raises ProtocolError whose path is
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
        final = sentence("collection.ask-counted")
        raise refused(reply, final, later=sentence("collection.withdraw-again"))


def _asked(method: str, upload: bytes, bundle: Bundle, connection: Connection) -> Reply:
    return connection.ask(method, f"{bundle.upload_address}/upload", upload)
