"""Addresses, and links that pin a bundle: its digest stands behind the # and is sent to nobody."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from incrowd.errors import InWords, UsageError

# Bytes as letters and digits that people can copy: base 32 without I, L, O and U (Crockford).


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUP = 4


def letters(data: bytes) -> str:
    """5 bits a character, the first bits first; the number of bits should be a multiple of 5."""
    count = len(data) * 8 // 5
    number = int.from_bytes(data)
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(count)))


def grouped(text: str) -> str:
    """In groups of four, as it is printed."""
    return "-".join(text[at : at + GROUP] for at in range(0, len(text), GROUP))


def plain(text: str) -> str:
    """What a person typed, as it was made: capitals, no hyphens and spaces, I and L as 1, O as 0.

    Raises ValueError for any other character.
    """
    found = text.upper().translate(str.maketrans("ILO", "110", "- \t\r\n"))
    if set(found) - set(ALPHABET):
        raise ValueError("holds a character that is no letter or digit of base 32")
    return found


DIGEST_HEX = 64
SHORT_BYTES = 20  # of a digest, in print: with 160 bits nobody makes two bundles that look alike
FRAGMENT = re.compile(rf"([0-9a-f]{{{DIGEST_HEX}}})(?:\.([{ALPHABET}]{{16}}))?")


def checked_address(address: str) -> str:
    """The same address. Raises ValueError unless it is https://, or http:// on this machine."""
    try:
        parts = urlsplit(address)
        plain = parts._replace(query="", fragment="", netloc=parts.netloc.rpartition("@")[2])
        host = parts.hostname if plain.geturl() == address and parts.port != 0 else None
    except ValueError:  # a port or an IPv6 address that is none
        host = None
    if not host or not address.isascii():
        raise ValueError("should be an address without a user, a query and a fragment")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise ValueError("should begin with https:// (http:// on this machine alone)")
    if re.search(r"[\x00-\x20\x7f]", address) or address.endswith("/"):
        raise ValueError("should hold no space, and no / at the end")
    return address


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def short(digest: bytes) -> str:
    """What is printed of a digest and compared by eye: 32 characters in groups of four."""
    return grouped(letters(digest[:SHORT_BYTES]))


def is_short_of(text: str, digest: bytes) -> bool:
    """Whether what a person typed is the short form of a digest."""
    try:
        return plain(text) == plain(short(digest))
    except ValueError:
        return False


@dataclass(frozen=True)
class Link:
    """Where a bundle is, which it has to be, and the invitation, if there is one.

    digest: SHA-256 of the bundle, 32 bytes. code: 16 characters as printed without hyphens, or "".
    """

    address: str
    digest: bytes
    code: str = ""

    def __str__(self) -> str:
        return f"{self.address}#{self.digest.hex()}{'.' if self.code else ''}{self.code}"

    def __repr__(self) -> str:
        return f"Link({self.address!r}, {self.digest.hex()[:12]}…)"  # a code is a secret

    @classmethod
    def parse(cls, text: str) -> Link:
        """A link as `str` gives it, or that of a survey page. Raises UsageError for other text."""
        address, _, fragment = text.strip().partition("#")
        address = address.removesuffix("index.html").removesuffix("/")
        try:
            found = FRAGMENT.fullmatch(fragment)
            if not found:
                raise ValueError(_PINNED)
            return cls(checked_address(address), bytes.fromhex(found[1]), found[2] or "")
        except ValueError as error:
            raise UsageError.of("link", InWords(f"is {address!r}"), str(error)) from None


_PINNED = "should end with # and the bundle's digest, 64 characters; copy the whole link"
