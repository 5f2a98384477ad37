"""K-Randomization, 15 January 2016, section 1: (1.20) to (1.24), and the gain from 16 reports."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
from scipy.stats import binom

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import january_2016 as january
from reproduction.row import AGREES, Row, by, wrong
from reproduction.rows.january_2016_ratio import LIMIT, N, row

COPIES = 16
MANY = 10**6


def rows() -> Iterator[Row]:
    """Yield the bound that is used in the wrong direction, and the example of section 1.3."""
    one, sixteen = (january.noise_copies(LIMIT, N, k) for k in (1, COPIES))
    yield from _noise(sixteen)
    yield from _gain(one, sixteen)


def _noise(flip: BitFlip) -> Iterator[Row]:
    bound = january.inverse_ratio_bound(flip, N, COPIES)
    exact = _inverse_ratio(flip)
    yield row(
        "(1.20), (1.21)",
        "(1 + 3 (p - q) / sqrt(qpkN))^k > 1/R_s >= 1/lambda",
        (2 - bound ** (1 / COPIES)) ** COPIES,
        by(exact, "1/R_s by (1.8), N = 1000, k = 16, q = .1668: the sign should be -"),
        wrong(f"{bound:.4f}, the bound with the sign corrected, is above 1/R_s: no limit is kept"),
    )
    yield row(
        "(1.22), (1.23)",
        "q = 0.1668 keeps R_s <= 2 three deviations below the mean",
        flip.q,
        by(1 / exact, "R_s by (1.8) at the first outcome above that point"),
        wrong("uses the upper bound (1.12) as a lower one"),
    )
    printed = january.deviation_of_estimate(flip, N, COPIES)
    how = "sqrt(qpN / k) / (p - q), enumerated in (1.4)"
    yield row("(1.24)", "sigma = 4.42", printed, by(printed, how), AGREES)


def _inverse_ratio(flip: BitFlip) -> float:
    """Return 1/R_s, k = 16, at the first outcome above three deviations below the mean."""
    reports = COPIES * N
    point = flip.q * reports - 3 * january.deviation_of_sum(flip, reports)
    return float(january.inverse_ratio_copies(flip, N, COPIES, np.array(math.ceil(point))))


def _gain(one: BitFlip, sixteen: BitFlip) -> Iterator[Row]:
    before = january.deviation_of_estimate(one, N)
    after = january.deviation_of_estimate(sixteen, N, COPIES)
    how = "sqrt(qpN / k) / (p - q), enumerated in (1.4)"
    yield row("1", "sigma = 6 without copies", before, by(before, how), AGREES)
    yield row("1", "error roughly 18 in either direction", 3 * before, by(3 * before, how), AGREES)
    yield row(
        "below (1.24)",
        "25% precision increase",
        100 * (1 - after / before),
        by(100 * (before / after - 1), "percent, 6.00 against 4.42"),
        wrong("the deviation falls by 26%; precision, its inverse, rises by 36%"),
    )
    yield row(
        "1",
        "privacy stays the same with k = 16",
        f"P[R > 2] = {exceeding(one, 1):.3g} for k = 1",
        by(exceeding(sixteen, COPIES), "P[R > 2], exact law of S and (1.8)"),
        wrong("more than four times as likely to exceed lambda"),
    )
    yield row(
        "1",
        "precision grows like sqrt(k) with a slight increase of noise",
        "6 / sqrt(k) = 0.006 for k = 10^6",
        by(
            january.deviation_of_estimate(january.noise_copies(LIMIT, N, MANY), N, MANY),
            "sigma by (1.23) for k = 10^6; its limit is 3 / ln 2 = 4.328",
        ),
        wrong("for one bit, its condition never allows a sigma below 3 / ln lambda"),
    )


def exceeding(flip: BitFlip, k: int) -> float:
    """Return the exact P[R > 2] for collections of zeros, 1000 people with k reports each.

    1/R rises with the number of ones that are reported, so R exceeds the limit if there are few.
    """

    def inverse(shown: int) -> float:
        return float(january.inverse_ratio_copies(flip, N, k, np.array(shown)))

    few = bisect_left(range(k * N + 1), 1 / LIMIT, key=inverse)
    return float(binom.cdf(few - 1, k * N, flip.q))
