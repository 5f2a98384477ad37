"""Sufficient Differential Privacy, sections 3, 4 and appendix I: one report from each person.

N people, L bits; everybody holds zeros except for one person, who holds ones. phi = (p^3 + q^3) /
(pq), (3.14), is `channel.phi`. `limit` is lambda = e^epsilon. The conditions require the mean of
the privacy ratio plus three deviations to be at most lambda: a rule of thumb for one crowd and one
order, not a guarantee. For k reports from each person see `sufficient_dp_copies`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction.conditions import check_limit, smallest_noise


@dataclass(frozen=True)
class Moments:
    """Mean and variance of a random variable."""

    mean: float
    variance: float

    def reach(self, deviations: float) -> float:
        """Return the mean plus the given number of standard deviations."""
        return self.mean + deviations * math.sqrt(max(self.variance, 0.0))  # roundoff near q = 1/2


def fifth(phi: float) -> float:
    """Return (p^5 + q^5) / (pq)^2 = phi^2 + phi - 1, above (3.14), where (pq)^4 is a misprint."""
    return phi**2 + phi - 1


def moments_of_zero(channel: BitFlip, L: int) -> Moments:
    """Return X_0, the weight of a report from zeros: (7.6) and (7.7)."""
    return Moments(1.0, channel.phi**L - 1)


def moments_of_one(channel: BitFlip, L: int) -> Moments:
    """Return X_1, the weight of a report from ones: (7.8) and (7.9)."""
    mean = channel.phi**L
    return Moments(mean, fifth(channel.phi) ** L - mean**2)


def moments_of_ratio(channel: BitFlip, N: int, L: int) -> Moments:
    """Return R(S), the privacy ratio of a collection with the outlier: section 3.1.

    R = X/N, X the sum of the weights of N - 1 reports from zeros and one from ones.
    """
    zero, one = moments_of_zero(channel, L), moments_of_one(channel, L)
    mean = ((N - 1) * zero.mean + one.mean) / N
    return Moments(mean, ((N - 1) * zero.variance + one.variance) / N**2)


def condition_3_12(channel: BitFlip, N: int, L: int, deviations: float = 3.0) -> float:
    """Return left side of (3.12): the mean of R(S) plus three (or so many) deviations."""
    return moments_of_ratio(channel, N, L).reach(deviations)


def condition_3_13(channel: BitFlip, N: int, L: int, deviations: float = 3.0) -> float:
    """Return left side of (3.13): above that of (3.12), with N instead of N - 1 and without the -
    1."""
    p, q = channel.p, channel.q
    third, fifth_power = ((p**3 + q**3) / (p * q)) ** L, ((p**5 + q**5) / (p * q) ** 2) ** L
    spread = third / N + (fifth_power - third**2) / N**2
    return 1 + third / N + deviations * math.sqrt(spread)


def condition_3_15(phi: float, N: int, L: int, deviations: float = 3.0) -> float:
    """Return left side of (3.15): (3.13) as a function of phi >= 1."""
    spread = phi**L / N + (fifth(phi) ** L - phi ** (2 * L)) / N**2
    return 1 + phi**L / N + deviations * math.sqrt(spread)


def noise_3_12(limit: float, N: int, L: int, deviations: float = 3.0) -> BitFlip:
    """Return the smallest noise n / 2^32 for which (3.12) holds.

    The table of section 3.3 follows from it, except for N = 5000 and lambda = 2, where it gives
    q = .1963 instead of .1778. Raises PrivacyError unless lambda is above 1.
    """
    return smallest_noise(lambda channel: condition_3_12(channel, N, L, deviations), limit)


def noise_3_13(limit: float, N: int, L: int, deviations: float = 3.0) -> BitFlip:
    """Return the smallest noise n / 2^32 for which (3.13) holds; PrivacyError if there is none."""
    return smallest_noise(lambda channel: condition_3_13(channel, N, L, deviations), limit)


def noise_of_phi(phi: float) -> BitFlip:
    """Return the noise with this phi, (3.16), rounded up to n / 2^32;
    PrivacyError unless phi > 1."""
    if not phi > 1:
        raise ValueError(f"phi: got {phi}; should be greater than 1")
    total = phi + 1  # p/q + q/p
    return BitFlip.at_least(1 / (1 + (total + math.sqrt(total**2 - 4)) / 2))


def lower_tail_bound(channel: BitFlip, N: int, L: int, deviations: float = 3.0) -> float:
    """Return the bound (3.17) as printed, of P[E(X) - X > `deviations` standard deviations], X = N
    R(S).

    It is Maurer's bound for the lower tail; the paper uses it for the upper one, which it does not
    bound. As printed it has phi^L where the second line of (3.17) gives phi^(2L), so it is too
    small: see `lower_tail_bound_corrected`. With three deviations it gives .011 in each row of
    the paper's table (.052, .057, .062).
    """
    return _maurer(channel, N, L, deviations, channel.phi**L)


def lower_tail_bound_corrected(channel: BitFlip, N: int, L: int, deviations: float = 3.0) -> float:
    """Return Maurer's bound exp(-t^2 / (2 sum E X_i^2)) of P[E(X) - X > t], t = `deviations` times
    sigma.

    (3.17) with phi^(2L) in the numerator. It bounds the lower tail only.
    """
    return _maurer(channel, N, L, deviations, channel.phi ** (2 * L))


def _maurer(channel: BitFlip, N: int, L: int, deviations: float, mean_power: float) -> float:
    second_moments = (N - 1) * channel.phi**L + fifth(channel.phi) ** L
    return math.exp(-(deviations**2) / 2 * (1 - (N - 1 + mean_power) / second_moments))


def local_noise(limit: float, L: int) -> BitFlip:
    """Return the noise for which (p/q)^L <= lambda, (4.2), rounded up to n / 2^32.

    No shuffler is trusted. Raises PrivacyError unless lambda is above 1.
    """
    check_limit(limit)
    return BitFlip.at_least(1 / (1 + limit ** (1 / L)))
