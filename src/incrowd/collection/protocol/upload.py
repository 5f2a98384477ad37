"""Uploads: everything one person sends, in one body of one length.

The bundle's digest (32 bytes), the code (16), the stratum (2), then as many sealed reports as the
bundle has slots, in random order.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from incrowd.collection.protocol import addresses
from incrowd.collection.protocol.bundle import DIGEST_BYTES, Bundle
from incrowd.collection.protocol.sealed import seal
from incrowd.errors import InWords, ProtocolError

CODE_BYTES = 16
RANDOM_BYTES = 10  # of a code: 80 bits, 16 characters
NO_CODE = bytes(CODE_BYTES)
START = struct.Struct(f">{DIGEST_BYTES}s{CODE_BYTES}sH")


def new_code(random: bytes) -> str:
    """The code of an invitation, 16 characters, from 10 random bytes of the system."""
    if len(random) != RANDOM_BYTES:
        raise ProtocolError.of("code", InWords(f"of {len(random)} bytes"), f"use {RANDOM_BYTES}")
    return addresses.letters(random)


def code_field(typed: str) -> bytes:
    """The 16 bytes of a code as a person typed it; zeros for none.

    Raises ProtocolError if no code reads so. The code is in no message: it is a secret.
    """
    try:
        found = addresses.plain(typed).encode()
        if len(found) not in (0, CODE_BYTES):
            raise ValueError("is of another length")
    except ValueError:
        allowed = "should have 16 letters and digits, as printed on the invitation"
        raise ProtocolError.of("code", InWords("cannot be read"), allowed) from None
    return found or NO_CODE


@dataclass(frozen=True)
class Upload:
    """What one person sends for one bundle. stratum: its number. sealed: one for each slot."""

    code: bytes = field(repr=False)
    stratum: int
    sealed: tuple[bytes, ...] = field(repr=False)

    def encoded(self, bundle: Bundle) -> bytes:
        """The bytes that travel, of one length for one bundle."""
        start = START.pack(bundle.digest, self.code, self.stratum)
        return start + b"".join(self.sealed)


def upload_length(bundle: Bundle) -> int:
    """Bytes of every upload for a bundle."""
    return START.size + bundle.places * bundle.sealed_length


def sealed_upload(
    bundle: Bundle, code: bytes, stratum: int, plaintexts: Sequence[bytes], order: Sequence[int]
) -> Upload:
    """Seal a person's plaintexts, dummies included, and put them in an order.

    order: a uniform permutation of the slots, drawn from the system's randomness: plaintext
    order[i] comes in place i. Raises ProtocolError if it is none, or if anything does not fit the
    bundle.
    """
    if sorted(order) != list(range(bundle.places)) or len(plaintexts) != bundle.places:
        allowed = f"should be a permutation of {bundle.places} plaintexts"
        raise ProtocolError.of("order", InWords(f"of {len(order)}"), allowed)
    for plaintext in plaintexts:
        bundle.shape.read(plaintext)
    sealed = tuple(seal(plaintexts[at], bundle.key, bundle.digest) for at in order)
    made = parse_upload(Upload(code, stratum, sealed).encoded(bundle), bundle)
    check_code(code, bundle)
    return made


def parse_upload(data: bytes, bundle: Bundle) -> Upload:
    """The upload of a peer's bytes, checked in this order: length, bundle, stratum, sealed.

    What is sealed is not looked into, and codes are checked later: who sent before is told so
    first. Raises ProtocolError of `upload.length`, `upload.bundle`, `upload.stratum` or
    `upload.sealed`.
    """
    if len(data) != (right := upload_length(bundle)):
        raise _wrong("length", f"{len(data):,} bytes", f"should have {right:,}")
    digest, code, stratum = START.unpack_from(data)
    if digest != bundle.digest:
        allowed = f"should be {bundle.digest.hex()}; use the link of this collection"
        raise _wrong("bundle", digest.hex(), allowed)
    if stratum >= len(bundle.strata):
        raise _wrong("stratum", str(stratum), f"should be below {len(bundle.strata)}")
    size = bundle.sealed_length
    sealed = tuple(data[at : at + size] for at in range(START.size, len(data), size))
    header = bundle.key.header
    if not all([each.startswith(header) for each in sealed]):
        raise _wrong("sealed", "another key", f"should begin with {header.hex()}")
    if len(set(sealed)) < len(sealed):
        raise _wrong("sealed", "the same twice", "should all differ")
    return Upload(code, stratum, sealed)


def check_code(code: bytes, bundle: Bundle) -> None:
    """Raises ProtocolError of `upload.code`, without a byte of it, if no invitation has it."""
    if not bundle.codes and code != NO_CODE:
        raise _wrong("code", "a code", "should be 16 zero bytes: nobody is invited")
    if bundle.codes and not set(code) <= set(addresses.ALPHABET.encode()):
        raise _wrong("code", "no code", "should be the 16 characters of an invitation")


def _wrong(field: str, found: str, allowed: str) -> Exception:
    return ProtocolError.of(f"upload.{field}", InWords(found), allowed)
