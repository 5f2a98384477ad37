"""Whole curves of one bit, and their compositions, against laws that are worked out in full."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

from incrowd.accountant import one_bit
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.one_bit import (
    BitOrder,
    curve_length,
    deltas,
    homogeneous_curve,
    sub_crowds,
    typical_spread,
    worst_crowd,
    worst_curve,
)
from tests.conftest import one_in, slowly

FIGURES = 1e-11  # relative error of an oracle
ASYMMETRIC = Bit.from_probabilities(0.1, 0.6)
CHANNELS = [Bit.from_flip(BitFlip.at_least(q)) for q in (1e-6, 0.03, 0.2, 0.499)] + [
    ASYMMETRIC,
    Bit.from_probabilities(0.7, 0.2),
    Bit(1, 1 << 31),
]


def bit(q):
    return Bit.from_flip(BitFlip.at_least(q))


# One crowd


def reports_law(channel, ones, zeros):
    """The law of the number of ones that so many people send, in fractions."""
    law = [Fraction(1)]
    for one in [channel.one_if_one] * ones + [channel.one_if_zero] * zeros:
        hit = Fraction(one, DENOMINATOR)
        law = [
            (law[t] * (1 - hit) if t < len(law) else 0) + (law[t - 1] * hit if t else 0)
            for t in range(len(law) + 1)
        ]
    return law


def exact_curve(channel, x, same, other, excess):
    """sum of max(0, P - alpha Q), exact but for the last rounding."""
    ones, zeros = (same, other) if x else (other, same)
    with_one, with_zero = (
        reports_law(channel, ones + 1, zeros),
        reports_law(channel, ones, zeros + 1),
    )
    p, q = (with_one, with_zero) if x else (with_zero, with_one)
    alphas = [1 + Fraction(float(one)) for one in excess]
    return np.array(
        [
            float(sum(max(Fraction(0), a - alpha * b) for a, b in zip(p, q, strict=True)))
            for alpha in alphas
        ]
    )


@pytest.mark.parametrize("channel", one_in(3, CHANNELS))
def test_curves_of_small_crowds_are_exact(channel):
    """In fractions; hardly a corner of so small a crowd is left out."""
    excess = np.expm1(np.linspace(0, min(max(channel.losses), 12) * 1.01, 25))
    for x, same, other in itertools.product((0, 1), (0, 1, 3), (0, 2, 4)):
        true = exact_curve(channel, x, same, other, excess)
        found = sub_crowds(channel, x, np.array([same]), np.array([other]), excess)[0]
        assert (found >= true).all()
        assert found == pytest.approx(true, rel=5e-3, abs=1e-14)


def random_crowds(seed, cases):
    """Channels, noise evenly in its logarithm, and crowds of up to 10^9, with the spread."""
    generator = np.random.default_rng(seed)
    for _ in range(cases):
        channel = bit(10 ** generator.uniform(-6, np.log10(0.499)))
        others = int(10 ** generator.uniform(0, 9))
        same = generator.integers(0, others + 1, size=5) if generator.integers(2) else [0, others]
        yield channel, np.array(same), others, typical_spread(channel, others + 1)


def compared_with_single_epsilons(cases):
    """The bounds over the upper and the lower ones that are found epsilon by epsilon."""
    for channel, same, others, spread in cases:
        step = spread / 2
        excess = np.expm1(step * np.arange(14))
        found = sub_crowds(channel, 1, same, others - same, excess)
        for k in range(len(excess)):
            order = BitOrder.of(channel, 1, k * step)
            if order is not None:
                bounds = deltas(order, same, others - same)
                yield k, found[:, k], bounds.lower, bounds.upper


@pytest.mark.slow
def test_curves_are_those_of_every_epsilon_by_itself():
    """Up to 10^9 people; chords add as much as a spread larger by a hundredth."""
    for k, found, lower, upper in compared_with_single_epsilons(random_crowds(1, 60)):
        assert (found >= lower * (1 - FIGURES)).all()
        assert found.max() <= upper.max() * (1 + 0.01 * (1 + (k / 2) ** 2)) + 1e-15


def below_single_epsilons(cases):
    return sum(
        (found < lower * (1 - FIGURES)).any()
        for _, found, lower, _ in compared_with_single_epsilons(cases)
    )


def uncharged(monkeypatch):
    """Wrong: what is cut counts as nothing."""
    monkeypatch.setattr("incrowd.accountant.one_bit.LOG_CUT", 2.0)
    monkeypatch.setattr(one_bit, "CUT", 0.0)
    monkeypatch.setattr(one_bit, "CUT_BEYOND", 0.0)


def of_the_next_place(monkeypatch):
    """Wrong: the chance of t alone is left out of the line of t."""
    right = one_bit._chances

    def wrong(*case):
        chances = right(*case)
        return chances._replace(beyond=chances.beyond - chances.at)

    monkeypatch.setattr(one_bit, "_chances", wrong)


def without_chords(monkeypatch):
    """Wrong: between corners the lower one."""
    right = one_bit._chords

    def wrong(corners, excess):
        return right(corners, excess * 1.02 + 0.01)

    monkeypatch.setattr(one_bit, "_chords", wrong)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [uncharged, *slowly(of_the_next_place, without_chords)])
def test_wrong_curves_are_found_out(monkeypatch, wrong):
    cases = list(random_crowds(2, 20))
    assert below_single_epsilons(cases) == 0
    wrong(monkeypatch)
    assert below_single_epsilons(cases) > 0


# All crowds


@pytest.mark.parametrize("channel", one_in(3, CHANNELS))
@pytest.mark.parametrize("crowd", [2, 5, 30])
def test_the_worst_curve_is_above_all_crowds_and_close(channel, crowd):
    step = max(channel.losses) / 20
    found = worst_curve(channel, crowd, step, 25)
    excess = np.expm1(step * np.arange(25))
    same = range(crowd) if crowd < 10 else range(0, crowd, 7)
    every = [exact_curve(channel, x, m, crowd - 1 - m, excess) for x in (0, 1) for m in same]
    assert (found >= np.max(every, axis=0)).all()
    if crowd < 10:
        assert found == pytest.approx(np.max(every, axis=0), rel=0.01, abs=1e-14)


@pytest.mark.parametrize(
    ("q", "crowd"),
    [(0.0025, 20_000), *slowly((0.06, 300), (3e-5, 10**6), (0.3, 10**9), (0.49, 4000))],
)
def test_the_worst_curve_agrees_with_the_worst_crowd_at_each_epsilon(q, crowd):
    """TOLERANCE of the spread is as much of delta as of a Gaussian's."""
    spread = typical_spread(bit(q), crowd)
    found = worst_curve(bit(q), crowd, spread / 8, 57)
    for k in range(0, 57, 7):
        worst = worst_crowd(bit(q), crowd, k * spread / 8)
        assert found[k] >= worst.lower
        assert found[k] <= worst.upper * (1.01 + 0.004 * (k / 8) ** 2)


@pytest.mark.parametrize("channel", CHANNELS)
def test_homogeneous_curves_of_small_crowds_are_exact(channel):
    step = min(max(channel.losses), 12) / 24
    excess = np.expm1(step * np.arange(26))
    for others in (1, 4, 9):
        true = np.max(
            [
                exact_curve(channel, x, same, others - same, excess)
                for x, same in itertools.product((0, 1), (0, others))
            ],
            axis=0,
        )
        found = homogeneous_curve(channel, others + 1, step, 26)
        assert found == pytest.approx(true, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("q", [1e-5, 0.004, 0.1, 0.499])
def test_homogeneous_curves_of_large_crowds_are_those_of_every_epsilon(q):
    """A crowd larger by a hundredth has other curves."""
    crowd = 10**5
    step = typical_spread(bit(q), crowd) / 2
    found, larger = (homogeneous_curve(bit(q), n, step, 14) for n in (crowd, crowd + 1000))
    same = np.array([0, crowd - 1])
    for k in range(14):
        if order := BitOrder.of(bit(q), 1, k * step):
            bounds = deltas(order, same, same[::-1])
            right = pytest.approx(bounds.upper.max(), rel=1e-6, abs=1e-15)
            assert found[k] == right
            assert larger[k] != right or k > 8


def test_a_looser_worst_curve_lies_above_the_closer_one_and_not_far():
    for q, crowd in ((0.0025, 20_000), (0.06, 300)):
        step = typical_spread(bit(q), crowd) / 8
        close, loose = (worst_curve(bit(q), crowd, step, 41, 0.0, each) for each in (0.003, 0.03))
        assert (loose >= close * (1 - 0.003 * (1 + (np.arange(41) / 8) ** 2))).all()
        assert (loose <= close * (1 + 0.031 * (1 + (np.arange(41) / 8) ** 2))).all()
        assert (loose > close).any()


def test_the_length_reaches_the_wanted_delta_or_the_local_epsilon():
    for q, crowd in ((0.2, 1000), (0.001, 50), (0.01, 10**6)):
        step = typical_spread(bit(q), crowd) / 8
        length = curve_length(bit(q), crowd, step, 1e-13)
        last = homogeneous_curve(bit(q), crowd, step, length)[-1]
        assert length % 2
        assert last <= 1e-13


def test_no_warnings_where_digits_end():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for channel in (Bit(1, DENOMINATOR - 1), Bit((1 << 31) - 1, (1 << 31) + 1), Bit(5, 5)):
            for crowd in (2, 10**6):
                spread = max(typical_spread(channel, crowd), 1e-12)
                curve = worst_curve(channel, crowd, spread / 4, 41)
                assert (np.diff(curve) <= 0).all()
                assert 0 <= curve[-1] <= curve[0] <= 1


def test_a_loss_far_below_the_step_is_bounded_at_once():
    """Noise next to one half on a coarse grid: tilts go no farther than the loss itself. The exact
    delta at 0 is p - q times a probability, at most p - q."""
    channel = Bit.from_probabilities(0.4999999997, 0.5000000003)
    length = curve_length(channel, 5, 0.25, 1e-14)
    curve = worst_curve(channel, 5, 0.25, length)
    gap = max(channel.losses)
    assert length <= 3 and 0 < curve[0] <= gap and curve[1] <= 1e-14
