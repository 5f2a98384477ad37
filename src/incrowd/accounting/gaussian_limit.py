"""The large-N limit: a crowd's collections tell as much as a Gaussian mechanism of some signal."""

from __future__ import annotations

import math

import numpy as np

from incrowd.accounting.schema import Sent
from incrowd.numerics.extrema import root

LEAST, MOST = -700.0, 30.0  # logarithms of signals that are told apart
SMALLEST = 1e-320


def log_signal(sent: Sent, crowd: int) -> float:
    """ln mu of everything one person sends, also where mu is no number any more.

    mu^2 = sum over reports of (prod phi^d - 1) / N, for a homogeneous crowd of N:
    docs/mathematics.md#large-crowds. A linked report has a crowd of one.
    """
    phis = np.array([sum(n * part.log_phi for part, n in s.parts) for s, _ in sent.every])
    copies = np.log([count for _, count in sent.every])
    crowds = np.array([crowd] * len(sent.reports) + [1] * len(sent.linked))
    large = phis > 30
    with np.errstate(over="ignore", divide="ignore"):
        log_squares = np.where(large, phis, np.log(np.expm1(phis))) + copies - np.log(crowds)
    return float(np.logaddexp.reduce(log_squares)) / 2


def gaussian_delta(epsilon: float, mu: float) -> float:
    """delta of the Gaussian mechanism with signal mu (Balle, Wang 2018)."""
    beyond, below = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    return _tail(beyond) - math.exp(min(epsilon, 700)) * _tail(below)


def _tail(deviations: float) -> float:
    """The chance that a standard normal variable is above that."""
    return math.erfc(deviations * math.sqrt(0.5)) / 2


def gaussian_signal(epsilon: float, delta: float) -> float:
    """The signal mu at which the Gaussian mechanism has that delta at epsilon, 0 < delta < 1."""
    wanted = math.log(max(delta, SMALLEST))

    def excess(log_mu: float) -> float:
        return math.log(max(gaussian_delta(epsilon, math.exp(log_mu)), SMALLEST)) - wanted

    if excess(LEAST) >= 0 or excess(MOST) <= 0:
        return math.exp(LEAST if excess(LEAST) >= 0 else MOST)
    return math.exp(root(excess, LEAST, MOST, close=1e-13, relative=1e-14))
