"""The private side of blind signatures (RFC 9474): s = z^(1/e) modulo n.

The inviter computes roots of numbers that others choose. Three measures keep the key inside:

- Exponents and primes are secret, so `powmod_sec` of GMP is used, whose time and memory accesses
  depend on the lengths only.
- *Base blinding* (Kocher 1996): the root is taken of z r^e for a random r and divided by r, so that
  even steps whose time depends on values (the remainders, the sum of both halves) see random
  numbers. r is drawn anew for each signature: one power with e and one inversion, a few percent of
  the time. Squaring the last pair would be a little faster, but would need a state and a lock.
- *Fault check*: a root that is correct modulo p and incorrect modulo q reveals q as
  gcd(s^e - z, n) (Boneh, DeMillo, Lipton 1997). Nothing is returned unless s^e = z.

gmpy2 releases the interpreter's lock if the context allows it, so threads can sign on several
cores, and no other process needs a copy of the key.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import cached_property

import gmpy2
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)

from incrowd.collection.protocol.blind import (
    BITS,
    EXPONENT,
    SIGNATURE_BYTES,
    TokenKey,
    challenges,
)
from incrowd.errors import IncrowdError, ProtocolError


class SigningError(IncrowdError):
    """A private key cannot be used, or a signature was computed incorrectly."""


@dataclass(frozen=True)
class PrivateTokenKey:
    """The private key of one kind of token.

    p, q: the primes. d_p, d_q: the inverses of e modulo p - 1 and q - 1. q_inv: the inverse of q
    modulo p.
    """

    p: int = field(repr=False)
    q: int = field(repr=False)
    d_p: int = field(repr=False)
    d_q: int = field(repr=False)
    q_inv: int = field(repr=False)

    @cached_property
    def public(self) -> TokenKey:
        """The public key. Raises ProtocolError if the modulus p q cannot be that of one."""
        return TokenKey(self.p * self.q)

    @property
    def encoded(self) -> bytes:
        """The private key as PKCS#8 (RFC 5958), DER."""
        d = pow(EXPONENT, -1, (self.p - 1) * (self.q - 1))
        public = rsa.RSAPublicNumbers(EXPONENT, self.p * self.q)
        parts = self.p, self.q, d, self.d_p, self.d_q, self.q_inv
        numbers = rsa.RSAPrivateNumbers(*parts, public)
        private = numbers.private_key(unsafe_skip_rsa_key_validation=True)  # `parse` validates
        return private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    @classmethod
    def of(cls, numbers: rsa.RSAPrivateNumbers) -> PrivateTokenKey:
        """Return the key with the numbers of `cryptography`."""
        return cls(numbers.p, numbers.q, numbers.dmp1, numbers.dmq1, numbers.iqmp)

    @classmethod
    def parse(cls, data: bytes) -> PrivateTokenKey:
        """Return the key in PKCS#8, DER, which OpenSSL checks for consistency.

        Raises SigningError if it is not an RSA key with 2,048 bits and e = 65537.
        """
        try:
            private = load_der_private_key(data, None)
        except (ValueError, TypeError):
            private = None
        if isinstance(private, rsa.RSAPrivateKey) and private.key_size == BITS:
            numbers = private.private_numbers()
            if numbers.public_numbers.e == EXPONENT:
                return cls.of(numbers)
        raise SigningError.of(
            "private_token_key", "collection.no-token-key", bits=BITS, exponent=EXPONENT
        )


def new_token_key() -> PrivateTokenKey:
    """Create a key, with OpenSSL's randomness. e does not divide p - 1 or q - 1 (FIPS 186-5)."""
    return PrivateTokenKey.of(rsa.generate_private_key(EXPONENT, BITS).private_numbers())


def sign_blinded(blinded: bytes, private: PrivateTokenKey) -> bytes:
    """Return the blind signature of a blinded message; both have 256 bytes.

    Raises ProtocolError if the blinded message has another length or is not below the modulus, and
    SigningError if the result is incorrect: then nothing may be answered.
    """
    n = private.p * private.q
    z = int.from_bytes(blinded)
    if len(blinded) != SIGNATURE_BYTES or z >= n:
        raise ProtocolError.of("blinded", "collection.not-blinded", bytes=SIGNATURE_BYTES)
    with gmpy2.context(allow_release_gil=True):
        r = 1 + secrets.randbelow(n - 1)
        s = int(_root(z * gmpy2.powmod(r, EXPONENT, n) % n, private) * gmpy2.invert(r, n) % n)
        correct = gmpy2.powmod(s, EXPONENT, n) == z
    if not correct:
        raise SigningError.of("signature", "collection.signature-incorrect")
    return s.to_bytes(SIGNATURE_BYTES)


def _root(z: gmpy2.mpz, private: PrivateTokenKey) -> gmpy2.mpz:
    """Return z^(1/e) from its halves modulo p and q, combined by the remainder theorem."""
    s_p = gmpy2.powmod_sec(z % private.p, private.d_p, private.p)
    s_q = gmpy2.powmod_sec(z % private.q, private.d_q, private.q)
    return s_q + private.q * ((s_p - s_q) * private.q_inv % private.p)


def key_roots(private: PrivateTokenKey) -> tuple[bytes, ...]:
    """Return the roots that show that the key hides what it signs (`check_roots`)."""
    residues = challenges(private.public)
    return tuple(sign_blinded(each.to_bytes(SIGNATURE_BYTES), private) for each in residues)
