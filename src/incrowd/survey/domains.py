"""The records that a question allows."""

from __future__ import annotations

from typing import NamedTuple


class Domain(NamedTuple):
    """The records one question allows: the sets of `fewest` to `most` of `bits` options.

    One yes/no question is (1, 0, 1), a choice of c options (c, 1, 1), at most m of c (c, 0, m).
    """

    bits: int
    fewest: int
    most: int

    @property
    def distance(self) -> int:
        """The largest Hamming distance between two allowed records."""
        sizes = min(max(self.bits, 2 * self.fewest), 2 * self.most)
        return min(sizes, 2 * self.bits - sizes)
