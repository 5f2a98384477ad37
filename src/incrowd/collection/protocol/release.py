"""Releases: the sealed reports of a stratum in one random order, under a signed header.

Signature (64 bytes), header, body. The header: the bundle's digest (32), people, codes issued,
codes used, reports (8 bytes each), SHA-256 of the body (32), how many strata are released as one
(2), and their numbers in rising order (2 each). Signed are a domain of our own and the header.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from incrowd.collection.protocol.bundle import DIGEST_BYTES, Bundle
from incrowd.errors import InWords, ProtocolError

DOMAIN = b"incrowd release 1\x00"
SIGNATURE_BYTES = 64
START = struct.Struct(f">{DIGEST_BYTES}sQQQQ{DIGEST_BYTES}sH")
NUMBER_BYTES = 2


@dataclass(frozen=True)
class Header:
    """What the shuffler states of a release.

    bundle: its digest. people: uploads. issued, used: codes sent out, and those of the people
    here; 0 in an open survey. reports: sealed reports, dummies included. body: their SHA-256.
    strata: which are in it, one unless small ones were merged.
    """

    bundle: bytes
    people: int
    issued: int
    used: int
    reports: int
    body: bytes
    strata: tuple[int, ...]

    @property
    def encoded(self) -> bytes:
        """The bytes that are signed, without the domain."""
        numbers = (self.people, self.issued, self.used, self.reports)
        start = START.pack(self.bundle, *numbers, self.body, len(self.strata))
        return start + struct.pack(f">{len(self.strata)}H", *self.strata)

    def check(self, bundle: Bundle) -> None:
        """Raises ProtocolError unless the header is possible for a bundle."""
        for field, found, right in self._facts(bundle):
            if found != right:
                raise ProtocolError.of(f"release.{field}", found, f"should be {right}")
        if self.people < bundle.least_people:
            allowed = f"should be at least {bundle.least_people:,}, the crowd and the reserve"
            raise ProtocolError.of("release.people", f"{self.people:,}", allowed)
        if self.issued < self.used:
            allowed = f"should be at least {self.used:,}, those used"
            raise ProtocolError.of("release.issued", f"{self.issued:,}", allowed)
        if bundle.small_strata != "merge" and len(self.strata) > 1:
            raise ProtocolError.of(
                "release.strata", _listed(self.strata), "should be one: none are merged"
            )

    def _facts(self, bundle: Bundle) -> list[tuple[str, object, object]]:
        known = tuple(sorted({n for n in self.strata if n < len(bundle.strata)}))
        return [
            ("bundle", self.bundle.hex(), bundle.digest.hex()),
            ("used", self.used, self.people if bundle.codes else 0),
            ("issued", self.issued, self.issued if bundle.codes else 0),
            ("reports", self.reports, self.people * bundle.places),
            ("strata", _listed(self.strata), _listed(known or (0,))),
        ]


@dataclass(frozen=True)
class Signed:
    """A header with its signature: what a receipt keeps."""

    signature: bytes
    header: Header

    @property
    def encoded(self) -> bytes:
        """The bytes of a release before its body."""
        return self.signature + self.header.encoded

    @classmethod
    def parse(cls, data: bytes) -> tuple[Signed, int]:
        """The beginning of a release, and how many bytes of `data` it takes; the body follows.

        Nothing is checked but that it can be read. Raises ProtocolError.
        """
        end = SIGNATURE_BYTES + START.size
        if len(data) < end:
            raise _short(len(data))
        *stated, strata = START.unpack_from(data, SIGNATURE_BYTES)
        if len(data) < end + NUMBER_BYTES * strata:
            raise _short(len(data))
        numbers = struct.unpack_from(f">{strata}H", data, end)
        header = Header(*(*stated, numbers))
        return cls(data[:SIGNATURE_BYTES], header), end + NUMBER_BYTES * strata

    def is_of(self, key: Ed25519PublicKey) -> bool:
        """Whether the holder of that key signed the header."""
        try:
            key.verify(self.signature, DOMAIN + self.header.encoded)
        except InvalidSignature:
            return False
        return True

    def check(self, bundle: Bundle) -> None:
        """Raises ProtocolError unless the bundle's shuffler signed it and it is possible."""
        if not self.is_of(bundle.signer):
            allowed = "should be by the shuffler's key that the bundle names"
            raise ProtocolError.of("release.signature", InWords("does not fit"), allowed)
        self.header.check(bundle)


def sign(header: Header, private: Ed25519PrivateKey) -> Signed:
    """A header with the shuffler's signature (Ed25519, which is deterministic)."""
    return Signed(private.sign(DOMAIN + header.encoded), header)


def parse_release(data: bytes, bundle: Bundle) -> tuple[Signed, tuple[bytes, ...]]:
    """A whole release: its signed header and its sealed reports, in their order.

    Raises ProtocolError unless signature, header and body are those of the bundle. Larger ones are
    read in pieces, with `Signed.parse`, `Signed.check` and `check_body`.
    """
    signed, start = Signed.parse(data)
    signed.check(bundle)
    body = data[start:]
    check_body(signed.header, bundle, len(body), hashlib.sha256(body).digest())
    size = bundle.sealed_length
    return signed, tuple(body[at : at + size] for at in range(0, len(body), size))


def check_body(header: Header, bundle: Bundle, length: int, digest: bytes) -> None:
    """Raises ProtocolError unless a body has the length and the SHA-256 that its header states."""
    if length != (right := header.reports * bundle.sealed_length):
        allowed = f"should have {right:,}"
        raise ProtocolError.of("release.body", InWords(f"has {length:,} bytes"), allowed)
    if digest != header.body:
        allowed = "should be the one whose SHA-256 was signed"
        raise ProtocolError.of("release.body", InWords("is another"), allowed)


def prove_cheating(one: Signed, other: Signed, key: Ed25519PublicKey) -> bool:
    """Whether a key signed two different headers for a stratum of one bundle."""
    return (
        one.is_of(key)
        and other.is_of(key)
        and one.header.bundle == other.header.bundle
        and bool(set(one.header.strata) & set(other.header.strata))
        and one.header != other.header
    )


def _listed(strata: tuple[int, ...]) -> str:
    return ", ".join(map(str, strata))


def _short(length: int) -> Exception:
    allowed = "should not end before its header does; send it again"
    return ProtocolError.of("release", InWords(f"has {length:,} bytes"), allowed)
