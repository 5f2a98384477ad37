"""Amounts: the edges beside a number, and the chance of the upper one that keeps its mean.

Proof: docs/mathematics.md#amounts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.accountant.channels.bit_flip import DENOMINATOR


def between(edges: Sequence[float], numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The place of the edge below each number, and 2^32 times the chance of the next one.

    The chance is (x - a) / (b - a) between the edges a and b, rounded to a whole number over 2^32:
    the mean is kept up to (b - a) / 2^33. A number outside of the edges is moved to the nearest.
    """
    ends = np.array(edges)
    inside = np.clip(numbers, ends[0], ends[-1])
    below = np.clip(np.searchsorted(ends, inside, side="right") - 1, 0, len(ends) - 2)
    share = (inside - ends[below]) / (ends[below + 1] - ends[below])
    return below, np.rint(share * DENOMINATOR).astype(np.int64)


# Amounts outside of their edges, which count as the nearest: how many, and which may be codes.


MOST_DIGITS = 15  # of whole numbers that a floating-point number holds exactly
NINES = frozenset(10**digits - 1 for digits in range(1, MOST_DIGITS + 1))


def beside_nines(nines: int) -> frozenset[int]:
    """Codes that are used together with 9, 99, 999 and so on: 7 and 8, 97, 98, 77 and 88."""
    same_digit = {nines // 9 * 7, nines // 9 * 8}
    return frozenset({nines, nines - 1, nines - 2} | same_digit)


NEGATIVE = frozenset({-1, -2} | {-code for nines in NINES for code in beside_nines(nines)})
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
