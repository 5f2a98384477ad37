"""Collections of words at the level of counts, and textbook regression on them."""

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip


def simulate(generator, shares, placed, block, people, channel, copies=1):
    """Counts of reports: people draw words, reports draw cohorts, bits are flipped."""
    _, cohorts, hashes = placed.shape
    owners = generator.multinomial(people, shares)
    sent = generator.multinomial(copies * owners, np.full(cohorts, 1 / cohorts))
    true = np.zeros((cohorts, hashes, block), int)
    for hashed in range(hashes):
        np.add.at(true[:, hashed], (np.arange(cohorts), placed[:, :, hashed]), sent)
    reports = sent.sum(axis=0)[:, None]
    true = true.reshape(cohorts, -1)
    ones, zeros = channel.matrix[1, 1], channel.matrix[1, 0]
    shown = generator.binomial(true, ones) + generator.binomial(reports - true, zeros)
    return np.hstack([reports, shown])


def zipf(number, mass):
    falling = 1 / np.arange(1, number + 1)
    return falling / falling.sum() * mass


def dense_design(placed, block):
    """X_w as rows, by loops."""
    words, cohorts, hashes = placed.shape
    design = np.zeros((words, cohorts, hashes, block))
    for word, cohort, hashed in np.ndindex(placed.shape):
        design[word, cohort, hashed, placed[word, cohort, hashed]] = 1
    return design.reshape(words, -1)


def dense_regression(placed, counts, inverse, background=True):
    """Textbook weighted least squares: estimates, their rows of influence, residuals, weights."""
    hashes = placed.shape[2]
    block = (counts.shape[1] - 1) // hashes
    rate = counts[:, 1:] / counts[:, :1]
    values = (inverse[1, 0] * (1 - rate) + inverse[1, 1] * rate).ravel()
    weights = np.repeat(counts[:, 0] / counts[:, 0].mean(), hashes * block)
    design = dense_design(placed, block).T
    if background:
        means = np.repeat(values.reshape(-1, block).mean(axis=1), block)
        values, design = values - means, design - 1 / block
    rows = np.linalg.solve(design.T @ (weights[:, None] * design), design.T * weights)
    return rows @ values, rows, values - design @ (rows @ values), weights, design


FLIP = BitFlip.at_least(0.25)
NAMES = tuple(map(str, range(40)))
KNOWN = np.concatenate([zipf(6, 0.6), np.zeros(34)])


def one_collection(seed=3, cohorts=16, hashes=2, block=16, people=50_000, channel=FLIP):
    generator = np.random.default_rng(seed)
    shares = np.concatenate([KNOWN, zipf(100, 0.4)])
    placed = generator.integers(0, block, (len(shares), cohorts, hashes))
    return placed[: len(KNOWN)], simulate(generator, shares, placed, block, people, channel)
