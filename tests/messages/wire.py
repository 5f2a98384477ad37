"""What is said of bundles, links, uploads, releases and problem documents of a peer."""

import json
from dataclasses import replace
from unittest import mock

import rfc8785

import incrowd
from incrowd.accountant.certificates import redrawn
from incrowd.collection.protocol import problem
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import MOST_BYTES, MOST_SLOTS, Bundle
from incrowd.collection.protocol.plaintext import DUMMY, Shape, filled
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import X25519, X_WING, KeyConfiguration, PrivateKey, unseal
from incrowd.collection.protocol.signed import Signed, check_body, sign
from incrowd.collection.protocol.upload import (
    check_code,
    code_field,
    new_code,
    parse_upload,
    sealed_upload,
)
from incrowd.plans.digests import canonical
from tests.messages.shared import YESNO, survey
from tests.oracles import make_vectors
from tests.oracles.make_vectors import INVITED, OPEN, RECEIVER, SHUFFLER, VECTORS
from tests.oracles.releases import parse_release


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


RELEASES = vectors("releases")
HEADER = Signed.parse(Header, bytes.fromhex(RELEASES["right"]["start"]))[0].header
BODY = bytes.fromhex(RELEASES["right"]["body"])


def bundle(**changes):
    """A bundle's text with some keys changed."""
    content = json.loads(INVITED.encoded) | changes
    return lambda _: Bundle.parse(canonical(content).encode())


def planned(*questions, **changed):
    """The text of a bundle for another survey."""
    plan = incrowd.plan(survey(*questions, **changed))
    return bundle(plan=plan.content, plan_digest=plan.digest, colluding=0)


def with_plan(**changes):
    """A bundle with a plan that was changed, under the digest of what it says."""
    plan = INVITED.plan.model_copy(update=changes)
    return bundle(plan=plan.content, plan_digest=plan.digest)


def uploaded(why):
    (found,) = (each for each in vectors("uploads")["wrong"] if each["why"] == why)

    def call(_):
        upload = parse_upload(bytes.fromhex(found["bytes"]), INVITED)
        return check_code(upload.entry, INVITED)

    return call


def released(why):
    return lambda _: parse_release(bytes.fromhex(RELEASES["wrong"][why]) + BODY, INVITED)


def merged(_):
    """Strata that were merged where none are to be."""
    two = make_vectors.bundle(strata=("a", "b"))
    header = replace(HEADER, bundle=two.digest, strata=(0, 1))
    return parse_release(sign(header, SHUFFLER).encoded + BODY, two)


def many_groups():
    ids = [f"q{n}" for n in range(7)]
    groups = [{"questions": [id], "copies": 10_000} for id in ids]
    privacy = {"epsilon": 600.0, "analysis": "local"}
    asked = [YESNO | {"id": id} for id in ids]
    assert 10_000 * len(ids) > MOST_SLOTS
    return planned(*asked, message=groups, privacy=privacy)


def plaintext(why):
    return lambda _: INVITED.shape.read(bytes.fromhex(vectors("reports")["wrong_plaintexts"][why]))


def sealed(why):
    given = bytes.fromhex(vectors("sealed")["wrong"][why])
    return lambda _: unseal(given, RECEIVER, INVITED.key, INVITED.digest)


def linked(address):
    return lambda _: Link.parse(f"{address}#{INVITED.digest.hex()}")


def answered(text):
    return lambda _: problem.parse_document(text, 502)


def too_deep(_):
    """What can be read is too deep to be written: in other versions of Python."""
    with mock.patch.object(rfc8785, "dumps", side_effect=RecursionError):
        return Bundle.parse(INVITED.encoded)


class Many:
    """A plan of more messages than have numbers."""

    messages = range(DUMMY)


ADDRESSES = json.loads(INVITED.encoded)["addresses"]
WORDING = json.loads(INVITED.encoded)["wording"]
CASES = {
    "bundle: too large": lambda _: Bundle.parse(b" " * (MOST_BYTES + 1)),
    "bundle: too deep": too_deep,
    "bundle: no JSON": lambda _: Bundle.parse(b"{"),
    "bundle: white space": lambda _: Bundle.parse(INVITED.encoded + b"\n"),
    "bundle: a number as text": bundle(reserve="20"),
    "bundle: a key too many": bundle(more=1),
    "bundle: another plan": bundle(plan_digest="0" * 64),
    "bundle: no plan": bundle(plan=3),
    "bundle: a plan of another format": with_plan(format="incrowd plan 9"),
    "bundle: rows": planned(rows_per_person=2),
    "bundle: not a guarantee": lambda _: Bundle.parse(
        vectors("bundles")["wrong"]["a plan that is not a guarantee"].encode()
    ),
    "bundle: words": bundle(wording=WORDING | {"questions": {"a": "A?"}}),
    "bundle: a hidden character": bundle(wording=WORDING | {"title": "Habits\x1b[2J"}),
    "bundle: no words": bundle(wording=WORDING | {"title": ""}),
    "bundle: colluding": bundle(colluding=0),
    "bundle: reserve": bundle(reserve=3),
    "bundle: slots": bundle(slots=[1, 2, 3]),
    "bundle: reports": many_groups(),
    "bundle: closes": bundle(closes="2026-10-31T00:00:00Z"),
    "bundle: disposes": bundle(disposes="2026-11-01T00:00:00Z"),
    "bundle: a time": bundle(opens="tomorrow"),
    "bundle: wanted": bundle(wanted=4),
    "bundle: strata": bundle(strata=["a", "a"]),
    "bundle: no strata": bundle(strata=[]),
    "bundle: small strata": bundle(small_strata="keep"),
    "bundle: no hexadecimal digits": bundle(shuffler_key="x" * 64),
    "bundle: a short key": bundle(shuffler_key="00"),
    "bundle: another KEM": bundle(key_configuration="070010"),
    "bundle: an address": bundle(addresses=ADDRESSES | {"shuffler": "http://a.example"}),
    "bundle: one host": bundle(addresses=dict.fromkeys(ADDRESSES, "https://a.example")),
    "key: id": lambda _: KeyConfiguration(256, INVITED.key.public, X25519),
    "key: low order": lambda _: KeyConfiguration(1, bytes(32), X25519),
    "key: X-Wing": lambda _: KeyConfiguration(1, bytes(1216), X_WING),
    "key: secret": lambda _: PrivateKey(X_WING, bytes(31)),
    "link: no digest": lambda _: Link.parse("https://a.example"),
    "link: user": linked("https://me@a.example"),
    "link: a space": linked("https://a.example/a b"),
    **{
        f"link: {what}": linked(address)
        for what, address in {
            "two marks": "https://a.example?x",
            "foreign letters": "https://ä.example",
            "no host": "https://a_b.example",
            "upper case": "https://A.example",
            "without encryption": "HTTP://A.example",
            "another scheme": "ftp://a.example",
            "a path": "https://a.example/a//b",
        }.items()
    },
    "link: a port": linked("https://a.example:x"),
    "plaintext: messages": lambda _: Shape.of(Many),
    "plaintext: a report of another length": lambda _: INVITED.shape.report(0, b""),
    "plaintext: length": plaintext("too short"),
    "plaintext: version": plaintext("another version"),
    "plaintext: message": plaintext("no such message"),
    "plaintext: padding": plaintext("a padding bit"),
    "plaintext: a mark": plaintext("a mark in a dummy"),
    "plaintext: slots": lambda _: filled(Shape((1,)), [1], [[b"\0", b"\1"]]),
    "sealed: another key": sealed("another key id"),
    "sealed: another bundle": sealed("for another bundle"),
    "code: random": lambda _: new_code(b""),
    "code: typed": lambda _: code_field("U"),
    "code: short": lambda _: code_field("ABC"),
    "upload: order": lambda _: sealed_upload(INVITED, bytes(16), 0, [], [1]),
    "upload: length": uploaded("a byte less"),
    "upload: bundle": uploaded("for another bundle"),
    "upload: stratum": uploaded("no such stratum"),
    "upload: key": uploaded("sealed for another key"),
    "upload: twice": uploaded("one report twice"),
    "upload: no code": uploaded("no code"),
    "upload: a code in an open survey": lambda _: check_code(b"A" * 16, OPEN),
    "release: cut": lambda _: Signed.parse(Header, b""),
    "release: cut in its strata": lambda _: Signed.parse(Header, bytes(161) + b"\1"),
    "release: signature": released("signed by another key"),
    "release: bundle": released("another bundle"),
    "release: people": released("too few people"),
    "release: reports": released("more people than reports"),
    "release: issued": released("fewer codes issued than used"),
    "release: strata": released("no such stratum"),
    "release: merged strata": merged,
    "release: body": released("another body"),
    "release: length": lambda _: check_body(HEADER, INVITED, 1, HEADER.body),
    "answer: long": answered(b" " * (1 << 17)),
    "answer: another type": answered(b'{"type": 1, "title": "a"}'),
    "redraws: tail": lambda _: redrawn(1.0, 1e-6, tail=1.0, crowd=2),
    "redraws: crowd": lambda _: redrawn(1.0, 1e-6, tail=0.0, crowd=0),
}
