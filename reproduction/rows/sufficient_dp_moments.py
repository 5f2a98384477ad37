"""Sufficient Differential Privacy, sections 3.1, 3.2 and 7: moments, and the rule for the noise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import sufficient_dp as paper
from reproduction.enumerated import Record, homogeneous, mean, outlier, variance
from reproduction.row import MISPRINT, Checked, Row, always, by, equal
from reproduction.rows.january_2016_vectors import total_weight
from reproduction.rows.sufficient_dp import FLIPS, GRID, SIZES, row

ONE_REPORT = "enumerated for L = 1, 2, 3; q = .05, .2, .4"
LARGE = [(flip, N, L) for flip in FLIPS for N in (10, 1000) for L in (1, 5, 40)]
LARGE_GRID = "N = 10, 1000; L = 1, 5, 40; q = .05, .2, .4"


def rows() -> Iterator[Row]:
    """Yield the moments of R(S), and (3.12) to (3.16)."""
    yield from _one_report()
    yield from _collections()
    yield from _powers()
    yield from _rule()


def _one_report() -> Iterator[Row]:
    cases = [(flip, L) for flip in FLIPS for L in (1, 2, 3)]
    zeros, ones = ([make(1, L) for _, L in cases] for make in (homogeneous, outlier))
    zero = [paper.moments_of_zero(*case) for case in cases]
    one = [paper.moments_of_one(*case) for case in cases]
    yield row("(7.1), (7.6)", "E X_0 = 1", *_compared(zero, cases, zeros)[0])
    yield row("(7.2) to (7.7)", "Var X_0 = phi^L - 1", *_compared(zero, cases, zeros)[1])
    yield row("(7.8)", "E X_1 = phi^L", *_compared(one, cases, ones)[0])
    printed = "Var X_1 = ((p^5 + q^5) / (pq)^2)^L - phi^(2L)"
    yield row("(7.9)", printed, *_compared(one, cases, ones)[1])


def _compared(
    moments: list[paper.Moments], cases: list[tuple[BitFlip, int]], sent: list[list[Record]]
) -> tuple[Checked, Checked]:
    """Return mean and variance of X, as printed and by enumeration of what these records send."""
    exact = [
        (f, records, partial(total_weight, f)) for (f, _), records in zip(cases, sent, strict=True)
    ]
    return (
        equal([m.mean for m in moments], [mean(*case) for case in exact], ONE_REPORT),
        equal([m.variance for m in moments], [variance(*case) for case in exact], ONE_REPORT),
    )


def _collections() -> Iterator[Row]:
    of_ratio = [paper.moments_of_ratio(*case) for case in SIZES]
    yield row(
        "3.1",
        "E R(S) = (N - 1)/N + phi^L / N",
        *equal(
            [moments.mean for moments in of_ratio],
            [mean(f, outlier(N, L), partial(total_weight, f)) / N for f, N, L in SIZES],
            GRID,
        ),
    )
    yield row(
        "3.1",
        "Var R(S) = ((N - 1) Var X_0 + Var X_1) / N^2",
        *equal(
            [moments.variance for moments in of_ratio],
            [variance(f, outlier(N, L), partial(total_weight, f)) / N**2 for f, N, L in SIZES],
            GRID,
        ),
    )


def _powers() -> Iterator[Row]:
    flip = BitFlip.at_least(0.2)
    product = flip.p * flip.q
    fifth = flip.p**5 + flip.q**5
    yield row(
        "above (3.14)",
        "(p^5 + q^5) / (pq)^2 = (p + q)(p^4 - ...) / (pq)^4",
        fifth / product**4,
        by(fifth / product**2, "at q = .2: over (pq)^2"),
        MISPRINT,
    )
    yield row(
        "(3.14)",
        "(p^5 + q^5) / (pq)^2 = (phi + 1)^2 - phi - 2",
        *equal(
            [(f.phi + 1) ** 2 - f.phi - 2 for f in FLIPS],
            [(f.p**5 + f.q**5) / (f.p * f.q) ** 2 for f in FLIPS],
            "the left side, for q = .05, .2, .4",
        ),
    )


def _rule() -> Iterator[Row]:
    yield row(
        "(3.13)",
        "a tighter bound than (3.12)",
        *always(
            (paper.condition_3_13(*case) >= paper.condition_3_12(*case) for case in LARGE),
            LARGE_GRID,
        ),
    )
    yield row(
        "(3.15)",
        "(3.13) as a function of phi",
        *equal(
            [paper.condition_3_15(flip.phi, N, L) for flip, N, L in LARGE],
            [paper.condition_3_13(*case) for case in LARGE],
            f"(3.13), for {LARGE_GRID}",
        ),
    )
    noises = np.linspace(0.01, 0.49, 49)
    yield row(
        "(3.16)",
        "q = 1 / (1 + (phi + 1 + sqrt((phi + 1)^2 - 4)) / 2)",
        *equal(
            [paper.noise_of_phi(BitFlip.at_least(q).phi).q for q in noises],
            noises,
            "the noise with that phi, for q = .01, .02, ..., .49; rounded up to n / 2^32",
        ),
    )
