"""The statements that the inviter and the two mixers sign.

The first mixer signs one batch for each bundle: its header (the bundle's digest (32 bytes), the
number of strata (2), then each stratum (2) with its people (8), the SHA-256 of the body (32)), and
the body: the envelopes of each stratum in one random order, stratum after stratum.

The second mixer signs one release for each stratum: its header (the digest, the stratum (2), the
number of messages (2), the reports with valid tokens of each message (8 each), the SHA-256 of the
body (32), the first mixer's signature and header), and the body: each report with its message and
its token, in one random order. A stratum with too few tokens has no messages and no body.

The inviter signs how many invitations were issued and used (the digest, 8 bytes each).
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from typing import ClassVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from incrowd.collection.protocol.bundle import (
    DIGEST_BYTES,
    Bundle,
    MixersBundle,
    signing_key,
)
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed, Statement, too_short
from incrowd.errors import ProtocolError

EMPTY = hashlib.sha256().digest()
BATCH = struct.Struct(f">{DIGEST_BYTES}sH")
STRATUM = struct.Struct(">HQ")
RELEASE = struct.Struct(f">{DIGEST_BYTES}sHH")
COUNT = struct.Struct(">Q")
INVITATIONS = struct.Struct(f">{DIGEST_BYTES}sQQ")


@dataclass(frozen=True)
class Batch(Statement):
    """The first mixer's statement: the people of each stratum in its batch, by number.

    bundle: its digest. people: the stratum and its uploads, in the order of the strata. body: the
    SHA-256 of the envelopes.
    """

    domain: ClassVar[bytes] = b"incrowd batch 2\x00"
    name: ClassVar[str] = "batch"

    bundle: bytes
    people: tuple[tuple[int, int], ...]
    body: bytes

    @property
    def encoded(self) -> bytes:
        """The signed bytes, without the domain prefix."""
        strata = b"".join(STRATUM.pack(*each) for each in self.people)
        return BATCH.pack(self.bundle, len(self.people)) + strata + self.body

    @classmethod
    def parse(cls, data: bytes, at: int) -> tuple[Batch, int]:
        """Parse a header; raises ProtocolError if the data is too short."""
        start = at + BATCH.size
        if len(data) < start:
            raise too_short(cls.name, len(data))
        bundle, strata = BATCH.unpack_from(data, at)
        body = start + STRATUM.size * strata
        if len(data) < body + DIGEST_BYTES:
            raise too_short(cls.name, len(data))
        people = tuple(STRATUM.iter_unpack(data[start:body]))
        return cls(bundle, people, data[body : body + DIGEST_BYTES]), body + DIGEST_BYTES

    def signer(self, bundle: Bundle) -> Ed25519PublicKey:
        """Return the first mixer's key."""
        return signing_key(_of_mixers(bundle).first.key)

    def check(self, bundle: Bundle) -> None:
        """Raise ProtocolError unless the batch is possible for a bundle."""
        _check_bundle(self.name, self.bundle, bundle)
        strata = [stratum for stratum, _ in self.people]
        path, below = ("batch", "strata"), len(bundle.strata)
        if not strata:
            raise ProtocolError.of(path, "collection.strata-missing", below=below)
        if strata != sorted({n for n in strata if n < below}):
            raise ProtocolError.of(
                path, "collection.strata-not-rising", strata=tuple(strata), below=below
            )
        for _, people in self.people:
            if people < bundle.least_people:
                least = bundle.least_people
                raise ProtocolError.of(
                    ("batch", "people"), "collection.people-few", people=people, least=least
                )

    def length(self, bundle: Bundle) -> int:
        """Return the length of the body, in bytes."""
        people = sum(people for _, people in self.people)
        return people * bundle.places * bundle.envelope_length

    def excludes(self, other: Batch) -> bool:
        """Return whether an honest mixer signs only one of two batches."""
        return self.bundle == other.bundle and self != other


@dataclass(frozen=True)
class MixedRelease(Statement):
    """The second mixer's statement about a stratum.

    tokens: the reports with valid tokens of each message, dummies included; empty if some message
    had too few, and then there is no body. batch: what the first mixer signed.
    """

    domain: ClassVar[bytes] = b"incrowd release 2\x00"
    name: ClassVar[str] = "release"

    bundle: bytes
    stratum: int
    tokens: tuple[int, ...]
    body: bytes
    batch: Signed[Batch]

    @property
    def encoded(self) -> bytes:
        """The signed bytes, without the domain prefix."""
        start = RELEASE.pack(self.bundle, self.stratum, len(self.tokens))
        return start + b"".join(map(COUNT.pack, self.tokens)) + self.body + self.batch.encoded

    @classmethod
    def parse(cls, data: bytes, at: int) -> tuple[MixedRelease, int]:
        """Parse a header; raises ProtocolError if the data is too short."""
        start = at + RELEASE.size
        if len(data) < start:
            raise too_short(cls.name, len(data))
        bundle, stratum, messages = RELEASE.unpack_from(data, at)
        body = start + COUNT.size * messages
        batch = body + DIGEST_BYTES
        if len(data) < batch:
            raise too_short(cls.name, len(data))
        tokens = tuple(count for (count,) in COUNT.iter_unpack(data[start:body]))
        signed, end = Signed.parse(Batch, data, batch)
        return cls(bundle, stratum, tokens, data[body:batch], signed), end

    @property
    def is_refused(self) -> bool:
        """Whether the stratum had too few valid tokens."""
        return not self.tokens

    @property
    def number(self) -> int:
        """The stratum."""
        return self.stratum

    @property
    def strata(self) -> tuple[int, ...]:
        """The stratum, as the only one."""
        return (self.stratum,)

    @property
    def reports(self) -> int:
        """The number of reports in the body."""
        return sum(self.tokens)

    @property
    def people(self) -> int:
        """The uploads of the stratum, as the first mixer stated; 0 if its batch lacks it."""
        return dict(self.batch.header.people).get(self.stratum, 0)

    def signer(self, bundle: Bundle) -> Ed25519PublicKey:
        """Return the second mixer's key."""
        return signing_key(_of_mixers(bundle).second.key)

    def check(self, bundle: Bundle) -> None:
        """Raise ProtocolError unless the release, and the batch in it, are possible."""
        _check_bundle(self.name, self.bundle, bundle)
        self.batch.check(bundle)
        if not self.people:
            raise ProtocolError.of(
                ("release", "stratum"), "collection.stratum-not-in-batch", stratum=self.stratum
            )
        if self.is_refused:
            if self.body != EMPTY:
                raise ProtocolError.of(("release", "body"), "collection.body-not-empty")
            return
        if len(self.tokens) != (right := len(bundle.plan.messages)):
            raise ProtocolError.of(
                ("release", "tokens"),
                "collection.tokens-of-messages",
                messages=len(self.tokens),
                right=right,
            )
        for tokens, slots in zip(self.tokens, bundle.slots, strict=True):
            least, most = slots * bundle.plan.survey.crowd, slots * self.people
            if not least <= tokens <= most:
                raise ProtocolError.of(
                    ("release", "tokens"),
                    "collection.tokens-out-of-range",
                    tokens=tokens,
                    least=least,
                    most=most,
                )

    def length(self, bundle: Bundle) -> int:
        """Return the length of the body, in bytes."""
        return self.reports * bundle.row_length

    def excludes(self, other: MixedRelease) -> bool:
        """Return whether an honest mixer signs only one of two releases: it accepts one batch."""
        same = self.stratum == other.stratum or self.batch != other.batch
        return self.bundle == other.bundle and same and self != other


@dataclass(frozen=True)
class Invitations(Statement):
    """The inviter's statement after closing. issued: codes; used: those that got tokens.

    body: nothing follows.
    """

    domain: ClassVar[bytes] = b"incrowd invitations 2\x00"
    name: ClassVar[str] = "invitations"

    bundle: bytes
    issued: int
    used: int
    body: bytes = field(default=EMPTY, init=False)

    @property
    def encoded(self) -> bytes:
        """The signed bytes, without the domain prefix."""
        return INVITATIONS.pack(self.bundle, self.issued, self.used)

    @classmethod
    def parse(cls, data: bytes, at: int) -> tuple[Invitations, int]:
        """Parse a statement; raises ProtocolError if the data is too short."""
        if len(data) < (end := at + INVITATIONS.size):
            raise too_short(cls.name, len(data))
        return cls(*INVITATIONS.unpack_from(data, at)), end

    def signer(self, bundle: Bundle) -> Ed25519PublicKey:
        """Return the inviter's key."""
        return signing_key(_of_mixers(bundle).inviter.key)

    def check(self, bundle: Bundle) -> None:
        """Raise ProtocolError unless the numbers are possible."""
        _check_bundle(self.name, self.bundle, bundle)
        if self.used > self.issued:
            raise ProtocolError.of(
                ("invitations", "used"),
                "collection.used-beyond-issued",
                used=self.used,
                issued=self.issued,
            )

    def length(self, bundle: Bundle) -> int:
        """Return 0: nothing follows."""
        return 0

    def excludes(self, other: Invitations) -> bool:
        """Return whether an honest inviter signs only one of two statements."""
        return self.bundle == other.bundle and self != other


AnyRelease = Header | MixedRelease


def release_kind(bundle: Bundle) -> type[AnyRelease]:
    """Return what the party that releases a bundle's reports to the collector signs."""
    return MixedRelease if isinstance(bundle, MixersBundle) else Header


def _check_bundle(name: str, stated: bytes, bundle: Bundle) -> None:
    if stated != bundle.digest:
        raise ProtocolError.of(
            (name, "bundle"),
            "collection.not-equal",
            value=stated.hex(),
            right=bundle.digest.hex(),
        )


def _of_mixers(bundle: Bundle) -> MixersBundle:
    if isinstance(bundle, MixersBundle):
        return bundle
    raise ProtocolError.of("release", "collection.signed-by-mixers")
