"""Words in Bloom filters by cohort: encoding, privacy, estimates, errors, presence.

Every statistical test uses fixed seeds and would fail by chance with probability about ALARM.
"""

import unicodedata

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from incrowd.accountant.channels.bit import Bit
from incrowd.encoding.bloom import candidate_places, normalize, places
from incrowd.errors import TableError
from incrowd.estimation.words import estimate_words
from tests.oracles.word_collections import (
    FLIP,
    NAMES,
    dense_design,
    dense_regression,
    one_collection,
)

CITIES = ("Oslo", "Zürich", "São Paulo", "東京", "Graz")


# --- one collection against independent computations -----------------------------------------


def test_estimates_are_weighted_least_squares():
    placed, counts = one_collection()
    found = estimate_words(NAMES, placed, counts, FLIP.inverse)
    expected, *_ = dense_regression(placed, counts, FLIP.inverse)
    assert np.allclose(found.estimate, expected, rtol=0, atol=1e-12)
    assert found.others == pytest.approx(1 - expected.sum(), abs=1e-12)
    assert found.degrees_of_freedom == 16 * 2 * 15 - 40
    unweighted = counts.copy()
    unweighted[0] //= 10
    again, *_ = dense_regression(placed, unweighted, FLIP.inverse)
    assert np.allclose(
        estimate_words(NAMES, placed, unweighted, FLIP.inverse).estimate, again, atol=1e-12
    )
    assert not np.allclose(again, expected, atol=1e-4)


def test_shares_are_nonnegative_least_squares():
    placed, counts = one_collection()
    found = estimate_words(NAMES, placed, counts, FLIP.inverse)
    estimate, _, residual, weights, design = dense_regression(placed, counts, FLIP.inverse)
    root = np.sqrt(weights)
    values = root * (residual + design @ estimate)
    expected = lsq_linear(root[:, None] * design, values, (0, np.inf), tol=1e-14).x
    assert np.allclose(found.share, expected, atol=1e-6)
    assert found.share.min() == 0 and "biased" in found.share_statement


@pytest.mark.parametrize("channel", [FLIP, Bit.from_probabilities(0.05, 0.5)])
def test_standard_errors_are_the_sum_of_three_parts(channel):
    """Noise: each person's bit has the variance P(1|x) P(0|x) / (difference)^2, x the true bit."""
    placed, counts = one_collection(people=2_000_000, channel=channel)
    inverse = np.linalg.inv(channel.matrix)
    found = estimate_words(NAMES, placed, counts, inverse)
    estimate, rows, residual, weights, _ = dense_regression(placed, counts, inverse)
    scale = (channel.matrix[1, 1] - channel.matrix[1, 0]) ** 2
    zero, one = (np.prod(channel.matrix[:, x]) / scale for x in (0, 1))
    shown = counts[:, 1:] / counts[:, :1]
    ones = (shown - channel.matrix[1, 0]) / np.sqrt(scale)
    noise = ((zero * (1 - ones) + one * ones) / counts[:, :1]).ravel()
    freedom = 16 * 2 * 15 - 40
    excess = (weights * residual**2).sum() / freedom - (weights * noise).mean()
    assert excess > 0
    collisions = excess * (rows**2 / weights).sum(axis=1)
    sampling = np.maximum(estimate * (1 - estimate), 0) / counts[:, 0].sum()
    assert np.allclose(found.standard_error**2, rows**2 @ noise + collisions + sampling, rtol=1e-9)
    total = rows.sum(axis=0)
    others = 1 - estimate.sum()
    expected = total**2 @ noise + excess * (total**2 / weights).sum()
    expected += others * (1 - others) / counts[:, 0].sum()
    assert found.others_error**2 == pytest.approx(expected, rel=1e-9)


def test_cohorts_without_reports_do_not_count():
    placed, counts = one_collection()
    empty = counts.copy()
    empty[5] = 0
    found = estimate_words(NAMES, placed, empty, FLIP.inverse)
    left = [c for c in range(16) if c != 5]
    expected = estimate_words(NAMES, placed[:, left], counts[left], FLIP.inverse)
    assert np.array_equal(found.estimate, expected.estimate)
    assert np.array_equal(found.p_value, expected.p_value)


def test_without_noise_and_other_words_the_answer_is_exact():
    """One report of every word in every cohort, times its number of people."""
    people = np.array([5, 3, 2, 0])
    placed = np.random.default_rng(4).integers(0, 8, (4, 16, 1))
    true = np.tensordot(people, dense_design(placed, 8), 1).reshape(16, -1)
    counts = np.hstack([np.full((16, 1), 10), true.astype(int)])
    found = estimate_words(NAMES[:4], placed, counts, np.eye(2))
    assert np.allclose(found.estimate, people / 10, atol=1e-12)
    assert np.allclose(found.share, people / 10, atol=1e-12)
    assert found.others == pytest.approx(0, abs=1e-12)
    assert found.present.tolist() == [True, True, True, False]


def test_intervals_use_student_for_few_equations():
    _, counts = one_collection(cohorts=1, hashes=1)
    found = estimate_words(NAMES[:10], np.arange(10).reshape(10, 1, 1), counts, FLIP.inverse)
    assert found.degrees_of_freedom == 5
    half = (found.high - found.low) / 2 / found.standard_error
    assert np.allclose(half, 2.570582)  # a table of Student's t, 5 degrees, 97.5%


# --- from words to words ---------------------------------------------------------------------


def test_words_are_found_again():
    """Through the real hash and packed bits, spelled in two ways."""
    generator = np.random.default_rng(7)
    unknown = [f"village {i}" for i in range(300)]
    spelled = [unicodedata.normalize("NFD", f" {city}") for city in CITIES[:3]]
    answers = generator.choice(spelled + unknown, 30_000, p=[0.3, 0.2, 0.1] + [0.4 / 300] * 300)
    cohort = generator.integers(0, 32, len(answers))
    bits = places(answers.tolist(), cohort, "town", 1, 32) == np.arange(32)
    flips = generator.random(bits.shape) < FLIP.q
    counts = np.zeros((32, 33), np.int64)
    np.add.at(counts, cohort, np.hstack([np.ones((len(bits), 1), bool), bits ^ flips]))
    placed = candidate_places(CITIES, 32, "town", 1, 32)
    found = estimate_words(CITIES, placed, counts, FLIP.inverse)
    assert found.present.tolist() == [True, True, True, False, False]
    truth = np.array([0.3, 0.2, 0.1, 0, 0])
    assert np.all(np.abs(found.estimate - truth) < 4.3 * found.standard_error)
    assert abs(found.others - 0.4) < 4.3 * found.others_error


# --- wrong use -------------------------------------------------------------------------------


def refused(candidates, placed, counts, message):
    with pytest.raises(TableError, match=message) as error:
        estimate_words(candidates, placed, counts, FLIP.inverse)
    assert len(error.value.problems) == 1


def test_wrong_use_is_told_what_would_work():
    placed, counts = one_collection()
    refused((), placed[:0], counts, "name at least one")
    twice = tuple(map(normalize, ("Zu\u0308rich", " Zürich")))
    refused(twice, placed[:2], counts, "'Zürich'; it occurs 2 times")
    refused(NAMES, placed[:, :1, :1], counts[:1, :17], "at most 14 .* raise the .* cohorts")
    same = placed[[0, 1, 0]]
    refused(("a", "b", "c"), same, counts, "'c'; it sets the same bits as 'a' in all cohorts")
    refused(NAMES, placed, counts * 0, "reports")
    refused(NAMES, placed, counts[:, :-1], "should have a row for each of 16 cohorts")


def test_mixtures_of_other_words_are_refused():
    """(0, 0) + (1, 1) sets the bits of (0, 1) + (1, 0)."""
    placed = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[:, :, None]
    _, counts = one_collection(cohorts=2, hashes=1)
    refused(NAMES[:4], placed, counts, "mixtures of the others")
