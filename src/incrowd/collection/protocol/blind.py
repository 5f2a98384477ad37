"""Blind signatures: RSABSSA-SHA384-PSS-Deterministic of RFC 9474, with 2,048 bits and e = 65537.

The inviter signs a token without seeing it. With x -> x^e on the residues modulo n that have an
inverse, the device sends z = m r^e for a random r, receives z^(1/e) = m^(1/e) r, and divides by r.

If x -> x^e is a permutation, z is uniform whatever m is, and m has exactly one root: neither what
the inviter sees nor what it returns depends on who has which token. If e divides p - 1 for a
prime factor p of n, z^((p-1)/e) = m^((p-1)/e) modulo p: the inviter would see to which of e classes
the token belongs. So a key comes with the roots of 16 challenges, which only a permutation has,
except with probability below 2^-256 (proof: docs/mathematics.md#blind-signatures).
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from math import gcd, prod

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA384

from incrowd.errors import ProtocolError

try:  # services have it, with the extra `collect`: it takes a twentieth of the time of `pow`
    from gmpy2 import powmod
except ModuleNotFoundError:  # whoever checks a receipt needs no extra
    powmod = pow

EXPONENT = 65537
BITS = 2048
SIGNATURE_BYTES = BITS // 8
SALT_BYTES = HASH_BYTES = 48
SMALLEST_FACTOR = 1 << 16

ROOTS = 16
CHALLENGE_BYTES = SIGNATURE_BYTES + 16
CHALLENGE_LABEL = b"incrowd key test 2\x00"


# --- keys ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenKey:
    """The public key of one kind of token: an RSA modulus. The exponent is always 65537.

    Raises ProtocolError if the modulus does not have exactly 2,048 bits, has a prime factor below
    2^16, or is a prime number. Only `check_roots` shows that the key hides what it signs.
    """

    modulus: int

    def __post_init__(self) -> None:
        _check_modulus(self.modulus)

    @classmethod
    def parse(cls, data: bytes) -> TokenKey:
        """Return the key with a modulus of 256 bytes. Raises ProtocolError for any other length."""
        if len(data) != SIGNATURE_BYTES:
            raise ProtocolError.of(
                _MODULUS, "collection.wrong-length", bytes=len(data), right=SIGNATURE_BYTES
            )
        return cls(int.from_bytes(data))

    @property
    def encoded(self) -> bytes:
        """The modulus, 256 bytes."""
        return self.modulus.to_bytes(SIGNATURE_BYTES)

    @cached_property
    def public(self) -> RSAPublicKey:
        """The key as an object that verifies."""
        return RSAPublicNumbers(EXPONENT, self.modulus).public_key()


_MODULUS = ("token_key", "modulus")


# A service reads its bundle again and again: what was checked once is right.
@lru_cache(maxsize=256)
def _check_modulus(modulus: int) -> None:
    if (bits := modulus.bit_length()) != BITS:
        raise ProtocolError.of(_MODULUS, "collection.modulus-bits", bits=bits, right=BITS)
    if (shared := gcd(modulus, _product_of_small_primes())) > 1:
        factor = next(p for p in _small_primes() if shared % p == 0)
        raise ProtocolError.of(_MODULUS, "collection.modulus-factor", factor=factor, right=BITS)
    # Fermat: true for every prime number.
    if powmod(2, modulus - 1, modulus) == 1:
        raise ProtocolError.of(_MODULUS, "collection.modulus-prime", right=BITS)


@cache
def _small_primes() -> tuple[int, ...]:
    """Return the primes below 2^16, by the sieve of Eratosthenes."""
    prime = bytearray([0, 0]) + bytearray([1]) * (SMALLEST_FACTOR - 2)
    for p in range(2, 1 << 8):
        if prime[p]:
            prime[p * p :: p] = bytes(len(range(p * p, SMALLEST_FACTOR, p)))
    return tuple(p for p in range(SMALLEST_FACTOR) if prime[p])


@cache
def _product_of_small_primes() -> int:
    """Return their product: its greatest common divisor with a modulus is fast to compute."""
    return prod(_small_primes())


def challenges(key: TokenKey) -> tuple[int, ...]:
    """Return the 16 residues whose roots come with a key.

    The i-th is MGF1-SHA256(label || modulus (256) || i (2)), 272 bytes, modulo n: with 128 bits
    more than n, no residue is more likely than (1 + 2^-128) / n.
    """
    seeds = (CHALLENGE_LABEL + key.encoded + struct.pack(">H", i) for i in range(ROOTS))
    return tuple(
        int.from_bytes(_mgf1(seed, CHALLENGE_BYTES, "sha256")) % key.modulus for seed in seeds
    )


def check_roots(key: TokenKey, roots: Sequence[bytes]) -> None:
    """Check that x -> x^e permutes the residues modulo n that have an inverse.

    roots: 16 roots of `challenges(key)`, each of 256 bytes. If e divides the order of the group, at
    most one residue in e has a root, and 16 random ones all have one with probability below 2^-256
    (docs/mathematics.md#blind-signatures; after Goldberg, Reyzin, Sagga, Baldimtsi 2018).
    Raises ProtocolError if a root is missing or incorrect.
    """
    _check_roots(key, tuple(roots))


_ROOTS = ("token_key", "roots")


@lru_cache(maxsize=256)
def _check_roots(key: TokenKey, roots: tuple[bytes, ...]) -> None:
    if len(roots) != ROOTS or any(len(root) != SIGNATURE_BYTES for root in roots):
        raise ProtocolError.of(
            _ROOTS, "collection.roots-number", roots=ROOTS, bytes=SIGNATURE_BYTES
        )
    n = key.modulus
    for i, (encoded, challenge) in enumerate(zip(roots, challenges(key), strict=True)):
        root = int.from_bytes(encoded)
        if root >= n or gcd(challenge, n) != 1 or powmod(root, EXPONENT, n) != challenge:
            raise ProtocolError.of((*_ROOTS, i), "collection.no-root")


# --- encoding ------------------------------------------------------------------------------------


def _mgf1(seed: bytes, length: int, algorithm: str) -> bytes:
    """Return MGF1 (RFC 8017, appendix B.2.1): hashes of the seed and a counter."""
    size = hashlib.new(algorithm).digest_size
    blocks = (
        hashlib.new(algorithm, seed + struct.pack(">I", counter)).digest()
        for counter in range(-(-length // size))
    )
    return b"".join(blocks)[:length]


def encode(message: bytes, salt: bytes) -> int:
    """Return EMSA-PSS-ENCODE (RFC 8017, section 9.1.1) with SHA-384, one bit shorter than n."""
    digest = hashlib.sha384(message).digest()
    check = hashlib.sha384(bytes(8) + digest + salt).digest()
    block = int.from_bytes(b"\x01" + salt)
    mask = int.from_bytes(_mgf1(check, SIGNATURE_BYTES - HASH_BYTES - 1, "sha384"))
    masked = (block ^ mask) % (1 << BITS - 1 - 8 * (HASH_BYTES + 1))
    return int.from_bytes(masked.to_bytes(SIGNATURE_BYTES - HASH_BYTES - 1) + check + b"\xbc")


# --- signatures ----------------------------------------------------------------------------------


def random_blinding(key: TokenKey) -> tuple[bytes, int]:
    """Draw the salt and the blinding factor of one signature from the operating system."""
    return os.urandom(SALT_BYTES), 1 + secrets.randbelow(key.modulus - 1)


def blind_all(
    messages: Sequence[bytes], key: TokenKey, blindings: Sequence[tuple[bytes, int]]
) -> list[tuple[bytes, int]]:
    """Return each blinded message, 256 bytes, and the inverse of its blinding factor.

    blindings: from `random_blinding`, for these signatures only. A single inversion is enough for
    all of them. With the products P_i = m_1 r_1 ... m_i r_i (Montgomery's trick), the inverse of
    m_i r_i is P_(i-1) / P_i; times m_i, it is that of r_i. P has an inverse exactly if every m_i
    and r_i has.
    """
    n = key.modulus
    drawn = zip(messages, blindings, strict=True)
    pairs = [(encode(message, salt), blinding) for message, (salt, blinding) in drawn]
    products = list(accumulate((m * r for m, r in pairs), lambda P, mr: P * mr % n, initial=1))
    try:
        inverse = pow(products[-1], -1, n)
    except ValueError:
        raise ProtocolError.of("message", "collection.shared-factor") from None
    blinded = []
    for (m, r), product in zip(reversed(pairs), reversed(products[:-1]), strict=True):
        z = m * pow(r, EXPONENT, n) % n
        blinded.append((z.to_bytes(SIGNATURE_BYTES), product * inverse * m % n))
        inverse = inverse * m * r % n
    return blinded[::-1]


def finalize(message: bytes, blind_signature: bytes, inverse: int, key: TokenKey) -> bytes:
    """Return the signature of a message, 256 bytes, from the inviter's answer.

    inverse: from `blind_all`. Raises ProtocolError if the result is not a valid signature: the
    device then sends nothing, because an inviter could recognize who lacks a token.
    """
    if len(blind_signature) == SIGNATURE_BYTES:
        product = int.from_bytes(blind_signature) * inverse % key.modulus
        signature = product.to_bytes(SIGNATURE_BYTES)
        if verify(message, signature, key):
            return signature
    raise ProtocolError.of("blind_signature", "collection.invalid-blind-signature")


def verify(message: bytes, signature: bytes, key: TokenKey) -> bool:
    """Return whether a signature of a message is valid (RFC 8017, section 8.1.2)."""
    try:
        key.public.verify(signature, message, PSS(MGF1(SHA384()), SALT_BYTES), SHA384())
    except InvalidSignature:
        return False
    return True
