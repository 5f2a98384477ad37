"""The vectors of two mixers against the library, and against a reader that shares nothing."""

import hashlib
import json
import struct

import numpy as np
import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.collector.collections import check_rows
from incrowd.collection.protocol import tokens
from incrowd.collection.protocol.blind import finalize
from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.mixing import Batch, Invitations, MixedRelease
from incrowd.collection.protocol.sealed import X25519, PrivateKey
from incrowd.collection.protocol.signed import Signed, check_body, prove_cheating
from incrowd.collection.protocol.upload import parse_upload
from incrowd.errors import ProtocolError
from incrowd.plans.digests import canonical
from tests.collection.protocol.conftest import vectors
from tests.oracles import wire
from tests.oracles.mixers_vectors import merged
from tests.oracles.token_keys import blind

hexed = bytes.fromhex
GIVEN = vectors("mixers")
OF = Bundle.parse(GIVEN["bundle"].encode())
READ = wire.read_mixers_bundle(GIVEN["bundle"].encode())
PERSON = GIVEN["person"]
KEYS = {role: hexed(secret) for role, secret in GIVEN["keys"].items()}
KINDS = {"batch": Batch, "release": MixedRelease, "invitations": Invitations}
WRONG = {"batch": "wrong_batches", "release": "wrong_releases", "invitations": "wrong_invitations"}
READERS = {
    "batch": wire.read_batch,
    "release": wire.read_mixed_release,
    "invitations": wire.read_invitations,
}
BODIES = {name: hexed(GIVEN[name]["body"]) for name in ("batch", "release")} | {"invitations": b""}


def binding():
    return OF.digest + struct.pack(">H", PERSON["stratum"])


def cut(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def read(name, data):
    """By the library: a signed header that fits its body."""
    signed, end = Signed.parse(KINDS[name], data)
    signed.check(OF)
    body = data[end:]
    check_body(signed.header, OF, len(body), hashlib.sha256(body).digest())
    if name == "release":
        check_rows(signed.header, np.frombuffer(body, np.uint8).reshape(-1, OF.row_length))
    return signed


def test_the_bundle():
    assert OF.digest.hex() == GIVEN["digest"] and READ["digest"] == OF.digest
    assert READ["row"] == OF.row_length and READ["envelope"] == OF.envelope_length
    assert tuple(READ["slots"]) == OF.slots


@pytest.mark.parametrize("why", GIVEN["wrong_bundles"])
def test_a_wrong_bundle(why):
    content = merged(json.loads(GIVEN["bundle"]), GIVEN["wrong_bundles"][why])
    assert content != json.loads(GIVEN["bundle"])
    with pytest.raises(ProtocolError):
        Bundle.parse(canonical(content).encode())


@pytest.mark.parametrize("names", GIVEN["organizations"], ids=lambda names: names["inviter"])
def test_one_organization_does_not_invite_and_count(names):
    runs = {role: names[role] for role in ("inviter", "collector")}
    content = canonical(merged(json.loads(GIVEN["bundle"]), {"runs": runs})).encode()
    if names["same"]:
        with pytest.raises(ProtocolError, match=r"runs\.collector"):
            Bundle.parse(content)
    else:
        assert Bundle.parse(content).runs.inviter == names["inviter"]


def test_a_request_its_answer_and_the_tokens():
    """What a device computes from the randomness that is written down."""
    inners = [hexed(each) for each in PERSON["inners"]]
    nonce, stratum = hexed(PERSON["nonce"]), PERSON["stratum"]
    texts = [b"incrowd entry 2\0" + OF.digest + nonce]
    for message, inner in zip(OF.slot_messages, inners, strict=True):
        numbers = struct.pack(">HH", stratum, message)
        digest = hashlib.sha256(inner).digest()
        texts.append(b"incrowd slot 2\0" + OF.digest + numbers + digest)
    drawn = zip(texts, OF.token_keys, PERSON["salts"], PERSON["blindings"], strict=True)
    blinded = [
        blind(text, key, salt=hexed(salt), blinding=int(r, 16)) for text, key, salt, r in drawn
    ]
    request = b"".join((OF.digest, PERSON["code"].encode(), *(value for value, _ in blinded)))
    assert request.hex() == PERSON["request"]
    assert len(request) == tokens.request_length(OF)
    signatures = [
        finalize(text, signature, inverse, key)
        for text, key, signature, (_, inverse) in zip(
            texts, OF.token_keys, cut(hexed(PERSON["answer"]), 256), blinded, strict=True
        )
    ]
    moduli = [READ["moduli"][0], *(READ["moduli"][1 + n] for n in OF.slot_messages)]
    for text, signature, modulus in zip(texts, signatures, moduli, strict=True):
        assert wire.is_signed(text, signature, modulus)
        assert not wire.is_signed(text + b"\0", signature, modulus)
    assert hexed(PERSON["upload"])[34:322] == nonce + signatures[0]


def test_an_upload_opened_layer_by_layer():
    data = hexed(PERSON["upload"])
    upload = parse_upload(data, OF)
    assert upload.stratum == PERSON["stratum"] and tokens.has_entry(upload, OF)
    assert data[:34] == binding() and cut(data[322:], READ["envelope"]) == list(upload.sealed)
    second = PrivateKey(X25519, KEYS["second"])
    for at, envelope in zip(PERSON["order"], upload.sealed, strict=True):
        row = wire.unseal(envelope, KEYS["second"], binding(), b"incrowd outer 2\0")
        assert tokens.open_envelope(envelope, second, OF, upload.stratum).encoded == row
        assert int.from_bytes(row[:2]) == OF.slot_messages[at]
        assert row[258:].hex() == PERSON["inners"][at] and wire.has_token(row, READ, 1)
        assert not wire.has_token(row, READ, 0)
        plaintext = wire.unseal(row[258:], KEYS["collector"], binding(), b"incrowd inner 2\0")
        assert plaintext.hex() == PERSON["plaintexts"][at]


def test_what_is_signed():
    batch = read("batch", hexed(GIVEN["batch"]["start"]) + BODIES["batch"])
    people, envelopes = wire.read_batch(batch.encoded + BODIES["batch"], READ)
    assert people == dict(batch.header.people) == {1: 23} and len(envelopes) == 23 * OF.places
    release = read("release", hexed(GIVEN["release"]["start"]) + BODIES["release"])
    stated = wire.read_mixed_release(release.encoded + BODIES["release"], READ)
    header = release.header
    assert stated[:3] == (header.stratum, header.people, header.tokens)
    assert all(wire.has_token(row, READ, 1) for row in stated[3])
    opened = {wire.unseal(e, KEYS["second"], binding(), b"incrowd outer 2\0") for e in envelopes}
    assert opened == set(stated[3]) and header.batch == batch
    statement = read("invitations", hexed(GIVEN["invitations"]))
    assert wire.read_invitations(statement.encoded, READ) == (100, 25)
    assert (statement.header.issued, statement.header.used) == (100, 25)
    few = read("release", hexed(GIVEN["too_few"]))
    assert few.header.is_refused
    assert wire.read_mixed_release(few.encoded, READ) == (1, 23, (), [])


@pytest.mark.parametrize(
    ("name", "why"), [(name, why) for name, group in WRONG.items() for why in GIVEN[group]]
)
def test_what_is_signed_wrongly(name, why):
    data = hexed(GIVEN[WRONG[name]][why]) + BODIES[name]
    with pytest.raises(ProtocolError):
        read(name, data)
    with pytest.raises((AssertionError, InvalidSignature)):
        READERS[name](data, READ)


@pytest.mark.parametrize("name", KINDS)
def test_one_byte_changed_anywhere_in_a_header_is_rejected(name):
    """A signature covers its whole header."""
    start = GIVEN[name] if name == "invitations" else GIVEN[name]["start"]
    data = hexed(start) + BODIES[name]
    for at in range(0, len(start) // 2, 7):
        changed = bytearray(data)
        changed[at] ^= 1
        with pytest.raises(ProtocolError):
            read(name, bytes(changed))


@pytest.mark.parametrize(
    ("kind", "what"), list(zip(KINDS.values(), GIVEN["cheating"], strict=True)), ids=list(KINDS)
)
def test_two_statements_prove_cheating(kind, what):
    one, other = (Signed.parse(kind, hexed(start))[0] for start in GIVEN["cheating"][what])
    assert prove_cheating(one, other, OF) and not prove_cheating(one, one, OF)
    forged = Ed25519PrivateKey.generate().sign(other.header.domain + other.header.encoded)
    assert not prove_cheating(one, Signed(forged, other.header), OF)
