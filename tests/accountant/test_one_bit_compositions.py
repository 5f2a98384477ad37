"""Collections of one bit, composed, against products of explicit laws."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.stats import binom

from incrowd.accountant import composition
from incrowd.accountant.analyses.exact import EXACT
from incrowd.accountant.certificates import certify, privacy_curve, smallest_epsilon, smallest_noise
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.composition import LossLaw, composed, connect_the_dots, sampled
from incrowd.accountant.one_bit import typical_spread, worst_crowd
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from tests.accountant.conftest import choice, everything, free
from tests.conftest import one_in

FIGURES = 1e-11  # relative error of an oracle
LATTICE = 4000  # points of the oracle's lattice
ASYMMETRIC = Bit.from_probabilities(0.1, 0.6)


def bit(q):
    return Bit.from_flip(BitFlip.at_least(q))


def bits(q, count):
    return Contribution.of(free(q), count)


def family(count):
    """So many reports of one bit."""
    return lambda noise: Contribution.of(Schema.of([Part(FREE_BIT, noise)]), count)


def variance(q):
    """Of the noise of a count, for one person."""
    return q * (1 - q) / (1 - 2 * q) ** 2


def reports_law(channel, ones, zeros):
    """The law of the number of ones that so many people send."""
    law = np.ones(1)
    for x in [1] * ones + [0] * zeros:
        law = np.convolve(law, channel.matrix[:, x])
    return law


def laws(channel, x, ones, crowd):
    """Of one collection, with x and with the other answer."""
    with_one = reports_law(channel, ones + 1, crowd - 1 - ones)
    with_zero = reports_law(channel, ones, crowd - ones)
    return (with_one, with_zero) if x else (with_zero, with_one)


def enumerated(channel, crowd, count, epsilon):
    """The largest delta of so many collections over all crowds and orders of each."""
    one = [laws(channel, x, ones, crowd) for x in (0, 1) for ones in range(crowd)]
    largest = 0.0
    for chosen in itertools.combinations_with_replacement(one, count):
        here, there = np.ones(1), np.ones(1)
        for p, q in chosen:
            here, there = np.outer(here, p).ravel(), np.outer(there, q).ravel()
        largest = max(largest, np.maximum(here - math.exp(epsilon) * there, 0).sum())
    return largest


@pytest.mark.parametrize(
    ("channel", "crowd", "count"),
    [(bit(0.2), 6, 2), (bit(0.05), 4, 2), (ASYMMETRIC, 5, 2), (bit(0.2), 3, 3), (bit(0.3), 2, 4)],
)
def test_compositions_bound_every_vector_of_crowds(channel, crowd, count):
    sent = Contribution.of(Schema.of([Part(FREE_BIT, channel)]), count)
    for analysis in ("exact", "seat", "shuffle"):
        curve = privacy_curve(analysis, sent, crowd)
        for epsilon in (0.0, 0.3, 0.7, 1.5):
            true = enumerated(channel, crowd, count, epsilon)
            assert true * (1 - FIGURES) <= curve.delta(epsilon) <= 1.7 * true


def test_fewer_bits_are_found_out():
    """Of two tables, N = 6, an answer changes four bits: three or two do not bound them."""
    exact = enumerated(bit(0.2), 6, 4, 0.5)
    bounds = [certify("exact", bits(0.2, count), 6, 0.5).delta.upper for count in (2, 3, 4)]
    assert bounds[0] < bounds[1] < exact <= bounds[2]


def homogeneous_laws(q, crowd):
    """Both orders, all others with one answer; losses on a fine lattice, rounded down."""
    least, most = binom.ppf(1e-17, crowd - 1, q), binom.isf(1e-17, crowd - 1, q)
    ones = np.arange(max(least - 1, 0), most + 2)
    others, before = binom.pmf(ones, crowd - 1, q), binom.pmf(ones - 1, crowd - 1, q)
    one, zero = (1 - q) * before + q * others, q * before + (1 - q) * others
    both = (one > 0) & (zero > 0)
    for here, there in ((one[both], zero[both]), (zero[both], one[both])):
        loss = np.log(here / there)
        step = np.ptp(loss) / LATTICE
        place = np.floor(loss / step).astype(int)
        yield LossLaw(step, int(place.min()), np.bincount(place - place.min(), here), 0.0)


def delta_of_homogeneous(q, crowd, count, epsilon):
    """At most delta of the homogeneous crowd, by repeated convolution."""
    return max(explicit_power(law, count).delta(epsilon) for law in homogeneous_laws(q, crowd))


CASES = [
    (20_000, 2, 1.0, 1e-6),
    (1000, 8, 2.0, 1e-6),
    (300, 4, 2.0, 1e-5),
    (5000, 3, 0.3, 1e-9),
]


@pytest.mark.slow
@pytest.mark.parametrize(("crowd", "count", "epsilon", "delta"), CASES)
def test_noise_is_never_below_that_of_the_homogeneous_crowd_and_close(crowd, count, epsilon, delta):
    """The oracle's law is rounded down, by less than a thousandth of the variance."""
    for analysis in ("exact", "shuffle", "seat"):
        noise = smallest_noise(analysis, family(count), crowd, epsilon, delta)
        assert certify(analysis, family(count)(noise), crowd, epsilon).delta.upper <= delta
        assert delta_of_homogeneous(noise.q, crowd, count, epsilon) <= delta
        low, high = noise.q * 0.9, noise.q
        for _ in range(12):
            middle = (low + high) / 2
            holds = delta_of_homogeneous(middle, crowd, count, epsilon) <= delta
            low, high = (low, middle) if holds else (middle, high)
        assert variance(noise.q) <= 1.015 * variance(high)


PRINTED = [
    (20_000, 2, 1.0, 1e-6, 0.00248411),
    (20_000, 8, 1.0, 1e-6, 0.00760555),
    (1000, 2, 1.0, 1e-6, 0.0435207),
    (300, 4, 2.0, 1e-5, 0.0621092),
    (10**6, 40, 1.0, 1e-8, 0.00105515),
    (20_000, 380, 1.0, 1e-6, 0.174453),
]


@pytest.mark.parametrize(("crowd", "count", "epsilon", "delta", "needed"), one_in(3, PRINTED))
def test_noise_of_another_program(crowd, count, epsilon, delta, needed):
    """What the homogeneous crowd needs, to six digits: the noise is above it, the variance near."""
    noise = smallest_noise("exact", family(count), crowd, epsilon, delta)
    assert noise.q > needed
    assert variance(noise.q) <= 1.015 * variance(needed)


@pytest.mark.slow
@pytest.mark.parametrize(("crowd", "count", "epsilon", "delta"), one_in(4, CASES))
def test_the_curve_is_that_of_dots_found_one_by_one(crowd, count, epsilon, delta):
    """Every dot by its own search over crowds, connected, and composed by repeated squaring."""
    noise = smallest_noise("exact", family(count), crowd, epsilon, delta)
    spread = typical_spread(bit(noise.q), crowd)
    dots = sampled(
        lambda e: worst_crowd(bit(noise.q), crowd, e, 1e-3).upper, spread / 12, 80, 1e-14, 300
    )
    one = connect_the_dots(dots, dots, spread / 12).forward
    squared = one
    for _ in range(count - 1):
        squared = squared.times(one)
    assert delta * 0.9 <= squared.delta(epsilon) <= delta * 1.01


@pytest.mark.slow
def test_different_noises_and_a_joint_report():
    """Bits of two noises beside a choice: at least each alone, and the sum of deltas is less
    than halved epsilons give."""
    crowd = 2000
    joint = Schema.uniform([choice(4)], BitFlip.at_least(0.2))
    sent = everything((free(0.05), 2), (free(0.3), 5), (joint, 1))
    for analysis in ("shuffle", "seat"):
        total = privacy_curve(analysis, sent, crowd)
        parts = [
            privacy_curve(analysis, Contribution.of(*pair), crowd)
            for pair in ((free(0.05), 2), (free(0.3), 5))
        ]
        alone = certify(analysis, joint, crowd, 0.5).delta.upper
        by_product = (parts[0] * parts[1]).delta(0.5)
        assert total.delta(0.5) > max(alone, by_product)
        assert total.delta(1.5) <= certify(analysis, joint, crowd, 0.75).delta.upper + (
            parts[0] * parts[1]
        ).delta(0.75)


def explicit_power(law, count):
    mass = np.ones(1)
    for _ in range(count):
        mass = fftconvolve(mass, law.mass)
    return LossLaw(law.step, count * law.first, mass, 1 - (1 - law.infinite) ** count)


def some_law():
    losses = 0.05 * np.arange(-60, 61)
    mass = np.exp(-((losses - 0.1) ** 2) / 0.5)
    return LossLaw(0.05, -60, mass / mass.sum() * (1 - 1e-9), 1e-9)


@pytest.mark.parametrize("count", [2, 7, 60])
def test_one_transform_composes_as_convolutions_do(count):
    law = some_law()
    found, true = composed([(law, count)]), explicit_power(law, count)
    for epsilon in (0.0, 1.0, 5.0, 12.0):
        assert found.delta(epsilon) == pytest.approx(true.delta(epsilon), rel=1e-9, abs=1e-12)
        assert found.delta(epsilon) >= true.delta(epsilon) - true.doubt


def test_a_tail_that_goes_round_the_circle_is_found_out(monkeypatch):
    """The comparison above rejects a circle that is too small, if what it cuts is not charged."""
    monkeypatch.setattr(composition, "LOG_TAIL", 3.0)
    law, true = some_law(), explicit_power(some_law(), 7)
    assert composed([(law, 7)]).delta(5.0) >= true.delta(5.0)
    uncharged = composed([(law, 7)])
    uncharged = LossLaw(uncharged.step, uncharged.first, uncharged.mass, 7e-9)
    assert uncharged.delta(5.0) < true.delta(5.0)


def test_epsilon_is_where_delta_is_met():
    sent = bits(0.01, 6)
    epsilon = smallest_epsilon("exact", sent, 20_000, 1e-6)
    assert certify("exact", sent, 20_000, epsilon).delta.upper == pytest.approx(1e-6, rel=1e-6)


def test_a_certificate_takes_a_fraction_of_a_second():
    spent = []
    for q, crowd, count in ((0.00106, 10**6, 40), (0.1754, 20_000, 380), (0.3, 10**9, 40)):
        start = time.process_time()
        EXACT.certificate(bits(q, count), crowd, 1.0)
        spent.append(time.process_time() - start)
    assert max(spent) < 0.6
