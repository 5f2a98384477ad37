"""K-Randomization, 24 February 2016: the law of one-bit collections, and ratios by definition."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from incrowd.accountant.channels.bit_flip import BitFlip

MOST_STATES = 1 << 20


def law(channel: BitFlip, N: int, m: int) -> np.ndarray:
    """Return P[A_N(m) = s] for s = 0..N: how many of N one-bit reports are 1 if m of the people
    hold a 1.

    A_N(m) ~ Bin(m, p) + Bin(N - m, q), section 3.1, by direct convolution. Raises PrivacyError
    unless 0 <= m <= N.
    """
    if not 0 <= m <= N:
        raise ValueError(f"ones: got {m}; should lie in 0..{N}")
    ones = binom.pmf(np.arange(m + 1), m, channel.p)
    zeros = binom.pmf(np.arange(N - m + 1), N - m, channel.q)
    return np.convolve(ones, zeros)


def law_with_one(channel: BitFlip, before: np.ndarray) -> np.ndarray:
    """Return the law of A_N(m) from that of A_(N-1)(m-1): one more person, with a 1, (3.2).

    before: probabilities of 0..N-1 ones, shape (N,). Returns shape (N + 1,).
    """
    return channel.p * np.append(0.0, before) + channel.q * np.append(before, 0.0)


def law_with_zero(channel: BitFlip, before: np.ndarray) -> np.ndarray:
    """Return the law of A_N(m) from that of A_(N-1)(m): one more person, with a 0, (3.3).

    before: probabilities of 0..N-1 ones, shape (N,). Returns shape (N + 1,).
    """
    return channel.q * np.append(0.0, before) + channel.p * np.append(before, 0.0)


def cumulative_with_one(channel: BitFlip, before: np.ndarray) -> np.ndarray:
    """Return P[A_N(m) <= s] from P[A_(N-1)(m-1) <= s]: the recursion of the cdf below (3.3).

    before: for s = 0..N-1, shape (N,). Returns s = 0..N, shape (N + 1,).
    """
    return channel.p * np.append(0.0, before) + channel.q * np.append(before, 1.0)


def cumulative_with_zero(channel: BitFlip, before: np.ndarray) -> np.ndarray:
    """Return P[A_N(m) <= s] from P[A_(N-1)(m) <= s]: the recursion of the cdf below (3.3).

    before: for s = 0..N-1, shape (N,). Returns s = 0..N, shape (N + 1,).
    """
    return channel.q * np.append(0.0, before) + channel.p * np.append(before, 1.0)


def one_bit_ratio(channel: BitFlip, N: int, m: int) -> np.ndarray:
    """Return pi(s; m) = P[A_N(m) = s] / P[A_N(m + 1) = s] for s = 0..N, section 3.1.

    Raises PrivacyError unless 0 <= m <= N - 1.
    """
    return np.asarray(law(channel, N, m) / law(channel, N, m + 1))


def probability(channel: BitFlip, records: np.ndarray, reports: np.ndarray) -> float:
    """Return P[A(x) = s], (2.1): that these records give exactly this multiset of reports.

    records, reports: 0 and 1, shape (N, L), the order of the rows does not matter. Person by
    person, over all parts of the multiset that those so far can have sent: for small collections
    only. Raises PrivacyError if the shapes differ or there are more than 2^20 such parts.
    """
    distinct, counts = _multiset(records, reports)
    differing = (np.asarray(records)[:, None, :] != distinct).sum(-1)
    chances = channel.q**differing * channel.p ** (distinct.shape[1] - differing)
    sent = np.zeros(counts + 1)
    sent.flat[0] = 1.0
    for person in chances:
        # What rolls over the edge has lost reports and never becomes the full multiset.
        shifted = (chance * np.roll(sent, 1, axis) for axis, chance in enumerate(person))
        sent = sum(shifted, np.zeros_like(sent))
    return float(sent.flat[-1])


def privacy_ratio(
    channel: BitFlip, records: np.ndarray, modified: np.ndarray, reports: np.ndarray
) -> float:
    """Return R(S; D, D_m) = P(S|D_m) / P(S|D) straight from the definition, for any two
    collections.

    records (D), modified (D_m), reports (S): 0 and 1, shape (N, L). Section 3 (pi), and Sufficient
    DP (2.1). Raises PrivacyError as `probability` does.
    """
    return probability(channel, modified, reports) / probability(channel, records, reports)


def _multiset(records: np.ndarray, reports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different reports and how often each occurs, after the checks of `probability`."""
    shape = np.shape(reports)
    if np.ndim(reports) != 2 or np.shape(records) != shape:
        raise ValueError(f"records: got {np.shape(records)}; should be of shape {shape}: (N, L)")
    distinct, counts = np.unique(reports, axis=0, return_counts=True)
    states = math.prod(int(count) + 1 for count in counts)
    if states > MOST_STATES:
        allowed = f"parts should be at most {MOST_STATES}: take fewer reports"
        raise ValueError(f"parts of the collection: got {states}; {allowed}")
    return distinct, counts
