"""Words in Bloom filters by cohort: encoding, privacy, estimates, errors, presence.

Every statistical test uses fixed seeds and would fail by chance with probability about ALARM.
"""

import hashlib
import itertools
import unicodedata
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from scipy.special import ndtri
from scipy.stats import binom, chisquare, norm

from incrowd.accounting.blanket_ratios import ratios
from incrowd.accounting.worst import delta
from incrowd.channels.bit import Bit
from incrowd.channels.bit_flip import BitFlip
from incrowd.encoding import bloom as encoding
from incrowd.encoding.bloom import candidate_places, normalize, places
from incrowd.errors import TableError
from incrowd.estimation.word_shares import FAMILY_ERROR, estimate_words, tail_of_placements
from incrowd.survey import Domain

ALARM = 1e-4
DRAWS = 300
CITIES = ("Oslo", "Zürich", "São Paulo", "東京", "Graz")

# --- encoding --------------------------------------------------------------------------------


def test_one_spelling_of_each_word():
    assert normalize("  Zu\u0308rich\u00a0\n") == "Zürich" == normalize("Zürich")
    assert normalize("Zürich") != normalize("zürich")


@given(st.text())
def test_a_normalized_word_is_normal(word):
    once = normalize(word)
    assert normalize(once) == once and unicodedata.is_normalized("NFC", once)


def place_by_hand(word, cohort, question, number, block):
    """SHA-256 of five fields, each after its length in eight bytes."""
    fields = [b"incrowd word 1", question.encode(), cohort.to_bytes(8, "big")]
    fields += [number.to_bytes(8, "big"), word.encode()]
    digest = hashlib.sha256(b"".join(len(f).to_bytes(8, "big") + f for f in fields))
    return int(digest.hexdigest(), 16) % block


@pytest.mark.parametrize("block", [2, 32, 100])
def test_places_are_the_stated_hash(block):
    cohorts = np.array([0, 3, 255, 3, 1])
    found = places(CITIES, cohorts, "town", 3, block)
    expected = [
        [place_by_hand(word, int(cohort), "town", number, block) for number in range(3)]
        for word, cohort in zip(CITIES, cohorts, strict=True)
    ]
    assert found.tolist() == expected and found.dtype == np.int64


def test_places_never_change():
    """Clients and analysts of different releases must agree; the digest is that of `sha256sum`."""
    digest = 0x354D00064558A5123D1EFC17C62421656B561288D293074E2352A1927AA1E3F5
    for block in (32, 100, 1024):
        assert places(["Zürich"], np.array([5]), "town", 2, block)[0, 1] == digest % block


def test_places_depend_on_every_field_and_on_where_one_ends():
    def far(word, question):
        return candidate_places([word], 64, question, 1, 1024).tolist()

    assert far("bc", "a") != far("c", "ab") and far("a", "q") != far("a", "r")
    both = candidate_places(["a"], 64, "q", 2, 1024)[0]
    assert len(np.unique(both)) > 100  # cohorts and blocks differ


def test_places_are_uniform_and_independent():
    found = candidate_places([f"word {i}" for i in range(200)], 64, "q", 2, 8)
    pairs = np.bincount((8 * found[..., 0] + found[..., 1]).ravel(), minlength=64)
    neighbors = np.bincount((8 * found[:, :-1, 0] + found[:, 1:, 0]).ravel(), minlength=64)
    assert chisquare(pairs).pvalue > ALARM and chisquare(neighbors).pvalue > ALARM
    dependent = np.bincount((9 * found[..., 0]).ravel(), minlength=64)
    assert chisquare(dependent).pvalue < ALARM


def test_each_pair_of_word_and_cohort_is_hashed_once(monkeypatch):
    calls, digest = Counter(), encoding._digest

    def counted(prefix, *key):
        calls[key] += 1
        return digest(prefix, *key)

    monkeypatch.setattr(encoding, "_digest", counted)
    generator = np.random.default_rng(1)
    words = [f"w{i}" for i in generator.integers(0, 10, 20_000)]
    found = places(words, generator.integers(0, 16, 20_000), "q", 2, 32)
    assert found.shape == (20_000, 2) and len(calls) == 320 and set(calls.values()) == {1}


def test_no_rows_and_broken_text():
    assert places([], np.array([], int), "q", 2, 32).shape == (0, 2)
    assert places(["\ud800"], np.array([0]), "q", 1, 32).shape == (1, 1)


# --- privacy ---------------------------------------------------------------------------------


def report_law(word, flip):
    """P((c, s)|word) of a word that sets bit word[c] of two bits in cohort c, as a vector."""
    matrix = flip.matrix
    cells = [
        matrix[s, int(place == 0)] * matrix[t, int(place == 1)]
        for place in word
        for s in (0, 1)
        for t in (0, 1)
    ]
    return np.array(cells) / len(word)


def multiset_law(laws):
    """The law of the unordered reports of people with those laws."""
    found = Counter()
    for reports in itertools.product(range(len(laws[0])), repeat=len(laws)):
        chance = np.prod([law[r] for law, r in zip(laws, reports, strict=True)])
        found[tuple(sorted(reports))] += chance
    return found


def hockey_stick(first, second, epsilon):
    return sum(max(0.0, first[r] - np.exp(epsilon) * second[r]) for r in first)


@pytest.mark.parametrize("crowd", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_no_words_leak_more_than_the_blanket_of_the_choices(crowd):
    """Two cohorts, one block of two bits: all crowds and pairs of the four kinds of words."""
    flip, epsilon = BitFlip.at_least(0.2), 0.4
    bound = delta(ratios(Domain(2, 1, 1), flip, (1, 1, 0)), crowd, epsilon).upper
    kinds = [report_law(word, flip) for word in itertools.product((0, 1), repeat=2)]
    worst = 0.0
    for others in itertools.combinations_with_replacement(kinds, crowd - 1):
        laws = [multiset_law([kind, *others]) for kind in kinds]
        worst = max(worst, *(hockey_stick(a, b, epsilon) for a in laws for b in laws))
    assert 0.1 * bound < worst <= bound * (1 + 1e-12)
    unhidden = delta(ratios(Domain(2, 1, 1), flip, (1, 1, 0)), 40, epsilon).upper
    assert worst > unhidden  # a crowd larger than it is would not be covered


# --- simulation at the level of counts -------------------------------------------------------


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


# --- the law of a random placement -----------------------------------------------------------


def exact_tails(values):
    """P[sum >= t] at every possible sum t, by enumeration of all placements."""
    sums = np.sort(np.array([sum(chosen) for chosen in itertools.product(*values)]))
    return sums, np.arange(len(sums), 0, -1) / len(sums)


def test_tail_of_placements_is_that_of_the_enumeration():
    values = np.random.default_rng(5).exponential(size=(8, 5))
    values -= values.mean(axis=1, keepdims=True)
    sums, tails = exact_tails(values)
    chosen = [np.flatnonzero(tails <= p)[0] for p in (0.4, 0.1, 0.01, 0.001, 0.0001)]
    stacked = np.broadcast_to(values, (len(chosen), 8, 5))
    found = tail_of_placements(stacked, sums[chosen])
    assert np.allclose(found, tails[chosen], rtol=0.15)
    spread = np.sqrt((values**2).mean(axis=1).sum())
    assert not np.allclose(norm.sf(sums[chosen] / spread), tails[chosen], rtol=0.15)


def test_the_largest_sum_has_the_chance_of_one_placement():
    values = np.random.default_rng(6).normal(scale=0.01, size=(1, 8, 4))
    values[:, :, 1] += 1
    values -= values.mean(axis=2, keepdims=True)
    found = tail_of_placements(values, values.max(axis=2).sum(axis=1))
    assert found[0] == pytest.approx(4.0**-8, rel=0.01)


def test_tail_of_lattice_sums_lies_between_their_steps():
    """One heavy word among 64 blocks of 32 bits: the number of collisions is binomial."""
    values = np.zeros((1, 64, 32))
    values[:, :, 0] = 1
    values -= values.mean(axis=2, keepdims=True)
    for hits in (4, 6, 9, 12, 15):
        found = tail_of_placements(values, np.array([hits - 2.0]))[0]
        assert binom.sf(hits, 64, 1 / 32) < found < binom.sf(hits - 1, 64, 1 / 32)
    assert norm.sf(10 / np.sqrt(64 * 31) * 32) < binom.sf(12, 64, 1 / 32) / 100


def test_few_placements_prove_little():
    """In one block of 64 bits any word has the heaviest bit with probability 1 / 64."""
    placed = np.arange(4).reshape(4, 1, 1)
    counts = np.array([[10_000, 9_000, *([20] * 63)]])
    found = estimate_words(NAMES[:4], placed, counts, BitFlip.at_least(0.001).inverse)
    assert found.estimate[0] > 0.8 and found.p_value[0] >= 1 / 64 * (1 - 1e-9)
    assert not found.present.any()


def test_presence_is_holms_rule():
    placed, counts = one_collection(people=20_000)
    found = estimate_words(NAMES, placed, counts, FLIP.inverse)
    order = np.argsort(found.p_value)
    raised = [(40 - k) * found.p_value[i] for k, i in enumerate(order)]
    adjusted = np.maximum.accumulate(raised)
    assert np.array_equal(found.present[order], adjusted <= FAMILY_ERROR)
    assert 0 < found.present.sum() < 40


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
def collections(name):
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
    found = [estimates for estimates, *_ in collections(name)]
    for word in (0, 2, 20):
        z = np.array([(f.estimate[word] - KNOWN[word]) / f.standard_error[word] for f in found])
        assert covered(z, len(z))
        assert abs(z.mean()) * np.sqrt(len(z)) < 1.1 * norm.isf(ALARM / 2)
    z = np.array([(f.others - 0.4) / f.others_error for f in found])
    assert covered(z, len(z)) and abs(z.mean()) * np.sqrt(len(z)) < 1.1 * norm.isf(ALARM / 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", CROWDS)
def test_absent_words_are_rarely_called_present(name):
    found = [estimates for estimates, *_ in collections(name)]
    wrong = sum(bool(f.present[6:].any()) for f in found)
    assert wrong <= binom.isf(ALARM, len(found), FAMILY_ERROR)
    assert all(f.present[0] for f in found)


def by_standard_error(found):
    """A wrong rule: the normal tail of estimate / standard error, Bonferroni."""
    return found.estimate / found.standard_error > -ndtri(FAMILY_ERROR / len(NAMES))


@pytest.mark.slow
def test_the_normal_tail_calls_too_many_words_present():
    found = [estimates for estimates, *_ in collections("heavy and many")]
    wrong = sum(bool(by_standard_error(f)[6:].any()) for f in found)
    assert wrong > binom.isf(ALARM, DRAWS, FAMILY_ERROR)


@pytest.mark.slow
def test_errors_of_the_noise_alone_do_not_cover():
    z = []
    for estimates, placed, counts, inverse in collections("heavy and many"):
        _, rows, *_ = dense_regression(placed, counts, inverse)
        variance = 0.3 * 0.7 / 0.4**2 / counts[:, 0]
        noise = np.sqrt(rows**2 @ np.repeat(variance, rows.shape[1] // len(counts)))
        z.append((estimates.estimate[2] - KNOWN[2]) / noise[2])
    assert not covered(np.array(z), DRAWS)


@pytest.mark.slow
def test_without_the_background_shares_come_out_too_high():
    found = collections("common")
    raw = [dense_regression(*given_, background=False)[0][20] for _, *given_ in found]
    error = np.std(raw) / np.sqrt(DRAWS)
    assert np.mean(raw) > 5 * error
    right = [estimates.estimate[20] for estimates, *_ in found]
    assert abs(np.mean(right)) < norm.isf(ALARM / 2) * np.std(right) / np.sqrt(DRAWS)


@pytest.mark.slow
def test_copies_of_one_person_are_not_two_people():
    z = []
    for estimates, placed, counts, inverse in collections("four copies"):
        wrong = estimate_words(NAMES, placed, counts, inverse, copies=1)
        z.append((estimates.estimate[0] - KNOWN[0]) / wrong.standard_error[0])
    assert not covered(np.array(z), len(z))


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
    refused(twice, placed[:2], counts, "'Zürich'; stands 2 times")
    refused(NAMES, placed[:, :1, :1], counts[:1, :17], "more than the 14 .* raise the .* cohorts")
    same = placed[[0, 1, 0]]
    refused(("a", "b", "c"), same, counts, "'c'; sets the bits of 'a' in every cohort")
    refused(NAMES, placed, counts * 0, "reports")
    refused(NAMES, placed, counts[:, :-1], "should have a row for each of 16 cohorts")


def test_mixtures_of_other_words_are_refused():
    """(0, 0) + (1, 1) sets the bits of (0, 1) + (1, 0)."""
    placed = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])[:, :, None]
    _, counts = one_collection(cohorts=2, hashes=1)
    refused(NAMES[:4], placed, counts, "mixtures of the others")
