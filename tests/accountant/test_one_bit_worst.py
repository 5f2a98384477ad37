"""The largest delta of one bit over all crowds, against all of them; and its composition."""

import itertools
import time
from functools import partial

import numpy as np
import pytest

from incrowd.accountant import one_bit as module
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.composition import connect_the_dots
from incrowd.accountant.one_bit import (
    WORST_TOLERANCE,
    deltas,
    homogeneous_curve,
    one_bit,
    worst_crowd,
    worst_curve,
)
from incrowd.errors import PrivacyError
from tests.conftest import slowly

ROUNDED_UP = 1e-9  # share by which `one_bit` rounds up
FIGURES = 1e-11  # its error besides
CASES, MANY = 40, 120  # at random; slowly many
PRINTED = 5e-7  # relative error of seven printed digits
SEARCHED = 5e-4  # relative error of a noise that was found by bisection as far as that
STEP, DOTS = 0.02, 200  # of composed curves: beyond the local epsilon


def flip(q):
    return Bit.from_flip(BitFlip.at_least(q))


def some_flip(generator):
    """From 2^-32 to next to 1/2, evenly in the logarithm of the distance to either."""
    near = int(2 ** generator.uniform(0, 31))
    return BitFlip(near if generator.integers(2) else DENOMINATOR // 2 - max(near // 2, 1))


def enumerated(channel, crowd, epsilon):
    """delta for every m, and a little less, which is certain to be below it."""
    every = one_bit(channel, crowd, epsilon).delta
    return every, every * (1 - ROUNDED_UP - FIGURES)


def some_epsilon(generator, channel):
    """0, tiny, some deviations of a report's loss, up to the local one, beyond it."""
    local = channel.epsilon
    small = 10 ** generator.uniform(-9, 0)
    found = [0.0, small, generator.uniform(0, min(local, 3)), generator.uniform(0, local)]
    return [*found, local * 1.01][generator.integers(5)]


def random_cases(seed, count, most):
    """(noise, crowd, epsilon), crowds evenly in their logarithm."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        channel = some_flip(generator)
        crowd = int(2 ** generator.uniform(1, np.log2(most)))
        yield channel, crowd, some_epsilon(generator, channel)


@pytest.mark.parametrize("cases", [CASES, *slowly(MANY)])
@pytest.mark.parametrize("first_cells", [1, module.WORST_FIRST_CELLS])
def test_the_worst_of_all_crowds(monkeypatch, first_cells, cases):
    """Against every m = 0, ..., N - 1, one by one."""
    monkeypatch.setattr(module, "WORST_FIRST_CELLS", first_cells)
    for channel, crowd, epsilon in random_cases(first_cells, cases, 10_000):
        every, certain = enumerated(channel, crowd, epsilon)
        found = worst_crowd(Bit.from_flip(channel), crowd, epsilon)
        case = (channel, crowd, epsilon)
        assert found.upper >= certain.max(), case
        assert found.upper <= max(every.max() * (1 + 2 * WORST_TOLERANCE), 1e-290), case
        assert found.lower <= every[found.ones] * (1 + WORST_TOLERANCE), case


def nobody_left_out(order, same, other, others):
    """Wrong: `last` with x instead of `first`."""
    return deltas(order, others - other, other)


def nobody_holds_x(order, same, other, others=None):
    """Wrong: one homogeneous crowd only."""
    return deltas(order, np.zeros_like(same), same + other)


def all_hold_x(order, same, other, others=None):
    """Wrong: the other one only."""
    return deltas(order, same + other, np.zeros_like(same))


@pytest.mark.parametrize("wrong", [nobody_left_out, *slowly(nobody_holds_x, all_hold_x)])
def test_wrong_sub_crowds_are_found_out(monkeypatch, wrong):
    """The comparison above rejects them."""
    monkeypatch.setattr(module, "WORST_FIRST_CELLS", 1)
    below = 0
    for channel, crowd, epsilon in random_cases(1, CASES, 10_000):
        monkeypatch.setattr(module, "deltas", partial(wrong, others=crowd - 1))
        _, certain = enumerated(channel, crowd, epsilon)
        below += worst_crowd(Bit.from_flip(channel), crowd, epsilon).upper < certain.max()
    assert below > 5


@pytest.mark.parametrize(
    ("q", "crowd", "epsilon", "delta", "ones"),
    [
        (0.1, 200, 1.0, 4.853557e-06, {0, 199}),
        (0.05, 500, 0.8, 3.886830e-05, {0, 499}),
        (0.0256, 39, 0.036, 4.376827e-01, {18, 20}),
    ],
)
def test_printed_values(q, crowd, epsilon, delta, ones):
    """Reversing all bits gives the same delta, so that two crowds are the worst, one each order."""
    found = worst_crowd(flip(q), crowd, epsilon)
    assert found.upper == pytest.approx(delta, rel=PRINTED)
    assert found.ones in ones


@pytest.mark.parametrize(
    ("crowd", "epsilon", "delta", "q"),
    [
        (10**6, 1.0, 1e-8, 4.9393e-5),
        (10**9, 0.01, 1e-10, 2.5282e-4),
        (10**7, 0.001, 1e-8, 0.29994),
        (100, 1.0, 1e-6, 0.17058),
    ],
)
def test_noise_of_other_programs(crowd, epsilon, delta, q):
    assert worst_crowd(flip(q), crowd, epsilon).upper <= delta
    assert worst_crowd(flip(q * (1 - SEARCHED)), crowd, epsilon).lower > delta


def test_noise_in_a_crowd_of_a_billion():
    """4.9410e-8 lies between 212 and 213 of 2^32."""
    found = [
        worst_crowd(Bit(numerator, DENOMINATOR - numerator), 10**9, 1.0) for numerator in (212, 213)
    ]
    assert found[0].lower > 1e-8 >= found[1].upper


@pytest.mark.parametrize(("epsilon", "q"), [(1.0, 4.96e-8), (0.01, 2.53e-4), (1e-4, 0.3)])
def test_a_billion_people_take_less_than_a_tenth_of_a_second(epsilon, q):
    spent = []
    for _ in range(3):
        start = time.process_time()
        found = worst_crowd(flip(q), 10**9, epsilon)
        spent.append(time.process_time() - start)
    assert found.upper <= found.lower * (1 + WORST_TOLERANCE)
    assert min(spent) < 0.1


def reports_law(channel, ones, zeros):
    """The law of the number of ones that so many people send."""
    law = np.ones(1)
    for x in [1] * ones + [0] * zeros:
        law = np.convolve(law, channel.matrix[:, x])
    return law


def laws(channel, x, ones, crowd):
    """Of one collection, with x and with the other answer."""
    zeros = crowd - 1 - ones
    with_one = reports_law(channel, ones + 1, zeros)
    with_zero = reports_law(channel, ones, zeros + 1)
    return (with_one, with_zero) if x else (with_zero, with_one)


def divergence(one, other, epsilon):
    return float(np.maximum(one - np.exp(epsilon) * other, 0).sum())


ASYMMETRIC = Bit.from_probabilities(0.1, 0.6)


@pytest.mark.parametrize(
    "channel", [ASYMMETRIC, *slowly(Bit(ASYMMETRIC.one_if_one, 1 << 28), flip(0.2))]
)
def test_both_orders_of_a_channel_that_is_not_symmetric(channel):
    for crowd, epsilon in itertools.product([2, 5, 60], [0.0, 0.3, 0.9]):
        every = {
            (x, ones): divergence(*laws(channel, x, ones, crowd), epsilon)
            for x in (0, 1)
            for ones in range(crowd)
        }
        found = worst_crowd(channel, crowd, epsilon)
        assert found.upper == pytest.approx(max(every.values()), rel=2 * WORST_TOLERANCE)
        assert found.upper >= max(every.values()) * (1 - FIGURES)
        assert every[found.x, found.ones] >= found.lower * (1 - FIGURES)


def largest_of_two(channel, crowds, epsilon):
    """Two collections of one person: over her answers to both and each one's crowd of its own.

    crowds: N, and the numbers of ones among the others that are tried.
    """
    crowd, tried = crowds
    one = [laws(channel, x, ones, crowd) for x in (0, 1) for ones in tried]
    return max(
        divergence(np.outer(a[0], b[0]), np.outer(a[1], b[1]), epsilon)
        for a, b in itertools.product(one, repeat=2)
    )


MESSAGES = [flip(0.2), flip(0.05), ASYMMETRIC]


def below_two_messages(curve_of):
    """In how many cases the composed curve is below delta."""
    below = 0
    for channel, crowd in itertools.product(MESSAGES, [4, 9]):
        total = curve_of(channel, crowd) ** 2
        for epsilon in (0.0, 0.2, 0.7, 1.5):
            true = largest_of_two(channel, (crowd, range(crowd)), epsilon)
            below += total.delta(epsilon) < true * (1 - FIGURES)
    return below


def worst_of_grid(channel, crowd):
    """The curve that is composed, from dots on a fixed grid."""
    dots = worst_curve(channel, crowd, STEP, DOTS)
    return connect_the_dots(dots, dots, STEP)


def test_the_composed_curve_bounds_two_messages_whatever_their_crowds():
    assert below_two_messages(worst_of_grid) == 0


def forward_only(channel, crowd):
    """Wrong: as if both messages told the answers apart in the same order."""
    dots = [
        np.array([largest_of_one(channel, crowd, x, k * STEP) for k in range(DOTS)]) for x in (1, 0)
    ]
    return connect_the_dots(*dots, STEP)


def largest_of_one(channel, crowd, x, epsilon):
    return max(divergence(*laws(channel, x, ones, crowd), epsilon) for ones in range(crowd))


@pytest.mark.slow
def test_messages_may_tell_the_answers_apart_in_different_orders():
    """The comparison above rejects a curve of one order."""
    assert below_two_messages(forward_only) > 0


@pytest.mark.parametrize("channel", MESSAGES)
def test_the_composed_curve_is_nearly_exact_in_larger_crowds(channel):
    """Homogeneous crowds give at least this delta; each dot may have a worst crowd of its own."""
    total = worst_of_grid(channel, 200) ** 2
    for epsilon in (0.0, 0.2, 0.7):
        true = largest_of_two(channel, (200, (0, 199)), epsilon)
        assert true <= total.delta(epsilon) <= 1.07 * true


def test_the_curve_of_homogeneous_crowds_is_found_out():
    def homogeneous(channel, crowd):
        dots = homogeneous_curve(channel, crowd, STEP, DOTS)
        return connect_the_dots(dots, dots, STEP)

    assert below_two_messages(homogeneous) > 0


@pytest.mark.parametrize(("crowd", "epsilon"), [(1, 1.0), (0, 1.0), (10, -1.0), (10, 700.0)])
def test_what_cannot_be_asked(crowd, epsilon):
    with pytest.raises(PrivacyError, match="crowd" if crowd < 2 else "epsilon"):
        worst_crowd(flip(0.1), crowd, epsilon)


def test_no_report_reveals_more_than_the_local_epsilon():
    found = worst_crowd(flip(0.1), 100, BitFlip.at_least(0.1).epsilon * 1.0001)
    assert (found.lower, found.upper) == (0, 0)
