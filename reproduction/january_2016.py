"""K-Randomization, 15 January 2016: the closed forms, with the equations' numbers.

The draft compares a collection D_m of zeros with one that holds an outlier, D, and bounds the
ratio P(S|D_m) / P(S|D): the order this package calls absence. `limit` is lambda = e^epsilon.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import hypergeom

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction.conditions import check_limit


def inverse_ratio(channel: BitFlip, N: int, shown: np.ndarray) -> np.ndarray:
    """Return 1/R when `shown` of the N one-bit reports are 1: P(S|D) / P(S|D_m), (0.4).

    shown: integers in 0..N, any shape; the result has the same.
    """
    share = np.asarray(shown) / N
    return np.asarray((1 - share) * channel.q / channel.p + share * channel.p / channel.q)


def inverse_ratio_copies(channel: BitFlip, N: int, k: int, shown: np.ndarray) -> np.ndarray:
    """Return 1/R when `shown` of the kN one-bit reports are 1, k from each of N people, (1.8).

    The quotients of binomials are hypergeometric probabilities. (1.12) bounds it from above, and
    (1.20) takes that bound for one from below: at the draft's noise the ratio is above lambda
    already three deviations below the mean. shown: integers in 0..kN, any shape; so the result.
    """
    of_outlier = np.arange(k + 1)
    chance = hypergeom.pmf(of_outlier, k * N, k, np.asarray(shown)[..., None])
    return np.asarray(chance @ (channel.p / channel.q) ** (2.0 * of_outlier - k))


def inverse_ratio_bound(channel: BitFlip, N: int, k: int, deviations: float = 3.0) -> float:
    """Return the draft's 1/R that many deviations below the mean number of ones, (1.19).

    It lies above the exact one, (1.8). The sign in (1.20) and (1.21) is a misprint.
    """
    drop = deviations * (channel.p - channel.q) / math.sqrt(channel.p * channel.q * k * N)
    return float((1 - drop) ** k)


def deviation_of_sum(channel: BitFlip, N: int) -> float:
    """Return standard deviation of S, the number of ones among N one-bit reports, (0.23)."""
    return math.sqrt(channel.p * channel.q * N)


def deviation_of_estimate(channel: BitFlip, N: int, k: int = 1) -> float:
    """Return standard deviation of the estimated number of people with a 1, noise alone, (0.15),
    (1.4).

    In people; N people send k reports of one bit each. At q = .0325 and N = 1000 it is 6.0; the
    5.6 printed below (0.21) is that of S, and (0.26) and (0.27) use this one in the place of
    that of S.
    """
    return deviation_of_sum(channel, N) / (math.sqrt(k) * (channel.p - channel.q))


def smallest_deviation(limit: float) -> float:
    """Return the least deviation of the estimate that keeps lambda for any N, (0.16): 3 / (1 -
    1/limit).

    In people. Raises PrivacyError unless lambda is above 1.
    """
    check_limit(limit)
    return 3 / (1 - 1 / limit)


def noise_one_bit(limit: float, N: int) -> BitFlip:
    """Return the noise for one bit and one report each, (0.19), rounded up to n / 2^32.

    Raises PrivacyError unless lambda is above 1.
    """
    return _noise_of_variance(smallest_deviation(limit) ** 2 / N)


def noise_copies(limit: float, N: int, k: int) -> BitFlip:
    """Return the noise for one bit and k reports each, (1.23), rounded up to n / 2^32.

    A little too small: see `inverse_ratio_copies`. Raises PrivacyError unless lambda is above 1.
    """
    check_limit(limit)
    return _noise_of_variance(smallest_deviation(limit ** (1 / k)) ** 2 / (k * N))


def noise_bits(limit: float, N: int, L: int) -> BitFlip:
    """Return the noise for L bits and one report each, (2.33), rounded up to n / 2^32.

    Raises PrivacyError unless lambda is above 1.
    """
    largest_phi = (1 + N / smallest_deviation(limit) ** 2) ** (1 / L)
    return BitFlip.at_least((1 - math.sqrt(1 - 4 / (3 + largest_phi))) / 2)


def variance_of_sum(channel: BitFlip, N: int, L: int) -> float:
    """Return variance of N/R for collections of N zeros, (2.25): N (phi^L - 1)."""
    return N * (channel.phi**L - 1)


def _noise_of_variance(variance: float) -> BitFlip:
    """Return the noise q with pq / (p - q)^2 = variance, which solves (0.17) and (1.22)."""
    return BitFlip.at_least((1 - 1 / math.sqrt(1 + 4 * variance)) / 2)
