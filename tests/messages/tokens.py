"""What is said of the keys of tokens and of blind signatures."""

from unittest import mock

import gmpy2

from incrowd.collection.inviter.signing import PrivateTokenKey, key_roots, sign_blinded
from incrowd.collection.protocol.blind import TokenKey, blind_all, check_roots, finalize
from tests.oracles import token_keys

PRIVATE = token_keys.private("good")
KEY = PRIVATE.public


def modulus(kind):
    return lambda _: TokenKey(token_keys.modulus(kind))


def faulty(_):
    """A processor that computes every power incorrectly."""
    with mock.patch.object(gmpy2, "powmod_sec", return_value=gmpy2.mpz(2)):
        return sign_blinded(bytes(255) + b"\3", PRIVATE)


CASES = {
    "key: bytes": lambda _: TokenKey.parse(b""),
    "key: bits": modulus("2047 bits"),
    "key: a small factor": modulus("a factor of 3"),
    "key: a prime": modulus("a prime"),
    "key: roots missing": lambda _: check_roots(KEY, ()),
    "key: no roots": lambda _: check_roots(KEY, key_roots(PRIVATE)[::-1]),
    "key: no private key": lambda _: PrivateTokenKey.parse(b""),
    "blind: no inverse": lambda _: blind_all([b""], KEY, [(bytes(48), PRIVATE.p)]),
    "blind: not blinded": lambda _: sign_blinded(b"", PRIVATE),
    "blind: a fault": faulty,
    "blind: no signature": lambda _: finalize(b"", bytes(256), 1, KEY),
}
