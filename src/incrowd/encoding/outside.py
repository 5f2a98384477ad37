"""Amounts outside of their edges, which count as the nearest: how many, and which may be codes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

NEGATIVE = frozenset({-9, -99, -999, -9999, -8, -88, -98, -97, -77, -1, -2})
NINES = frozenset({99, 999, 9999, 99999})
CODES = NEGATIVE | NINES  # that people write for no answer
FAR = 3  # times as large as any answer: then nines stand for no answer


class Outside(NamedTuple):
    """How many answered, with amounts below the first edge and above the last one; which codes."""

    answers: int = 0
    below: int = 0
    above: int = 0
    codes: frozenset[int] = frozenset()

    def and_of(self, more: Outside) -> Outside:
        """Of both together."""
        answers, below = self.answers + more.answers, self.below + more.below
        return Outside(answers, below, self.above + more.above, self.codes | more.codes)


def outside(edges: Sequence[float], numbers: np.ndarray) -> Outside:
    """Those of some numbers that are not between the edges."""
    below, above = numbers < edges[0], numbers > edges[-1]
    codes = CODES.intersection(numbers[below | above].tolist())
    likely = frozenset(int(code) for code in codes if is_code(code, edges))
    return Outside(len(numbers), int(below.sum()), int(above.sum()), likely)


def is_code(number: float, others: Collection[float]) -> bool:
    """Whether one of CODES stands for no answer, among other answers or the edges for them.

    A negative one where all others are not negative, nines far above all others, each among words.
    """
    if number in NEGATIVE:
        return min(others, default=0) >= 0
    return max(others, default=0) * FAR < number
