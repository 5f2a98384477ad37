"""Randomness that is fixed, and written down, for the vectors."""

import hashlib
from pathlib import Path

from incrowd.sampling.keystream import Keystream

VECTORS = Path(__file__).parents[2] / "vectors"


def fixed(name):
    """32 bytes that stand for random ones."""
    return hashlib.sha256(f"incrowd vectors 1: {name}".encode()).digest()


def hexed(many):
    return [each.hex() for each in many]


class Recorded(Keystream):
    """A fixed stream that keeps the words it gave."""

    def __init__(self, name):
        super().__init__(fixed(name), bytes(16))
        self.drawn = []

    def words(self, count):
        found = super().words(count)
        self.drawn += found.tolist()
        return found

    @property
    def text(self):
        """The words as the vectors write them."""
        return [f"{word:016x}" for word in self.drawn]
