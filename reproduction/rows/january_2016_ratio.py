"""K-Randomization, 15 January 2016, section 0.1: the ratio of one-bit collections and its bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from scipy.stats import norm

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.one_bit import one_bit, one_bit_at
from reproduction import january_2016 as january
from reproduction.conditions import smallest_noise
from reproduction.enumerated import Collection, count_law, homogeneous, outlier, variance
from reproduction.february_2016 import law
from reproduction.maximality import one_bit_crowd
from reproduction.row import AGREES, MISPRINT, Row, by, equal, wrong

N, LIMIT = 1000, 2.0  # the draft's example
FLIPS = tuple(map(BitFlip.at_least, (0.05, 0.2, 0.4)))
GRID = "enumerated for N = 2, ..., 6; q = .05, .2, .4"
CASES = list(product(FLIPS, range(2, 7)))
row = partial(Row, "K-Randomization, January 2016")


def rows() -> Iterator[Row]:
    """Yield equations (0.1) to (0.19) and what they are said to protect."""
    yield from _ratio()
    yield from _bound()
    yield from _protection()


def _ratio() -> Iterator[Row]:
    laws = [np.append(law(flip, n, 0), law(flip, n, 1)) for flip, n in CASES]
    counted = [count_law(f, homogeneous(n, 1)) + count_law(f, outlier(n, 1)) for f, n in CASES]
    yield row(
        "(0.1) and (0.2)",
        "P(s|D_m) = Bin(N, q), P(s|D) a sum of two binomials",
        *equal(np.concatenate(laws), np.concatenate(counted), GRID),
    )
    formula = [january.inverse_ratio(flip, n, np.arange(n + 1)) for flip, n in CASES]
    exact = [_inverse_ratios(flip, n) for flip, n in CASES]
    yield row(
        "(0.3) and (0.4)",
        "1/R_i = (N - i)/N q/p + i/N p/q",
        *equal(np.concatenate(formula), np.concatenate(exact), GRID),
    )
    yield row(
        "below (0.4)",
        "R_0 = p/q and R_N = q/p",
        *equal(
            [(flip.p / flip.q, flip.q / flip.p) for flip, _ in CASES],
            [(1 / ratios[0], 1 / ratios[-1]) for ratios in exact],
            GRID,
        ),
    )
    flip = FLIPS[1]
    one = float(january.inverse_ratio(flip, N, np.array(flip.q * N)))
    yield row(
        "below (0.4)",
        "1/R_(qN) = (N - qN)/N q/p + pN/N q/p = 1",
        2 * flip.p * flip.q / flip.p,
        by(one, "(0.4) at q = .2; the second term should be qN/N p/q"),
        MISPRINT,
    )


def _inverse_ratios(flip: BitFlip, n: int) -> list[float]:
    """Return P(s|D) / P(s|D_m) for s = 0..n, by enumeration."""
    laws = count_law(flip, outlier(n, 1)), count_law(flip, homogeneous(n, 1))
    return [one / none for one, none in zip(*laws, strict=True)]


def _bound() -> Iterator[Row]:
    large = list(product(FLIPS, (100, 1000, 10_000)))
    yield row(
        "(0.5) to (0.13)",
        "1/R three deviations below the mean: 1 - 3 (p - q) / sqrt(pqN)",
        *equal(
            [january.inverse_ratio_bound(*case, 1) for case in large],
            [_at_three_deviations(*case) for case in large],
            "(0.4) there, for N = 100, 1000, 10000; q = .05, .2, .4",
        ),
    )
    yield row(
        "(0.14) and (0.15)",
        "VAR(T) = pqN / (p - q)^2, the people being fixed",
        *equal(
            [january.deviation_of_estimate(*case) ** 2 for case in CASES],
            [variance(flip, outlier(n, 1), partial(_estimate, flip)) for flip, n in CASES],
            GRID,
        ),
    )
    flip = exact_noise()
    yield row(
        "(0.16)",
        "sigma(T) >= 3 / (1 - 1/lambda), which is 6 for lambda = 2",
        january.smallest_deviation(LIMIT),
        by(january.deviation_of_estimate(flip, N), "(0.15) where (0.4) is 1/2 at (0.5)"),
        AGREES,
    )
    yield row(
        "(0.19), example",
        "q = 0.032527",
        january.noise_one_bit(LIMIT, N).q,
        by(flip.q, "bisection: (0.4) is 1/2 at (0.5)"),
        AGREES,
    )


def _at_three_deviations(flip: BitFlip, n: int) -> float:
    """Return 1/R at qN - 3 sigma, (0.5)."""
    point = flip.q * n - 3 * january.deviation_of_sum(flip, n)
    return float(january.inverse_ratio(flip, n, np.array(point)))


def _estimate(flip: BitFlip, reports: Collection) -> float:
    """Return the estimated number of people with a 1."""
    return (sum(map(sum, reports)) - flip.q * len(reports)) / (flip.p - flip.q)


def exact_noise() -> BitFlip:
    """Return the smallest noise at which (0.4) is 2 at three deviations below the mean, N = 1000.

    If that point is below zero, the ratio is negative, and there is too little noise.
    """

    def ratio(flip: BitFlip) -> float:
        inverse = _at_three_deviations(flip, N)
        return 1 / inverse if inverse > 0 else math.inf

    return smallest_noise(ratio, LIMIT)


def _protection() -> Iterator[Row]:
    flip = january.noise_one_bit(LIMIT, N)
    _, eta = one_bit_at(flip, N, math.log(LIMIT), N - 1)  # all bits reversed: S is of zeros
    worst = one_bit(flip, N, math.log(LIMIT)).worst_eta.value
    yield row(
        "below (0.29)",
        "the ratio is kept for 99.98% of outcomes",
        100 * norm.cdf(3),
        by(100 * (1 - eta), "percent, exact law of S"),
        wrong(f"99.96% for the draft's pair, {100 * (1 - worst):.2f}% in the worst collection"),
    )
    mixed = one_bit_crowd()
    yield row(
        "0.1, assumption",
        "the ratio is largest for N - 1 zeros and a one",
        mixed.homogeneous,
        by(mixed.worst, "delta; all collections: 18 of the others hold 0, 20 hold 1"),
        wrong("mixed crowds can be worse: N = 39, q = .0256, epsilon = .036"),
    )
