"""Vinterbo 2018, sections 4.2 and 4.3: the algorithm, and privacy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.kernels.axes import transform as along_axes
from reproduction import vinterbo_2018 as paper
from reproduction import vinterbo_2018_losses as losses
from reproduction.enumerated import Record, all_records, chance
from reproduction.row import MISPRINT, Row, always, by, equal
from reproduction.rows.vinterbo_2018 import KEPT, row

SEED = 2018
LEVELS = [(alpha, n, k) for alpha in (0.2, 1.0, 3.0) for n, k in ((1, 1), (4, 2), (4, 4))]
LEVELS_GRID = "alpha = .2, 1, 3; (n, k) = (1, 1), (4, 2), (4, 4)"


def rows() -> Iterator[Row]:
    """Yield implementation 1 to corollary 2."""
    yield from _algorithm()
    yield from _privacy()
    yield from _optimality()


def _algorithm() -> Iterator[Row]:
    generator = np.random.default_rng(SEED)
    data = [(a, n, generator.integers(0, 2, (500, n))) for a in KEPT for n in (1, 4, 8)]
    yield row(
        "4.2, implementation 1",
        "pi_hat = C_(a/(2a-1))(k) y / m",
        *equal(
            np.concatenate([paper.estimate(a, paper.histogram(r)) for a, _, r in data]),
            np.concatenate([_axis_by_axis(a, r) for a, _, r in data]),
            "axis by axis, as the package does: 500 random reports, n = 1, 4, 8",
        ),
    )
    sizes = range(1, 8)
    yield row(
        "Proposition 4.8",
        "linear in the entries of the matrix",
        *always(
            (sum(4**step for step in range(1, n + 1)) * 3 <= 4 * 4**n for n in sizes),
            "multiplications of the recursion, at most 4/3 an entry; n = 1, ..., 7",
        ),
    )
    yield row(
        "Proposition 4.8, proof",
        "sum of 4^i, i = 0..n, is 1 + (4^n - 1)/3",
        1 + (4**3 - 1) / 3,
        by(sum(4**i for i in range(4)), "n = 3; (4^(n+1) - 1)/3"),
        MISPRINT,
    )


def _axis_by_axis(a: float, reports: np.ndarray) -> np.ndarray:
    n = reports.shape[1]
    table = np.zeros((2,) * n)
    np.add.at(table, tuple(reports.T), 1 / len(reports))
    return along_axes([np.linalg.inv(paper.bit_matrix(a))] * n, table).ravel()


def _privacy() -> Iterator[Row]:
    cases = [(BitFlip.at_least(q), n, k) for q in (0.05, 0.4) for n in (2, 3) for k in (1, 2)]
    yield row(
        "4.3",
        "alpha = k log r(a), r(a) = max((1 - a)/a, a/(1 - a))",
        *equal(
            [k * math.log(flip.p / flip.q) for flip, _, k in cases],
            [_largest_log_ratio(*case) for case in cases],
            "enumerated for n = 2, 3; k = 1, 2; q = .05, .4",
        ),
    )


def _largest_log_ratio(flip: BitFlip, n: int, k: int) -> float:
    records = all_records(n)
    near = [(x, other) for x, other in product(records, records) if _distance(x, other) <= k]
    ratios = (chance(flip, s, x) / chance(flip, s, other) for s in records for x, other in near)
    return math.log(max(ratios))


def _distance(one: Record, other: Record) -> int:
    return sum(s != t for s, t in zip(one, other, strict=True))


def _optimality() -> Iterator[Row]:
    yield row(
        "Theorem 4.9",
        "c >= ((e^(2 alpha/k) + 1) / (e^(alpha/k) - 1)^2)^n",
        *equal(
            [losses.noise_factor_at(*case) for case in LEVELS],
            [losses.noise_factor(_keeps(alpha / k), n) for alpha, n, k in LEVELS],
            f"c at a = e^(alpha/k) / (1 + e^(alpha/k)), {LEVELS_GRID}",
        ),
    )
    yield row(
        "Theorem 4.9",
        "no alpha-private bisymmetric randomizer has a smaller c",
        *always(
            (
                losses.noise_factor(a, n) >= losses.noise_factor_at(alpha, n, k)
                for alpha, n, k in LEVELS
                for a in np.linspace(0.5001, _keeps(alpha / k), 50)[:-1]
            ),
            f"49 values of a each, {LEVELS_GRID}",
        ),
    )
    yield row(
        "Corollary 2",
        "n = 1: optimal for any privacy level alpha",
        *always(_no_better(), "every private channel of a bit on a grid, 5 pi; alpha = .5, 1, 2"),
    )


def _keeps(alpha: float) -> float:
    """Return the a of a bit that is alpha-private by itself."""
    return 1 / (1 + math.exp(-alpha))


def _no_better() -> Iterator[bool]:
    """Yield whether no alpha-private bit channel has a smaller variance than the bisymmetric."""
    grid = np.linspace(0.01, 0.99, 50)
    for alpha, share in product((0.5, 1.0, 2.0), (0.1, 0.3, 0.5, 0.7, 0.9)):
        a = _keeps(alpha)
        best = _variance(1 - a, a, share)
        for zero, one in product(grid, grid):
            if zero < one and _is_private(zero, one, alpha):
                yield _variance(zero, one, share) >= best * (1 - 1e-9)


def _variance(zero: float, one: float, share: float) -> float:
    """Return the variance of the estimated share from one report, P(report 1) = zero or one."""
    shown = zero + (one - zero) * share
    return shown * (1 - shown) / (one - zero) ** 2


def _is_private(zero: float, one: float, alpha: float) -> bool:
    limit = math.exp(alpha)
    return one <= limit * zero and 1 - zero <= limit * (1 - one)
