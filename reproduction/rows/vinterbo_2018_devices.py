"""Vinterbo 2018, section 5: Simmons, Warner and RAPPOR."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.rappor import Rappor
from incrowd.accountant.channels.warner import Warner
from reproduction import vinterbo_2018 as paper
from reproduction import vinterbo_2018_losses as losses
from reproduction.row import MISPRINT, Row, always, by, equal
from reproduction.rows.vinterbo_2018 import row


def rows() -> Iterator[Row]:
    """Yield the rows of section 5 without its figures."""
    yield from _simmons()
    yield from _warner()
    yield from _rappor()


def _simmons() -> Iterator[Row]:
    cases = [(p, n, d) for p in (0.1, 0.5, 0.9) for n in (1, 2, 3) for d in range(n + 1)]
    exact = [paper.kronecker(paper.simmons_keeps(p), n)[0, 2**d - 1] for p, n, d in cases]
    grid = "Kronecker products, p = .1, .5, .9; n = 1, 2, 3"
    yield row(
        "5.1",
        "c_(r,x) = sum of C(n-d, i) (p/2)^(i+d) (1 - p)^(n-i-d)",
        *equal([_summed(*case) for case in cases], exact, grid),
    )
    yield row(
        "5.1",
        "C_(r,x) = p^d (2 - p)^(n-d) / 2^n",
        *equal([p**d * (2 - p) ** (n - d) / 2**n for p, n, d in cases], exact, grid),
    )
    pairs = [(p, n) for p, n, d in cases if d == 0]
    yield row(
        "5.1",
        "c_M = ((p^2 - 2p + 2) / (2 (p - 1)^2))^n",
        *equal(
            [paper.simmons_factor(*pair) for pair in pairs],
            [paper.factor(paper.simmons_keeps(p), n) for p, n in pairs],
            "traces of C^-1 C^-T, p = .1, .5, .9; n = 1, 2, 3",
        ),
    )


def _summed(p: float, n: int, d: int) -> float:
    return math.fsum(
        math.comb(n - d, i) * (p / 2) ** (i + d) * (1 - p) ** (n - i - d) for i in range(n - d + 1)
    )


def _warner() -> Iterator[Row]:
    pairs = [(p, n) for p in (0.1, 0.4, 0.7, 0.9) for n in (1, 2, 3)]
    yield row(
        "5.2",
        "c_W = ((2p^2 - 2p + 1) / (2p - 1)^2)^n",
        *equal(
            [paper.warner_factor(*pair) for pair in pairs],
            [paper.factor(p, n) for p, n in pairs],
            "traces of C^-1 C^-T, p = .1, .4, .7, .9; n = 1, 2, 3",
        ),
    )
    below = [p for p in np.linspace(0.001, 0.999, 999) if p != 0.5]
    yield row(
        "5.2",
        "c_M / c_W < 1 for p in (0, 2/3), and only there",
        *always(
            (
                (paper.simmons_factor(p, n) < paper.warner_factor(p, n)) == (p < 2 / 3)
                for p in below
                for n in (1, 4)
            ),
            "998 values of p; n = 1, 4",
        ),
    )
    levels = [(math.exp(alpha), n) for alpha in (0.2, 1.0, 2.0) for n in (1, 3)]
    yield row(
        "5.2",
        "c_M(alpha) = c_W(alpha)",
        *equal(
            [paper.simmons_factor(2 / (1 + ratio), n) for ratio, n in levels],
            [paper.factor(ratio / (1 + ratio), n) for ratio, n in levels],
            "Warner's matrix of that likelihood ratio, alpha = .2, 1, 2; n = 1, 3",
        ),
    )
    yield row(
        "5.2",
        "c(alpha) = ((e^(2 alpha) + 1) / (e^alpha - 1)^2)^n",
        losses.noise_factor_at(1.0, 3, 1),
        by(
            paper.factor(Warner.from_epsilon(1 / 3).a, 3),
            "n = k = 3, alpha = 1 for all three bits: alpha / k",
        ),
        MISPRINT,
    )


def _rappor() -> Iterator[Row]:
    shares = (0.1, 0.5, 0.9)
    yield row(
        "5.3",
        "one-time mode: C_((2-f)/2)",
        *equal(
            [BitFlip.at_least(f / 2).matrix for f in shares],
            [Rappor.one_time(f).matrix for f in shares],
            "the channel, f = .1, .5, .9",
        ),
    )
    pairs = [(f, q) for f in shares for q in (0.6, 0.75, 0.9)]
    yield row(
        "5.3",
        "p = 1 - q: C_q C_((2-f)/2) = C_(q - (q - 1/2) f)",
        *equal(
            [paper.bit_matrix(q - (q - 0.5) * f) for f, q in pairs],
            [paper.bit_matrix(q) @ paper.bit_matrix((2 - f) / 2) for f, q in pairs],
            "products of matrices, f = .1, .5, .9; q = .6, .75, .9",
        ),
    )
    yield row(
        "5.3",
        "RAPPOR is bisymmetric when p = 1 - q or b = 1",
        *always(
            (
                _is_bisymmetric(Rappor.from_probabilities(f, p, q).matrix) == (p + q == 1)
                for f, p, q in product(shares, (0.125, 0.25, 0.5), (0.75, 0.875))
            ),
            "f = .1, .5, .9; p = .125, .25, .5; q = .75, .875",
        ),
    )


def _is_bisymmetric(matrix: np.ndarray) -> bool:
    return bool(np.isclose(matrix[0, 0], matrix[1, 1], rtol=0, atol=1e-9))
