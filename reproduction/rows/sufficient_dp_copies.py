"""Sufficient Differential Privacy, section 6: the stated gain from k reports each."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction import sufficient_dp as one_report
from reproduction import sufficient_dp_copies as paper
from reproduction.copies_noise import (
    DRAWS,
    LIMIT,
    L,
    N,
    corrected_noise,
    exceeding_with_printed_noise,
    printed_noise,
)
from reproduction.enumerated import Collection, outlier, variance
from reproduction.january_2016 import deviation_of_estimate
from reproduction.row import AGREES, MISPRINT, Row, by, equal, wrong
from reproduction.rows.sufficient_dp import FLIPS, row

RULES = (2, 4, 10, 20)


def rows() -> Iterator[Row]:
    """Yield the estimate, the bounds (6.1) and (6.2), and the figure."""
    yield from _estimate()
    yield from _bounds()
    yield from _figure()
    yield from _gain()


def _ones(reports: Collection) -> float:
    return sum(map(sum, reports))


def _estimate() -> Iterator[Row]:
    cases = [(flip, people, k) for flip in FLIPS for people, k in ((2, 3), (3, 2), (2, 4))]
    yield row(
        "6",
        "sigma(d) = sqrt(N/k) sqrt(qp) / (p - q), the people being fixed",
        *equal(
            [deviation_of_estimate(*case) ** 2 for case in cases],
            [variance(f, outlier(n, 1, k), _ones) / (k * (f.p - f.q)) ** 2 for f, n, k in cases],
            "variances, enumerated for (N, k) = (2, 3), (3, 2), (2, 4); q = .05, .2, .4",
        ),
    )


def _bounds() -> Iterator[Row]:
    for k in (4, 10, 20):
        flip = printed_noise(k)
        exact = paper.mean_of_ratio(flip, N, L, k)
        bound = paper.mean_6_1(flip, N, L, k)
        yield row(
            f"(6.1), (8.37), k = {k}",
            "E R(S^k) <= (1 + phi^L / kN)^k",
            bound,
            by(exact, f"E R exactly, L = 40, N = 10M, q = {flip.q:.4f} of (6.3)"),
            wrong("the bound is exceeded: it has kN instead of N"),
        )
    for k in (2, 4, 10):
        flip = printed_noise(k)
        yield row(
            f"(6.2), k = {k}",
            "Var R(S^k) <= [...]^k - [...]^k",
            paper.variance_6_2(flip, N, L, k),
            by(paper.variance_of_ratio(flip, N, L, k), f"Var R exactly, q = {flip.q:.4f} of (6.3)"),
            wrong("treats overlapping subsets as independent"),
        )


def _figure() -> Iterator[Row]:
    yield row(
        "6.1",
        "lambda = 2 and N = 1,000,000",
        paper.noise_6_3(2, 10**6, L, 1).q,
        by(printed_noise(1).q, "q of the example that follows: lambda = e^2, N = 10M"),
        MISPRINT,
    )
    first = by(one_report.noise_3_12(LIMIT, N, L).q, "(3.12), of exact moments")
    yield row("6.1, figure, k = 1", "q = 0.351", printed_noise(1).q, first, AGREES)
    for k in RULES:
        yield row(
            f"(6.3), (8.38), figure, k = {k}",
            "q falls slightly with k",
            printed_noise(k).q,
            by(corrected_noise(k).q, "mean and three deviations of R from exact moments"),
            wrong("q must rise with k"),
        )
    yield row(
        "(6.3), figure, k = 1",
        "the noise leaves the ratio below lambda",
        "mu + 3 sigma = lambda",
        by(*exceeding_with_printed_noise(1)[::3]),
        AGREES,
    )
    for k in DRAWS:
        yield row(
            f"(6.3), figure, k = {k}",
            "the noise leaves the ratio below lambda",
            "mu + 3 sigma = lambda",
            by(*exceeding_with_printed_noise(k)[::3]),
            wrong("P[R > e^2] grows with k"),
        )


def _gain() -> Iterator[Row]:
    before = deviation_of_estimate(printed_noise(1), N)
    printed, right = (
        deviation_of_estimate(noise(4), N, 4) for noise in (printed_noise, corrected_noise)
    )
    yield row(
        "6.1",
        "4 reports each halve the error: 0.5% of the population",
        before / printed,
        by(before / right, "times as precise, with the noise from the correct moments"),
        wrong("1.92 times; with the printed noise the ratio exceeds lambda in 1% of collections"),
    )
