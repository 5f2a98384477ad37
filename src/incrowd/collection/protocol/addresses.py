"""Addresses, and links that pin a bundle: its digest follows the # and is never sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from incrowd.errors import InWords, UsageError

# Letters and digits that people can copy: base 32 without I, L, O and U (Crockford).


ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUP = 4


def letters(data: bytes) -> str:
    """Encode bytes, 5 bits per character, first bits first; bits must be a multiple of 5."""
    count = len(data) * 8 // 5
    number = int.from_bytes(data)
    return "".join(ALPHABET[number >> 5 * place & 31] for place in reversed(range(count)))


def grouped(text: str) -> str:
    """Return the text in groups of four characters, as printed."""
    return "-".join(text[at : at + GROUP] for at in range(0, len(text), GROUP))


def plain(text: str) -> str:
    """Normalize typed text: capitals, no hyphens or spaces, I and L as 1, O as 0.

    Raises ValueError for any other character.
    """
    characters = text.upper().translate(str.maketrans("ILO", "110", "- \t\r\n"))
    if set(characters) - set(ALPHABET):
        raise ValueError("contains a character that is not a letter or digit of base 32")
    return characters


DIGEST_HEX = 64
SHORT_BYTES = (
    20  # of a printed digest: with 160 bits, nobody can make two bundles with the same text
)
FRAGMENT = re.compile(rf"([0-9a-f]{{{DIGEST_HEX}}})(?:\.([{ALPHABET}]{{16}}))?")


def checked_address(address: str) -> str:
    """Return a valid address. Raises ValueError unless https://, or http:// on this machine."""
    try:
        parts = urlsplit(address)
        plain = parts._replace(query="", fragment="", netloc=parts.netloc.rpartition("@")[2])
        host = parts.hostname if plain.geturl() == address and parts.port != 0 else None
    except ValueError:  # an invalid port or IPv6 address
        host = None
    if not host or not address.isascii():
        raise ValueError("should be an address without a user, a query or a fragment")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_this_machine(host)):
        raise ValueError("should begin with https:// (http:// is allowed only on this machine)")
    if re.search(r"[\x00-\x20\x7f]", address) or address.endswith("/"):
        raise ValueError("should not contain spaces or a / at the end")
    return address


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_loopback(address: str) -> bool:
    """Return whether a valid address is on this machine."""
    return _is_this_machine(urlsplit(address).hostname or "")


def host(address: str) -> str:
    """Return the host of a valid address; on this machine with its port, which tells services of
    a rehearsal apart."""
    parts = urlsplit(address)
    return parts.netloc.lower() if is_loopback(address) else parts.hostname or ""


def short(digest: bytes) -> str:
    """Return the short form of a digest, to be compared by eye: 32 characters in groups of four."""
    return grouped(letters(digest[:SHORT_BYTES]))


def is_short_of(text: str, digest: bytes) -> bool:
    """Return whether typed text is the short form of a digest."""
    try:
        return plain(text) == plain(short(digest))
    except ValueError:
        return False


@dataclass(frozen=True)
class Link:
    """The address of a bundle, its digest, and the invitation, if there is one.

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
        """Parse a link to a bundle or to a survey page. Raises UsageError for other text."""
        address, _, fragment = text.strip().partition("#")
        address = address.removesuffix("index.html").removesuffix("/")
        try:
            match = FRAGMENT.fullmatch(fragment)
            if not match:
                raise ValueError(_PINNED)
            return cls(checked_address(address), bytes.fromhex(match[1]), match[2] or "")
        except ValueError as error:
            raise UsageError.of("link", InWords(f"is {address!r}"), str(error)) from None


_PINNED = "should end with # and the 64 characters of the bundle's digest; copy the whole link"
