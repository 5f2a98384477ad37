"""Sealed reports: encapsulated requests of RFC 9458, section 4.3, with our own media type.

Key id, KEM, KDF, AEAD (7 bytes), then the encapsulated key and the ciphertext of HPKE (RFC 9180,
base mode, single shot). The bundle's digest is part of `info`, so a report that was sealed for one
bundle cannot be opened for another.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from incrowd.errors import InWords, ProtocolError

MEDIA_TYPE = "application/vnd.incrowd.report"
LABEL = MEDIA_TYPE.encode() + b" request\x00"
SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
KEM_ID, KDF_ID, AEAD_ID = 0x0020, 0x0001, 0x0001
KEY_BYTES = ENCAPSULATED_BYTES = 32
TAG_BYTES = 16
HEADER = struct.Struct(">BHHH")
CONFIGURATION = struct.Struct(f">BH{KEY_BYTES}sHHH")
OVERHEAD = HEADER.size + ENCAPSULATED_BYTES + TAG_BYTES


@dataclass(frozen=True)
class KeyConfiguration:
    """The collector's public key for one bundle (RFC 9458, section 3.1).

    id: 0 to 255. public: X25519, 32 bytes. Raises ProtocolError for other values, and for keys of
    low order, with which every shared secret would be zero.
    """

    id: int
    public: bytes

    def __post_init__(self) -> None:
        if not 0 <= self.id < 256:
            raise ProtocolError.of("key_configuration.id", self.id, "should be from 0 to 255")
        try:
            X25519PrivateKey.from_private_bytes(bytes(KEY_BYTES)).exchange(self.key)
        except ValueError:
            allowed = f"should be an X25519 key of {KEY_BYTES} bytes that is not of low order"
            raise ProtocolError.of("key_configuration.public", self.public.hex(), allowed) from None

    @property
    def key(self) -> X25519PublicKey:
        """The public key as an object. Raises ValueError for an invalid key."""
        return X25519PublicKey.from_public_bytes(self.public)

    @property
    def encoded(self) -> bytes:
        """The key configuration of RFC 9458, with exactly one pair of KDF and AEAD."""
        return CONFIGURATION.pack(self.id, KEM_ID, self.public, 4, KDF_ID, AEAD_ID)

    @classmethod
    def parse(cls, data: bytes) -> KeyConfiguration:
        """Parse an encoded configuration. Raises ProtocolError for any other KEM, KDF or AEAD."""
        if len(data) == CONFIGURATION.size:
            id, _, public, *_ = CONFIGURATION.unpack(data)
            configuration = cls(id, public)
            if configuration.encoded == data:
                return configuration
        allowed = (
            "should be an RFC 9458 key configuration for X25519, HKDF-SHA256 and AES-128-GCM only"
        )
        raise ProtocolError.of("key_configuration", data.hex(), allowed)

    @cached_property
    def header(self) -> bytes:
        """The first 7 bytes of every report that is sealed for this key."""
        return HEADER.pack(self.id, KEM_ID, KDF_ID, AEAD_ID)


def info(header: bytes, digest: bytes) -> bytes:
    """Return HPKE's info: media type, " request", a zero byte, the header, the bundle's digest."""
    return LABEL + header + digest


def sealed_length(plaintext: int) -> int:
    """Return the length of a sealed report, given that of its plaintext."""
    return OVERHEAD + plaintext


def seal(plaintext: bytes, configuration: KeyConfiguration, digest: bytes) -> bytes:
    """Seal a plaintext for a key, in the bundle with a digest (32 bytes)."""
    header = configuration.header
    return header + SUITE.encrypt(plaintext, configuration.key, info(header, digest))


def unseal(
    sealed: bytes, private: X25519PrivateKey, configuration: KeyConfiguration, digest: bytes
) -> bytes:
    """Return the plaintext of a sealed report.

    Raises ProtocolError: of `sealed.header` if it is for another key, of `sealed.ciphertext` if
    it cannot be opened.
    """
    header = configuration.header
    if not sealed.startswith(header):
        allowed = f"should be {header.hex()}, for the key in the bundle"
        raise ProtocolError.of("sealed.header", sealed[: HEADER.size].hex(), allowed)
    try:
        return bytes(SUITE.decrypt(sealed[HEADER.size :], private, info(header, digest)))
    except InvalidTag:
        unopened = InWords("cannot be opened")
        allowed = "should be sealed for the key and the digest of this bundle"
        raise ProtocolError.of("sealed.ciphertext", unopened, allowed) from None
