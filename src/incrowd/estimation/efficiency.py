"""What randomising costs: losses, covariances, and how many people make up for it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.channel import Channel
from incrowd.errors import PrivacyError, TableError
from incrowd.estimation.tables import along_axes

Array = npt.NDArray[np.float64]

LARGEST_COVARIANCE = 4096  # cells; the matrix then takes 128 MiB
CHEBYSHEV_DEVIATIONS = 10  # P(further from the mean) <= 1/100


def noise_factor(a: float, n: int) -> float:
    """c = ((a^2 + (1-a)^2) / (2a-1)^2)^n of n bits with P(bit kept) = a: Vinterbo, lemma 4.5.

    Infinite beyond double precision. Raises PrivacyError unless 0 <= a <= 1 and a differs from 1/2.
    """
    if not 0 <= a <= 1 or a == 0.5:
        raise PrivacyError.of("a", a, "should lie between 0 and 1 and differ from 1/2")
    return _power((1 + (2 * a - 1) ** -2) / 2, n)


def noise_factor_at(alpha: float, n: int, k: int) -> float:
    """c of n equal bits that are alpha-private for answers differing in at most k bits.

    ((e^(2 alpha/k) + 1) / (e^(alpha/k) - 1)^2)^n, the least of any iterated bisymmetric channel:
    Vinterbo, theorem 4.9; for n = 1 the least of any channel (corollary 2). Raises PrivacyError
    unless alpha > 0 and k >= 1.
    """
    if not alpha > 0 or k < 1:
        raise PrivacyError.of("(alpha, k)", (alpha, k), "should be above 0 and at least 1")
    gap = -math.expm1(-alpha / k)  # 1 - e^(-alpha/k): large alpha must not overflow
    return _power((1 + math.exp(-2 * alpha / k)) / gap**2, n)


def _power(base: float, n: int) -> float:
    """base^n for base >= 1, or infinity."""
    return base**n if n * math.log(base) < 709 else math.inf


def loss(c: float, s: float, copies: int = 1) -> float:
    """L = f_L(s): how many people with noise tell as much as one without, in squared error.

    (c - s) / (1 - s) with s = sum pi^2, Vinterbo, theorem 4.6. With k copies the noise alone is
    divided by k: 1 + (c - 1) / (k (1 - s)). Raises TableError unless 0 < s < 1.
    """
    if not 0 < s < 1:
        raise TableError.of("s", s, "should lie strictly between 0 and 1")
    return 1 + (c - 1) / (copies * (1 - s))


def smallest_loss(c: float, cells: int) -> float:
    """f_L(1 / cells) <= L, whatever the shares: Vinterbo, theorem 4.6."""
    return loss(c, 1 / cells)


def approximate_loss(c: float, cells: int) -> float:
    """f_L(2 / (cells + 1)): L with s at its mean over uniformly random shares, Vinterbo, 4.1."""
    return loss(c, greenwood_mean(cells))


def greenwood_mean(cells: int) -> float:
    """E[s] = 2 / (cells + 1) for shares from the flat Dirichlet law: Moran 1947, Vinterbo 4.1."""
    return 2 / (cells + 1)


def greenwood_variance(cells: int) -> float:
    """Var[s] = 4 (cells - 1) / ((cells + 1)^2 (cells + 2) (cells + 3)): Moran 1947."""
    return 4 * (cells - 1) / ((cells + 1) ** 2 * (cells + 2) * (cells + 3))


def approximation_bound(n: int) -> float:
    """delta(n): E[f_L(s)] <= (1 + delta) f_L(E[s]) over shares with s <= u; Vinterbo, prop. 4.7.

    u is ten standard deviations above the mean: at least 99% of uniformly random shares of 2^n
    cells (Chebyshev). delta = max f_L'' Var[s] / (2 f_L(E[s])), f_L''(s) = 2 (c-1) / (1-s)^3,
    at its largest, c -> infinity: (1 - E[s]) Var[s] / (1 - u)^3. Raises TableError if n <= 2,
    where u is no sum of squares.
    """
    mean, variance = greenwood_mean(2**n), greenwood_variance(2**n)
    rest = 1 - mean - CHEBYSHEV_DEVIATIONS * math.sqrt(variance)
    if rest <= 0:
        raise TableError.of("n", n, "should be at least 3")
    return (1 - mean) * variance / rest**3


def products(channel: Channel) -> Array:
    """E[g_i g_j | answer x] of a question, g its debiased report: shape (cells, cells, answers).

    g, column r of C^-1 for report r, is an unbiased estimate of the indicator of x.
    """
    inverse = channel.inverse
    return np.asarray(np.einsum("ir,jr,rx->ijx", inverse, inverse, channel.matrix))


def option_products(flip: BitFlip, options: int) -> Array:
    """`products` of a choice sent as one flipped bit for each option.

    g_i = (s_i - q) / (p - q) independently: [i = x][j = x] + v [i = j], v = p q / (p - q)^2.
    """
    chosen = np.eye(options)
    noise = flip.p * flip.q / (flip.p - flip.q) ** 2 * chosen
    return np.asarray(np.einsum("ix,jx->ijx", chosen, chosen) + noise[:, :, None])


def squares(axis_products: Array) -> Array:
    """E[g_i^2 | answer x], shape (cells, answers), from `products`."""
    return np.asarray(np.einsum("iix->ix", axis_products))


def table_factor(axes: Sequence[Array], shares: Array) -> float:
    """c of any mix of questions: E of the squared length of a debiased report.

    `axes` holds `products` of each question, `shares` has one axis for each. The squared length
    is a product over questions: c = sum_x pi(x) prod_j u_j(x_j), u_j the column sums of `squares`.
    A channel that treats all answers alike has a constant u_j, ||C_j^-1||_F^2 divided by its
    cells, and pi does not matter: Vinterbo, lemma 4.5 (proof).
    """
    _check_shares(axes, shares)
    lengths = [squares(axis).sum(axis=0, keepdims=True) for axis in axes]
    return float(along_axes(lengths, shares).sum())


def table_loss(axes: Sequence[Array], shares: Array, copies: int = 1) -> float:
    """L of any mix of questions, as `loss`, for one table of shares."""
    return loss(table_factor(axes, shares), float((shares**2).sum()), copies)


def effective_sample(people: int, lost: float) -> float:
    """n' = N / L: the estimate is as good as n' people asked openly; Vinterbo, proposition 3.1."""
    return people / lost


def trace(c: float, s: float, people: int, copies: int = 1) -> float:
    """Sum of a table's variances, noise plus sampling: (c - s) / m, Vinterbo, lemma 4.5."""
    return ((c - 1) / copies + 1 - s) / people


def variances(axes: Sequence[Array], shares: Array, people: int, copies: int = 1) -> Array:
    """The variance of each cell, noise plus sampling of N people, shape of the table.

    (E[g^2] - pi) / (kN) + pi (1 - pi) / N: the diagonal of `covariance`, axis by axis.
    """
    _check_shares(axes, shares)
    noise = (along_axes([squares(axis) for axis in axes], shares) - shares) / copies
    return np.asarray((noise + shares * (1 - shares)) / people)


def people_needed(
    standard_error: float, axes: Sequence[Array], shares: Array, copies: int = 1
) -> int:
    """The fewest people with whom no cell's standard error is above `standard_error`.

    Noise plus sampling; `shares` is a guess of the table. Raises TableError unless it is above 0.
    """
    if not standard_error > 0:
        raise TableError.of("standard error", standard_error, "should be greater than 0")
    return math.ceil(float(variances(axes, shares, 1, copies).max()) / standard_error**2)


def covariance(axes: Sequence[Array], shares: Array, people: int, copies: int = 1) -> Array:
    """Covariance of a table's cells, noise plus sampling: Vinterbo, section 3.2.

    (C^-1 diag(C pi) C^-T - pi pi^T) / m for one copy, shape (cells, cells), cells in C order.
    Raises TableError if there are more than 4096 cells.
    """
    noise = noise_covariance(axes, shares, people, copies)  # first, as it refuses large tables
    return noise + (np.diag(np.ravel(shares)) - np.outer(shares, shares)) / people


def noise_covariance(axes: Sequence[Array], shares: Array, people: int, copies: int = 1) -> Array:
    """Covariance of a table's cells by the noise alone, the people being fixed.

    (C^-1 diag(C pi) C^-T - diag(pi)) / (kN). As `covariance` otherwise.
    """
    _check_shares(axes, shares)
    cells = math.prod(len(axis) for axis in axes)
    if cells > LARGEST_COVARIANCE:
        raise TableError.of("table", f"{cells} cells", f"should have at most {LARGEST_COVARIANCE}")
    flat = [axis.reshape(-1, axis.shape[-1]) for axis in axes]
    second = along_axes(flat, shares).reshape([len(axis) for axis in axes for _ in "ij"])
    order = [*range(0, second.ndim, 2), *range(1, second.ndim, 2)]  # all i, then all j
    matrix = second.transpose(order).reshape(cells, cells)
    return np.asarray((matrix - np.diag(np.ravel(shares))) / (people * copies))


def _check_shares(axes: Sequence[Array], shares: Array) -> None:
    answers = tuple(axis.shape[-1] for axis in axes)
    if np.shape(shares) != answers:
        raise TableError.of("shares", np.shape(shares), f"should have the shape {answers}")
