"""Bits that travel apart, among people of whom all others have the same bits: exact, by numpy.

Of one bit the others' reports and the person's own are counted. If she differs from the others the
count is Bin(N - 1, q) + Bin(1, p), else Bin(N, q); their ratio at a count t is
(p r + q) / (q r + p), r = t p / ((N - t) q). The losses of several bits, independent, add up. They
are put on a grid so that their means are kept, which adds less than 1e-4 of their variance.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

FINE = 100  # points of the grid in a standard deviation of the loss of one bit
REACH = 16.0  # standard deviations of the sum, beyond which there is less than 1e-50


def losses(q, people, differs):
    """ln(P / Q) and its law under P. differs: whether she differs under P, else under Q."""
    mean, deviation = people * q, np.sqrt(people * q * (1 - q))
    first, last = mean - 40 * deviation - 20, mean + 40 * deviation + 40
    t = np.arange(max(0, int(first)), min(people, int(last)) + 1)
    log = binom.logpmf(t, people, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = t * (1 - q) / ((people - t) * q)
        ratio = np.where(t == people, (1 - q) / q, ((1 - q) * r + q) / (q * r + 1 - q))
    chance = np.exp(log + (np.log(ratio) if differs else 0.0))
    return (np.log(ratio) if differs else -np.log(ratio)), chance


def worst_delta(bits, people, epsilon):
    """The hockey-stick divergence of all bits together, in the worst of three crowds: of people who
    all have what she has under Q, or under P, or who are with her in half of the bits.

    bits: for each message q, and in how many of its bits two records can differ.
    """
    number = sum(each for _, each in bits)
    whole = np.sqrt(sum(k * (1 - 2 * q) ** 2 / (people * q * (1 - q)) for q, k in bits))
    step = whole / (FINE * np.sqrt(number))
    size = 1 << int(np.ceil(np.log2(2 * (REACH * whole + whole**2 + epsilon) / step)))
    values = step * ((np.arange(size) + size // 2) % size - size // 2)
    above = values > epsilon
    crowds = np.ones((3, size // 2 + 1), complex)
    for q, k in bits:
        first, second = (on_grid(*losses(q, people, each), step, size) for each in (True, False))
        crowds *= [first**k, second**k, first ** (k - k // 2) * second ** (k // 2)]
    laws = np.maximum(np.fft.irfft(crowds, size), 0)
    return float(np.max(laws[:, above] @ -np.expm1(epsilon - values[above])))


def on_grid(values, chances, step, size):
    """The transform of a law, each value split between two points so that its mean is kept."""
    place = values / step
    below = np.floor(place).astype(np.int64)
    law = np.bincount(below % size, chances * (1 - place + below), size)
    return np.fft.rfft(law + np.bincount((below + 1) % size, chances * (place - below), size))


def excess_variance(bits, people, epsilon, wanted):
    """By which factor the noise variances are larger than what keeps `wanted` in such crowds.

    All variances v = q (1 - q) / (1 - 2 q)^2 are divided by the factor alike.
    """
    variances = [q * (1 - q) / (1 - 2 * q) ** 2 for q, _ in bits]

    def excess(log):
        less = [v * np.exp(-log) for v in variances]
        noises = [(1 - 1 / np.sqrt(1 + 4 * v)) / 2 for v in less]
        pairs = [(q, number) for q, (_, number) in zip(noises, bits, strict=True)]
        return np.log(max(worst_delta(pairs, people, epsilon), 1e-300) / wanted)

    return float(np.exp(brentq(excess, -1.5, 1.5, xtol=1e-6)))
