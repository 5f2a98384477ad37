"""Sealed reports: the encapsulated request of RFC 9458, section 4.3, under our own media type.

Key id, KEM, KDF, AEAD (7 bytes), then the encapsulated key and the ciphertext of HPKE (RFC 9180,
base mode, single shot). The bundle's digest is in `info`, so that what was sealed for one bundle
opens for no other.
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
    """Whom to seal for: the collector's public key of one bundle (RFC 9458, section 3.1).

    id: 0 to 255. public: X25519, 32 bytes. Raises ProtocolError for others, and for keys with
    which every secret would be zero.
    """

    id: int
    public: bytes

    def __post_init__(self) -> None:
        if not 0 <= self.id < 256:
            raise ProtocolError.of("key_configuration.id", self.id, "should be from 0 to 255")
        try:
            X25519PrivateKey.from_private_bytes(bytes(KEY_BYTES)).exchange(self.key)
        except ValueError:
            allowed = f"should be an X25519 key of {KEY_BYTES} bytes, and not one of low order"
            raise ProtocolError.of("key_configuration.public", self.public.hex(), allowed) from None

    @property
    def key(self) -> X25519PublicKey:
        """The public key as an object. Raises ValueError if it is none."""
        return X25519PublicKey.from_public_bytes(self.public)

    @property
    def encoded(self) -> bytes:
        """The key configuration of RFC 9458, with exactly one pair of KDF and AEAD."""
        return CONFIGURATION.pack(self.id, KEM_ID, self.public, 4, KDF_ID, AEAD_ID)

    @classmethod
    def parse(cls, data: bytes) -> KeyConfiguration:
        """What `encoded` gave. Raises ProtocolError for any other KEM, KDF or AEAD."""
        if len(data) == CONFIGURATION.size:
            id, _, public, *_ = CONFIGURATION.unpack(data)
            found = cls(id, public)
            if found.encoded == data:
                return found
        allowed = "should be one of RFC 9458 for X25519, HKDF-SHA256 and AES-128-GCM alone"
        raise ProtocolError.of("key_configuration", data.hex(), allowed)

    @cached_property
    def header(self) -> bytes:
        """The first 7 bytes of everything that is sealed for this key."""
        return HEADER.pack(self.id, KEM_ID, KDF_ID, AEAD_ID)


def info(header: bytes, digest: bytes) -> bytes:
    """What HPKE binds: media type, " request", a zero byte, the header, the bundle's digest."""
    return LABEL + header + digest


def sealed_length(plaintext: int) -> int:
    """Bytes of a sealed report whose plaintext has so many."""
    return OVERHEAD + plaintext


def seal(plaintext: bytes, configuration: KeyConfiguration, digest: bytes) -> bytes:
    """A plaintext for the holder of one key, in one bundle of that digest (32 bytes)."""
    header = configuration.header
    return header + SUITE.encrypt(plaintext, configuration.key, info(header, digest))


def unseal(
    sealed: bytes, private: X25519PrivateKey, configuration: KeyConfiguration, digest: bytes
) -> bytes:
    """The plaintext of a sealed report.

    Raises ProtocolError: of `sealed.header` if it is for another key, of `sealed.ciphertext` if
    it does not open.
    """
    header = configuration.header
    if not sealed.startswith(header):
        allowed = f"should be {header.hex()}: the bundle has one key"
        raise ProtocolError.of("sealed.header", sealed[: HEADER.size].hex(), allowed)
    try:
        return bytes(SUITE.decrypt(sealed[HEADER.size :], private, info(header, digest)))
    except InvalidTag:
        unopened = InWords("does not open")
        allowed = "should be sealed for the key and the digest of this bundle"
        raise ProtocolError.of("sealed.ciphertext", unopened, allowed) from None
