"""K-Randomization, 15 January 2016, section 1: one bit, k reports from each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import january_2016 as january
from reproduction.enumerated import Collection, count_law, homogeneous, mean, outlier, variance
from reproduction.february_2016 import law
from reproduction.row import MISPRINT, Row, always, by, equal, wrong
from reproduction.rows.january_2016_ratio import FLIPS, row

SIZES = [(2, 2), (3, 2), (4, 2), (2, 3), (3, 3), (2, 4)]  # N and k
CASES = [(flip, N, k) for flip in FLIPS for N, k in SIZES]
GRID = "enumerated for N, k = 2, 3, 4 with kN < 10; q = .05, .2, .4"


def rows() -> Iterator[Row]:
    """Yield equations (1.1) to (1.22)."""
    yield from _estimate()
    yield from _ratio()
    yield from _quotients()
    yield from _bound()


def _estimate() -> Iterator[Row]:
    flip, N, k = FLIPS[1], 3, 2
    total = mean(flip, outlier(N, 1, k), _ones)
    yield row(
        "1.1",
        "S = p kT + q (kN - kT) is a random variable",
        flip.p * k + flip.q * k * (N - 1),
        by(total, "the mean of S, enumerated: N = 3, k = 2, T = 1, q = .2"),
        MISPRINT,
    )
    means = [mean(flip, outlier(N, 1, k), _ones) for flip, N, k in CASES]
    estimates = [
        (shown - flip.q * k * N) / (k * (flip.p - flip.q))
        for (flip, N, k), shown in zip(CASES, means, strict=True)
    ]
    unbiased = equal(np.ones(len(CASES)), estimates, GRID)
    yield row("(1.1), (1.2)", "E(T) = T for T = (S - qkN) / (k (p - q))", *unbiased)
    formula = [january.deviation_of_estimate(*case) ** 2 for case in CASES]
    exact = [
        variance(flip, outlier(N, 1, k), _ones) / (k * (flip.p - flip.q)) ** 2
        for flip, N, k in CASES
    ]
    yield row("(1.3), (1.4)", "VAR(T) = qpN / (k (p - q)^2)", *equal(formula, exact, GRID))


def _ones(reports: Collection) -> float:
    return sum(map(sum, reports))


def _ratio() -> Iterator[Row]:
    laws = [np.append(law(flip, k * N, 0), law(flip, k * N, k)) for flip, N, k in CASES]
    counted = [
        count_law(flip, homogeneous(N, 1, k)) + count_law(flip, outlier(N, 1, k))
        for flip, N, k in CASES
    ]
    yield row(
        "(1.5), (1.6)",
        "P(S = s|D_m) and P(S = s|D), a sum over i = 0..k",
        *equal(np.concatenate(laws), np.concatenate(counted), GRID),
    )
    flip, N, k, shown = FLIPS[1], 3, 2, 1
    yield row(
        "(1.7)",
        "P(S = s|D_m) = sum of C(k(N-1), s-i) C(k, i) q^(s+k-2i) ...",
        float(law(flip, k * N, k)[shown]),
        by(count_law(flip, homogeneous(N, 1, k))[shown], "P(S = 1|D_m); the sum is P(S = 1|D)"),
        MISPRINT,
    )
    formula = [january.inverse_ratio_copies(f, N, k, np.arange(k * N + 1)) for f, N, k in CASES]
    exact = [1 / ratio for ratio in map(_quotient, counted)]
    yield row(
        "(1.8)",
        "1/R_s = sum of hypergeometric terms (q/p)^(k-2i)",
        *equal(np.concatenate(formula), np.concatenate(exact), GRID),
    )


def _quotient(both: list[float]) -> np.ndarray:
    """Return P(s|D_m) / P(s|D) from the two laws, one after the other."""
    none, one = np.split(np.array(both), 2)
    return np.asarray(none / one)


Drawn = tuple[int, int, int, int]  # kN, k, s, i


def _quotients() -> Iterator[Row]:
    drawn = [
        (n, k, s, i)
        for n, k in ((6, 2), (10, 2), (9, 3), (12, 4))
        for s in range(n + 1)
        for i in range(k + 1)
        if 0 <= s - i <= n - k
    ]
    grid = "as fractions, for kN = 6, 9, 10, 12; all s and i"
    yield row(
        "(1.9)",
        "C(k(N-1), s-i) / C(kN, s) as a quotient of products",
        *always((_binomials(case) == _products(case) for case in drawn), grid),
    )
    yield row(
        "(1.10)",
        "(A - e)/(B - e) < A/B for positive A < B and e",
        f"A/B = {1 / 2} for A = 1, B = 2",
        by((1 - 3) / (2 - 3), "the left side for e = 3"),
        wrong("requires e < B"),
    )
    yield row(
        "(1.11)",
        "the quotient is below s^i (kN - s)^(k-i) / (kN)^k",
        float(Fraction(1 * 9, 10**2)),
        by(float(_products((10, 2, 1, 1))), "as fractions: kN = 10, k = 2, s = i = 1"),
        wrong("(1.10) requires the same e in numerator and denominator: .1 > .09"),
    )


def _binomials(drawn: Drawn) -> Fraction:
    n, k, s, i = drawn
    return Fraction(math.comb(n - k, s - i), math.comb(n, s))


def _products(drawn: Drawn) -> Fraction:
    """Return the right side of (1.9)."""
    n, k, s, i = drawn
    above = [s - j for j in range(i)] + [n - s - j for j in range(k - i)]
    return Fraction(math.prod(above), math.prod(n - j for j in range(k)))


def _bound() -> Iterator[Row]:
    yield row(
        "(1.12)",
        "1/R_s is below the sum with s/kN in the place of drawing",
        *always(
            (
                float(january.inverse_ratio_copies(flip, N, k, np.array(s)))
                <= _with_replacement(flip, s / (k * N), k) * (1 + 1e-12)
                for flip, N, k in CASES
                for s in range(k * N + 1)
            ),
            "exact (1.8) for N, k = 2, 3, 4; Hoeffding 1963, though (1.11) is false",
        ),
    )
    wide = list(product(FLIPS, (100, 1000), (1, 4, 16)))
    yield row(
        "(1.13) to (1.19)",
        "at s = qkN - 3 sigma that sum is (1 - 3 (p - q) / sqrt(qpkN))^k",
        *equal(
            [january.inverse_ratio_bound(*case) for case in wide],
            [_with_replacement(flip, _share(flip, k * N), k) for flip, N, k in wide],
            "the sum of (1.12), for N = 100, 1000; k = 1, 4, 16; q = .05, .2, .4",
        ),
    )


def _share(flip: BitFlip, reports: int) -> float:
    """Return s / kN three deviations below the mean."""
    return flip.q - 3 * january.deviation_of_sum(flip, reports) / reports


def _with_replacement(flip: BitFlip, share: float, k: int) -> float:
    """Return the right side of (1.12): the k reports of the outlier drawn with replacement."""
    odds = flip.p / flip.q
    terms = (
        math.comb(k, i) * share**i * (1 - share) ** (k - i) * odds ** (2 * i - k)
        for i in range(k + 1)
    )
    return math.fsum(terms)
