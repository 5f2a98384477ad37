"""What is said of what two mixers and the inviter sign."""

import json

import numpy as np

import incrowd
from incrowd.collection.collector.collections import check_rows
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.mixing import Batch, Invitations, MixedRelease
from incrowd.collection.protocol.signed import Signed
from incrowd.plans.digests import canonical
from tests.messages.wire import HEADER, vectors
from tests.oracles import mixers, services
from tests.oracles.make_vectors import INVITED
from tests.oracles.mixers_vectors import merged

YESNO = {"id": "sick", "type": "yesno"}
GIVEN = vectors("mixers")
BATCH = bytes.fromhex(GIVEN["batch"]["start"])


def bundle():
    return Bundle.parse(GIVEN["bundle"].encode())


def changed(why):
    """The text of the bundle with a change that makes it wrong."""
    content = merged(json.loads(GIVEN["bundle"]), GIVEN["wrong_bundles"][why])
    return lambda _: Bundle.parse(canonical(content).encode())


def cut(kind, length=0):
    """Of numbers of strata and messages that are all 1."""
    return lambda _: Signed.parse(kind, b"\0\1" * (length // 2))


def wrong(kind, group, why):
    start = bytes.fromhex(GIVEN[group][why])
    return lambda _: Signed.parse(kind, start)[0].check(bundle())


def batch(why):
    return wrong(Batch, "wrong_batches", why)


def release(why):
    return wrong(MixedRelease, "wrong_releases", why)


def one_report_less(_):
    rows = np.frombuffer(bytes.fromhex(GIVEN["release"]["body"]), np.uint8)
    header = Signed.parse(MixedRelease, bytes.fromhex(GIVEN["release"]["start"]))[0].header
    check_rows(header, rows.reshape(-1, bundle().row_length)[1:])


def merged_strata(_):
    faculty = {"id": "faculty", "type": "choice", "options": ["law", "arts"], "open": True}
    raw = {"name": "F", "crowd": 55, "small_strata": "merge", "question": [YESNO, faculty]}
    privacy = {"epsilon": 6.0, "delta": 1e-3, "analysis": "blanket"}
    mixers.bundle(incrowd.plan(incrowd.Survey.of(raw | {"privacy": privacy})))


CASES = {
    "bundle: merged strata": merged_strata,
    "bundle: noise of services": lambda _: mixers.bundle(services.plan()),
    "bundle: disposed of too early": changed("less than a day to deliver"),
    "bundle: keys for messages": changed("no token keys of messages"),
    "bundle: one key for two tokens": changed("one token key for two purposes"),
    "bundle: one key for two services": changed("one key for two services"),
    "bundle: one key for two layers": changed("one key for both layers"),
    "bundle: one host": changed("one host for both mixers"),
    "bundle: an organization that invites and counts": changed(
        "one organization that invites and counts"
    ),
    "batch: cut": cut(Batch),
    "batch: cut in its strata": cut(Batch, 100),
    "batch: for one shuffler": lambda _: Signed.parse(Batch, BATCH)[0].header.signer(INVITED),
    "batch: signature": batch("signed by another key"),
    "batch: bundle": batch("another bundle"),
    "batch: strata": batch("no such stratum"),
    "batch: no strata": batch("no stratum"),
    "batch: people": batch("too few people"),
    "release: cut": cut(MixedRelease),
    "release: cut in its messages": cut(MixedRelease, 104),
    "release: of a shuffler": lambda _: HEADER.signer(bundle()),
    "release: stratum": release("a stratum that the batch lacks"),
    "release: a total": release("a total instead of a count of each message"),
    "release: tokens": release("fewer reports of a message than a crowd's"),
    "release: a body": release("too few tokens, with a body"),
    "release: one report less": one_report_less,
    "invitations: cut": cut(Invitations),
    "invitations: used": wrong(Invitations, "wrong_invitations", "more used than issued"),
}
