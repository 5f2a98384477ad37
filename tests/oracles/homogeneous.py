"""delta of a pair of records in a crowd whose others all hold one record, without G or any tilt."""

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import binom


def put(q, bits, crowd, strike, step):
    """E[max(0, strike - (A_1 + ... + A_N))], A the likelihood ratio of a report of the crowd.

    A = (p/q)^(2 l - bits), l the number of flipped bits, has mean one. Only sums below the strike
    count, so heavy ratios drop out. Each value is split between two points of a fine grid so that
    its mean is kept: the result is a little too large, by less than N step^2 / 8 times the largest
    density.
    """
    flipped = np.arange(bits + 1)
    value = ((1 - q) / q) ** (2.0 * flipped - bits)
    chance = binom.pmf(flipped, bits, q)
    size = int(strike / step) + 2
    place = value / step
    below = np.floor(place).astype(np.int64)
    one = np.zeros(size)
    for index, share in ((below, 1 - place + below), (below + 1, place - below)):
        near = index < size
        np.add.at(one, index[near], (chance * share)[near])
    total = np.ones(1)
    for digit in bin(crowd)[2:]:
        total = fftconvolve(total, total)[:size]
        if digit == "1":
            total = fftconvolve(total, one)[:size]
    return float(np.maximum(strike - step * np.arange(len(total)), 0) @ np.maximum(total, 0))


def presence(q, bits, crowd, epsilon, step=2e-3):
    """x differs from the crowd in all bits, x' is the crowd's: max(0, s) = s + max(0, -s)."""
    strike = crowd * np.exp(epsilon)
    return (crowd - strike + put(q, bits, crowd, strike, step)) / crowd


def absence(q, bits, crowd, epsilon, step=2e-3):
    """The other order."""
    return np.exp(epsilon) * put(q, bits, crowd, crowd * np.exp(-epsilon), step) / crowd


def simulated(q, relation, crowd, epsilon, draws, generator):
    """delta and its standard error, from collections with x: the mean of max(0, 1 - e^eps Q/P).

    relation: bits in which only x, only x', both differ from what the others hold.
    """
    ratio, one, other = (1 - q) / q, np.zeros(draws), np.zeros(draws)
    for person in range(crowd):
        turned = (1 - q, q, 1 - q) if person == 0 else (q, q, q)
        only_x, only_other, both = (
            2.0 * generator.binomial(bits, chance, draws) - bits
            for bits, chance in zip(relation, turned, strict=True)
        )
        one += ratio ** (only_x + both)
        other += ratio ** (only_other + both)
    loss = np.maximum(0, 1 - np.exp(epsilon) * other / one)
    return float(loss.mean()), float(loss.std() / np.sqrt(draws))


def drawn(q, bits, crowd, epsilon, draws, generator):
    """delta and eta of ones among zeros, each with its standard error, from whole collections."""
    flipped = np.arange(bits + 1)
    zeros, ones = (binom.pmf(flipped, bits, chance) for chance in (q, 1 - q))
    counts = generator.multinomial(crowd - 1, zeros, draws) + generator.multinomial(1, ones, draws)
    ratio = counts @ ((1 - q) / q) ** (2.0 * flipped - bits) / crowd
    figures = np.maximum(0, 1 - np.exp(epsilon) / ratio), ratio > np.exp(epsilon)
    return [(float(np.mean(f)), float(np.std(f) / np.sqrt(draws))) for f in figures]
