"""Sealing with both KEMs: X-Wing against its draft, and what opens nothing."""

import os

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from incrowd.collection.protocol.bundle import Bundle
from incrowd.collection.protocol.sealed import (
    X25519,
    X_WING,
    KeyConfiguration,
    PrivateKey,
    info,
    seal,
    sealed_length,
    unseal,
)
from incrowd.collection.protocol.upload import (
    code_field,
    parse_upload,
    sealed_upload,
    upload_length,
)
from incrowd.errors import ProtocolError
from tests.collection.protocol.conftest import INVITED, vectors
from tests.oracles import make_vectors, wire

hexed = bytes.fromhex
DRAFT = vectors("xwing")
KEMS = pytest.mark.parametrize("kem", [X25519, X_WING], ids=["X25519", "X-Wing"])
DIGEST, LABEL = bytes(range(32)), b"another layer\0"


# --- X-Wing is that of its draft -----------------------------------------------------------------


@pytest.mark.parametrize("given", DRAFT["kem"])
def test_x_wing_is_that_of_the_draft(given):
    """The key of a seed; the secret of a ciphertext, seen in what the library opens with it."""
    seed, public, enc, secret = (hexed(given[key]) for key in ("seed", "pk", "ct", "ss"))
    private = PrivateKey(X_WING, seed)
    assert private.public == public and len(public) == X_WING.public_bytes
    assert wire.x_wing_secret(seed, enc) == secret and len(enc) == X_WING.encapsulated_bytes
    made = wire.seal_with(secret, enc, b"a report", b"about", wire.X_WING)
    assert X_WING.suite.decrypt(made, private.key, b"about") == b"a report"
    for wrong in (bytes(32), bytes([secret[0] ^ 1]) + secret[1:]):
        made = wire.seal_with(wrong, enc, b"a report", b"about", wire.X_WING)
        with pytest.raises(InvalidTag):
            X_WING.suite.decrypt(made, private.key, b"about")


def test_the_key_schedule_of_hpke_with_x_wing():
    """A vector of draft-ietf-hpke-pq, whose suite has another AEAD than ours."""
    given = DRAFT["hpke"]
    assert (given["kem_id"], given["kdf_id"], given["aead_id"]) == (X_WING.id, 1, 3)
    private = PrivateKey(X_WING, hexed(given["skRm"]))
    about, enc, secret = (hexed(given[key]) for key in ("info", "enc", "shared_secret"))
    assert private.public.hex() == given["pkRm"]
    assert wire.x_wing_secret(private.secret, enc) == secret
    key, nonce = wire.schedule(secret, about, X_WING.id, aead=3, key_bytes=32)
    assert (key.hex(), nonce.hex()) == (given["key"], given["base_nonce"])
    made = enc + ChaCha20Poly1305(key).encrypt(nonce, b"a report", b"")
    suite = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
    assert suite.decrypt(made, private.key, about) == b"a report"


def test_a_report_that_the_other_reader_sealed_with_x_wing():
    given = {key: hexed(value) for key, value in vectors("sealed")["post_quantum"].items()}
    private = PrivateKey(X_WING, given["seed"])
    configuration = private.configuration(7)
    assert configuration == KeyConfiguration.parse(given["key_configuration"])
    assert configuration.encoded == given["key_configuration"]
    assert info(configuration.header, given["bundle"]) == given["info"]
    assert unseal(given["sealed"], private, configuration, given["bundle"]) == given["plaintext"]
    assert len(given["sealed"]) == sealed_length(len(given["plaintext"]), X_WING)


# --- both ----------------------------------------------------------------------------------------


@KEMS
def test_the_other_reader_opens_what_is_sealed(kem):
    private = PrivateKey.generate(kem)
    configuration = private.configuration(255)
    assert KeyConfiguration.parse(configuration.encoded) == configuration
    made = seal(b"a report", configuration, DIGEST)
    assert len(made) == sealed_length(8, kem) == {X25519: 63, X_WING: 1151}[kem]
    assert wire.unseal(made, private.secret, DIGEST) == b"a report"
    assert made[7:39] != seal(b"a report", configuration, DIGEST)[7:39]


@KEMS
def test_what_was_sealed_for_something_else_does_not_open(kem):
    private = PrivateKey.generate(kem)
    configuration, other = private.configuration(1), private.configuration(2)
    made = seal(b"a report", configuration, DIGEST + b"\0\1", LABEL)
    assert unseal(made, private, configuration, DIGEST + b"\0\1", LABEL) == b"a report"
    renamed = other.header + made[7:]
    wrong = [
        (made, private, configuration, b"", LABEL),
        (made, private, configuration, DIGEST, LABEL),
        (made, private, configuration, DIGEST + b"\0\2", LABEL),
        (made, private, configuration, DIGEST + b"\0\1"),
        (made, PrivateKey.generate(kem), configuration, DIGEST + b"\0\1", LABEL),
        (renamed, private, other, DIGEST + b"\0\1", LABEL),
        (made[:-1], private, configuration, DIGEST + b"\0\1", LABEL),
        (made[:7], private, configuration, DIGEST + b"\0\1", LABEL),
    ]
    for given in wrong:
        with pytest.raises(ProtocolError, match=r"^sealed\.ciphertext"):
            unseal(*given)


def test_a_report_with_the_header_of_the_other_kem_is_refused():
    keys = [PrivateKey.generate(kem) for kem in (X25519, X_WING)]
    for one, other in (keys, keys[::-1]):
        ours, theirs = one.configuration(1), other.configuration(1)
        made = seal(b"a report", theirs, DIGEST)
        for given in (made, ours.header + made[7:]):
            with pytest.raises(ProtocolError, match=r"^sealed\."):
                unseal(given, one, ours, DIGEST)
        with pytest.raises(ProtocolError, match=r"^sealed\.header"):
            unseal(made, one, ours, DIGEST)


def test_an_upload_has_one_kem():
    private = PrivateKey.generate(X_WING)
    bundle = make_vectors.bundle(key_configuration=private.configuration(7).encoded.hex())
    assert upload_length(bundle) - upload_length(INVITED) == 1088 * bundle.places
    assert Bundle.parse(bundle.encoded).key == bundle.key
    assert wire.read_bundle(bundle.encoded)["upload"] == upload_length(bundle)
    plaintexts, code = make_vectors.inside(0), code_field(vectors("keys")["code"]["text"])
    made = sealed_upload(bundle, code, 0, plaintexts, range(bundle.places)).encoded(bundle)
    sealed = parse_upload(made, bundle).sealed
    assert [wire.unseal(each, private.secret, bundle.digest) for each in sealed] == plaintexts
    classical = INVITED.key.header + os.urandom(bundle.sealed_length - 7)
    with pytest.raises(ProtocolError, match=r"^upload\.sealed"):
        parse_upload(made[: -bundle.sealed_length] + classical, bundle)
    with pytest.raises(ProtocolError, match=r"^upload\.length"):
        parse_upload(made[: upload_length(INVITED)], bundle)


# --- keys ----------------------------------------------------------------------------------------


def test_malformed_keys_of_x_wing_are_refused():
    """Coefficients of ML-KEM from 3329 on; an X25519 part of low order; another length."""
    public = PrivateKey.generate(X_WING).public
    q = (3329).to_bytes(2, "little")
    coefficient = q + bytes([public[2]])
    for wrong in (
        coefficient + public[3:],
        b"\xff" * 1184 + public[1184:],
        public[:1184] + bytes(32),
        public[:1184] + b"\1" + bytes(31),
        public[:-1],
        public + b"\0",
        public[:32],
    ):
        with pytest.raises(ProtocolError, match=r"valid X-Wing key of 1,216 bytes"):
            KeyConfiguration(1, wrong, X_WING)


@KEMS
def test_a_configuration_has_exactly_one_suite(kem):
    right = PrivateKey.generate(kem).configuration(1).encoded
    other = {X25519: X_WING, X_WING: X25519}[kem].id.to_bytes(2, "big")
    for wrong in (
        right[:1] + other + right[3:],
        right[:1] + b"\0\x10" + right[3:],
        right[:-6] + b"\0\x08\0\1\0\1\0\1\0\3",
        right[:-1] + b"\2",
        right[:-3] + b"\3\0\1",
        right[:-1],
        right + b"\0",
        right[:2],
    ):
        with pytest.raises(ProtocolError, match=r"^key_configuration: "):
            KeyConfiguration.parse(wrong)


@KEMS
def test_keys_are_drawn_from_the_system_and_not_shown(kem, monkeypatch):
    assert PrivateKey.generate(kem) != PrivateKey.generate(kem)
    monkeypatch.setattr("os.urandom", lambda count: bytes(count))
    private = PrivateKey.generate(kem)
    assert private == PrivateKey(kem, bytes(32))
    assert "secret" not in repr(private) and "x00" not in repr(private)
    with pytest.raises(ProtocolError, match=r"private_key: has 31 bytes"):
        PrivateKey(kem, bytes(31))
