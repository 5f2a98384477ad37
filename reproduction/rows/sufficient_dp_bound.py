"""Sufficient Differential Privacy, section 3.4: the concentration bound and its table."""

from __future__ import annotations

import math
from collections.abc import Iterator

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp as paper
from reproduction.ratio_law import exceeding
from reproduction.row import AGREES, MISPRINT, Row, by, wrong
from reproduction.rows.sufficient_dp import row

E2 = math.e**2
TABLE = ((1000, 0.1692, 0.052), (3000, 0.1424, 0.057), (5000, 0.1310, 0.062))
MANY, BITS = 10**7, 40
CORRECTED = "exp(-t^2 / (2 sum of E X_i^2)) from exact moments"


def rows() -> Iterator[Row]:
    """Yield the rows of (3.17), the table below it, and what is said of many bits."""
    yield from _formula()
    yield from _table()
    yield from _many_bits()


def _formula() -> Iterator[Row]:
    N, q, _ = TABLE[0]
    flip = BitFlip.at_least(q)
    yield row(
        "(3.17)",
        "exponent -beta^2/2 (1 - (N - 1 + phi^L) / ((N - 1) phi^L + ...))",
        paper.lower_tail_bound(flip, N, 5),
        by(
            paper.lower_tail_bound_corrected(flip, N, 5),
            "N = 1000, q = .1692, beta = 3, with phi^(2L), as in its second line",
        ),
        MISPRINT,
    )
    flip = BitFlip.at_least(0.01)
    upper = exceeding(flip, 1000, 1, paper.moments_of_ratio(flip, 1000, 1).reach(6))
    yield row(
        "3.4",
        "P[E(S) - S > t] bounds the mass of R(S) above mu + beta sigma",
        paper.lower_tail_bound_corrected(flip, 1000, 1, 6),
        by(upper, "exact upper tail: L = 1, N = 1000, q = .01, beta = 6"),
        wrong("Maurer's bound is for the lower tail; the upper tail is larger"),
    )


def _table() -> Iterator[Row]:
    yield row(
        "3.4, table",
        "the setup is that of lambda = 2",
        f"q = {paper.noise_3_12(2, 1000, 5).q:.4f} for N = 1000, lambda = 2",
        by(paper.noise_3_12(E2, 1000, 5).q, "q in the table; (3.12) for N = 1000, lambda = e^2"),
        MISPRINT,
    )
    for N, q, printed in TABLE:
        flip = BitFlip.at_least(q)
        yield row(
            f"3.4, table, N = {N}",
            f"bound = {printed}",
            paper.lower_tail_bound(flip, N, 5),
            by(paper.lower_tail_bound_corrected(flip, N, 5), CORRECTED),
            wrong("follows from neither (3.17) nor Maurer's bound, which are for the lower tail"),
        )


def _many_bits() -> Iterator[Row]:
    flip = paper.noise_3_12(E2, MANY, BITS)
    for deviations, printed in ((3.05, "0.0096"), (3.5, "0.002")):
        yield row(
            "below (3.17)",
            f"L = 40, N = 10M, beta = {deviations}: bound = {printed}",
            paper.lower_tail_bound(flip, MANY, BITS, deviations),
            by(paper.lower_tail_bound_corrected(flip, MANY, BITS, deviations), CORRECTED),
            AGREES,
        )
    yield row(
        "below (3.17)",
        "the bound is about exp(-beta^2/2) for large L",
        math.exp(-4.5),
        by(paper.lower_tail_bound_corrected(flip, MANY, BITS), f"{CORRECTED}, beta = 3, L = 40"),
        AGREES,
    )
    rise = paper.noise_3_12(E2, MANY, BITS, 3.5).q - flip.q
    yield row(
        "below (3.17)",
        "beta = 3.5 increases q by 0.0025",
        rise,
        by(rise, "(3.12) with 3.5 and with 3 deviations"),
        wrong("by .0008"),
    )
    beyond = exceeding(flip, MANY, BITS, E2)
    yield row(
        "below (3.17)",
        "the bound is justified for L > 20",
        paper.lower_tail_bound_corrected(flip, MANY, BITS),
        by(beyond, "P[R > e^2] on a lattice: L = 40, N = 10M, beta = 3"),
        wrong("it is larger, but not proved to be: it is for the lower tail"),
    )
