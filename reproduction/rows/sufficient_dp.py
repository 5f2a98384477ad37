"""Sufficient Differential Privacy, sections 1.3 to 3.1: the ratio."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction.enumerated import (
    Collection,
    Record,
    all_records,
    chance,
    homogeneous,
    mean,
    outcomes,
    outlier,
)
from reproduction.february_2016 import privacy_ratio
from reproduction.row import MISPRINT, Row, by, equal
from reproduction.rows.january_2016_vectors import total_weight

FLIPS = tuple(map(BitFlip.at_least, (0.05, 0.2, 0.4)))
row = partial(Row, "Sufficient DP (undated)")


def rows() -> Iterator[Row]:
    """Yield the rows of sections 1.3 to 3.1, up to (3.11)."""
    yield from _single_reports()
    yield from _ratio()
    yield from _generating_function()


def _single_reports() -> Iterator[Row]:
    cases = [(flip, L) for flip in FLIPS for L in (1, 2, 3)]
    yield row(
        "1.3",
        "the ratio of one report is largest, (p/q)^L, for opposite records",
        *equal(
            [(flip.p / flip.q) ** L for flip, L in cases],
            [_largest_ratio(flip, L) for flip, L in cases],
            "enumerated for L = 1, 2, 3; q = .05, .2, .4",
        ),
    )
    yield row(
        "1.3",
        "s_i in {1, ..., N}",
        f"{2**5} reports at least for L = 5",
        by(0, "the count of a vector that no one sent"),
        MISPRINT,
    )
    yield row(
        "(3.2)",
        "p(v|1) / p(v|0) = p^l q^(L-l) / (p^(L-l) q^l) = (q/p)^(L-2l)",
        *equal(
            [(f.q / f.p) ** (L - 2 * sum(v)) for f, L in cases for v in all_records(L)],
            [
                chance(f, v, (1,) * L) / chance(f, v, (0,) * L)
                for f, L in cases
                for v in all_records(L)
            ],
            "enumerated for L = 1, 2, 3; q = .05, .2, .4",
        ),
    )


def _largest_ratio(flip: BitFlip, L: int) -> float:
    every = product(all_records(L), repeat=3)
    return max(chance(flip, s, x) / chance(flip, s, other) for s, x, other in every)


SIZES = [(flip, N, L) for flip in FLIPS for N, L in ((2, 1), (3, 2), (2, 3))]
GRID = "the definition, enumerated for (N, L) = (2, 1), (3, 2), (2, 3); q = .05, .2, .4"


def _ratio() -> Iterator[Row]:
    others: Record = (0, 1)
    cases = [(f, s) for f in FLIPS for _, s in outcomes(f, homogeneous(3, 2))]
    before, after = ([(first,) * 2, others, others] for first in (0, 1))
    yield row(
        "(2.1) to (2.4)",
        "R(S) = sum of s_i p(v_i|1)/p(v_i|x) / sum of s_i p(v_i|0)/p(v_i|x)",
        *equal(
            [_quotient(flip, s, others) for flip, s in cases],
            [privacy_ratio(f, np.array(before), np.array(after), np.array(s)) for f, s in cases],
            "the definition, enumerated for N = 3, x = 01; q = .05, .2, .4",
        ),
    )
    every = [(f, N, L, s) for f, N, L in SIZES for _, s in outcomes(f, outlier(N, L))]
    yield row(
        "(3.1) to (3.6)",
        "R(S) = 1/N sum of t_l (q/p)^(L-2l)",
        *equal(
            [total_weight(f, s) / N for f, N, _, s in every],
            [
                privacy_ratio(f, np.array(homogeneous(N, L)), np.array(outlier(N, L)), np.array(s))
                for f, N, L, s in every
            ],
            GRID,
        ),
    )
    yield row(
        "below (3.6)",
        "the largest R is (p/q)^L, for T = (0, ..., 0, N)",
        *equal(
            [(f.p / f.q) ** L for f, _, L in SIZES],
            [
                max(total_weight(f, s) / N for _, s in outcomes(f, outlier(N, L)))
                for f, N, L in SIZES
            ],
            GRID,
        ),
    )


def _quotient(flip: BitFlip, reports: Collection, others: Record) -> float:
    """Return (2.4) for a crowd that holds the record `others`."""
    ones, zeros = (1,) * len(others), (0,) * len(others)
    above, below = (
        math.fsum(chance(flip, s, x) / chance(flip, s, others) for s in reports)
        for x in (ones, zeros)
    )
    return above / below


def _generating_function() -> Iterator[Row]:
    cases = [(f, N, L, t) for f, N, L in SIZES for t in (0.5, 0.9)]
    yield row(
        "(3.8) to (3.11)",
        "G(X) = G(X_0)^(N-1) G(X_1)",
        *equal(
            [_product(*case) for case in cases],
            [mean(f, outlier(N, L), partial(_power, f, t)) for f, N, L, t in cases],
            "E t^X enumerated for t = .5, .9 and (N, L) = (2, 1), (3, 2), (2, 3)",
        ),
    )


def _power(flip: BitFlip, t: float, reports: Collection) -> float:
    return float(t ** total_weight(flip, reports))


def _product(flip: BitFlip, N: int, L: int, t: float) -> float:
    """Return (3.11), from (3.8) and (3.10)."""
    odds, ways = flip.q / flip.p, [math.comb(L, bits) for bits in range(L + 1)]
    zero, one = (
        math.fsum(
            ways[bits] * lie**bits * keep ** (L - bits) * t**odds ** (L - 2 * bits)
            for bits in range(L + 1)
        )
        for lie, keep in ((flip.q, flip.p), (flip.p, flip.q))
    )
    return zero ** (N - 1) * one
