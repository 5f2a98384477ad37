"""K-Randomization, 24 February 2016, section 4: ratios of sums, over every case of a grid.

Whole numbers, multiplied out: no rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from reproduction.row import Row, always
from reproduction.rows.february_2016 import row

Numbers = tuple[int, ...]
THREE, FOUR = (1, 2, 3), (1, 2, 3, 4)


def rows() -> Iterator[Row]:
    """Yield the rows of lemmas 4.1 to 4.3 and the corollary."""
    grid = "whole numbers a_i = -2, ..., 4, b_i = 1, ..., 4; m = 3"
    printed = "sum of a_i / sum of b_i is at most the largest a_i / b_i, b_i > 0"
    yield row("Lemma 4.1", printed, *always(_lemma_4_1(), grid))
    grid = "all numbers 1, 2, 3; m = 3"
    yield row("Lemma 4.2", "(4.1) if (4.2) and (4.3)", *always(_lemma_4_2(), grid))
    printed = "(4.1) also if (4.2) and (4.3) are both reversed"
    yield row("below Lemma 4.2", printed, *always(_lemma_4_2(reverse=True), grid))
    printed = "(q a_1 + p a_2) / (p a_1 + q a_2) rises with a_2 / a_1, 0 < q < p < 1"
    grid = "a_i = 1, ..., 4; q and p = 1, 2, 5, 9 of twenty"
    yield row("Corollary 4.1", printed, *always(_corollary(), grid))
    grid = "a, lambda, mu = 1, 2, 3; b, c = 0, ..., 3"
    yield row("Lemma 4.3", "(4.4) if (4.5)", *always(_lemma_4_3(), grid))


def _lemma_4_1() -> Iterator[bool]:
    for a, b in product(product(range(-2, 5), repeat=3), product(FOUR, repeat=3)):
        yield any(sum(a) * y <= x * sum(b) for x, y in zip(a, b, strict=True))


def _lemma_4_2(reverse: bool = False) -> Iterator[bool]:
    """Yield (4.1) for all a, a', lambda, mu that satisfy (4.2) and (4.3), or both reversed.

    (4.2): lambda_i / mu_i falls. (4.3): a_i / a_j >= a'_i / a'_j, so a_i / a'_i falls.
    """
    vectors = list(product(THREE, repeat=3))
    pairs = [(x, y) for x, y in product(vectors, repeat=2) if _falling(x, y)]
    if reverse:
        pairs = [(y, x) for x, y in pairs]
    for (a, other), (weight, mu) in product(pairs, repeat=2):
        yield _dot(a, weight) * _dot(other, mu) >= _dot(other, weight) * _dot(a, mu)


def _falling(above: Numbers, below: Numbers) -> bool:
    """Return whether above_i / below_i >= above_j / below_j for i < j."""
    steps = zip(above, below, above[1:], below[1:], strict=False)
    return all(x * b >= a * y for x, y, a, b in steps)


def _dot(a: Numbers, b: Numbers) -> int:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _corollary() -> Iterator[bool]:
    for q, p, a1, a2, b1, b2 in product((1, 2, 5, 9), (1, 2, 5, 9), *[FOUR] * 4):
        if q < p and a2 * b1 >= b2 * a1:
            yield (q * a1 + p * a2) * (p * b1 + q * b2) >= (q * b1 + p * b2) * (p * a1 + q * a2)


def _lemma_4_3() -> Iterator[bool]:
    """Yield (4.4) for all a, a', b, b', c, c' that satisfy (4.5), and all lambda and mu."""
    few = range(4)
    for a, a_, b, b_, c, c_ in product(THREE, THREE, few, few, few, few):
        if a * c_ >= a_ * c and a * b_ <= a_ * b and b * c_ >= b_ * c:
            for u, v in product(THREE, repeat=2):
                yield (a * u + b * v) * (c_ * u + a_ * v) >= (a_ * u + b_ * v) * (c * u + a * v)
