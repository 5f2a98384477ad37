"""Amounts: the edges around a number, and the probability of the upper one that preserves the mean.

Proof: docs/mathematics.md#amounts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.accountant.channels.bit_flip import DENOMINATOR


def between(edges: Sequence[float], numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the edge below each number, and 2^32 times the probability of the next.

    The probability is (x - a) / (b - a) between the edges a and b, rounded to a multiple of 2^-32,
    so that the mean is preserved up to (b - a) / 2^33. A number outside the edges moves to the
    nearest.
    """
    ends = np.array(edges)
    inside = np.clip(numbers, ends[0], ends[-1])
    below = np.clip(np.searchsorted(ends, inside, side="right") - 1, 0, len(ends) - 2)
    share = (inside - ends[below]) / (ends[below + 1] - ends[below])
    return below, np.rint(share * DENOMINATOR).astype(np.int64)


# Answers that do not count as they are: amounts outside the edges count as the nearest edge, and
# answers of people who were not asked count as "not asked".


MOST_DIGITS = 15  # of whole numbers that a floating-point number holds exactly
NINES = frozenset(10**digits - 1 for digits in range(1, MOST_DIGITS + 1))


def beside_nines(nines: int) -> frozenset[int]:
    """Return the codes used together with 9, 99, 999 and so on: 7 and 8, 97, 98, 77 and 88."""
    same_digit = {nines // 9 * 7, nines // 9 * 8}
    return frozenset({nines, nines - 1, nines - 2} | same_digit)


NEGATIVE = frozenset({-1, -2} | {-code for nines in NINES for code in beside_nines(nines)})
CODES = NEGATIVE | NINES  # that people write for no answer
FAR = 3  # times as large as any answer: then nines stand for no answer


class Adjusted(NamedTuple):
    """The numbers of answers, of amounts below the first and above the last edge, and of answers of
    people who were not asked. codes: amounts outside that are likely codes for no answer."""

    answers: int = 0
    below: int = 0
    above: int = 0
    codes: frozenset[int] = frozenset()
    unasked: int = 0

    def and_of(self, more: Adjusted) -> Adjusted:
        """Return the sum of both."""
        return Adjusted(
            self.answers + more.answers,
            self.below + more.below,
            self.above + more.above,
            self.codes | more.codes,
            self.unasked + more.unasked,
        )


def outside(edges: Sequence[float], numbers: np.ndarray) -> Adjusted:
    """Count the numbers that are not between the edges."""
    below, above = numbers < edges[0], numbers > edges[-1]
    codes = CODES.intersection(numbers[below | above].tolist())
    likely = frozenset(int(code) for code in codes if is_code(code, edges))
    return Adjusted(len(numbers), int(below.sum()), int(above.sum()), likely)


def is_code(number: float, others: Collection[float]) -> bool:
    """Return whether one of CODES means no answer, given other answers or their edges.

    A negative code does if no other number is negative; nines do if they are far above all others.
    """
    if number in NEGATIVE:
        return min(others, default=0) >= 0
    return max(others, default=0) * FAR < number
