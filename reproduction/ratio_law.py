"""The law of R(S), the privacy ratio of a collection with the outlier: Sufficient DP, 3.1.

R = X/N, X the sum of the weights (p/q)^(2l - L) of N - 1 reports from zeros and one from ones.
"""

from __future__ import annotations

import math

import numpy as np

from incrowd.accountant import outlier_ratios
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.numerics.lattice import Lattice, circle_size, power, split
from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.pairs import pair_eta


def exceeding(channel: BitFlip, N: int, L: int, ratio: float) -> float:
    """Return P[R(S) > ratio] for ratio > 0: eta in the order presence.

    Exact for few kinds of reports, otherwise numerical.
    """
    return pair_eta(outlier_ratios.ratios(channel, (L, 0, 0)), N, math.log(ratio))


def ratio_law(channel: BitFlip, N: int, L: int, largest: float, step: float) -> Lattice:
    """Return the law of R(S) on the multiples of a step up to `largest`, by Fourier transform.

    Each weight is split between its neighbors so that the mean is preserved, which adds at most
    step^2 N / 4 to the variance. Mass beyond `largest` wraps around to small values: choose it so
    large that this mass is negligible.
    """
    zeros = outlier_ratios.ratios(channel, (L, 0, 0))  # omega: from zeros; ln A: their weights
    weight = np.exp(zeros.log_a) / N
    zero, one = (
        split(Law(weight, log_mass), step)
        for log_mass in (zeros.log_mass, zeros.log_mass + zeros.log_a)
    )
    size = circle_size(0, math.ceil(largest / step))
    others = power(zero.transform(size), float(zero.mass.sum()), N - 1)
    return one.inverse(others * one.transform(size), 0, size)


def density(law: Lattice, at: np.ndarray, width: float) -> np.ndarray:
    """Return the mean density of a lattice law over a window of that width around each point."""
    below = np.append(0.0, np.cumsum(law.mass))
    low, high = (np.searchsorted(law.points, at + side * width / 2) for side in (-1, 1))
    return np.asarray((below[high] - below[low]) / width)
