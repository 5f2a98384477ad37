"""What RAPPOR leaks, by its own formulas."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.rappor import Rappor
from tests.accountant.channels.conftest import bits, flips, fractions_of


def epsilon_of_hash_bits(channel, hash_bits):
    """Brute force: all reports of two values that set `hash_bits` different bits each."""
    rows = fractions_of(channel)
    x = [1] * hash_bits + [0] * hash_bits
    largest = Fraction(0)
    for report in itertools.product((0, 1), repeat=2 * hash_bits):
        ratio = Fraction(1)
        for r, bit in zip(report, x, strict=True):
            ratio *= rows[r][bit] / rows[r][1 - bit]
        largest = max(largest, ratio)
    return math.log(largest)


@pytest.mark.parametrize("hash_bits", [1, 2, 4])
@pytest.mark.parametrize("stages", [(0.5, 0.5, 0.75), (0.25, 0.25, 0.75), (0.5, 0.9, 0.2)])
def test_rappors_formulas_for_hash_bits(stages, hash_bits):
    channel = Rappor.from_probabilities(*stages)
    one = epsilon_of_hash_bits(channel, hash_bits)
    every = epsilon_of_hash_bits(Bit.from_flip(channel.permanent), hash_bits)
    assert hash_bits * sum(channel.log_ratios) == pytest.approx(one, rel=1e-12)
    assert 2 * hash_bits * channel.permanent_epsilon == pytest.approx(every, rel=1e-12)
    assert one < every


def test_the_configuration_of_the_rappor_paper():
    """h = 2, f = 1/2, p = 1/2, q = 3/4: ln 3^4 for all reports, and 2 ln(q*(1-p*)/(p*(1-q*)))
    with p* = 9/16, q* = 11/16 worked out by hand for one."""
    channel = Rappor.from_probabilities(0.5, 0.5, 0.75)
    assert 2 * 2 * channel.permanent_epsilon == pytest.approx(4 * math.log(3), rel=1e-12)
    one = 2 * math.log(11 * 7 / (9 * 5))
    assert 2 * sum(channel.log_ratios) == pytest.approx(one, rel=1e-12)


@given(flips, bits)
def test_one_report_never_leaks_more_than_all(permanent, instantaneous):
    channel = Rappor(permanent, instantaneous)
    assert channel.epsilon <= channel.permanent_epsilon
    assert channel.permanent_stage == permanent


def test_many_reports_of_one_permanent_bit_stay_below_its_epsilon():
    """All sequences of 8 reports given the memoized bit; composing one round would claim more."""
    channel = Rappor.from_probabilities(0.5, 0.25, 0.75)
    first, second = channel.permanent.matrix, channel.instantaneous.matrix
    largest = 0.0
    for ones in range(9):
        given_bit = second[1] ** ones * second[0] ** (8 - ones)
        given_answer = given_bit @ first
        largest = max(largest, abs(math.log(given_answer[1] / given_answer[0])))
    assert channel.epsilon < largest <= channel.permanent_epsilon < 8 * channel.epsilon


def test_rappor_from_epsilon_counts_the_permanent_stage():
    channel = Rappor.from_epsilon(1.0, Bit.from_probabilities(0.25, 0.75))
    assert channel.permanent == BitFlip.from_epsilon(1.0)
    assert channel.epsilon < channel.permanent_epsilon <= 1
