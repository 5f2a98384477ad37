"""Bytes as letters and digits that people can copy: base 32 without I, L, O and U (Crockford)."""

from __future__ import annotations

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
