"""Vinterbo 2018, sections 3 and 4.1: randomizers as matrices, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from scipy.stats import binom

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import vinterbo_2018 as paper
from reproduction.enumerated import all_records, chance
from reproduction.row import MISPRINT, Row, always, by, equal, wrong

Array = paper.Array
KEPT = (0.95, 0.8, 0.6)  # a
BITS = list(product(KEPT, (1, 2, 3)))
GRID = "enumerated for a = .95, .8, .6; n = 1, 2, 3"
row = partial(Row, "Vinterbo 2018")


def rows() -> Iterator[Row]:
    """Yield the rows of section 3.2 to corollary 1."""
    yield from _introduction()
    yield from _estimators()
    yield from _matrices()
    yield from _entries()


def _introduction() -> Iterator[Row]:
    flips = [BitFlip.at_least(q) for q in (0.05, 0.2, 0.4)]
    yield row(
        "1",
        "(1 - q)/q is the most by which a bit changes a belief",
        *equal(
            [flip.p / flip.q for flip in flips],
            [chance(flip, (1,), (1,)) / chance(flip, (1,), (0,)) for flip in flips],
            "likelihood ratios, q = .05, .2, .4",
        ),
    )


def _estimators() -> Iterator[Row]:
    cases = [(a, n, m) for a in KEPT for n, m in ((1, 5), (2, 3))]
    grid = "enumerated for (n, m) = (1, 5), (2, 3); a = .95, .8, .6"
    moments = [paper.moments(*case) for case in cases]
    yield row(
        "3.2",
        "E pi_hat = pi",
        *equal(
            np.concatenate([paper.rising_shares(n) for _, n, _ in cases]),
            np.concatenate([mean for mean, _ in moments]),
            grid,
        ),
    )
    yield row(
        "3.2",
        "cov pi_hat = (C^-1 diag(C pi) C^-T - pi pi^T) / m",
        *equal(
            np.concatenate([_covariance(*case).ravel() for case in cases]),
            np.concatenate([covariance.ravel() for _, covariance in moments]),
            grid,
        ),
    )
    yield row(
        "3.2",
        "pi_hat is a maximum likelihood estimator",
        "m^-1 C^-1 y",
        by(
            float(binom.cdf(3, 20, _bit(0.8, 0.1))),
            "probability of a negative entry, exact: n = 1, a = .8, pi = (.9, .1), m = 20",
        ),
        wrong("only if no entry is negative; unbiased, but then not a distribution"),
    )
    yield row(
        "Proposition 3.1",
        "L does not depend on m",
        *equal(
            [_loss(a, n, 2) for a, n in BITS[:2]],
            [_loss(a, n, m) for (a, n), m in zip(BITS[:2], (5, 3), strict=True)],
            "traces enumerated: m = 2 against m = 5 (n = 1) and 3 (n = 2), a = .95",
        ),
    )


def _bit(a: float, share: float) -> float:
    """Return P(report 1) if that share of the answers is 1."""
    return float((paper.bit_matrix(a) @ [1 - share, share])[1])


def _covariance(a: float, n: int, m: int) -> Array:
    """Return the covariance as printed in section 3.2."""
    pi, inverse = paper.rising_shares(n), paper.inverse(a, n)
    spread = inverse @ np.diag(paper.kronecker(a, n) @ pi) @ inverse.T
    return np.asarray((spread - np.outer(pi, pi)) / m)


def _loss(a: float, n: int, m: int) -> float:
    _, covariance = paper.moments(a, n, m)
    plain = (1 - float((paper.rising_shares(n) ** 2).sum())) / m
    return float(np.trace(covariance)) / plain


def _matrices() -> Iterator[Row]:
    first, second = BitFlip.at_least(0.1), Bit.from_probabilities(0.3, 0.6)
    law = np.kron(first.matrix, second.matrix)
    every = all_records(2)
    exact = [first.matrix[r[0], x[0]] * second.matrix[r[1], x[1]] for r in every for x in every]
    yield row(
        "Theorem 4.1",
        "C_R(M) is the Kronecker product of the bits' matrices",
        *equal(
            law.ravel(), exact, "bit by bit, two different bits, the first bit changing slowest"
        ),
    )
    lowest = [exact[4 * (2 * r[1] + r[0]) + 2 * x[1] + x[0]] for r in every for x in every]
    yield row(
        "3.1",
        "eta(x) = sum of x_i 2^i numbers the rows",
        float(lowest[1]),
        by(
            float(law[0, 1]),
            "entry (0, 1) of C_M0 x C_M1: the first bit counts 2^(n-1), as in hist",
        ),
        MISPRINT,
    )
    matrices = [paper.kronecker(a, n) for a, n in BITS]
    yield row(
        "Proposition 4.3",
        "bisymmetric, constant on both diagonals, at most n + 1 entries",
        *always(map(_is_plain, matrices), "a = .95, .8, .6; n = 1, 2, 3"),
    )
    n = 3
    yield row(
        "Proposition 4.3, proof",
        "bits in which i and n - i differ: n",
        (2 ^ (n - 2)).bit_count(),
        by((2 ^ (2**n - 1 - 2)).bit_count(), "i = 2, n = 3: i and 2^n - 1 - i"),
        MISPRINT,
    )
    yield row(
        "Appendix, observation 1",
        "C_(x,y) = eta(x xor y) with C_(x,x) = 1",
        0,
        by(1, "1^n 2^0 on the diagonal; eta(0) = 0: the rule is for exponents of 2"),
        MISPRINT,
    )


def _is_plain(matrix: Array) -> bool:
    """Check proposition 4.3."""
    size = len(matrix)
    diagonals = (np.diag(matrix), np.diag(matrix[::-1]))
    symmetric = np.allclose(matrix, matrix.T) and np.allclose(matrix, matrix[::-1, ::-1].T)
    constant = all(np.allclose(diagonal, diagonal[0]) for diagonal in diagonals)
    return symmetric and constant and len(np.unique(matrix.round(12))) <= size.bit_length()


def _entries() -> Iterator[Row]:
    pairs = [(a, n, r, x) for a, n in BITS for r in all_records(n) for x in all_records(n)]
    distances = [sum(s != t for s, t in zip(r, x, strict=True)) for *_, r, x in pairs]
    cases = [(a, n, d) for (a, n, *_), d in zip(pairs, distances, strict=True)]
    matrices = np.concatenate([paper.kronecker(a, n).ravel() for a, n in BITS])
    yield row(
        "Theorem 4.4",
        "C_(r,x) = a^(n-d) (1 - a)^d",
        *equal([a ** (n - d) * (1 - a) ** d for a, n, d in cases], matrices, f"Kronecker, {GRID}"),
    )
    inverses = np.concatenate([np.linalg.inv(paper.kronecker(a, n)).ravel() for a, n in BITS])
    yield row(
        "Theorem 4.4",
        "the inverse is C_(a/(2a-1))(n)",
        *equal(
            np.concatenate([paper.inverse(a, n).ravel() for a, n in BITS]),
            inverses,
            "numpy's inverse, a = .95, .8, .6; n = 1, 2, 3",
        ),
    )
    formula = [a ** (n - d) * (a - 1) ** d / (2 * a - 1) ** n for a, n, d in cases]
    yield row(
        "Corollary 1",
        "entries a^(n-d) (a - 1)^d / (2a - 1)^n of the inverse",
        *equal(formula, inverses, "numpy's inverse, a = .95, .8, .6; n = 1, 2, 3"),
    )
