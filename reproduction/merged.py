"""The exact privacy ratio of a merged collection of k reports each, and how often it is large.

Each of N people sends k independent reports and all kN are mixed. Everybody holds the record of
zeros, except possibly for one person, who holds ones. Like the papers' analysis in general, this is
exact for such homogeneous crowds and a lower bound on the worst case, so not a guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln
from scipy.stats import binomtest

from incrowd.accountant.channels.bit_flip import BitFlip

Order = Literal["presence", "absence"]
MOST_AT_ONCE = 1 << 13  # draws evaluated together; bounds the memory


@dataclass(frozen=True)
class Merged:
    """N people, each sending k reports of L bits, all mixed into one collection.

    Raises PrivacyError unless N, L and k are at least 1.
    """

    channel: BitFlip
    N: int
    L: int
    k: int = 1

    def __post_init__(self) -> None:
        for field, value in (("people", self.N), ("bits", self.L), ("copies", self.k)):
            _check_positive(field, value)


@dataclass(frozen=True)
class Simulated:
    """eta and delta of an order at epsilon, from `draws` simulated collections.

    exceeded: in how many of them the privacy ratio was above e^epsilon.
    eta, eta_low, eta_high: that share, and its exact (Clopper-Pearson) confidence limits.
    delta, delta_error: the hockey-stick divergence at epsilon and its standard error.
    """

    order: Order
    epsilon: float
    draws: int
    exceeded: int
    eta: float
    eta_low: float
    eta_high: float
    confidence: float
    delta: float
    delta_error: float


def log_ratio(channel: BitFlip, counts: np.ndarray, k: int) -> np.ndarray:
    """Return ln R(S), the likelihood ratio of a merged collection with the outlier to one without.

    R(S) = e_k(w) / C(kN, k), with w = (p/q)^(2l - L) for a report with l bits set and e_k the
    elementary symmetric polynomial of the kN weights: the t^k coefficient of the product over l
    of (1 + w_l t)^(c_l). Every term is positive and stored as a logarithm, so no digits are lost
    for any N. Sufficient DP (8.22), with the factor k! that is missing there; (3.4) for k = 1.

    counts: shape (..., L + 1), how many of the kN reports have 0..L bits set. Returns an array of
    shape (...). Raises PrivacyError if k is below 1 or a collection holds fewer than k reports.
    """
    counts = np.asarray(counts)
    _check_positive("copies", k)
    if (counts.sum(-1) < k).any():
        raise ValueError(f"copies: got {k}; should not exceed the number of reports")
    L = counts.shape[-1] - 1
    log_weight = (2 * np.arange(L + 1) - L) * (np.log(channel.p) - np.log(channel.q))
    total = np.full((*counts.shape[:-1], k + 1), -np.inf)
    total[..., 0] = 0.0
    for count, step in zip(np.moveaxis(counts, -1, 0), log_weight, strict=True):
        total = _log_product(total, _log_choose(count, k) + step * np.arange(k + 1))
    return np.asarray(total[..., k] - _log_choose(counts.sum(-1), k)[..., k])


def _log_choose(count: np.ndarray, k: int) -> np.ndarray:
    """Return ln C(count, j) for j = 0..k, on a new last axis; minus infinity for j > count.

    Computed as a sum of logarithms: a difference of gammaln loses seven digits at a count of 1e8.
    """
    factors = np.maximum(np.subtract.outer(count, np.arange(k)), 0).astype(float)
    logs = np.log(factors, where=factors > 0, out=np.full(factors.shape, -np.inf))
    start = np.zeros((*factors.shape[:-1], 1))
    falling = np.concatenate([start, np.cumsum(logs, axis=-1)], axis=-1)
    return np.asarray(falling - gammaln(np.arange(k + 1) + 1.0))


def _log_product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return logarithms of the coefficients of the product of two polynomials,
    up to their degree."""
    columns = [
        np.logaddexp.reduce(one[..., : j + 1] + other[..., j::-1], axis=-1)
        for j in range(one.shape[-1])
    ]
    return np.stack(columns, axis=-1)


def draw(crowd: Merged, outlier: bool, draws: int, generator: np.random.Generator) -> np.ndarray:
    """Return random collections, as counts of reports by the number of bits set: shape (draws, L +
    1).

    outlier: whether one person holds ones; kN - k or kN reports come from zeros, the rest from
    ones. Sufficient DP (3.5).
    """
    ones = crowd.k if outlier else 0
    log_zero, log_one = _log_laws(crowd)
    zeros = _multinomial(crowd.k * crowd.N - ones, log_zero, draws, generator)
    return np.asarray(zeros + _multinomial(ones, log_one, draws, generator))


def _log_laws(crowd: Merged) -> tuple[np.ndarray, np.ndarray]:
    """Return log-probabilities of 0..L bits set in a report from zeros and from ones, (3.7) and
    (3.9)."""
    log_choose = _log_choose(np.asarray(crowd.L), crowd.L)
    bits = np.arange(crowd.L + 1)
    log_zero = bits * np.log(crowd.channel.q) + bits[::-1] * np.log(crowd.channel.p)
    return log_choose + log_zero, log_choose + log_zero[::-1]


def _multinomial(
    trials: int, log_law: np.ndarray, draws: int, generator: np.random.Generator
) -> np.ndarray:
    """Return multinomial counts, category by category, each binomial among the remaining trials.

    The conditional probability of a category is accurate even if all remaining ones are rare;
    numpy's multinomial subtracts from one and would lose the digits.
    """
    log_left = np.logaddexp.accumulate(log_law[::-1])[::-1]
    left = np.full(draws, trials)
    counts = []
    for chance in np.exp(np.minimum(log_law - log_left, 0.0)):
        counts.append(generator.binomial(left, chance))
        left = left - counts[-1]
    return np.stack(counts, axis=-1)


def simulate(
    crowd: Merged,
    epsilon: float,
    draws: int,
    seed: int,
    order: Order = "presence",
    confidence: float = 0.95,
) -> Simulated:
    """Return eta = P[ratio > e^epsilon] and delta = E[max(0, 1 - e^epsilon / ratio)] by simulation.

    order: "presence" draws collections with the outlier and takes R(S), Sufficient DP (1.7);
    "absence" draws collections without and takes 1/R(S). epsilon is in nats. The same seed gives
    the same result. Raises PrivacyError if draws is below 1 or the confidence not in (0, 1).
    """
    _check_positive("draws", draws)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: got {confidence}; should lie strictly between 0 and 1")
    excess = _log_ratios(crowd, draws, np.random.default_rng(seed), order) - epsilon
    exceeded = int((excess > 0).sum())
    limits = binomtest(exceeded, draws).proportion_ci(confidence, method="exact")
    losses = -np.expm1(-np.maximum(excess, 0.0))
    return Simulated(
        order=order,
        epsilon=epsilon,
        draws=draws,
        exceeded=exceeded,
        eta=exceeded / draws,
        eta_low=float(limits.low),
        eta_high=float(limits.high),
        confidence=confidence,
        delta=float(losses.mean()),
        delta_error=float(losses.std() / np.sqrt(draws)),
    )


def _log_ratios(
    crowd: Merged, draws: int, generator: np.random.Generator, order: Order
) -> np.ndarray:
    """Return ln of the ratio in that order, for `draws` random collections, some thousands at a
    time."""
    outlier = order == "presence"
    sign = 1.0 if outlier else -1.0
    sizes = [min(MOST_AT_ONCE, draws - start) for start in range(0, draws, MOST_AT_ONCE)]
    collections = (draw(crowd, outlier, size, generator) for size in sizes)
    ratios = [log_ratio(crowd.channel, counts, crowd.k) for counts in collections]
    return sign * np.concatenate(ratios)


def _check_positive(field: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{field}: got {value}; should be at least 1")
