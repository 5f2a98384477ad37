"""Sampling of asymmetric, k-ary and staged channels, and the memory of permanent responses.

Exactness is shown by enumeration: a scripted keystream gives every combination of random bits
once, so that counts are probabilities. Statistical tests have fixed seeds, a false alarm rate of
1e-6 each unless stated, and reject a wrong variant.
"""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor, TwoStage
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from incrowd.errors import AnswersError
from incrowd.sampling import records
from incrowd.sampling.records import KeystreamCoins, respond, uniform_below
from tests.conftest import one_in, pack
from tests.sampling.conftest import FALSE_ALARM, simulation, unpack

QUARTER = DENOMINATOR // 4

LANES = np.arange(64, dtype=np.uint64)


class Scripted:
    """A keystream that answers from a list of answers, as many at a time as it takes."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def words(self, count):
        answer = []
        while len(answer) < count:
            answer += list(self.answers.pop(0))
        assert len(answer) == count
        return np.array(answer, dtype=np.uint64)


def lane_word(bits):
    """One word with these 64 bits."""
    return [int("".join(str(int(b)) for b in reversed(bits)), 2)]


def respond_with_options(codes, channel, keystream):
    for stage in channel.stages:
        codes = stage.chosen(codes, KeystreamCoins(keystream))
    return codes


# --- one bit ---------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [Bit(QUARTER, 3 * QUARTER), Bit(3 * QUARTER, QUARTER)])
def test_bits_are_exact_by_enumeration(channel):
    """Lane i of 64 gets bits 0 to 3 of i as its random digits and bit 4 as its answer, so that
    every combination comes twice and 32 lanes an answer are all its random events."""
    digits = [lane_word(LANES >> place & 1) for place in range(4)]
    answers = (LANES >> 4 & 1).astype(np.uint8)
    found = unpack(respond(pack([answers]), 64, channel, Scripted(*digits)), 64)[0]
    for answer in (0, 1):
        ones = found[answers == answer].sum()
        assert ones / 32 == channel.matrix[1, answer]


def test_a_flip_of_one_and_of_zero_use_different_digits():
    """The mask of raised zeros comes first; with all random digits 0 (u = 0) everything flips."""
    records = pack([[0] * 32 + [1] * 32])
    zero, most = [0], [2**64 - 1]
    all_flip = respond(records, 64, Bit(2 * QUARTER, 2 * QUARTER), Scripted(zero, zero))
    only_zeros = respond(records, 64, Bit(2 * QUARTER, 2 * QUARTER), Scripted(zero, most))
    assert unpack(all_flip, 64).tolist() == [[1] * 32 + [0] * 32]
    assert unpack(only_zeros, 64).tolist() == [[1] * 64]


@pytest.mark.parametrize("bits", [1, 3, 8, 13, 64])
@pytest.mark.parametrize(("zero", "one"), list(product([0, DENOMINATOR], repeat=2)))
def test_certain_reports_and_zero_padding(bits, zero, one):
    records = np.random.default_rng(bits).integers(0, 2, (5, bits), dtype=np.uint8)
    found = respond(pack(records), bits, Bit(zero, one), simulation(1))
    expected = np.where(records, one, zero) // DENOMINATOR
    assert np.array_equal(found, pack(expected))


def test_padding_stays_zero_and_the_records_stay_as_they_are():
    records = pack(np.ones((100, 5)))
    before = records.copy()
    found = respond(records, 5, Bit(3 * QUARTER, QUARTER), simulation(2))
    assert not (found >> 5).any()
    assert np.array_equal(records, before)


def ones_fit(answers, reports, one_if):
    """Reports of 1 given 0 and given 1 (binomial, two-sided)."""
    for answer in (0, 1):
        chosen = reports[answers == answer]
        chance = stats.binomtest(int(chosen.sum()), chosen.size, one_if[answer]).pvalue
        if chance < FALSE_ALARM / 2:
            return False
    return True


DEVICES = [
    Bit.from_probabilities(0.03, 0.61),
    Bit.from_probabilities(0.8, 0.3),
    Warner.from_probability(0.7),
    Simmons.from_probabilities(0.4, 0.2),
    Rappor.one_time(0.5),
    Rappor.from_probabilities(0.5, 0.5, 0.75),
    Rappor.from_probabilities(0.25, 0.1, 0.7),
    TwoStage(Bit.from_probabilities(0.1, 0.7), Bit.from_probabilities(0.6, 0.05)),
]


@pytest.mark.parametrize("device", one_in(3, DEVICES), ids=lambda d: type(d).__name__)
def test_two_million_bits_follow_the_matrix(device):
    """At 13 bits a row. Wrong: probabilities that are 2% off (at least 6 standard errors)."""
    records = np.random.default_rng(3).integers(0, 2, (150_000, 13), dtype=np.uint8)
    found = unpack(respond(pack(records), 13, device, simulation(4)), 13)
    assert ones_fit(records, found, device.matrix[1])
    assert not ones_fit(records, found, device.matrix[1] * 1.02)


def test_a_sampler_that_forgets_a_stage_is_rejected():
    device = Rappor.from_probabilities(0.5, 0.5, 0.75)
    records = np.random.default_rng(5).integers(0, 2, (100_000, 8), dtype=np.uint8)
    for stage in device.stages:
        found = unpack(respond(pack(records), 8, stage, simulation(6)), 8)
        assert not ones_fit(records, found, device.matrix[1])


def pairs_fit(reports, chance):
    """Neighboring bits of reports of the same answer are independent (chi-square, 4 classes)."""
    codes = 2 * reports[:, 0].astype(int) + reports[:, 1]
    law = np.outer([1 - chance, chance], [1 - chance, chance]).ravel()
    return stats.chisquare(np.bincount(codes, minlength=4), law * len(codes)).pvalue > FALSE_ALARM


def test_neighboring_reports_are_independent():
    found = respond(pack(np.ones((300_000, 2))), 2, DEVICES[5], simulation(7))
    reports = unpack(found, 2)
    assert pairs_fit(reports, DEVICES[5].matrix[1, 1])
    # Wrong: one bit in fifty repeats its neighbor.
    reports[::50, 1] = reports[::50, 0]
    assert not pairs_fit(reports, DEVICES[5].matrix[1, 1])


# --- k-ary -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(1, 20))
def test_uniform_numbers_are_exact_by_enumeration(size, monkeypatch):
    """In a world of six-bit words all first words are tried at once: what is accepted is equally
    often each number, and what is not is drawn again."""
    monkeypatch.setattr(records, "WORD_RANGE", 64)
    rejected = 64 % size
    script = [LANES] + [np.arange(rejected)] * bool(rejected)
    found = uniform_below(size, 64, Scripted(*script))
    assert np.bincount(found[: 64 - rejected], minlength=size).tolist() == [64 // size] * size
    assert found[64 - rejected :].tolist() == [word % size for word in range(rejected)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 2**31 + 1, 2**32])
def test_the_last_round_of_true_words_is_drawn_again(size):
    accepted = 2**64 // size * size
    last, beyond = accepted - 1, [w for w in (accepted, 2**64 - 1) if accepted <= w < 2**64]
    script = Scripted([last, *beyond], *[[5] * len(beyond)] * bool(beyond))
    assert uniform_below(size, 1 + len(beyond), script).tolist() == [
        size - 1,
        *[5 % size] * len(beyond),
    ]


@pytest.mark.parametrize("code", range(5))
def test_k_ary_is_exact_by_enumeration(code):
    """64 lanes: two random digits for keeping (3/4), four for the step: every combination once."""
    keep = [lane_word(LANES & 1), lane_word(LANES >> 1 & 1)]
    channel = KAry(3 * QUARTER, 5)
    found = respond_with_options(np.full(64, code), channel, Scripted(*keep, LANES >> 2))
    assert (np.bincount(found, minlength=5) / 64).tolist() == channel.matrix[:, code].tolist()


def codes_fit(codes, reports, matrix):
    """Every column of the matrix (chi-square); the rate of false alarms is shared out."""
    for x in range(len(matrix)):
        counts = np.bincount(reports[codes == x], minlength=len(matrix))
        if stats.chisquare(counts, matrix[:, x] * counts.sum()).pvalue < FALSE_ALARM / len(matrix):
            return False
    return True


@pytest.mark.parametrize(
    "channel",
    [
        KAry.from_epsilon(1.0, 2),
        KAry.from_epsilon(1.5, 7),
        TwoStage(KAry.from_epsilon(2.0, 4), KAry.from_epsilon(1.0, 4)),
    ],
)
def test_a_million_codes_follow_the_matrix(channel):
    options = len(channel.matrix)
    codes = np.random.default_rng(8).integers(0, options, 1_000_000)
    found = respond_with_options(codes, channel, simulation(9))
    assert codes_fit(codes, found, channel.matrix)
    # Wrong: kept 2% more often.
    wrong = channel.matrix + 0.02 * (np.eye(options) - 1 / options)
    assert not codes_fit(codes, found, wrong)


def test_the_well_known_biased_choice_of_another_option_is_rejected():
    """Wrong: any option instead of any other option, as in "tell the truth or roll a die"."""
    channel, random = KAry.from_epsilon(1.0, 4), np.random.default_rng(10)
    codes = random.integers(0, 4, 100_000)
    kept = random.random(codes.size) < channel.keep / DENOMINATOR
    assert not codes_fit(
        codes, np.where(kept, codes, random.integers(0, 4, 100_000)), channel.matrix
    )


def test_codes_keep_their_shape_and_are_not_changed():
    codes = np.arange(6, dtype=np.uint8).reshape(2, 3)
    found = respond_with_options(codes, KAry.from_epsilon(1.0, 6), simulation(11))
    assert found.shape == (2, 3)
    assert codes.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert respond_with_options(codes[:0], KAry(2**31, 6), simulation(11)).shape == (0, 3)


@pytest.mark.parametrize("codes", [[3], [-1], [0, 1, 7]])
def test_codes_that_name_no_option_are_refused(codes):
    with pytest.raises(AnswersError, match="from 0 to 2"):
        respond_with_options(np.array(codes), KAry(2**31, 3), simulation(12))


def test_wrong_arrays_are_refused():
    with pytest.raises(AnswersError, match="padding"):
        respond(np.array([[255]], np.uint8), 3, Bit(1, 2), simulation(12))
    with pytest.raises(AnswersError, match="shape"):
        respond(np.array([[255]], np.uint8), 9, Bit(1, 2), simulation(12))
