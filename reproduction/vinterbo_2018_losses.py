"""Vinterbo 2018, sections 4 and 5: what the noise costs, in closed form."""

from __future__ import annotations

import math

CHEBYSHEV_DEVIATIONS = 10  # P(further from the mean) <= 1/100


def noise_factor(a: float, n: int) -> float:
    """Return c = ((a^2 + (1-a)^2) / (2a-1)^2)^n of n bits with P(bit kept) = a: lemma 4.5.

    Infinite beyond double precision. Raises PrivacyError unless 0 <= a <= 1 and a differs from 1/2.
    """
    if not 0 <= a <= 1 or a == 0.5:
        raise ValueError(f"a: got {a}; should lie between 0 and 1 and differ from 1/2")
    return _power((1 + (2 * a - 1) ** -2) / 2, n)


def noise_factor_at(alpha: float, n: int, k: int) -> float:
    """Return c of n equal bits that are alpha-private for answers differing in at most k bits.

    ((e^(2 alpha/k) + 1) / (e^(alpha/k) - 1)^2)^n, the least of any iterated bisymmetric channel:
    theorem 4.9; for n = 1 the least of any channel (corollary 2). Raises PrivacyError unless
    alpha > 0 and k >= 1.
    """
    if not alpha > 0 or k < 1:
        raise ValueError(f"(alpha, k): got {(alpha, k)}; should be above 0 and at least 1")
    gap = -math.expm1(-alpha / k)  # 1 - e^(-alpha/k): large alpha must not overflow
    return _power((1 + math.exp(-2 * alpha / k)) / gap**2, n)


def _power(base: float, n: int) -> float:
    """Return base^n for base >= 1, or infinity."""
    return base**n if n * math.log(base) < 709 else math.inf


def loss(c: float, s: float) -> float:
    """Return L = f_L(s) = (c - s) / (1 - s), s = sum pi^2: theorem 4.6.

    How many people with noise tell as much as one without, in squared error. Raises TableError
    unless 0 < s < 1.
    """
    if not 0 < s < 1:
        raise ValueError(f"s: got {s}; should lie strictly between 0 and 1")
    return 1 + (c - 1) / (1 - s)


def smallest_loss(c: float, cells: int) -> float:
    """Return f_L(1 / cells) <= L, whatever the shares: theorem 4.6."""
    return loss(c, 1 / cells)


def approximate_loss(c: float, cells: int) -> float:
    """Return f_L(2 / (cells + 1)): L with s at its mean over uniformly random shares,
    section 4.1."""
    return loss(c, greenwood_mean(cells))


def greenwood_mean(cells: int) -> float:
    """Return E[s] = 2 / (cells + 1) for shares from the flat Dirichlet law: Moran 1947, Vinterbo
    4.1.

    s is the sum of the squared shares of all cells.
    """
    return 2 / (cells + 1)


def greenwood_variance(cells: int) -> float:
    """Return Var[s] = 4 (cells - 1) / ((cells + 1)^2 (cells + 2) (cells + 3)): Moran 1947."""
    return 4 * (cells - 1) / ((cells + 1) ** 2 * (cells + 2) * (cells + 3))


def approximation_bound(n: int) -> float:
    """Return delta(n): E[f_L(s)] <= (1 + delta) f_L(E[s]) over shares with s <= u: proposition 4.7.

    u is ten standard deviations above the mean: at least 99% of uniformly random shares of 2^n
    cells (Chebyshev). delta = max f_L'' Var[s] / (2 f_L(E[s])), f_L''(s) = 2 (c-1) / (1-s)^3,
    at its largest, c -> infinity: (1 - E[s]) Var[s] / (1 - u)^3. Raises TableError if n <= 2,
    where u is no sum of squares.
    """
    mean, variance = greenwood_mean(2**n), greenwood_variance(2**n)
    rest = 1 - mean - CHEBYSHEV_DEVIATIONS * math.sqrt(variance)
    if rest <= 0:
        raise ValueError(f"n: got {n}; should be at least 3")
    return (1 - mean) * variance / rest**3
