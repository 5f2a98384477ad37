"""K-Randomization, 15 January 2016, section 0.1: the numbers for N = 1000 and lambda = 2."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import january_2016 as january
from reproduction.february_2016 import law
from reproduction.row import AGREES, Row, by, wrong
from reproduction.rows.january_2016_ratio import LIMIT, N, exact_noise, row

OF_SUM = "law of S"
OF_SUM_WITH_ONE = "law of S with one bit set"
OF_ESTIMATE = "sqrt(pqN) / (p - q), enumerated in (0.15)"


def rows() -> Iterator[Row]:
    """Yield equations (0.20) to (0.29) and the numbers between them."""
    yield from _gain()
    yield from _moments()
    yield from _intervals()


def _gain() -> Iterator[Row]:
    flip, classical = january.noise_one_bit(LIMIT, N), BitFlip.at_least(1 / 3)
    local = by(BitFlip.from_epsilon(math.log(LIMIT)).q, "smallest noise with ln(p/q) <= ln 2")
    yield row("(0.20), (0.21)", "q >= 1/3 = 0.333", 1 / 3, local, AGREES)
    less = by(classical.q / exact_noise().q, "1/3 against .0325265")
    yield row("below (0.21)", "noise reduced 10 times", classical.q / flip.q, less, AGREES)
    large, small = (january.deviation_of_estimate(f, N) for f in (classical, flip))
    of_sum = january.deviation_of_sum(flip, N)
    yield row("below (0.21)", "classical sigma = 44.7", large, by(large, OF_ESTIMATE), AGREES)
    yield row(
        "below (0.21)",
        "local sigma = 5.6",
        of_sum,
        by(small, OF_ESTIMATE),
        wrong("5.6 is the deviation of S; that of the estimate is 6.0"),
    )
    yield row(
        "below (0.21)",
        "precision grown 8 fold",
        large / of_sum,
        by(large / small, "44.72 against 6.00"),
        wrong("uses the deviation of S instead of that of the estimate"),
    )


class Moments(NamedTuple):
    """Of the number of ones among the reports of 1000 people."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, flip: BitFlip, ones: int) -> Moments:
        """Return the moments from the law of S when so many of the people hold a 1."""
        mass, shown = law(flip, N, ones), np.arange(N + 1)
        mean = float(mass @ shown)
        return cls(mean, math.sqrt(float(mass @ (shown - mean) ** 2)))


def _moments() -> Iterator[Row]:
    flip = january.noise_one_bit(LIMIT, N)
    zeros, one = Moments.of(flip, 0), Moments.of(flip, 1)
    deviation = january.deviation_of_sum(flip, N)
    yield row("(0.22)", "E(S) = q 1000", 1000 * flip.q, by(zeros.mean, OF_SUM), AGREES)
    formula = "sigma(S) = sqrt(pq 1000)"
    yield row("(0.23)", formula, deviation, by(zeros.deviation, OF_SUM), AGREES)
    yield row(
        "(0.24)",
        "E(S_m) = q 1000 + p",
        1000 * flip.q + flip.p,
        by(one.mean, OF_SUM_WITH_ONE),
        wrong("-q is missing: 999 zeros and a one give 999 q + p"),
    )
    formula = "sigma(S_m) = sqrt(pq 999 + pq)"
    yield row("(0.25)", formula, deviation, by(one.deviation, OF_SUM_WITH_ONE), AGREES)


def _intervals() -> Iterator[Row]:
    classical, small = BitFlip.at_least(0.333), BitFlip.at_least(0.033)
    of_estimate = 3 * january.deviation_of_estimate(classical, N)
    of_sum = 3 * january.deviation_of_sum(small, N)
    sigma = wrong("uses the sigma of the estimate instead of that of S")
    follows = wrong("follows (0.24), where -q is missing")
    for place, printed, flip, ones, half, verdict in (
        ("(0.26)", "S: [198.9, 467.1]", classical, 0, of_estimate, sigma),
        ("(0.27)", "S_m: [198.6, 467.8]", classical, 1, of_estimate, sigma),
        ("(0.28)", "S: [16.05, 49.94]", small, 0, of_sum, AGREES),
        ("(0.29)", "S_m: [17.02, 50.91]", small, 1, of_sum, follows),
    ):
        center, true = 1000 * flip.q + ones * flip.p, Moments.of(flip, ones)
        exact = _interval(true.mean, 3 * true.deviation)
        how = f"{exact} ({OF_SUM_WITH_ONE if ones else OF_SUM}, three deviations)"
        yield row(place, printed, _interval(center, half), how, verdict)


def _interval(center: float, half: float) -> str:
    return f"[{center - half:.2f}, {center + half:.2f}]"
