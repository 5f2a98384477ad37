"""Blind signatures: RFC 9474's examples, `cryptography`, and keys that must be rejected."""

import hashlib
import json
from math import gcd

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers, RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA384

from incrowd.collection.inviter.signing import key_roots, sign_blinded
from incrowd.collection.protocol import blind as protocol
from incrowd.collection.protocol.blind import (
    ROOTS,
    TokenKey,
    blind_all,
    challenges,
    check_roots,
    encode,
    finalize,
    random_blinding,
    verify,
)
from incrowd.errors import ProtocolError
from tests.conftest import slowly
from tests.oracles import token_keys
from tests.oracles.recorded import VECTORS
from tests.oracles.token_keys import E, blind, residue_class

EXAMPLES = json.loads((VECTORS / "rfc9474.json").read_text())["vectors"]
MESSAGE = b"a token"
GOOD = TokenKey(token_keys.modulus("good"))
PRIVATE = token_keys.private("good")
LEAKY = TokenKey(token_keys.modulus("e divides p - 1"))
NO_INVERSE = (9002).to_bytes(48)  # the salt with which 65539 divides the encoding of b"message"


def blinded(message=MESSAGE, key=GOOD):
    salt, blinding = random_blinding(key)
    return blind(message, key, salt=salt, blinding=blinding)


@pytest.mark.parametrize("example", EXAMPLES, ids=[each["name"] for each in EXAMPLES])
def test_the_examples_of_rfc_9474(example, monkeypatch):
    """All four variants, at their 4,096 bits: with and without a salt and a random prefix."""
    salt, message = bytes.fromhex(example["salt"]), bytes.fromhex(example["input_msg"])
    sizes = {"BITS": 4096, "SIGNATURE_BYTES": 512, "SALT_BYTES": int(example["sLen"], 16)}
    for name, value in sizes.items():
        monkeypatch.setattr(protocol, name, value)
    key, inverse = TokenKey(int(example["n"], 16)), int(example["inv"], 16)
    if "encoded_msg" in example:
        assert encode(message, salt).to_bytes(512).hex() == example["encoded_msg"]
    pair = blind(message, key, salt=salt, blinding=pow(inverse, -1, key.modulus))
    assert pair == (bytes.fromhex(example["blinded_msg"]), inverse)
    signature = finalize(message, bytes.fromhex(example["blind_sig"]), inverse, key)
    assert signature.hex() == example["sig"]


# --- beside `cryptography` -----------------------------------------------------------------------


def power(exponent, value):
    return pow(int.from_bytes(value), exponent, GOOD.modulus).to_bytes(256)


PSS = padding.PSS(padding.MGF1(SHA384()), 48)
D = pow(E, -1, (PRIVATE.p - 1) * (PRIVATE.q - 1))


def test_our_encoding_is_verified_by_cryptography_and_by_no_other_padding():
    signature = power(D, encode(MESSAGE, bytes(48)).to_bytes(256))
    public = RSAPublicNumbers(E, GOOD.modulus).public_key()
    public.verify(signature, MESSAGE, PSS, SHA384())
    assert verify(MESSAGE, signature, GOOD)
    short = power(D, encode(MESSAGE, bytes(32)).to_bytes(256))
    for wrong in (short, power(D, signature), signature[1:], signature + b"\0", bytes(256)):
        assert not verify(MESSAGE, wrong, GOOD)
        with pytest.raises(InvalidSignature):
            public.verify(wrong, MESSAGE, PSS, SHA384())
    assert not verify(MESSAGE + b"s", signature, GOOD)


def test_a_residue_that_is_written_differently_is_no_signature():
    roots = (pow(encode(MESSAGE, bytes([i]) * 48), D, GOOD.modulus) for i in range(256))
    root = next(root for root in roots if root + GOOD.modulus < 1 << 2048)
    assert verify(MESSAGE, root.to_bytes(256), GOOD)
    assert not verify(MESSAGE, (root + GOOD.modulus).to_bytes(256), GOOD)


def test_a_signature_of_cryptography_is_the_root_of_our_encoding():
    parts = PRIVATE.p, PRIVATE.q, D, PRIVATE.d_p, PRIVATE.d_q, PRIVATE.q_inv
    numbers = RSAPublicNumbers(E, GOOD.modulus)
    theirs = RSAPrivateNumbers(*parts, numbers).private_key().sign(MESSAGE, PSS, SHA384())
    assert verify(MESSAGE, theirs, GOOD)
    encoded = power(E, theirs)
    check = encoded[-49:-1]
    masked = encoded[:-49]
    mask = b"".join(hashlib.sha384(check + bytes([0, 0, 0, i])).digest() for i in range(5))
    block = bytes(a ^ b for a, b in zip(masked, mask, strict=False))
    assert encode(MESSAGE, block[-48:]).to_bytes(256) == encoded
    assert encode(MESSAGE, bytes(48)).to_bytes(256) != encoded


# --- blinding ------------------------------------------------------------------------------------


def test_what_is_blinded_is_signed_and_verified():
    request, inverse = blinded()
    signature = finalize(MESSAGE, sign_blinded(request, PRIVATE), inverse, GOOD)
    assert verify(MESSAGE, signature, GOOD)
    other = TokenKey(token_keys.modulus("another good one"))
    assert not verify(MESSAGE, signature, other)


def test_many_are_blinded_as_one():
    messages = [bytes([i]) for i in range(4)]
    drawn = [random_blinding(GOOD) for _ in messages]
    each = [
        blind(message, GOOD, salt=salt, blinding=r)
        for message, (salt, r) in zip(messages, drawn, strict=True)
    ]
    assert blind_all(messages, GOOD, drawn) == each
    for (salt, r), (_, inverse), message, (request, _) in zip(
        drawn, each, messages, each, strict=True
    ):
        assert r * inverse % GOOD.modulus == 1
        m = encode(message, salt)
        assert int.from_bytes(request) == m * pow(r, E, GOOD.modulus) % GOOD.modulus
    assert blind_all([], GOOD, []) == []


def test_salt_and_blinding_are_drawn_anew():
    drawn = [random_blinding(GOOD) for _ in range(20)]
    assert len({salt for salt, _ in drawn}) == len({r for _, r in drawn}) == 20
    assert all(len(salt) == 48 and 0 < r < GOOD.modulus for salt, r in drawn)


def test_a_wrong_answer_is_rejected_after_unblinding():
    request, inverse = blinded()
    answer = sign_blinded(request, PRIVATE)
    wrong = {
        "a flipped bit": bytes([*answer[:-1], answer[-1] ^ 1]),
        "the request": request,
        "of another message": sign_blinded(blinded()[0], PRIVATE),
        "by another exponent": pow(int.from_bytes(request), D + 2, GOOD.modulus).to_bytes(256),
        "a byte less": answer[1:],
        "a byte more": b"\0" + answer,
        "nothing": b"",
    }
    for why, given in wrong.items():
        with pytest.raises(ProtocolError, match="blind_signature"):
            pytest.fail(f"{why}: {finalize(MESSAGE, given, inverse, GOOD).hex()}")
    for message, inverse_used in ((b"another", inverse), (MESSAGE, inverse + 1)):
        with pytest.raises(ProtocolError, match="blind_signature"):
            finalize(message, answer, inverse_used, GOOD)


def test_an_answer_for_the_exponent_3_is_rejected():
    """The signature would be right with e = 3."""
    p, q = token_keys.factors("for the exponent 3")
    key, d = TokenKey(p * q), pow(3, -1, (p - 1) * (q - 1))
    salt, r = random_blinding(key)
    request = encode(MESSAGE, salt) * pow(r, 3, p * q) % (p * q)
    answer = pow(request, d, p * q).to_bytes(256)
    inverse = pow(r, -1, p * q)
    signature = int.from_bytes(answer) * inverse % (p * q)
    RSAPublicNumbers(3, p * q).public_key().verify(signature.to_bytes(256), MESSAGE, PSS, SHA384())
    with pytest.raises(ProtocolError, match="blind_signature"):
        finalize(MESSAGE, answer, inverse, key)


def test_a_message_that_is_not_coprime_to_the_modulus_is_not_blinded():
    key = TokenKey(token_keys.modulus("a factor of 17 bits"))
    assert gcd(encode(b"message", NO_INVERSE), key.modulus) == 65539
    _, r = random_blinding(key)
    r += r % 65539 == 0
    for salt, blinding in ((NO_INVERSE, r), (bytes(48), 65539)):
        with pytest.raises(ProtocolError, match="factor with the modulus"):
            blind(b"message", key, salt=salt, blinding=blinding)
    request, inverse = blind(b"message", key, salt=bytes(48), blinding=r)
    assert r * inverse % key.modulus == 1 and len(request) == 256


# --- keys ----------------------------------------------------------------------------------------


def test_a_key_is_its_modulus():
    assert TokenKey.parse(GOOD.encoded) == GOOD and len(GOOD.encoded) == 256


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("2047 bits", "has 2,047 bits"),
        ("2049 bits", "has 2,049 bits"),
        ("even", "has the factor 2;"),
        ("a factor of 3", "has the factor 3;"),
        ("a factor of 16 bits", "has the factor 65521;"),
        ("a prime", "is a prime number"),
    ],
)
def test_an_unsuitable_modulus_is_rejected(kind, why):
    with pytest.raises(ProtocolError, match=f"token_key.modulus: {why}"):
        TokenKey(token_keys.modulus(kind))


@pytest.mark.parametrize("wrong", [b"", GOOD.encoded[1:], b"\0" + GOOD.encoded])
def test_a_modulus_of_another_length_is_rejected(wrong):
    with pytest.raises(ProtocolError, match=r"token_key.modulus: has \d+ bytes"):
        TokenKey.parse(wrong)


# --- the roots, and what they rule out -----------------------------------------------------------


def challenge(n, i):
    """By definition: SHA-256 in counter form, 272 bytes, modulo n."""
    seed = b"incrowd key test 2" + bytes(1) + n.to_bytes(256, "big") + i.to_bytes(2, "big")
    text = b"".join(hashlib.sha256(seed + bytes([0, 0, 0, c])).digest() for c in range(9))
    return int(text[:272].hex(), 16) % n


def test_challenges_and_roots():
    assert challenges(GOOD) == tuple(challenge(GOOD.modulus, i) for i in range(16))
    roots = key_roots(PRIVATE)
    check_roots(GOOD, roots)
    for at in (0, ROOTS - 1):  # every root counts
        wrong = bytes([*roots[at][:-1], roots[at][-1] ^ 1])
        with pytest.raises(ProtocolError, match=rf"roots\[{at + 1}\]"):
            check_roots(GOOD, [*roots[:at], wrong, *roots[at + 1 :]])
    for number in (roots[:-1], (*roots, roots[0]), (), (*roots[:-1], roots[-1] + b"\0")):
        with pytest.raises(ProtocolError, match="number or length"):
            check_roots(GOOD, number)
    with pytest.raises(ProtocolError, match=r"roots\[1\]"):
        check_roots(GOOD, roots[::-1])
    other = TokenKey(token_keys.modulus("another good one"))
    with pytest.raises(ProtocolError, match=r"roots\[1\]"):
        check_roots(other, roots)


def test_a_challenge_without_an_inverse_shows_nothing(monkeypatch):
    """0 is its own root for every key."""
    monkeypatch.setattr(protocol, "challenges", lambda key: (0,) * ROOTS)
    with pytest.raises(ProtocolError, match=r"roots\[1\]"):
        check_roots(LEAKY, [bytes(256)] * ROOTS)


def possible_root(residue, group, q, p):
    """The e-th root, if there is one, modulo a prime power p with e dividing its group's order."""
    n, rest = p * q, group
    while rest % E == 0:
        rest //= E
    root_p = pow(residue, pow(E, -1, rest), p)
    root_q = pow(residue, pow(E, -1, q - 1), q)
    return (root_q + q * ((root_p - root_q) * pow(q, -1, p) % p)) % n


@pytest.mark.parametrize("kind", ["e divides p - 1", *slowly("e squared")])
def test_roots_of_a_key_that_leaks_cannot_be_made(kind):
    """With the factors known: the power that finds every root that exists finds few here."""
    p, q = token_keys.factors(kind)
    group = p - 1 if kind == "e divides p - 1" else E * (E - 1)
    key = TokenKey(p * q)
    few = challenges(key)
    powers = [residue for residue in few if pow(residue, group // E, p) == 1]
    assert len(powers) < ROOTS  # one residue in e is a power
    attempt = [possible_root(residue, group, q, p).to_bytes(256) for residue in few]
    same = [residue.to_bytes(256) for residue in few]
    for roots in (attempt, same, [bytes(256)] * ROOTS, key_roots(PRIVATE)):
        with pytest.raises(ProtocolError, match="root of its challenge"):
            check_roots(key, roots)
    power = pow(few[0], E, key.modulus)  # a residue that has a root: the attempt finds one
    assert pow(possible_root(power, group, q, p), E, key.modulus) == power


def test_an_inviter_with_such_a_key_would_read_a_class_of_every_message():
    """The wrong variant: a blinded message shows which message it is. Without e | p - 1: none."""
    p = token_keys.factors("e divides p - 1")[0]
    salts = [bytes([i]) * 48 for i in range(3)]
    classes = [residue_class(encode(MESSAGE, salt), p) for salt in salts]
    assert len(set(classes)) == 3
    for salt, known in zip(salts, classes, strict=True):
        for _ in range(3):
            _, r = random_blinding(LEAKY)
            request, _ = blind(MESSAGE, LEAKY, salt=salt, blinding=r)
            assert residue_class(int.from_bytes(request), p) == known


def test_with_a_permutation_every_message_explains_every_request():
    """What the inviter sees is the same for another message with another blinding factor."""
    salt, r = random_blinding(GOOD)
    request, _ = blind(MESSAGE, GOOD, salt=salt, blinding=r)
    other = encode(b"another", salt)
    quotient = encode(MESSAGE, salt) * pow(other, -1, GOOD.modulus) % GOOD.modulus
    explained = r * pow(quotient, D, GOOD.modulus) % GOOD.modulus
    assert explained != r
    assert blind(b"another", GOOD, salt=salt, blinding=explained)[0] == request
