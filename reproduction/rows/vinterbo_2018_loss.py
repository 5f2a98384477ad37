"""Vinterbo 2018, section 4.1: the loss, and its approximation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from reproduction import vinterbo_2018 as paper
from reproduction import vinterbo_2018_losses as losses
from reproduction.row import AGREES, MISPRINT, Row, always, by, equal
from reproduction.rows.vinterbo_2018 import KEPT, row

SEED, DRAWS = 2018, 100_000


def rows() -> Iterator[Row]:
    """Yield the rows of lemma 4.5 to proposition 4.7."""
    yield from _loss()
    yield from _greenwood()
    yield from _approximation()


def _loss() -> Iterator[Row]:
    cases = [(a, n, m) for a in KEPT for n, m in ((1, 5), (2, 3))]
    squares = {n: float((paper.rising_shares(n) ** 2).sum()) for n in (1, 2)}
    traces = [float(np.trace(paper.moments(*case)[1])) for case in cases]
    grid = "enumerated for (n, m) = (1, 5), (2, 3); a = .95, .8, .6"
    yield row(
        "Lemma 4.5",
        "Tr cov pi_hat = (c - s) / m",
        *equal([(losses.noise_factor(a, n) - squares[n]) / m for a, n, m in cases], traces, grid),
    )
    plain = [(1 - squares[n]) / m for _, n, m in cases]
    yield row(
        "Theorem 4.6",
        "L = (c - s) / (1 - s)",
        *equal(
            [losses.loss(losses.noise_factor(a, n), squares[n]) for a, n, _ in cases],
            np.divide(traces, plain),
            grid,
        ),
    )
    repeated = [
        (losses.noise_factor(a, n), squares[n], more) for a, n, _ in cases for more in (1, 2.5)
    ]
    yield row(
        "Proposition 3.1",
        "alpha L m randomized reports do as well as m others, alpha >= 1",
        *always(
            (
                (c - s) / (more * losses.loss(c, s)) <= (1 - s) * (1 + 1e-12)
                for c, s, more in repeated
            ),
            "sums of variances by lemma 4.5, a = .95, .8, .6; n = 1, 2; alpha = 1, 2.5",
        ),
    )
    sums = [
        (n, float(s)) for n in (1, 2, 3) for s in (paper.shares(2**n, 300, SEED) ** 2).sum(axis=1)
    ]
    yield row(
        "Theorem 4.6",
        "f_L(2^-n) <= L",
        *always(
            (losses.smallest_loss(6.25, 2**n) <= losses.loss(6.25, s) for n, s in sums),
            "random pi, 300 each for n = 1, 2, 3; c = 6.25",
        ),
    )


def _greenwood() -> Iterator[Row]:
    cells = [2, 4, 8, 16, 4096]
    exact = [_greenwood_moments(size) for size in cells]
    grid = "moments of the flat Dirichlet law as fractions, 2^n = 2, 4, 8, 16, 4096"
    yield row(
        "4.1",
        "E(pi^T pi) = 2 / (2^n + 1)",
        *equal([losses.greenwood_mean(c) for c in cells], [float(e) for e, _ in exact], grid),
    )
    yield row(
        "4.1",
        "Var(pi^T pi) = 4 (2^n - 1) / ((2^n + 1)^2 (2^n + 2) (2^n + 3))",
        *equal([losses.greenwood_variance(c) for c in cells], [float(v) for _, v in exact], grid),
    )


def _greenwood_moments(cells: int) -> tuple[Fraction, Fraction]:
    """Return mean and variance of the sum of squares of flat Dirichlet shares.

    E prod p_i^r_i = prod r_i! / (cells (cells + 1) ...), as many factors as the powers add up to.
    """
    of_two, of_four = (Fraction(math.prod(range(cells, cells + r))) for r in (2, 4))
    mean = 2 * cells / of_two
    second = (24 * cells + 2 * 2 * cells * (cells - 1)) / of_four
    return mean, second - mean**2


def _approximation() -> Iterator[Row]:
    for n, printed in ((3, 0.2386), (4, 0.0029)):
        yield row(
            "Proposition 4.7",
            f"delta({n}) < {printed}",
            losses.approximation_bound(n),
            by(_quotient(n) - 1, f"E f_L(s) / f_L(E s) - 1 for large c, {DRAWS:,} random pi"),
            AGREES,
        )
    yield row(
        "Proposition 4.7",
        "delta(n) is of the order of 2^(-3n)",
        8**4,
        by(
            losses.approximation_bound(16) / losses.approximation_bound(20),
            "delta(16) / delta(20), which tends to 8^4",
        ),
        AGREES,
    )
    yield row(
        "Proposition 4.7",
        "pi a distribution on n categories",
        3,
        by(2**3, "cells of n = 3 bits"),
        MISPRINT,
    )


def _quotient(n: int) -> float:
    """Return E f_L(s) / f_L(E s) in the limit of large c, (1 - E s) E 1/(1 - s), simulated.

    Less the part linear in s, whose mean is zero: that leaves a tenth of the error.
    """
    sums, mean = (paper.shares(2**n, DRAWS, SEED) ** 2).sum(axis=1), losses.greenwood_mean(2**n)
    return float(((1 - mean) / (1 - sums) - (sums - mean) / (1 - mean)).mean())
