"""Channels from probabilities and epsilons are rounded only towards more privacy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.channels.warner import Warner
from incrowd.errors import PrivacyError
from tests.accountant.channels.conftest import HALF, inner, k_ary

probability = st.floats(0, 1, allow_subnormal=False)

wanted_epsilon = st.floats(1e-6, 20)


@given(probability, probability)
def test_probabilities_of_a_bit_are_rounded_towards_each_other(zero, one):
    found = [Fraction(n, DENOMINATOR) for n in fractions_between(zero, one)]
    low, high = sorted([Fraction(zero), Fraction(one)])
    if high - low >= Fraction(1, DENOMINATOR):
        assert low <= min(found) <= max(found) <= high
    assert max(abs(a - b) for a, b in zip(found, (zero, one), strict=True)) <= 2**-31
    assert abs(found[0] - found[1]) <= high - low
    assert (found[0] - found[1]) * (Fraction(zero) - Fraction(one)) >= 0


def fractions_between(zero, one):
    channel = Bit.from_probabilities(zero, one)
    return channel.one_if_zero, channel.one_if_one


def test_probabilities_that_cannot_be_told_apart_become_equal():
    channel = Bit.from_probabilities(0.3, 0.3 + 1e-12)
    assert channel.one_if_zero == channel.one_if_one
    assert channel.epsilon == 0
    with pytest.raises(PrivacyError, match="no estimate is unbiased"):
        channel.inverse  # noqa: B018


@given(wanted_epsilon)
def test_warner_and_simmons_from_epsilon_are_the_closest_below(epsilon):
    spinner = Warner.from_epsilon(epsilon)
    assert spinner.epsilon <= epsilon
    assert Warner(spinner.numerator + 1).epsilon > epsilon or spinner.numerator == DENOMINATOR - 1
    device = Simmons.from_epsilon(epsilon)
    assert device.epsilon <= epsilon
    # The coin halves f, so that the channel changes with every second numerator.
    assert device.unrelated <= 4 or Simmons(device.unrelated - 4).epsilon > epsilon


@given(wanted_epsilon, st.floats(0.01, 0.99))
def test_simmons_from_epsilon_for_any_prevalence(epsilon, prevalence):
    device = Simmons.from_epsilon(epsilon, prevalence)
    assert device.epsilon <= epsilon
    if device.unrelated > DENOMINATOR // 1000:
        # 2^-32 of rounding moves the rarest report's probability by a small part of itself.
        less = Simmons(device.unrelated - device.unrelated // 10_000, device.prevalence)
        assert less.epsilon > epsilon


@given(wanted_epsilon, st.integers(2, 12))
def test_k_ary_from_epsilon_is_the_closest_below(epsilon, options):
    try:
        channel = KAry.from_epsilon(epsilon, options)
    except PrivacyError:
        # No multiple of 2^-32 lies between the uniform law and the wanted keep.
        least = -(-DENOMINATOR // options)
        assert KAry(least, options).epsilon > epsilon
        return
    assert channel.epsilon <= epsilon
    if channel.keep < DENOMINATOR - 1:
        assert KAry(channel.keep + 1, options).epsilon > epsilon
    wanted = math.exp(epsilon) / (math.exp(epsilon) + options - 1)
    assert channel.keep / DENOMINATOR == pytest.approx(wanted, abs=2**-30)


@given(k_ary())
def test_k_ary_from_its_own_epsilon_and_a_touch_less(channel):
    """The formula's rounding must not cost privacy, nor a multiple of 2^-32."""
    if channel.epsilon == 0:
        return
    assert KAry.from_epsilon(channel.epsilon, channel.options) == channel
    less = math.nextafter(channel.epsilon, 0)
    try:
        assert KAry.from_epsilon(less, channel.options).keep == channel.keep - 1
    except PrivacyError:
        assert channel.keep <= DENOMINATOR // channel.options + 2


@given(inner, st.integers(2**20, DENOMINATOR - 2**20))
def test_simmons_from_its_own_epsilon_and_a_touch_less(unrelated, prevalence):
    device = Simmons(unrelated, prevalence)
    for wanted in (device.epsilon, math.nextafter(device.epsilon, 0)):
        if wanted > 1e-6:
            found = Simmons.from_epsilon(wanted, prevalence / DENOMINATOR)
            assert found.prevalence == prevalence
            assert found.epsilon <= wanted


@given(st.floats(1e-9, 1, exclude_max=True), st.floats(0.001, 0.999))
def test_devices_round_towards_more_privacy(f, prevalence):
    device = Simmons.from_probabilities(min(f, 1 - 2**-31), prevalence)
    assert f * DENOMINATOR <= device.unrelated + 2 or f > 1 - 2**-31
    assert abs(device.prevalence - HALF) <= abs(prevalence * DENOMINATOR - HALF)
    spinner = Warner.from_probability(prevalence)
    assert abs(spinner.numerator - HALF) <= abs(prevalence * DENOMINATOR - HALF)
    permanent = Rappor.one_time(min(f, 1 - 2**-30)).permanent
    assert permanent.q >= min(f, 1 - 2**-30) / 2


@given(wanted_epsilon)
def test_warner_and_simmons_are_one_function_of_epsilon(alpha):
    """Vinterbo, section 5.2: both devices have the same matrix at the same alpha."""
    difference = Warner.from_epsilon(alpha).matrix - Simmons.from_epsilon(alpha).matrix
    assert np.abs(difference).max() <= 2.0**-31
