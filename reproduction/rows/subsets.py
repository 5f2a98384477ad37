"""Sufficient Differential Privacy, appendix II: subsets of k reports, and their expectation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp_copies as paper
from reproduction.enumerated import Collection, Record, mean, outlier, variance
from reproduction.row import MISPRINT, Row, always, by, equal, wrong
from reproduction.rows.appendix_two import FLIP, set_weight
from reproduction.rows.sufficient_dp import FLIPS, row

SETS = [
    (flip, L, k, r) for flip in FLIPS for L, k in ((1, 3), (2, 2), (1, 4)) for r in range(k + 1)
]
SETS_GRID = "enumerated for (L, k) = (1, 3), (2, 2), (1, 4); r = 0..k; q = .05, .2, .4"


def rows() -> Iterator[Row]:
    """Yield the rows of (8.23) to (8.36)."""
    yield from _sets()
    yield from _expectation()
    yield from _inequalities()


def _sets() -> Iterator[Row]:
    L, m, r = 3, 2, 1
    p, q, k = FLIP.p, FLIP.q, m + r
    sent = [(1,) * L] * r + [(0,) * L] * m
    yield row(
        "(8.24)",
        "L_r = m L_0 + r L_1",
        (m**2 + r**2) * L * p * q,
        by(
            variance(FLIP, sent, _bits),
            "Var L_r, a sum of m and r independent; L = 3, m = 2, r = 1",
        ),
        MISPRINT,
    )
    yield row(
        "(8.25)",
        "E L_r = m q^L + r p^L",
        m * q**L + r * p**L,
        by(mean(FLIP, sent, _bits), "enumerated, L (mq + rp): L = 3, m = 2, r = 1, q = .2"),
        MISPRINT,
    )
    means = [paper.subset_mean(flip, L, r) for flip, L, _, r in SETS]
    exact = [mean(f, _sent(L, k, r), partial(set_weight, f)) for f, L, k, r in SETS]
    yield row("(8.26), (8.27)", "E X_r = phi^(rL)", *equal(means, exact, SETS_GRID))
    yield row(
        "(8.27), middle",
        "(q/p)^(kL) M_k(2 ln p/q)",
        FLIP.phi ** (k * L),
        by(paper.subset_mean(FLIP, L, r), "M_r instead of M_k: L = 3, k = 3, r = 1, q = .2"),
        MISPRINT,
    )
    inner = (p + q * (p / q) ** 4) ** (m * L) * (q + p * (p / q) ** 4) ** (r * L)
    yield row(
        "(8.28), middle",
        "(q/p)^(kL) M_k(4 ln p/q)",
        (q / p) ** (k * L) * inner,
        by(
            paper.subset_second_moment(FLIP, L, k, r),
            "(q/p)^(2kL) M_r: L = 3, k = 3, r = 1, q = .2",
        ),
        MISPRINT,
    )
    variances = [paper.subset_variance(*case) for case in SETS]
    exact = [variance(f, _sent(L, k, r), partial(set_weight, f)) for f, L, k, r in SETS]
    yield row(
        "(8.28), (8.29)",
        "Var X_r = phi^(mL) ((q^5 + p^5) / (qp)^2)^(rL) - phi^(2rL)",
        *equal(variances, exact, SETS_GRID),
    )


def _bits(reports: Collection) -> float:
    return sum(map(sum, reports))


def _sent(L: int, k: int, r: int) -> list[Record]:
    """Return r records of ones and k - r of zeros."""
    return [(int(place < r),) * L for place in range(k)]


def _expectation() -> Iterator[Row]:
    N, L, k = 2, 2, 2
    exact = mean(FLIP, outlier(N, L, k), partial(_exact_ratio, FLIP, k))
    yield row(
        "(8.30), (8.31)",
        "E R(S^k) = (kN - k)! / (kN)! sum of C(k, r) C(kN - k, k - r) phi^(rL)",
        paper.mean_8_31(FLIP, N, L, k),
        by(exact, "enumerated: N = L = k = 2, q = .2"),
        wrong("k! is missing: the sum is over unordered subsets"),
    )


def _exact_ratio(flip: BitFlip, k: int, reports: Collection) -> float:
    """Return R(S^k): the mean weight of all subsets of k reports."""
    subsets = list(combinations(reports, k))
    return math.fsum(set_weight(flip, subset) for subset in subsets) / len(subsets)


def _inequalities() -> Iterator[Row]:
    sizes = [(N, k) for N in range(2, 30) for k in range(1, 12)]
    yield row(
        "(8.32)",
        "(1/kN)^k <= (kN - k)! / (kN)! <= (1/(k(N - 1)))^k",
        *always(
            ((k * (N - 1)) ** k <= math.perm(k * N, k) <= (k * N) ** k for N, k in sizes),
            "whole numbers, N = 2, ..., 29; k = 1, ..., 11",
        ),
    )
    chosen = [(N, k, k - r) for N, k in sizes for r in range(k + 1)]
    yield row(
        "(8.35), (8.36)",
        "(N - 1)^(k-r) <= C(Nk - k, k - r) <= (Nk - k)^(k-r)",
        *always(
            (
                (N - 1) ** rest <= math.comb(N * k - k, rest) <= (N * k - k) ** rest
                for N, k, rest in chosen
            ),
            "whole numbers, N = 2, ..., 29; k = 1, ..., 11; r = 0..k",
        ),
    )
