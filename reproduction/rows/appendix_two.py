"""Sufficient Differential Privacy, appendix II: the ratio of k reports each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import combinations

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp as one_report
from reproduction.enumerated import (
    Collection,
    Record,
    chance,
    homogeneous,
    mean,
    outcomes,
    outlier,
    variance,
)
from reproduction.february_2016 import privacy_ratio
from reproduction.merged import log_ratio
from reproduction.row import MISPRINT, Row, by, equal, wrong
from reproduction.rows.january_2016_vectors import weight
from reproduction.rows.sufficient_dp import FLIPS, row

FLIP = FLIPS[1]  # q = .2
ZERO, ONE = (0, 0), (1, 1)
EXAMPLE: Collection = ((1, 1), (0, 1), (0, 0), (0, 0))  # a collection S^k for N = 2, k = 2


def rows() -> Iterator[Row]:
    """Yield the rows of (8.1) to (8.22)."""
    yield from _probability()
    yield from _one_report()
    yield from _ratio()


def _probability() -> Iterator[Row]:
    yield row(
        "(8.5)",
        "P(S|D) = N! prod of p(s_i|0)",
        2 * FLIP.p**2,
        by(FLIP.p**2, "S = {0, 0}, N = 2, L = 1, q = .2"),
        wrong("counts equal reports as different; this cancels in (8.6)"),
    )


def _one_report() -> Iterator[Row]:
    cases = [(flip, L, (bit,) * L) for flip in FLIPS for L in (1, 2, 3) for bit in (0, 1)]
    yield row(
        "(8.9), (8.10), (8.15), (8.16)",
        "E Y and E Y^2 of Y = (p/q)^(2l), by the generating function",
        *equal(
            [_generated(f, L, record, power) for f, L, record in cases for power in (1, 2)],
            [mean(f, [x], partial(_power, f, power)) for f, _, x in cases for power in (1, 2)],
            "enumerated for L = 1, 2, 3; q = .05, .2, .4",
        ),
    )
    yield row(
        "(8.11) to (8.13), (8.17) to (8.19)",
        "mean and variance of X_0 and X_1",
        *equal(
            [value for f, L, x in cases for value in _moments(f, L, x)],
            [
                value
                for f, _, x in cases
                for value in (
                    mean(f, [x], partial(set_weight, f)),
                    variance(f, [x], partial(set_weight, f)),
                )
            ],
            "enumerated for L = 1, 2, 3; q = .05, .2, .4",
        ),
    )


def _generated(flip: BitFlip, L: int, record: Record, power: int) -> float:
    """Return M(power ln (p/q)^2) of the bits set in a report, (8.14) and above (8.9)."""
    shown, hidden = (flip.p, flip.q) if record[0] else (flip.q, flip.p)
    return (hidden + shown * (flip.p / flip.q) ** (2 * power)) ** L


def _power(flip: BitFlip, power: int, reports: Collection) -> float:
    return (flip.p / flip.q) ** (2 * power * sum(map(sum, reports)))


def _moments(flip: BitFlip, L: int, record: Record) -> tuple[float, float]:
    of_record = one_report.moments_of_one if record[0] else one_report.moments_of_zero
    moments = of_record(flip, L)
    return moments.mean, moments.variance


def set_weight(flip: BitFlip, reports: Collection) -> float:
    """Return X_r: the product of the weights of some reports."""
    return math.prod(weight(flip, len(s), sum(s)) for s in reports)


def _ratio() -> Iterator[Row]:
    collections = [(flip, s) for flip in FLIPS for _, s in outcomes(flip, outlier(3, 2))]
    before, after = np.array(homogeneous(3, 2)), np.array(outlier(3, 2))
    yield row(
        "(8.6) to (8.8)",
        "R(S) = 1/N (q/p)^L sum of (p/q)^(2 l_i)",
        *equal(
            [_sum_of_powers(*case) for case in collections],
            [privacy_ratio(flip, before, after, np.array(s)) for flip, s in collections],
            "the definition, enumerated for N = 3, L = 2; q = .05, .2, .4",
        ),
    )
    counts = np.bincount([sum(s) for s in EXAMPLE], minlength=3)
    exact = by(math.exp(log_ratio(FLIP, counts, 2)), "S = {11, 01, 00, 00}, N = 2, k = 2, q = .2")
    zeros = math.prod(chance(FLIP, s, ZERO) for s in EXAMPLE)
    every = math.prod(chance(FLIP, s, ONE) for s in EXAMPLE)
    subsets = list(combinations(EXAMPLE, 2))
    yield row(
        "(8.20)",
        "p(s_i|1) also for s_i not in S_j, and (kN - k)! / (kN)!",
        len(subsets) * every / zeros / (4 * 3),
        f"{exact}: p(s_i|0) there, and a factor k!",
        MISPRINT,
    )
    yield row(
        "(8.21), (8.22)",
        "R(S^k) = (kN - k)! / (kN)! sum of prod of p(s_i|1) / p(s_i|0)",
        sum(set_weight(FLIP, subset) for subset in subsets) / (4 * 3),
        exact,
        wrong("k! is missing: the sum is over unordered subsets"),
    )


def _sum_of_powers(flip: BitFlip, reports: Collection) -> float:
    """Return (8.8)."""
    odds, L = flip.p / flip.q, len(reports[0])
    return math.fsum(odds ** (2 * sum(s)) for s in reports) / (odds**L * len(reports))
