"""Uploads: everything that one person sends, in one body of fixed length.

To one shuffler: the bundle's digest (32 bytes), the code (16), the stratum (2), then as many sealed
reports as the bundle has slots, in random order; if services add noise, those of one lane after the
other, each lane in random order. To the first of two mixers: the digest, the
stratum, the entry token (a nonce of 32 bytes, its signature of 256), then the envelopes for the
second mixer, in random order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from incrowd.collection.protocol import addresses
from incrowd.collection.protocol.bundle import (
    CODE_BYTES,
    DIGEST_BYTES,
    Bundle,
    ShufflerBundle,
)
from incrowd.collection.protocol.sealed import seal
from incrowd.errors import ProtocolError

RANDOM_BYTES = 10  # of a code: 80 bits, 16 characters
NO_CODE = bytes(CODE_BYTES)
STRATUM_BYTES = 2


def new_code(random: bytes) -> str:
    """Return a new code, 16 characters, from 10 random bytes of the system."""
    if len(random) != RANDOM_BYTES:
        raise ProtocolError.of(
            "code", "collection.random-bytes", bytes=len(random), right=RANDOM_BYTES
        )
    return addresses.letters(random)


def code_field(typed: str) -> bytes:
    """Return the 16 bytes of a typed code; zeros for an empty one.

    Raises ProtocolError for an invalid code. Messages never contain it: it is a secret.
    """
    try:
        code = addresses.plain(typed).encode()
        if len(code) not in (0, CODE_BYTES):
            raise ValueError("is of another length")
    except ValueError:
        raise ProtocolError.of("code", "collection.unreadable-code") from None
    return code or NO_CODE


@dataclass(frozen=True)
class Upload:
    """One person's upload for one bundle.

    entry: admits it once: the code of an invitation, or the nonce and signature of an entry token.
    stratum: its number. sealed: one for each slot; with two mixers, envelopes of sealed reports.
    """

    entry: bytes = field(repr=False)
    stratum: int
    sealed: tuple[bytes, ...] = field(repr=False)

    def start(self, bundle: Bundle) -> bytes:
        """Return the bytes before the sealed reports."""
        start = self.entry, self.stratum.to_bytes(STRATUM_BYTES)
        first, second = start if _entry_first(bundle) else reversed(start)
        return bundle.digest + first + second

    def encoded(self, bundle: Bundle) -> bytes:
        """Return the bytes that are sent, of the same length for everybody."""
        return b"".join((self.start(bundle), *self.sealed))


def _entry_first(bundle: Bundle) -> bool:
    return isinstance(bundle, ShufflerBundle)


def _start_length(bundle: Bundle) -> int:
    return DIGEST_BYTES + STRATUM_BYTES + bundle.entry_length


def upload_length(bundle: Bundle) -> int:
    """Return the length of every upload for a bundle, in bytes."""
    return _start_length(bundle) + bundle.places * bundle.envelope_length


def sealed_upload(
    bundle: ShufflerBundle,
    code: bytes,
    stratum: int,
    plaintexts: Sequence[bytes],
    order: Sequence[int],
) -> Upload:
    """Seal a person's plaintexts, including dummies, for one shuffler, in a given order.

    order: a uniform permutation of the slots, of those in each lane if there are lanes, drawn from
    the system's randomness; plaintext order[i] goes to slot i. Raises ProtocolError if it is not
    such a permutation, or if anything does not fit the bundle.
    """
    permuted = all(sorted(order[s.start : s.stop]) == list(s) for s in bundle.slot_spans)
    if not permuted or len(order) != bundle.places or len(plaintexts) != bundle.places:
        raise ProtocolError.of(
            "order",
            "collection.order-of-plaintexts",
            number=len(order),
            plaintexts=bundle.places,
        )
    for plaintext in plaintexts:
        bundle.shape.read(plaintext)
    bindings = (bundle.binding(stratum, lane) for lane in bundle.slot_lanes)
    pairs = zip(order, bindings, strict=True)
    sealed = tuple(seal(plaintexts[at], bundle.key, bound, bundle.label) for at, bound in pairs)
    upload = parse_upload(Upload(code, stratum, sealed).encoded(bundle), bundle)
    check_code(code, bundle)
    return upload


def parse_upload(data: bytes, bundle: Bundle) -> Upload:
    """Parse a peer's bytes, checked in this order: length, bundle, stratum, sealed reports.

    Sealed reports are not opened. Codes are checked later, after repeated uploads. Raises
    ProtocolError of `upload.length`, `upload.bundle`, `upload.stratum` or `upload.sealed`.
    """
    if len(data) != (right := upload_length(bundle)):
        raise ProtocolError.of(
            ("upload", "length"), "collection.number-of-bytes", bytes=len(data), right=right
        )
    digest, start = data[:DIGEST_BYTES], data[DIGEST_BYTES : (end := _start_length(bundle))]
    if digest != bundle.digest:
        raise ProtocolError.of(
            ("upload", "bundle"),
            "collection.other-bundle",
            digest=digest.hex(),
            right=bundle.digest.hex(),
        )
    if _entry_first(bundle):
        entry, number = start[: bundle.entry_length], start[bundle.entry_length :]
    else:
        number, entry = start[:STRATUM_BYTES], start[STRATUM_BYTES:]
    stratum = int.from_bytes(number)
    if stratum >= len(bundle.strata):
        raise ProtocolError.of(
            ("upload", "stratum"),
            "collection.no-such-stratum",
            stratum=stratum,
            below=len(bundle.strata),
        )
    size = bundle.envelope_length
    sealed = tuple(data[at : at + size] for at in range(end, len(data), size))
    header = bundle.envelope_key.header
    if not all([each.startswith(header) for each in sealed]):
        raise ProtocolError.of(
            ("upload", "sealed"), "collection.sealed-for-other-key", header=header.hex()
        )
    if len(set(sealed)) < len(sealed):
        raise ProtocolError.of(("upload", "sealed"), "collection.sealed-twice")
    return Upload(entry, stratum, sealed)


def check_code(code: bytes, bundle: Bundle) -> None:
    """Raise ProtocolError of `upload.code`, without showing it, for an impossible code."""
    if not bundle.codes and code != NO_CODE:
        raise ProtocolError.of(("upload", "code"), "collection.code-without-invitations")
    if bundle.codes and not set(code) <= set(addresses.ALPHABET.encode()):
        raise ProtocolError.of(("upload", "code"), "collection.not-a-code")
