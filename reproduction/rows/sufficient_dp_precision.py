"""Sufficient Differential Privacy, section 4: precision, its plot, and two examples."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp as paper
from reproduction.enumerated import Collection, mean, outlier, variance
from reproduction.january_2016 import deviation_of_estimate
from reproduction.ratio_law import exceeding
from reproduction.row import AGREES, Row, by, equal, wrong
from reproduction.rows.sufficient_dp import FLIPS, row

E2 = math.e**2
PEOPLE = [(flip, N) for flip in FLIPS for N in (1, 3, 6)]
GRID = "enumerated for N = 1, 3, 6; q = .05, .2, .4"
FORMULA = "sqrt(qp) / (p - q), enumerated above"
MANY, BITS = 10**7, 40


def rows() -> Iterator[Row]:
    """Yield the estimate, the plot, L = 5 and L = 40."""
    yield from _estimate()
    yield from _plot()
    yield from _five_bits()
    yield from _forty_bits()


def spread(flip: BitFlip) -> float:
    """Return the deviation of an estimated count in units of sqrt(N) people."""
    return deviation_of_estimate(flip, 1)


def _estimate() -> Iterator[Row]:
    yield row(
        "4",
        "E M = p d + q (N - d), and d = (M - qN) / (p - q) is unbiased",
        *equal(
            [1.0] * len(PEOPLE),
            [mean(flip, outlier(N, 1), partial(_count, flip)) for flip, N in PEOPLE],
            f"d = 1, {GRID}",
        ),
    )
    yield row(
        "4",
        "sigma(d) = sqrt(N) sqrt(qp) / (p - q), the people being fixed",
        *equal(
            [deviation_of_estimate(*case) ** 2 for case in PEOPLE],
            [variance(flip, outlier(N, 1), partial(_count, flip)) for flip, N in PEOPLE],
            f"variances, {GRID}",
        ),
    )


def _count(flip: BitFlip, reports: Collection) -> float:
    """Return the estimate of d from M."""
    return (sum(map(sum, reports)) - flip.q * len(reports)) / (flip.p - flip.q)


def _plot() -> Iterator[Row]:
    for q in (0.1, 0.2, 0.3, 0.4, 0.45):
        flip = BitFlip.at_least(q)
        exact = math.sqrt(variance(flip, outlier(2, 1), partial(_count, flip)) / 2)
        yield row(
            f"4, plot, q = {q}",
            "sqrt(qp) / (p - q) against q",
            spread(flip),
            by(exact, "deviation of the estimate over sqrt(N), enumerated for N = 2"),
            AGREES,
        )


def _five_bits() -> Iterator[Row]:
    local, printed = paper.local_noise(2, 5), BitFlip.at_least(0.1778)
    right = paper.noise_3_12(2, 5000, 5)
    smallest = BitFlip.from_epsilon(math.log(2) / 5)
    how = "smallest noise with 5 ln(p/q) <= ln 2"
    yield row("(4.1) to (4.3)", "local q = 0.465", local.q, by(smallest.q, how), AGREES)
    yield row(
        "below (4.3)",
        "local sigma = 7.5 sqrt(N)",
        spread(local),
        by(spread(smallest), FORMULA),
        wrong("7.2 sqrt(N)"),
    )
    yield row(
        "below (4.3)",
        "sigma = 0.6 sqrt(N) for N = 5000, q = .1778",
        spread(printed),
        by(spread(right), "at q = .1963, which (3.12) requires"),
        wrong("0.65 sqrt(N): q is wrong in the table"),
    )
    yield row(
        "below (4.3)",
        "a 12 fold increase in precision",
        spread(local) / spread(printed),
        by(spread(local) / spread(right), "7.20 against .654"),
        wrong("11 fold: q is wrong in the table"),
    )


def _forty_bits() -> Iterator[Row]:
    local, flip = paper.local_noise(E2, BITS), paper.noise_3_12(E2, MANY, BITS)
    root = math.sqrt(MANY)
    smallest = BitFlip.from_epsilon(2 / BITS)
    how = "smallest noise with 40 ln(p/q) <= 2"
    yield row("below (4.3)", "local q = 0.4875", local.q, by(smallest.q, how), AGREES)
    factor = spread(smallest)
    yield row("below (4.3)", "deviation 20 times", spread(local), by(factor, FORMULA), AGREES)
    yield row(
        "below (4.3)",
        "aggregates may be off by 200K",
        3 * spread(local) * root,
        by(3 * factor * root, "three deviations, N = 10M"),
        AGREES,
    )
    gain = spread(local) / spread(flip)
    error = 3 * spread(flip) * root
    how = f"(3.12); it leaves P[R > e^2] = {exceeding(flip, MANY, BITS, E2):.5f} (lattice)"
    formula = paper.noise_3_13(E2, MANY, BITS).q
    yield row("below (4.3)", "q = 0.351", formula, by(flip.q, how), AGREES)
    more = by(spread(flip), f"{FORMULA}, q = .351")
    yield row("below (4.3)", "deviation only 1.6 times", spread(flip), more, AGREES)
    more = by(gain, "20.00 against 1.60")
    yield row("below (4.3)", "the 12.5 precision increase again", gain, more, AGREES)
    more = by(error, "three deviations, N = 10M")
    yield row("below (4.3)", "error not exceeding 15K", error, more, AGREES)
    yield row(
        "below (4.3)",
        "1% of the population with 10% error",
        100 * 15_000 / (0.01 * MANY),
        by(100 * error / (0.01 * MANY), "percent, three deviations; two give 10%"),
        wrong("15% with the paper's error of 15K"),
    )
