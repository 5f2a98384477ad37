"""Addresses, and links that pin a bundle: its digest follows the # and is never sent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from incrowd.errors import Unfit, UsageError

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


_NAME = re.compile(r"([a-z0-9-]+\.)*[a-z][a-z0-9-]*")  # its last label is no number
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9.-]+|\[[0-9a-f:]+\])(:(?P<port>[1-9][0-9]{0,4}))?"
    r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*"
)
MOST_PORT = (1 << 16) - 1


def checked_address(address: str) -> str:
    """Return a valid address, which every client reads alike (docs/protocol.md, "Addresses").

    Raises Unfit unless it is https://, or http:// on this machine.
    """
    match = _ADDRESS.fullmatch(address)
    if not match or not _is_host(match["host"]) or int(match["port"] or 1) > MOST_PORT:
        raise _fault(address)
    if match["scheme"] == "http" and not _is_this_machine(match["host"]):
        raise Unfit("collection.no-https")
    return address


_SCHEME = re.compile(r"(https?)(:/*|/{2,})(?=[^/0-9]|[0-9]+\.|$)", re.IGNORECASE)
_OTHER_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)(://|:(?=[^0-9/]))", re.IGNORECASE)
_PARTS = re.compile(r"(?P<host>\[[^\]]*\]|[^:/]*)(:(?P<port>[^/]*))?(?P<path>/.*)?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


def as_address(typed: str) -> str:
    """Return an address that a person typed, in the form that clients compare: with https:// if it
    has no scheme (http:// on this machine), the host in lower case, and no / at the end.

    Other mistakes stay: `checked_address` names them.
    """
    text = typed.strip()
    scheme = _SCHEME.match(text)
    if scheme is None and _OTHER_SCHEME.match(text):
        return text
    parts = _PARTS.fullmatch(text[scheme.end() :] if scheme else text)
    if not text or parts is None:
        return text
    named, port = parts["host"].lower(), f":{parts['port']}" if parts["port"] else ""
    begin = scheme[1].lower() if scheme else "http" if _is_this_machine(named) else "https"
    return f"{begin}://{named}{port}{(parts['path'] or '').rstrip('/')}"


def _fault(address: str) -> Unfit:
    """Return what is wrong with an address, and what would work."""
    text = address.strip()
    scheme = _SCHEME.match(text)
    if scheme is None and _OTHER_SCHEME.match(text):
        return Unfit("collection.no-https")
    rest = text[scheme.end() :] if scheme else text
    if re.search(r"\s", rest):
        return Unfit("collection.address-space")
    if "@" in rest.partition("/")[0]:
        return Unfit("collection.address-user")
    if mark := re.search("[?#]", rest):
        better = as_address(text[: len(text) - len(rest) + mark.start()])
        return Unfit("collection.address-mark", mark=mark[0], address=better)
    parts = _PARTS.fullmatch(rest)
    if parts is None or not parts["host"]:
        return Unfit("collection.no-address")
    return _fault_of_parts(parts, as_address(text))


def _fault_of_parts(parts: re.Match[str], better: str) -> Unfit:
    """Return what is wrong with a host, a port or a path. better: the address as clients write
    it."""
    named, port = parts["host"].lower(), parts["port"]
    if port and (not _PORT.fullmatch(port) or int(port) > MOST_PORT):
        return Unfit("collection.address-port", port=port, most=MOST_PORT)
    if not named.isascii():
        return Unfit("collection.address-letters", host=named)
    if not _is_host(named):
        return Unfit("collection.address-host", host=named)
    if better.startswith("http://") and not _is_this_machine(named):
        return Unfit("collection.no-https")
    if _ADDRESS.fullmatch(better):
        return Unfit("collection.address-as", address=better)
    return Unfit("collection.address-path", path=parts["path"])


def _is_host(host: str) -> bool:
    """Return whether a host is a name, or an IP address in the one form that clients compare."""
    if _NAME.fullmatch(host):
        return True
    text = host.strip("[]")
    try:
        return str(ip_address(text)) == text and not text.startswith(_MAPPED)
    except ValueError:
        return False


_MAPPED = "::ffff:"  # an IPv4 address as IPv6, which has several forms


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def is_loopback(address: str) -> bool:
    """Return whether a valid address is on this machine."""
    return _is_this_machine(host(address))


# The address of a collector that cannot be reached: releases are handed over as files. No host can
# have a name that ends in "invalid" (RFC 2606).
BY_HAND = "https://collector.invalid"


def is_by_hand(address: str) -> bool:
    """Return whether the address of a collector states that releases are handed over as files."""
    return address == BY_HAND


def host(address: str) -> str:
    """Return the host of a valid address, without its port."""
    return urlsplit(address).hostname or ""


def location(address: str) -> str:
    """Return the host of a valid address; on this machine with its port, which distinguishes the
    services of a rehearsal."""
    return urlsplit(address).netloc if is_loopback(address) else host(address)


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
        address = address.removesuffix("/index.html").removesuffix("/")
        match = FRAGMENT.fullmatch(fragment)
        if not match:
            raise UsageError.of("link", "collection.link-without-digest", address=address)
        try:
            return cls(checked_address(address), bytes.fromhex(match[1]), match[2] or "")
        except Unfit as error:
            raise UsageError.of(
                "link", "collection.link-address", address=address, reason=error.reason
            ) from None
