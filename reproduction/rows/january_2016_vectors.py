"""K-Randomization, 15 January 2016, section 2: vectors of L bits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations, product

import numpy as np
from scipy.optimize import brentq

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.pairs import pair_eta, papers_pair
from incrowd.accountant.schema import FREE_BIT, Schema
from reproduction import january_2016 as january
from reproduction.enumerated import (
    Collection,
    count_law,
    homogeneous,
    mean,
    outcomes,
    outlier,
    variance,
)
from reproduction.february_2016 import privacy_ratio
from reproduction.row import AGREES, MISPRINT, Row, by, equal
from reproduction.rows.january_2016_ratio import FLIPS, LIMIT, row

CASES = [(flip, N, L) for flip in FLIPS for N, L in ((2, 1), (3, 2), (2, 3))]
GRID = "enumerated for (N, L) = (2, 1), (3, 2), (2, 3); q = .05, .2, .4"


def rows() -> Iterator[Row]:
    """Yield equations (2.1) to (2.33)."""
    yield from _ratio()
    yield from _weights()
    yield from _moments()
    yield from _variance()
    yield from _noise()


def weight(flip: BitFlip, L: int, bits: int) -> float:
    """Return (q/p)^(L - 2l): the likelihood ratio of ones to zeros of a report with l bits set."""
    return (flip.q / flip.p) ** (L - 2 * bits)


def total_weight(flip: BitFlip, reports: Collection) -> float:
    """Return X = N/R: the sum of the weights of the reports."""
    return math.fsum(weight(flip, len(report), sum(report)) for report in reports)


def _ratio() -> Iterator[Row]:
    N, L = 3, 2
    yield row(
        "(2.4)",
        "multinomial coefficients (2^L)! / (s_1! s_2! ...)",
        math.factorial(2**L),
        by(math.comb(N - 1, 1), "ways of s = (1, 1, 0, 0): (N - 1)! = 2, N = 3; it cancels"),
        MISPRINT,
    )
    yield row(
        "(2.1) to (2.11)",
        "R(S) = N / sum of s_l (q/p)^(L-2l)",
        *equal(
            [N / total_weight(f, s) for f, N, L in CASES for _, s in outcomes(f, outlier(N, L))],
            [
                privacy_ratio(f, np.array(outlier(N, L)), np.array(homogeneous(N, L)), np.array(s))
                for f, N, L in CASES
                for _, s in outcomes(f, outlier(N, L))
            ],
            f"the definition, {GRID}",
        ),
    )


def _weights() -> Iterator[Row]:
    cases = [(flip, L) for flip in FLIPS for L in (1, 2, 3, 4)]
    yield row(
        "(2.12), (2.13)",
        "p(l|1) = C(L, l) p^l q^(L-l), p(l|0) = C(L, l) q^l p^(L-l)",
        *equal(
            [mass for f, L in cases for bits in range(L + 1) for mass in _bit_laws(f, L, bits)],
            [
                mass
                for f, L in cases
                for both in zip(count_law(f, [(1,) * L]), count_law(f, [(0,) * L]), strict=True)
                for mass in both
            ],
            "enumerated for L = 1, ..., 4; q = .05, .2, .4",
        ),
    )


def _bit_laws(flip: BitFlip, L: int, bits: int) -> tuple[float, float]:
    """Return (2.12) and (2.13)."""
    ways = math.comb(L, bits)
    ones = ways * flip.p**bits * flip.q ** (L - bits)
    return ones, ways * flip.q**bits * flip.p ** (L - bits)


def _moments() -> Iterator[Row]:
    flip, N, L = FLIPS[1], 3, 2
    center = mean(flip, homogeneous(N, L), partial(total_weight, flip))
    yield row(
        "above (2.12)",
        "X = 1/R(S) = 1/N sum of s_l (q/p)^(L-2l)",
        1.0,
        by(center, "E(X) of (2.15), enumerated: N = 3, L = 2, q = .2; X should be N/R"),
        MISPRINT,
    )
    yield row(
        "(2.14)", "X is the sum of L correlated X_l", L, by(L + 1, "l = 0..L, L = 2"), MISPRINT
    )
    yield row(
        "(2.15)",
        "E(X) = N",
        *equal(
            [N for _, N, _ in CASES],
            [mean(f, homogeneous(N, L), partial(total_weight, f)) for f, N, L in CASES],
            GRID,
        ),
    )


def _variance() -> Iterator[Row]:
    flip, N, L = FLIPS[1], 3, 2
    exact = variance(flip, homogeneous(N, L), partial(total_weight, flip))
    yield row(
        "(2.17), (2.18)",
        "... - 2 sum over j != i of N p(i|0) (q/p)^(L-2i) p(j|0) (q/p)^(L-2j)",
        _variance_2_17(flip, N, L, product(range(L + 1), repeat=2)),
        by(exact, "VAR(X), enumerated; the sum is over i < j; N = 3, L = 2, q = .2"),
        MISPRINT,
    )
    pairs = [list(combinations(range(L + 1), 2)) for _, _, L in CASES]
    truth = [variance(f, homogeneous(N, L), partial(total_weight, f)) for f, N, L in CASES]
    yield row(
        "(2.19), (2.20)",
        "VAR(X) = N (sum of (q/p)^(2L-4l) p(l|0) - 1)",
        *equal(
            [_variance_2_17(*case, i_j) for case, i_j in zip(CASES, pairs, strict=True)],
            truth,
            GRID,
        ),
    )
    yield row(
        "(2.21) to (2.25)",
        "VAR(X) = N (((p^3 + q^3) / pq)^L - 1)",
        *equal([january.variance_of_sum(*case) for case in CASES], truth, GRID),
    )


def _variance_2_17(flip: BitFlip, N: int, L: int, pairs: Iterable[tuple[int, ...]]) -> float:
    """Return (2.17), the covariances summed over these pairs of different numbers of bits."""
    share = [_bit_laws(flip, L, bits)[1] for bits in range(L + 1)]
    size = [weight(flip, L, bits) for bits in range(L + 1)]
    single = math.fsum(N * w**2 * c * (1 - c) for w, c in zip(size, share, strict=True))
    shared = (N * share[i] * size[i] * share[j] * size[j] for i, j in pairs if i != j)
    return single - 2 * math.fsum(shared)


def _noise() -> Iterator[Row]:
    N, L = 1000, 5
    flip = january.noise_bits(LIMIT, N, L)
    yield row(
        "(2.26) to (2.33)",
        "q for L bits (no number printed; here lambda = 2, N = 1000, L = 5)",
        flip.q,
        by(_root_of_2_26(N, L), "root of (2.26)"),
        AGREES,
    )
    ratios = papers_pair(Schema.uniform([FREE_BIT] * L, flip), presence=False)
    yield row(
        "(2.26)",
        "1/R falls three deviations below its mean too rarely to count",
        0.00135,
        by(
            pair_eta(ratios, N, math.log(LIMIT)),
            "P[R > 2] on a lattice, at that q; .00135 is normal",
        ),
        AGREES,
    )


def _root_of_2_26(N: int, L: int) -> float:
    """Return 1 - 3/N sqrt(VAR(X)) = 1/lambda, solved for q."""

    def excess(q: float) -> float:
        deviation = math.sqrt(january.variance_of_sum(BitFlip.at_least(q), N, L))
        return 1 - 3 / N * deviation - 1 / LIMIT

    return float(brentq(excess, 0.1, 0.49, xtol=1e-12))
