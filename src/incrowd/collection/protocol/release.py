"""Releases: the sealed reports of a stratum in one random order, under a signed header.

Signature (64 bytes), header, body. The header: the bundle's digest (32), people, codes issued,
codes used, reports (8 bytes each), SHA-256 of the body (32), the number of strata (2), and the
strata in ascending order (2 each). The signature covers a domain prefix and the header.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from incrowd.collection.protocol.bundle import DIGEST_BYTES, Bundle, ShufflerBundle
from incrowd.collection.protocol.signed import Statement, too_short
from incrowd.errors import ProtocolError

START = struct.Struct(f">{DIGEST_BYTES}sQQQQ{DIGEST_BYTES}sH")
NUMBER_BYTES = 2


@dataclass(frozen=True)
class Header(Statement):
    """The shuffler's statement about a release.

    bundle: its digest. people: number of uploads. issued, used: number of codes that were issued,
    and that were used in this release; 0 without invitations. reports: sealed reports, including
    dummies and those that the shuffler invented. body: their SHA-256. strata: a single one, unless
    small strata were merged.
    """

    domain: ClassVar[bytes] = b"incrowd release 1\x00"
    name: ClassVar[str] = "release"

    bundle: bytes
    people: int
    issued: int
    used: int
    reports: int
    body: bytes
    strata: tuple[int, ...]

    @property
    def encoded(self) -> bytes:
        """The signed bytes, without the domain prefix."""
        numbers = (self.people, self.issued, self.used, self.reports)
        start = START.pack(self.bundle, *numbers, self.body, len(self.strata))
        return start + struct.pack(f">{len(self.strata)}H", *self.strata)

    @classmethod
    def parse(cls, data: bytes, at: int) -> tuple[Header, int]:
        """Parse a header; raises ProtocolError if the data is too short."""
        end = at + START.size
        if len(data) < end:
            raise too_short("release", len(data))
        *stated, strata = START.unpack_from(data, at)
        if len(data) < end + NUMBER_BYTES * strata:
            raise too_short("release", len(data))
        numbers = struct.unpack_from(f">{strata}H", data, end)
        return cls(*(*stated, numbers)), end + NUMBER_BYTES * strata

    def signer(self, bundle: Bundle) -> Ed25519PublicKey:
        """Return the shuffler's key."""
        return _of_shuffler(bundle).signer

    def check(self, bundle: Bundle) -> None:
        """Raise ProtocolError unless the header is possible for a bundle."""
        for field, value, right in self._facts(bundle):
            if value != right:
                raise ProtocolError.of(
                    ("release", field), "collection.not-equal", value=value, right=right
                )
        if self.people < bundle.least_people:
            raise ProtocolError.of(
                ("release", "people"),
                "collection.people-few",
                people=self.people,
                least=bundle.least_people,
            )
        if self.issued < self.used:
            raise ProtocolError.of(
                ("release", "issued"),
                "collection.issued-below-used",
                issued=self.issued,
                used=self.used,
            )
        if bundle.small_strata != "merge" and len(self.strata) > 1:
            raise ProtocolError.of(
                ("release", "strata"), "collection.several-strata", strata=self.strata
            )

    @property
    def number(self) -> int:
        """The first stratum."""
        return next(iter(self.strata), 0)

    def length(self, bundle: Bundle) -> int:
        """Return the length of the body, in bytes."""
        return self.reports * bundle.row_length

    def excludes(self, other: Header) -> bool:
        """Return whether an honest shuffler signs only one of two releases."""
        shared = set(self.strata) & set(other.strata)
        return self.bundle == other.bundle and bool(shared) and self != other

    def _facts(self, bundle: Bundle) -> list[tuple[str, object, object]]:
        sorted_strata = tuple(sorted({n for n in self.strata if n < len(bundle.strata)}))
        return [
            ("bundle", self.bundle.hex(), bundle.digest.hex()),
            ("used", self.used, self.people if bundle.codes else 0),
            ("issued", self.issued, self.issued if bundle.codes else 0),
            ("reports", self.reports, bundle.spans(self.people)[-1].stop),
            ("strata", self.strata, sorted_strata or (0,)),
        ]


def _of_shuffler(bundle: Bundle) -> ShufflerBundle:
    if isinstance(bundle, ShufflerBundle):
        return bundle
    raise ProtocolError.of("release", "collection.signed-by-shuffler")
