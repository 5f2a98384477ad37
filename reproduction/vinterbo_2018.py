"""Vinterbo 2018: the simple algorithm with explicit matrices, for small n.

The package never builds these. There are n bits, each kept with probability a; a table has 2^n
cells, and the first bit changes slowest.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import numpy.typing as npt

from reproduction import vinterbo_2018_losses as losses

Array = npt.NDArray[np.float64]

FIGURE_SHARES = np.array([0.05, 0.15, 0.3, 0.5])  # pi of figure 1 (a)
FIGURE_REPORTS = 1000


def bit_matrix(a: float) -> Array:
    """Return C_a: a on the diagonal and 1 - a beside it."""
    return np.array([[a, 1 - a], [1 - a, a]])


def kronecker(a: float, n: int) -> Array:
    """Return C_a(n), definition 4.1: n >= 1 factors C_a."""
    return bit_matrix(a) if n == 1 else np.asarray(np.kron(bit_matrix(a), kronecker(a, n - 1)))


def inverse(a: float, n: int) -> Array:
    """Return C_a(n)^-1 = C_(a / (2a - 1))(n), theorem 4.4; a differs from 1/2."""
    return kronecker(a / (2 * a - 1), n)


def histogram(reports: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return how often each of the 2^n reports occurs; reports: bits, shape (m, n)."""
    n = reports.shape[1]
    places = reports @ (1 << np.arange(n)[::-1])
    return np.bincount(places, minlength=2**n)


def estimate(a: float, counts: npt.NDArray[np.int64]) -> Array:
    """Return the unbiased estimate of pi, section 4.2: C_a(n)^-1 y / m. counts: y, shape (2^n,)."""
    n = len(counts).bit_length() - 1
    return np.asarray(inverse(a, n) @ counts / counts.sum())


def rising_shares(n: int) -> Array:
    """Return a pi of 2^n cells, all different: 1, 2, ..., divided by their sum."""
    rising = np.arange(1.0, 2**n + 1)
    return np.asarray(rising / rising.sum())


def moments(a: float, n: int, m: int) -> tuple[Array, Array]:
    """Return mean and covariance of the estimate of `rising_shares` from m reports.

    Over every ordered sample of reports, (2^n)^m of them.
    """
    law = kronecker(a, n) @ rising_shares(n)
    samples = list(product(range(2**n), repeat=m))
    mass = np.array([math.prod(law[cell] for cell in cells) for cells in samples])
    results = np.array([estimate(a, np.bincount(cells, minlength=2**n)) for cells in samples])
    mean = mass @ results
    gaps = results - mean
    return mean, np.asarray(gaps.T @ (mass[:, None] * gaps))


def factor(a: float, n: int) -> float:
    """Return c by explicit matrices: the mean squared length of a column of the inverse,
    lemma 4.5."""
    columns = np.linalg.inv(kronecker(a, n))
    return float((columns**2).sum() / 2**n)


def simmons_keeps(p: float) -> float:
    """Return a = (2 - p) / 2 of the coin that is asked with probability p, section 5.1."""
    return (2 - p) / 2


def simmons_factor(p: float, n: int) -> float:
    """Return c_M of section 5.1: ((p^2 - 2p + 2) / (2 (p - 1)^2))^n."""
    return float(((p**2 - 2 * p + 2) / (2 * (p - 1) ** 2)) ** n)


def warner_factor(p: float, n: int) -> float:
    """Return c_W of section 5.2: ((2p^2 - 2p + 1) / (2p - 1)^2)^n; p differs from 1/2."""
    return float(((2 * p**2 - 2 * p + 1) / (2 * p - 1) ** 2) ** n)


def shares(cells: int, draws: int, seed: int) -> Array:
    """Return uniformly random distributions, the flat Dirichlet law: shape (draws, cells)."""
    return np.random.default_rng(seed).dirichlet(np.ones(cells), draws)


def loss_quotients(p: float, n: int, draws: int, seed: int) -> Array:
    """Return f_L(pi^T pi) / f_L(2 / (2^n + 1)) for uniformly random pi: figure 1 (c), shape
    (draws,)."""
    c = losses.noise_factor(simmons_keeps(p), n)
    sums = (shares(2**n, draws, seed) ** 2).sum(axis=1)
    exact = 1 + (c - 1) / (1 - sums)
    return np.asarray(exact / losses.approximate_loss(c, 2**n))


def estimates(multiple: float, draws: int, seed: int) -> Array:
    """Return estimates from so many times 1000 randomized reports, p = .5: figure 1 (a), (draws,
    4).

    multiple 0: from 1000 reports that were not randomized.
    """
    generator = np.random.default_rng(seed)
    if multiple == 0:
        return generator.multinomial(FIGURE_REPORTS, FIGURE_SHARES, draws) / FIGURE_REPORTS
    a, m = simmons_keeps(0.5), round(multiple * FIGURE_REPORTS)
    counts = generator.multinomial(m, kronecker(a, 2) @ FIGURE_SHARES, draws)
    return np.array([estimate(a, y) for y in counts])
