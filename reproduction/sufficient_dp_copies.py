"""Sufficient Differential Privacy, section 6 and appendix II: k reports from each of N people.

The paper's moments, as printed and corrected. The exact ratio of a given collection is
`merged.log_ratio`. As printed, the noise falls with k; with the correct moments it rises.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.special import logsumexp

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction.conditions import smallest_noise
from reproduction.sufficient_dp import Moments, fifth


def mean_6_1(channel: BitFlip, N: int, L: int, k: int) -> float:
    """Return (6.1) as printed, intended as an upper bound of E R(S^k), which it is not for k > 1.

    It has kN instead of N: (1 + (phi^L - 1) / N)^k is a bound by Hoeffding (1963, theorem 4), since
    drawing without replacement spreads less than with replacement, and phi^(rL) is convex in r.
    """
    return (1 + channel.phi**L / (k * N)) ** k


def variance_6_2(channel: BitFlip, N: int, L: int, k: int) -> float:
    """Return (6.2) as printed, intended as an upper bound of Var R(S^k), which it is not for k > 1.

    It adds up the variances of all subsets of k reports as if they were independent, although they
    overlap. The correct variance is `variance_of_ratio`.
    """
    n = k * N
    second = channel.phi**L / n + fifth(channel.phi) ** L / n**2
    return second**k - (1 / n + channel.phi ** (2 * L) / n**2) ** k


def condition_6_3(channel: BitFlip, N: int, L: int, k: int, deviations: float = 3.0) -> float:
    """Return left side of (6.3) and (8.38) as printed: (6.1) plus three deviations by (6.2)."""
    moments = Moments(mean_6_1(channel, N, L, k), variance_6_2(channel, N, L, k))
    return moments.reach(deviations)


def noise_6_3(limit: float, N: int, L: int, k: int, deviations: float = 3.0) -> BitFlip:
    """Return the smallest noise n / 2^32 for which (6.3) holds, limit = lambda = e^epsilon.

    Not enough for k > 1. Raises PrivacyError unless lambda is above 1, or if no noise is enough.
    """
    return smallest_noise(lambda channel: condition_6_3(channel, N, L, k, deviations), limit)


def subset_mean(channel: BitFlip, L: int, r: int) -> float:
    """Return E X_r, (8.27): the weight of a set of reports, r of them from ones: phi^(rL)."""
    return float(channel.phi ** (r * L))


def subset_second_moment(channel: BitFlip, L: int, k: int, r: int) -> float:
    """Return E X_r^2, (8.28), of a set of k reports, r of them from ones.

    phi^((k-r)L) (phi^2 + phi - 1)^(rL), the last term as printed. In the middle term, the factor
    (q/p)^(kL) should be (q/p)^(2kL), and M_k should be M_r, as in (8.27).
    """
    return float(channel.phi ** ((k - r) * L) * fifth(channel.phi) ** (r * L))


def subset_variance(channel: BitFlip, L: int, k: int, r: int) -> float:
    """Return var X_r, (8.29)."""
    return subset_second_moment(channel, L, k, r) - subset_mean(channel, L, r) ** 2


def mean_8_31(channel: BitFlip, N: int, L: int, k: int) -> float:
    """Return E R(S^k) as printed in (8.30) and (8.31): too small by the factor k!.

    (kN - k)!/(kN)! is for ordered choices of k reports, and the sum for unordered ones; (8.20) to
    (8.22) have the same error.
    """
    return mean_of_ratio(channel, N, L, k) / math.factorial(k)


def mean_of_ratio(channel: BitFlip, N: int, L: int, k: int) -> float:
    """Return E R(S^k) of a collection that holds the outlier: (8.31) with its k!.

    The sum over r of Hypergeometric(r; kN, k, k) phi^(rL), r of the k reports from ones.
    """
    return math.exp(_log_mean(channel, N, L, k))


def _log_mean(channel: BitFlip, N: int, L: int, k: int) -> float:
    log_weight = L * math.log(channel.phi) * np.arange(k + 1)
    return float(logsumexp(log_hypergeometric(k * N, k, k) + log_weight))


def variance_of_ratio(channel: BitFlip, N: int, L: int, k: int) -> float:
    """Return var R(S^k) of a collection that holds the outlier, exactly: what (6.2) should bound.

    R is the mean weight of all subsets of k of the kN reports, so E R^2 is the mean of the product
    over two independent random subsets, of which a and b reports come from ones; a report in both
    counts with its weight squared. Raises OverflowError above 1e308.
    """
    chance = log_hypergeometric(k * N, k, k)
    possible = [r for r in range(k + 1) if k - r <= k * N - k]
    pairs = [
        chance[a] + chance[b] + _log_pair_mean(channel, N, L, k, a, b)
        for a, b in itertools.product(possible, repeat=2)
    ]
    log_mean, log_second = _log_mean(channel, N, L, k), float(logsumexp(pairs))
    return math.exp(2 * log_mean) * math.expm1(max(log_second - 2 * log_mean, 0.0))


def _log_pair_mean(channel: BitFlip, N: int, L: int, k: int, a: int, b: int) -> float:
    """Return ln E of the product of the weights of two subsets, a and b of their k reports from
    ones."""
    log_phi, log_fifth = L * math.log(channel.phi), L * math.log(fifth(channel.phi))
    both_ones, both_zeros = np.arange(min(a, b) + 1), np.arange(k - max(a, b) + 1)
    of_ones = log_phi * (a + b - 2 * both_ones) + log_fifth * both_ones
    from_ones = logsumexp(log_hypergeometric(k, a, b) + of_ones)
    overlap = log_hypergeometric(k * N - k, k - a, k - b)
    return float(from_ones + logsumexp(overlap + log_phi * both_zeros))


def log_hypergeometric(population: int, marked: int, drawn: int) -> np.ndarray:
    """Return ln P[r marked among those drawn], r = 0..min(marked, drawn): C(m,r) C(n-m,d-r) /
    C(n,d).

    Minus infinity if r is impossible.
    """
    log_all = _log_choose(population, drawn)
    counts = range(min(marked, drawn) + 1)
    rest = [_log_choose(population - marked, drawn - r) for r in counts]
    return np.array([_log_choose(marked, r) for r in counts]) + rest - log_all


def _log_choose(n: int, r: int) -> float:
    """Return ln C(n, r), from the exact integer, so that no digits are lost for any n."""
    ways = math.comb(n, r)
    return math.log(ways) if ways else -math.inf


def condition_corrected(channel: BitFlip, N: int, L: int, k: int, deviations: float = 3.0) -> float:
    """Return (6.3) with the correct mean and variance of R(S^k); for k = 1 it is (3.12)."""
    mean, variance = mean_of_ratio(channel, N, L, k), variance_of_ratio(channel, N, L, k)
    return Moments(mean, variance).reach(deviations)


def noise_corrected(limit: float, N: int, L: int, k: int, deviations: float = 3.0) -> BitFlip:
    """Return the smallest noise n / 2^32 at which mean plus three deviations of R(S^k) is at most
    lambda.

    It rises with k. It is still the papers' rule of thumb and not a guarantee. Raises PrivacyError
    unless lambda is above 1.
    """
    return smallest_noise(lambda channel: condition_corrected(channel, N, L, k, deviations), limit)
