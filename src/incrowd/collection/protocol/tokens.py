"""Tokens: what the inviter signs blindly, so that nobody can add reports, exchange or move them.

An entry token admits one upload; a slot token belongs to one sealed report of one message in one
stratum. Tokens are blind signatures (`incrowd.collection.protocol.blind`): the inviter sees
neither what it signs nor, later, which invitation a token was signed for.

A request: the bundle's digest (32 bytes), the code (16), then the blinded values (256 each): of the
entry token, then of each slot, message after message. The answer: the blind signatures, in the
same order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from incrowd.collection.protocol.blind import (
    SIGNATURE_BYTES,
    blind_all,
    finalize,
    random_blinding,
    verify,
)
from incrowd.collection.protocol.bundle import (
    CODE_BYTES,
    DIGEST_BYTES,
    MESSAGE_BYTES,
    NONCE_BYTES,
    OUTER_LABEL,
    MixersBundle,
)
from incrowd.collection.protocol.sealed import PrivateKey, seal, unseal
from incrowd.collection.protocol.upload import STRATUM_BYTES, Upload, parse_upload
from incrowd.errors import ProtocolError

ENTRY = b"incrowd entry 2\x00"
SLOT = b"incrowd slot 2\x00"


def entry_text(digest: bytes, nonce: bytes) -> bytes:
    """Return what an entry token signs."""
    return ENTRY + digest + nonce


def slot_text(digest: bytes, stratum: int, message: int, inner: bytes) -> bytes:
    """Return what a slot token signs: its stratum, its message, and one sealed report."""
    numbers = stratum.to_bytes(STRATUM_BYTES) + message.to_bytes(MESSAGE_BYTES)
    return SLOT + digest + numbers + hashlib.sha256(inner).digest()


def has_entry(upload: Upload, bundle: MixersBundle) -> bool:
    """Return whether the inviter signed the entry token of an upload."""
    nonce, signature = upload.entry[:NONCE_BYTES], upload.entry[NONCE_BYTES:]
    return verify(entry_text(bundle.digest, nonce), signature, bundle.token_keys[0])


# A report with its token: what the second mixer opens, and what the collector receives.


@dataclass(frozen=True)
class TokenReport:
    """A sealed report (inner) with the message that its token is for, and the token."""

    message: int
    token: bytes = field(repr=False)
    inner: bytes = field(repr=False)

    @property
    def encoded(self) -> bytes:
        """The message (2 bytes), the token (256), the sealed report."""
        return self.message.to_bytes(MESSAGE_BYTES) + self.token + self.inner

    @classmethod
    def parse(cls, data: bytes) -> TokenReport:
        """Parse a report with its token; lengths are not checked."""
        end = MESSAGE_BYTES + SIGNATURE_BYTES
        return cls(int.from_bytes(data[:MESSAGE_BYTES]), data[MESSAGE_BYTES:end], data[end:])

    def is_valid(self, bundle: MixersBundle, stratum: int) -> bool:
        """Return whether the inviter signed the token, for this report, message and stratum."""
        if self.message >= len(bundle.inviter.messages):
            return False
        text = slot_text(bundle.digest, stratum, self.message, self.inner)
        return verify(text, self.token, bundle.inviter.messages[self.message].key)


def open_envelope(
    envelope: bytes, private: PrivateKey, bundle: MixersBundle, stratum: int
) -> TokenReport:
    """Open an envelope with the second mixer's key. Raises ProtocolError as `unseal` does."""
    binding = bundle.binding(stratum)
    return TokenReport.parse(unseal(envelope, private, bundle.second_key, binding, OUTER_LABEL))


# The device: request tokens, then make the upload.


def request_length(bundle: MixersBundle) -> int:
    """Return the length of every request for tokens, in bytes."""
    return DIGEST_BYTES + CODE_BYTES + SIGNATURE_BYTES * len(bundle.token_keys)


@dataclass(frozen=True)
class TokenRequest:
    """A request for the tokens of one person: what the inviter sees."""

    code: bytes = field(repr=False)
    blinded: tuple[bytes, ...] = field(repr=False)

    def encoded(self, bundle: MixersBundle) -> bytes:
        """Return the bytes that are sent."""
        return b"".join((bundle.digest, self.code, *self.blinded))

    @classmethod
    def parse(cls, data: bytes, bundle: MixersBundle) -> TokenRequest:
        """Parse a peer's bytes. Raises ProtocolError of `request.length` or `request.bundle`."""
        if len(data) != (right := request_length(bundle)):
            raise ProtocolError.of(
                ("request", "length"), "collection.number-of-bytes", bytes=len(data), right=right
            )
        if data[:DIGEST_BYTES] != bundle.digest:
            raise ProtocolError.of(
                ("request", "bundle"),
                "collection.other-bundle",
                digest=data[:DIGEST_BYTES].hex(),
                right=bundle.digest.hex(),
            )
        end = DIGEST_BYTES + CODE_BYTES
        return cls(data[DIGEST_BYTES:end], tuple(_cut(data[end:], SIGNATURE_BYTES)))


@dataclass(frozen=True)
class Pending:
    """The state that a device stores before it requests tokens, so that it never blinds or draws
    again.

    request: its bytes. inverses: undo the blinding of each value. inners: the sealed reports, one
    for each slot, message after message; dummies included.
    """

    request: bytes = field(repr=False)
    stratum: int
    nonce: bytes = field(repr=False)
    inverses: tuple[bytes, ...] = field(repr=False)
    inners: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def of(
        cls, bundle: MixersBundle, code: bytes, stratum: int, nonce: bytes, inners: Sequence[bytes]
    ) -> Pending:
        """Blind everything that has to be signed. nonce: 32 random bytes of the system."""
        texts, pairs = _texts(bundle, stratum, nonce, inners), list[tuple[bytes, int]]()
        for key, many in groupby(zip(bundle.token_keys, texts, strict=True), itemgetter(0)):
            signed = [text for _, text in many]
            pairs += blind_all(signed, key, [random_blinding(key) for _ in signed])
        request = TokenRequest(code, tuple(blinded for blinded, _ in pairs))
        inverses = tuple(inverse.to_bytes(SIGNATURE_BYTES) for _, inverse in pairs)
        return cls(request.encoded(bundle), stratum, nonce, inverses, tuple(inners))

    @property
    def encoded(self) -> bytes:
        """The bytes that are stored; all lengths follow from the bundle."""
        number = self.stratum.to_bytes(STRATUM_BYTES)
        return b"".join((self.request, number, self.nonce, *self.inverses, *self.inners))

    @classmethod
    def parse(cls, data: bytes, bundle: MixersBundle) -> Pending:
        """Parse stored bytes. Raises ProtocolError if they have another length."""
        keys, start = len(bundle.token_keys), request_length(bundle)
        nonce = start + STRATUM_BYTES
        inverses = nonce + NONCE_BYTES
        inners = inverses + keys * SIGNATURE_BYTES
        if len(data) != inners + bundle.places * bundle.sealed_length:
            raise ProtocolError.of("pending", "collection.pending-changed", bytes=len(data))
        return cls(
            data[:start],
            int.from_bytes(data[start:nonce]),
            data[nonce:inverses],
            tuple(_cut(data[inverses:inners], SIGNATURE_BYTES)),
            tuple(_cut(data[inners:], bundle.sealed_length)),
        )

    def upload(self, answer: bytes, bundle: MixersBundle, order: Sequence[int]) -> Upload:
        """Return the upload, given the inviter's answer.

        order: a uniform permutation of the slots, from the system's randomness. Raises
        ProtocolError unless every signature is valid: a device that sent fewer reports would tell
        the inviter who it is.
        """
        keys = bundle.token_keys
        signatures = _cut(answer, SIGNATURE_BYTES)
        if len(answer) != len(keys) * SIGNATURE_BYTES:
            right = len(keys) * SIGNATURE_BYTES
            raise ProtocolError.of(
                "tokens", "collection.tokens-length", bytes=len(answer), right=right
            )
        if sorted(order) != list(range(bundle.places)):
            raise ProtocolError.of(
                "order", "collection.order-of-slots", number=len(order), slots=bundle.places
            )
        texts = _texts(bundle, self.stratum, self.nonce, self.inners)
        entry, *tokens = (
            finalize(text, signature, int.from_bytes(inverse), key)
            for text, signature, inverse, key in zip(
                texts, signatures, self.inverses, keys, strict=True
            )
        )
        slots = zip(bundle.slot_messages, tokens, self.inners, strict=True)
        reports = [TokenReport(*slot).encoded for slot in slots]
        key, binding = bundle.second_key, bundle.binding(self.stratum)
        sealed = tuple(seal(reports[at], key, binding, OUTER_LABEL) for at in order)
        upload = Upload(self.nonce + entry, self.stratum, sealed)
        return parse_upload(upload.encoded(bundle), bundle)


def sealed_slots(bundle: MixersBundle, stratum: int, plaintexts: Sequence[bytes]) -> list[bytes]:
    """Seal a person's plaintexts for the collector: of each slot, message after message."""
    for plaintext in plaintexts:
        bundle.shape.read(plaintext)
    binding, label = bundle.binding(stratum), bundle.label
    return [seal(plaintext, bundle.key, binding, label) for plaintext in plaintexts]


def _texts(
    bundle: MixersBundle, stratum: int, nonce: bytes, inners: Sequence[bytes]
) -> list[bytes]:
    """Return what the tokens sign, in the order of the keys."""
    slots = zip(bundle.slot_messages, inners, strict=True)
    signed = [slot_text(bundle.digest, stratum, message, inner) for message, inner in slots]
    return [entry_text(bundle.digest, nonce), *signed]


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]
