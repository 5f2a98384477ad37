"""Token keys with eight primes, which sign fast enough that a crowd of senders can be simulated.

Modulus, exponent, and signatures are like those of two primes, so verification takes as long. Keys
for people need two long primes: short ones could be computed from the modulus.
"""

import json
import os
from functools import partial, reduce
from operator import mul
from pathlib import Path
from secrets import randbelow
from typing import NamedTuple
from unittest import mock

import gmpy2

from incrowd.collection.inviter import init
from incrowd.collection.protocol.blind import (
    BITS,
    EXPONENT,
    SALT_BYTES,
    SIGNATURE_BYTES,
    TokenKey,
    challenges,
    encode,
)

PRIMES = 8


class Key(NamedTuple):
    """parts: of each prime p, p, the inverse of e modulo p - 1, and what is 1 mod p and 0 else."""

    modulus: int
    parts: tuple[tuple[int, int, int], ...]

    def root(self, z):
        return sum(gmpy2.powmod(z % p, d, p) * one for p, d, one in self.parts) % self.modulus

    def sign(self, text):
        return int(self.root(encode(text, os.urandom(SALT_BYTES)))).to_bytes(SIGNATURE_BYTES)


def _prime():
    """A prime of 256 bits, at least .93 of 2^256, so that eight have a product of 2,048 bits."""
    least = 15 << BITS // PRIMES - 4
    while True:
        p = gmpy2.next_prime(least + randbelow((1 << BITS // PRIMES - 4) - (1 << 16)))
        if p % EXPONENT != 1:
            return p


def of_primes(primes):
    modulus = reduce(mul, primes)
    rests = [modulus // p for p in primes]
    parts = (
        (p, gmpy2.invert(EXPONENT, p - 1), rest * gmpy2.invert(rest, p))
        for p, rest in zip(primes, rests, strict=True)
    )
    return Key(modulus, tuple(parts))


def prepared(prepare, file: Path):
    """A collection whose bundle has such keys. file: gets their primes.

    The inviter's folder has keys that do not fit: it cannot sign anything.
    """
    keys, new = [], init.new_token_key

    def token_key():
        keys.append(key := of_primes([_prime() for _ in range(PRIMES)]))
        roots = [int(key.root(each)) for each in challenges(TokenKey(int(key.modulus)))]
        hexed = partial(int.to_bytes, length=SIGNATURE_BYTES)
        stated = {
            "modulus": hexed(int(key.modulus)).hex(),
            "roots": [hexed(r).hex() for r in roots],
        }
        return new(), stated

    with mock.patch.object(init, "_token_key", token_key):
        made = prepare()
    file.write_text(json.dumps([[int(p) for p, *_ in key.parts] for key in keys]))
    return made


def load(file: Path, bundle):
    """The keys of a file, in the order of the bundle."""
    read = [of_primes([gmpy2.mpz(p) for p in primes]) for primes in json.loads(file.read_text())]
    keys = {key.modulus: key for key in read}
    return [keys[public.modulus] for public in bundle.token_keys]
