"""RSA keys for tests, good and bad, created once by `python -m tests.oracles.token_keys`.

A key is listed by its factors.
"""

import json
import secrets
from math import prod
from pathlib import Path

import gmpy2

from incrowd.collection.inviter.signing import PrivateTokenKey
from incrowd.collection.protocol.blind import blind_all

NOTED = Path(__file__).parent / "token_keys.json"
E = 65537


def prime(bits, divisor=1):
    """A random prime p with its two highest bits set, where a number divides p - 1."""
    while True:
        p = secrets.randbits(bits - 2) | 3 << bits - 2
        p += 1 - p % (2 * divisor)
        leaks = (p - 1) % E == 0
        if p.bit_length() == bits and gmpy2.is_prime(p, 40) and leaks == (divisor == E):
            return p


def coprime_to_3():
    """A prime p where 3 does not divide p - 1."""
    return next(p for p in iter(lambda: prime(1024), 0) if (p - 1) % 3)


def product_with(factor, bits):
    """A number of so many bits that is a given factor times a prime."""
    least = (1 << bits - 1) // factor + 1
    return [factor, int(gmpy2.next_prime(least + secrets.randbelow(least // 2)))]


KINDS = {
    "good": lambda: [prime(1024), prime(1024)],
    "another good one": lambda: [prime(1024), prime(1024)],
    "e divides p - 1": lambda: [prime(1024, divisor=E), prime(1024)],
    "e squared": lambda: product_with(E**2, 2048),
    "a factor of 17 bits": lambda: product_with(65539, 2048),
    "a factor of 16 bits": lambda: product_with(65521, 2048),
    "a factor of 3": lambda: product_with(3, 2048),
    "for the exponent 3": lambda: [coprime_to_3(), coprime_to_3()],
    "2047 bits": lambda: product_with(prime(1023), 2047),
    "2049 bits": lambda: [prime(1025), prime(1024)],
    "a prime": lambda: [prime(2048)],
    "even": lambda: product_with(2, 2048),
}


def factors(kind):
    return [int(each, 16) for each in json.loads(NOTED.read_text())[kind]]


def modulus(kind):
    return prod(factors(kind))


def private(kind, exponent=E):
    """The private key of two primes, by definition: with the wrong exponent, if wanted."""
    p, q = factors(kind)
    return PrivateTokenKey(p, q, pow(exponent, -1, p - 1), pow(exponent, -1, q - 1), pow(q, -1, p))


def residue_class(residue, p):
    """What an inviter reads if e divides p - 1: in which of e classes a residue is.

    x -> x^((p-1)/e) modulo p respects products and sends every e-th power to 1.
    """
    return pow(residue, (p - 1) // E, p)


def blind(message, key, *, salt, blinding):
    """One blinded message, and the inverse of its blinding factor."""
    (pair,) = blind_all([message], key, [(salt, blinding)])
    return pair


if __name__ == "__main__":
    content = json.loads(NOTED.read_text()) if NOTED.exists() else {}
    for kind, make in KINDS.items():  # a key that exists stays
        content.setdefault(kind, [f"{each:x}" for each in make()])
    NOTED.write_text(json.dumps(content, indent=1) + "\n")
