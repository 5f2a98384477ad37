"""Sealed reports: encapsulated requests of RFC 9458, section 4.3, with our own media type.

Key id, KEM, KDF, AEAD (7 bytes), then the encapsulated key and the ciphertext of HPKE (RFC 9180,
base mode, single shot). HPKE's `info` contains a label, the header, and what the report is bound
to: the bundle's digest, so a report that was sealed for one bundle cannot be opened for another.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import shake_256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import (
    AEAD,
    KDF,
    KEM,
    MLKEM768X25519PrivateKey,
    MLKEM768X25519PublicKey,
    Suite,
)

from incrowd.errors import ProtocolError

MEDIA_TYPE = "application/vnd.incrowd.report"
LABEL = MEDIA_TYPE.encode() + b" request\x00"
KDF_ID, AEAD_ID = 0x0001, 0x0001  # HKDF-SHA256, AES-128-GCM
SECRET_BYTES = 32
MLKEM_BYTES = 1184  # of an encapsulation key of ML-KEM-768
SEED_BYTES = 64  # of ML-KEM
TAG_BYTES = 16
HEADER = struct.Struct(">BHHH")
START, SUITES = struct.Struct(">BH"), struct.Struct(">HHH")  # of a key configuration

Opening = X25519PrivateKey | MLKEM768X25519PrivateKey
Sealing = X25519PublicKey | MLKEM768X25519PublicKey


@dataclass(frozen=True)
class Kem:
    """A key encapsulation mechanism of HPKE. A secret has 32 bytes with each of them.

    id: its number in the registry of RFC 9180. public_bytes, encapsulated_bytes: lengths of a
    public key and of an encapsulated one. suite: HPKE with HKDF-SHA256 and AES-128-GCM.
    sealing_key: reads a public key; raises ValueError for an invalid one. opening_key: expands a
    secret into the private key and the bytes of the public key.
    """

    name: str
    id: int
    public_bytes: int
    encapsulated_bytes: int
    suite: Suite
    sealing_key: Callable[[bytes], Sealing]
    opening_key: Callable[[bytes], tuple[Opening, bytes]]


def _x25519_sealing(public: bytes) -> X25519PublicKey:
    """Read a key; raise ValueError if it has low order: every shared secret would be zero."""
    key = X25519PublicKey.from_public_bytes(public)
    X25519PrivateKey.from_private_bytes(bytes(SECRET_BYTES)).exchange(key)
    return key


def _x25519_opening(secret: bytes) -> tuple[X25519PrivateKey, bytes]:
    private = X25519PrivateKey.from_private_bytes(secret)
    return private, private.public_key().public_bytes_raw()


def _x_wing_sealing(public: bytes) -> MLKEM768X25519PublicKey:
    mlkem = MLKEM768PublicKey.from_public_bytes(public[:MLKEM_BYTES])
    return MLKEM768X25519PublicKey(mlkem, _x25519_sealing(public[MLKEM_BYTES:]))


def _x_wing_opening(seed: bytes) -> tuple[MLKEM768X25519PrivateKey, bytes]:
    """Expand a seed into both keys (draft-connolly-cfrg-xwing-kem, section 5.2)."""
    expanded = shake_256(seed).digest(SEED_BYTES + SECRET_BYTES)
    mlkem = MLKEM768PrivateKey.from_seed_bytes(expanded[:SEED_BYTES])
    x25519, x25519_public = _x25519_opening(expanded[SEED_BYTES:])
    public = mlkem.public_key().public_bytes_raw() + x25519_public
    return MLKEM768X25519PrivateKey(mlkem, x25519), public


def _suite(kem: KEM) -> Suite:
    return Suite(kem, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


X25519 = Kem("X25519", 0x0020, 32, 32, _suite(KEM.X25519), _x25519_sealing, _x25519_opening)
X_WING = Kem(
    "X-Wing", 0x647A, 1216, 1120, _suite(KEM.MLKEM768_X25519), _x_wing_sealing, _x_wing_opening
)
KEMS = {kem.id: kem for kem in (X25519, X_WING)}


@dataclass(frozen=True)
class KeyConfiguration:
    """A public key for one bundle (RFC 9458, section 3.1).

    id: 0 to 255. public: the key, of kem.public_bytes bytes. Raises ProtocolError for other
    values, and for keys whose X25519 part has low order.
    """

    id: int
    public: bytes
    kem: Kem

    def __post_init__(self) -> None:
        if not 0 <= self.id < 256:
            raise ProtocolError.of(("key_configuration", "id"), "collection.key-id", value=self.id)
        try:
            _ = self.key
        except ValueError:
            kem = self.kem
            raise ProtocolError.of(
                ("key_configuration", "public"),
                "collection.invalid-public-key",
                value=self.public.hex(),
                kem=kem.name,
                bytes=kem.public_bytes,
            ) from None

    @cached_property
    def key(self) -> Sealing:
        """The public key as an object. Raises ValueError for an invalid key."""
        return self.kem.sealing_key(self.public)

    @property
    def encoded(self) -> bytes:
        """The key configuration of RFC 9458, with exactly one pair of KDF and AEAD."""
        suites = SUITES.pack(4, KDF_ID, AEAD_ID)
        return START.pack(self.id, self.kem.id) + self.public + suites

    @classmethod
    def parse(cls, data: bytes) -> KeyConfiguration:
        """Parse an encoded configuration. Raises ProtocolError for any other KEM, KDF or AEAD."""
        kem = KEMS.get(int.from_bytes(data[1 : START.size]))
        if kem and len(data) == START.size + kem.public_bytes + SUITES.size:
            configuration = cls(data[0], data[START.size : -SUITES.size], kem)
            if configuration.encoded == data:
                return configuration
        raise ProtocolError.of(
            "key_configuration", "collection.key-configuration", value=data.hex()
        )

    @cached_property
    def header(self) -> bytes:
        """The first 7 bytes of everything that is sealed for this key."""
        return HEADER.pack(self.id, self.kem.id, KDF_ID, AEAD_ID)


@dataclass(frozen=True)
class PrivateKey:
    """The private key of a configuration.

    secret: the 32 bytes of its file; a key of X25519, or the seed of both keys of X-Wing. Raises
    ProtocolError for another length.
    """

    kem: Kem
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if (size := len(self.secret)) != SECRET_BYTES:
            raise ProtocolError.of(
                "private_key", "collection.wrong-length", bytes=size, right=SECRET_BYTES
            )

    @classmethod
    def generate(cls, kem: Kem) -> PrivateKey:
        """Draw a new key from the randomness of the operating system."""
        return cls(kem, os.urandom(SECRET_BYTES))

    @cached_property
    def _pair(self) -> tuple[Opening, bytes]:
        return self.kem.opening_key(self.secret)

    @property
    def key(self) -> Opening:
        """The private key as an object."""
        return self._pair[0]

    @property
    def public(self) -> bytes:
        """The public key, of kem.public_bytes bytes."""
        return self._pair[1]

    def configuration(self, id: int) -> KeyConfiguration:
        """Return the configuration of the public key, under a number from 0 to 255."""
        return KeyConfiguration(id, self.public, self.kem)


def info(header: bytes, binding: bytes, label: bytes = LABEL) -> bytes:
    """Return HPKE's info. By default the label is the media type, " request" and a zero byte."""
    return label + header + binding


def sealed_length(plaintext: int, kem: Kem) -> int:
    """Return the length of what is sealed, given that of its plaintext."""
    return HEADER.size + kem.encapsulated_bytes + plaintext + TAG_BYTES


def seal(
    plaintext: bytes, configuration: KeyConfiguration, binding: bytes, label: bytes = LABEL
) -> bytes:
    """Seal a plaintext for a key. binding: what it belongs to, such as a bundle's digest."""
    header, suite = configuration.header, configuration.kem.suite
    return header + suite.encrypt(plaintext, configuration.key, info(header, binding, label))


def unseal(
    sealed: bytes,
    private: PrivateKey,
    configuration: KeyConfiguration,
    binding: bytes,
    label: bytes = LABEL,
) -> bytes:
    """Return the plaintext of what was sealed for a key, a binding and a label.

    Raises ProtocolError: of `sealed.header` if it is for another key, of `sealed.ciphertext` if
    it cannot be opened.
    """
    header = configuration.header
    if not sealed.startswith(header):
        raise ProtocolError.of(
            ("sealed", "header"),
            "collection.other-header",
            value=sealed[: HEADER.size].hex(),
            right=header.hex(),
        )
    about = info(header, binding, label)
    try:
        return bytes(private.kem.suite.decrypt(sealed[HEADER.size :], private.key, about))
    except InvalidTag:
        raise ProtocolError.of(("sealed", "ciphertext"), "collection.unopened") from None
