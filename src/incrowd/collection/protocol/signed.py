"""The statements that services sign with Ed25519, each kind under a domain of its own."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from incrowd.collection.protocol.addresses import short
from incrowd.collection.protocol.bundle import Bundle
from incrowd.errors import ProtocolError

SIGNATURE_BYTES = 64


class Statement(ABC):
    """A statement about a collection that one service signs.

    domain: a prefix of what is signed, so that no statement can pass for one of another kind. name:
    the name of what the statement is about, in messages. body: the SHA-256 of what follows it.
    """

    domain: ClassVar[bytes]
    name: ClassVar[str]
    body: bytes

    @property
    @abstractmethod
    def encoded(self) -> bytes:
        """The signed bytes, without the domain prefix."""

    @classmethod
    @abstractmethod
    def parse(cls, data: bytes, at: int) -> tuple[Self, int]:
        """Parse the statement at an offset; return it and its end. Only the format is checked.

        Raises ProtocolError if the data is too short.
        """

    @abstractmethod
    def signer(self, bundle: Bundle) -> Ed25519PublicKey:
        """Return the key that has to sign it."""

    @abstractmethod
    def check(self, bundle: Bundle) -> None:
        """Raise ProtocolError unless the statement is possible for a bundle."""

    @abstractmethod
    def length(self, bundle: Bundle) -> int:
        """Return the length of the body that follows, in bytes."""

    @property
    def number(self) -> int:
        """The number of what it is about: a stratum, or 0 if there is one for the whole bundle."""
        return 0

    @abstractmethod
    def excludes(self, other: Self) -> bool:
        """Return whether an honest service signs only one of two statements."""


S = TypeVar("S", bound=Statement)


@dataclass(frozen=True)
class Signed(Generic[S]):
    """A statement, the header of what may follow it, with its signature."""

    signature: bytes
    header: S

    @property
    def encoded(self) -> bytes:
        """The bytes that are sent: signature and header. A body may follow."""
        return self.signature + self.header.encoded

    @property
    def acknowledgment(self) -> str:
        """The answer of its receiver: the SHA-256 of signature and header, hexadecimal."""
        return hashlib.sha256(self.encoded).hexdigest()

    @property
    def confirmation(self) -> str:
        """The short form of the acknowledgment, for a person who confirms it."""
        return short(bytes.fromhex(self.acknowledgment))

    @classmethod
    def parse(cls, kind: type[S], data: bytes, at: int = 0) -> tuple[Signed[S], int]:
        """Parse a signature and a header of a kind; return them and where they end.

        Only the format is checked. Raises ProtocolError if the data is too short.
        """
        end = at + SIGNATURE_BYTES
        header, end = kind.parse(data, end)
        return cls(data[at : at + SIGNATURE_BYTES], header), end

    def is_of(self, key: Ed25519PublicKey) -> bool:
        """Return whether the header was signed with a key."""
        try:
            key.verify(self.signature, self.header.domain + self.header.encoded)
        except InvalidSignature:
            return False
        return True

    def check(self, bundle: Bundle) -> None:
        """Raise ProtocolError unless the service that the bundle names signed a possible header."""
        if not self.is_of(self.header.signer(bundle)):
            raise ProtocolError.of((self.header.name, "signature"), "collection.invalid-signature")
        self.header.check(bundle)


def sign(header: S, private: Ed25519PrivateKey) -> Signed[S]:
    """Sign a header (Ed25519, which is deterministic)."""
    return Signed(private.sign(header.domain + header.encoded), header)


def prove_cheating(one: Signed[S], other: Signed[S], bundle: Bundle) -> bool:
    """Return whether a service signed two statements, of which an honest one signs only one."""
    key = one.header.signer(bundle)
    return one.header.excludes(other.header) and one.is_of(key) and other.is_of(key)


def check_body(header: Statement, bundle: Bundle, length: int, digest: bytes) -> None:
    """Raise ProtocolError unless a body has the length and SHA-256 that its header states."""
    path = (header.name, "body")
    if length != (right := header.length(bundle)):
        raise ProtocolError.of(path, "collection.wrong-length", bytes=length, right=right)
    if digest != header.body:
        raise ProtocolError.of(path, "collection.other-body")


def too_short(name: str, length: int) -> Exception:
    """Return the error for a header that is cut off."""
    return ProtocolError.of(name, "collection.header-cut-off", bytes=length)
