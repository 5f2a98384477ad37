"""Words in many collections: intervals cover, absent words are rarely called present."""

from functools import cache

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom, norm

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.estimation.words import FAMILY_ERROR, estimate_words
from tests.oracles.word_collections import KNOWN, NAMES, dense_regression, simulate, zipf

ALARM = 1e-4
DRAWS = 300

# --- many collections ------------------------------------------------------------------------


HEAVY = np.concatenate([[0.3], zipf(200, 0.1)])
COMMON = zipf(200, 0.4)
CROWDS = {
    "common": (COMMON, 32, 1, 16, 20_000, BitFlip.at_least(0.3), 1),
    "heavy": (HEAVY, 32, 1, 16, 20_000, BitFlip.at_least(0.3), 1),
    "heavy and many": (HEAVY, 32, 1, 16, 2_000_000, BitFlip.at_least(0.3), 1),
    "two blocks": (HEAVY, 16, 2, 16, 100_000, BitFlip.at_least(0.1), 1),
    "little noise": (COMMON, 64, 1, 32, 20_000, BitFlip.at_least(0.0423), 1),
    "asymmetric": (COMMON, 32, 1, 16, 20_000, Bit.from_probabilities(0.05, 0.5), 1),
    "four copies": (COMMON, 128, 1, 16, 2_000, BitFlip.at_least(0.01), 4),
}


@cache
def estimated(name):
    """Truth and estimates of DRAWS collections, each with hash functions of its own."""
    unknown, cohorts, hashes, block, people, channel, copies = CROWDS[name]
    generator = np.random.default_rng(list(CROWDS).index(name))
    shares = np.concatenate([KNOWN, unknown])
    found = []
    for _ in range(DRAWS):
        placed = generator.integers(0, block, (len(shares), cohorts, hashes))
        counts = simulate(generator, shares, placed, block, people, channel, copies)
        inverse, placed = np.linalg.inv(channel.matrix), placed[: len(KNOWN)]
        found.append(
            (estimate_words(NAMES, placed, counts, inverse, copies), placed, counts, inverse)
        )
    return found


def covered(errors, draws, level=0.95):
    """Whether so many errors (in standard errors) within 1.96 fit a coverage of 95 +- 1%."""
    inside = int(np.sum(np.abs(errors) < ndtri((1 + level) / 2)))
    low, high = binom.ppf(ALARM, draws, level - 0.01), binom.isf(ALARM, draws, level + 0.01)
    return bool(low <= inside <= high)


@pytest.mark.slow
@pytest.mark.parametrize("name", CROWDS)
def test_intervals_cover_and_estimates_are_unbiased(name):
    found = [estimates for estimates, *_ in estimated(name)]
    for word in (0, 2, 20):
        z = np.array([(f.estimate[word] - KNOWN[word]) / f.standard_error[word] for f in found])
        assert covered(z, len(z))
        assert abs(z.mean()) * np.sqrt(len(z)) < 1.1 * norm.isf(ALARM / 2)
    z = np.array([(f.others - 0.4) / f.others_error for f in found])
    assert covered(z, len(z)) and abs(z.mean()) * np.sqrt(len(z)) < 1.1 * norm.isf(ALARM / 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", CROWDS)
def test_absent_words_are_rarely_called_present(name):
    found = [estimates for estimates, *_ in estimated(name)]
    wrong = sum(bool(f.present[6:].any()) for f in found)
    assert wrong <= binom.isf(ALARM, len(found), FAMILY_ERROR)
    assert all(f.present[0] for f in found)


def by_standard_error(found):
    """A wrong rule: the normal tail of estimate / standard error, Bonferroni."""
    return found.estimate / found.standard_error > -ndtri(FAMILY_ERROR / len(NAMES))


@pytest.mark.slow
def test_the_normal_tail_calls_too_many_words_present():
    found = [estimates for estimates, *_ in estimated("heavy and many")]
    wrong = sum(bool(by_standard_error(f)[6:].any()) for f in found)
    assert wrong > binom.isf(ALARM, DRAWS, FAMILY_ERROR)


@pytest.mark.slow
def test_errors_of_the_noise_alone_do_not_cover():
    z = []
    for estimates, placed, counts, inverse in estimated("heavy and many"):
        _, rows, *_ = dense_regression(placed, counts, inverse)
        variance = 0.3 * 0.7 / 0.4**2 / counts[:, 0]
        noise = np.sqrt(rows**2 @ np.repeat(variance, rows.shape[1] // len(counts)))
        z.append((estimates.estimate[2] - KNOWN[2]) / noise[2])
    assert not covered(np.array(z), DRAWS)


@pytest.mark.slow
def test_without_the_background_shares_come_out_too_high():
    found = estimated("common")
    raw = [dense_regression(*given_, background=False)[0][20] for _, *given_ in found]
    error = np.std(raw) / np.sqrt(DRAWS)
    assert np.mean(raw) > 5 * error
    right = [estimates.estimate[20] for estimates, *_ in found]
    assert abs(np.mean(right)) < norm.isf(ALARM / 2) * np.std(right) / np.sqrt(DRAWS)


@pytest.mark.slow
def test_copies_of_one_person_are_not_two_people():
    z = []
    for estimates, placed, counts, inverse in estimated("four copies"):
        wrong = estimate_words(NAMES, placed, counts, inverse, copies=1)
        z.append((estimates.estimate[0] - KNOWN[0]) / wrong.standard_error[0])
    assert not covered(np.array(z), len(z))
