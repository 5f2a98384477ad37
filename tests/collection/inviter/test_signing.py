"""The inviter's private operation: right, refused when it should be, and silent about faults."""

import json
from dataclasses import replace
from math import gcd

import gmpy2
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from incrowd.collection.inviter import signing
from incrowd.collection.inviter.signing import (
    PrivateTokenKey,
    SigningError,
    new_token_key,
    sign_blinded,
)
from incrowd.collection.protocol import blind as protocol
from incrowd.errors import ProtocolError
from tests.conftest import one_in
from tests.oracles import token_keys
from tests.oracles.recorded import VECTORS
from tests.oracles.token_keys import E

EXAMPLE = json.loads((VECTORS / "rfc9474.json").read_text())["vectors"][2]
PRIVATE = token_keys.private("good")
N = PRIVATE.p * PRIVATE.q
REQUEST = (12345 << 2000).to_bytes(256)


def test_the_example_of_rfc_9474(monkeypatch):
    for module in (protocol, signing):
        monkeypatch.setattr(module, "SIGNATURE_BYTES", 512)
    p, q = (int(EXAMPLE[name], 16) for name in "pq")
    private = PrivateTokenKey(p, q, pow(E, -1, p - 1), pow(E, -1, q - 1), pow(q, -1, p))
    request = bytes.fromhex(EXAMPLE["blinded_msg"])
    assert sign_blinded(request, private).hex() == EXAMPLE["blind_sig"]


@pytest.mark.parametrize("value", [0, 1, 2, PRIVATE.p, N - 1])
def test_signatures_are_roots(value):
    """By the definition, with the whole exponent; and at the edges."""
    d = pow(E, -1, (PRIVATE.p - 1) * (PRIVATE.q - 1))
    assert sign_blinded(value.to_bytes(256), PRIVATE) == pow(value, d, N).to_bytes(256)


@pytest.mark.parametrize("wrong", [b"", bytes(255), bytes(257), N.to_bytes(256), b"\xff" * 256])
def test_what_is_no_residue_is_refused(wrong):
    with pytest.raises(ProtocolError, match="blinded"):
        sign_blinded(wrong, PRIVATE)


# --- faults --------------------------------------------------------------------------------------


def faulty_half(modulus, power=gmpy2.powmod_sec):
    """The power with one bit flipped, where the modulus is that of one half."""
    return lambda x, d, p: power(x, d, p) ^ (1 if p == modulus else 0)


@pytest.mark.parametrize("half", [PRIVATE.p, PRIVATE.q])
def test_a_flipped_bit_of_one_half_never_leaves(half, monkeypatch):
    """The wrong variant, without the check, would give away a factor of the modulus."""
    monkeypatch.setattr(gmpy2, "powmod_sec", faulty_half(half))
    with pytest.raises(SigningError, match="computed incorrectly") as caught:
        sign_blinded(REQUEST, PRIVATE)
    z = int.from_bytes(REQUEST)
    unchecked = int(signing._root(gmpy2.mpz(z), PRIVATE))
    assert gcd(pow(unchecked, E, N) - z, N) == N // half
    text = str(caught.value)
    assert not any(str(secret) in text or f"{secret:x}" in text for secret in (half, unchecked))


@pytest.mark.parametrize("part", ["d_p", "d_q", "q_inv"])
def test_a_key_with_a_damaged_part_signs_nothing(part):
    damaged = replace(PRIVATE, **{part: getattr(PRIVATE, part) ^ 4})
    with pytest.raises(SigningError, match="computed incorrectly"):
        sign_blinded(REQUEST, damaged)


def test_a_key_for_the_exponent_3_signs_nothing():
    with pytest.raises(SigningError, match="computed incorrectly"):
        sign_blinded(REQUEST, token_keys.private("for the exponent 3", exponent=3))


def test_a_key_where_e_divides_p_minus_1_signs_almost_nothing():
    """It has no d_p: an attempt with the inverse for the rest of the group."""
    p, q = token_keys.factors("e divides p - 1")
    d_p = pow(E, -1, (p - 1) // E)
    attempt = PrivateTokenKey(p, q, d_p, pow(E, -1, q - 1), pow(q, -1, p))
    with pytest.raises(SigningError, match="computed incorrectly"):
        sign_blinded(REQUEST, attempt)


def test_every_root_is_blinded_with_another_number(monkeypatch):
    """What is raised to the secret exponents is never what was sent, and never the same."""
    seen, power = [], gmpy2.powmod_sec
    monkeypatch.setattr(gmpy2, "powmod_sec", lambda x, d, p: seen.append((x, p)) or power(x, d, p))
    answers = {sign_blinded(REQUEST, PRIVATE) for _ in range(3)}
    assert len(answers) == 1 and len(set(seen)) == len(seen) == 6
    assert not {(int.from_bytes(REQUEST) % p, p) for p in (PRIVATE.p, PRIVATE.q)} & set(seen)


# --- keys ----------------------------------------------------------------------------------------


def der(private):
    return private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


def test_a_new_key_is_read_again_and_hides_itself():
    private = new_token_key()
    assert PrivateTokenKey.parse(private.encoded) == private
    assert all((p - 1) % E for p in (private.p, private.q))
    protocol.check_roots(private.public, signing.key_roots(private))
    assert str(private.p) not in repr(private)


def other_keys():
    p, q = token_keys.factors("for the exponent 3")
    d = pow(3, -1, (p - 1) * (q - 1))
    parts = p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p)
    three = rsa.RSAPrivateNumbers(*parts, rsa.RSAPublicNumbers(3, p * q)).private_key()
    p, q = token_keys.factors("2049 bits")
    d = pow(E, -1, (p - 1) * (q - 1))
    parts = p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p)
    long = rsa.RSAPrivateNumbers(*parts, rsa.RSAPublicNumbers(E, p * q)).private_key()
    return {
        "e = 3": der(three),
        "2,049 bits": der(long),
        "an elliptic curve": der(ec.generate_private_key(ec.SECP256R1())),
        "cut": PRIVATE.encoded[:-1],
        "nothing": b"",
    }


@pytest.mark.parametrize("why", one_in(3, list(other_keys())))
def test_another_key_is_rejected(why):
    with pytest.raises(SigningError, match="private_token_key"):
        PrivateTokenKey.parse(other_keys()[why])
