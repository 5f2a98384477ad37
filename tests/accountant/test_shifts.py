"""Counts that shift by one under additive noise: exact deltas, curves, and what is beside them."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_discrete_laplace_mechanism
from scipy.stats import binom

from incrowd.accountant import (
    ANALYSES,
    AdditiveNoise,
    Alternatives,
    BitFlip,
    Contribution,
    Schema,
    assess,
    certify,
    privacy_curve,
    smallest_epsilon,
    smallest_noise,
)
from incrowd.accountant.certificates import clearly_keeps, curves
from incrowd.accountant.schema import FREE_BIT
from incrowd.errors import PrivacyError
from tests.accountant.conftest import free

LAPLACE = AdditiveNoise.laplace(1.0, most=24)
GAUSSIAN = AdditiveNoise.gaussian(3.0, most=40)
SHUFFLED = [name for name, by in ANALYSES.items() if by.shuffled]


def shifted(*shifts):
    return Contribution((), shifts=shifts)


def exact_delta(shifts, alpha):
    """Delta at ln(alpha): the sum over all outcomes, in rational numbers."""
    laws = Counter({Fraction(1): Fraction(1)})  # chance under P of each ratio of P to Q
    for noise, count in shifts:
        pairs = list(zip(noise.whole, (0, *noise.whole[:-1]), strict=True))
        for _ in range(count):
            composed = Counter()
            for (ratio, mass), (p, q) in itertools.product(laws.items(), pairs):
                if q:  # the rest has an infinite loss
                    composed[ratio * Fraction(p, q)] += mass * Fraction(p, 1 << noise.bits)
            laws = composed
    finite = sum(laws.values())
    above = sum(mass * (1 - alpha / ratio) for ratio, mass in laws.items() if ratio > alpha)
    return above + (1 - finite)


# Exact


@pytest.mark.parametrize(
    ("shifts", "alpha"),
    [
        ([(GAUSSIAN, 1)], Fraction(3)),
        ([(LAPLACE, 2)], Fraction(7)),
        ([(GAUSSIAN, 2)], Fraction(8)),
        ([(GAUSSIAN, 2)], Fraction(100)),
        ([(AdditiveNoise.gaussian(1.5, most=16), 3)], Fraction(40)),
        ([(LAPLACE, 1), (GAUSSIAN, 1)], Fraction(5)),
        ([(AdditiveNoise.polya(1.0, most=20), 2)], Fraction(5)),
        ([(AdditiveNoise.laplace(0.9, most=10).plus(AdditiveNoise.laplace(0.9, most=10)), 2)], 4),
    ],
)
def test_delta_is_an_upper_bound_that_equals_the_truth(shifts, alpha):
    true = float(exact_delta(shifts, Fraction(alpha)))
    bounds = certify("shuffle", shifted(*shifts), None, math.log(alpha)).delta
    assert true <= bounds.upper * (1 + 1e-12)
    assert bounds.upper <= true * 1.002 + 1e-18


@pytest.mark.parametrize("alpha", [20, 30, 40])
def test_tiny_deltas_keep_their_digits(alpha):
    """Down to 1e-15, where a Fourier transform has only noise."""
    noise = AdditiveNoise.gaussian(3.0, most=52)
    true = float(exact_delta([(noise, 2)], Fraction(alpha)))
    upper = certify("shuffle", shifted((noise, 2)), None, math.log(alpha)).delta.upper
    assert 1e-16 < true < 1e-9
    assert true <= upper * (1 + 1e-12)
    assert upper <= true * (1 + 1e-4)


@pytest.mark.parametrize(("cells", "epsilon"), [(1, 0.3), (2, 0.9), (4, 1.7), (10, 2.5)])
def test_a_long_laplace_law_agrees_with_dp_accounting(cells, epsilon):
    noise = AdditiveNoise.laplace(0.5, most=140)
    upper = certify("shuffle", shifted((noise, cells)), None, epsilon).delta.upper
    one = from_discrete_laplace_mechanism(0.5, value_discretization_interval=1e-4)
    assert upper == pytest.approx(one.self_compose(cells).get_delta_for_epsilon(epsilon), rel=1e-3)


def test_epsilon_and_delta_invert_each_other():
    sent = shifted((GAUSSIAN, 4))
    epsilon = smallest_epsilon("shuffle", sent, None, 1e-6)
    assert 0.999e-6 < certify("shuffle", sent, None, epsilon).delta.upper <= 1e-6
    with pytest.raises(PrivacyError, match="no epsilon up to"):
        smallest_epsilon("shuffle", sent, None, float(GAUSSIAN.chances[0]))


def test_a_curve_is_above_the_certificate_and_close_to_it():
    for shifts in ([(GAUSSIAN, 1)], [(LAPLACE, 2)], [(GAUSSIAN, 3), (LAPLACE, 2)]):
        sent = shifted(*shifts)
        curve = privacy_curve("shuffle", sent, None)
        for epsilon in (0.0, 0.5, 1.5, 3.0):
            exact = certify("shuffle", sent, None, epsilon).delta.upper
            assert exact <= curve.delta(epsilon) * (1 + 1e-9)
            assert curve.delta(epsilon) <= exact * 1.002 + 1e-12


def test_a_law_of_one_number_hides_nothing():
    assert certify("shuffle", shifted((AdditiveNoise((1 << 64,)), 1)), None, 5.0).delta.upper == 1


# What it assumes


@pytest.mark.parametrize("analysis", SHUFFLED)
def test_no_analysis_counts_on_a_crowd_for_shifts(analysis):
    sent = shifted((LAPLACE, 2))
    certificate = certify(analysis, sent, None, 2.0)
    assert certificate.assumption == "services-apart" and not certificate.beside
    assert certificate.by == "additive"
    assert [pair.data() for pair in certificate.worst] == [{"code": "shifted-cells", "number": 2}]
    assert certificate.delta == certify(analysis, sent, 3, 2.0).delta
    assert certificate.delta == certify(analysis, sent, 100_000, 2.0).delta
    figures = assess(analysis, sent, None, 2.0)
    assert figures.delta == certificate.delta and figures.crowd is None
    assert figures.assumption == "services-apart" and figures.presence is None
    assert figures.delta.upper <= figures.eta <= 1
    assert clearly_keeps(analysis, sent, None, 2.0, 1e-5)
    assert not clearly_keeps(analysis, sent, None, 1.9, 1e-5)


def test_a_missing_crowd_is_refused_where_something_counts_on_it():
    flips = Contribution.of(free(0.3))
    redrawn = Contribution((), redraws=1e-9)
    both = shifted((LAPLACE, 2))
    for sent in (flips, both.also(flips), both.also(redrawn), Alternatives((both, flips))):
        for call in (
            lambda: certify("shuffle", sent, None, 1.0),  # noqa: B023
            lambda: smallest_epsilon("shuffle", sent, None, 1e-6),  # noqa: B023
        ):
            with pytest.raises(PrivacyError, match="crowd: missing"):
                call()
    for call in (assess, certify):
        with pytest.raises(PrivacyError, match="crowd: missing"):
            call("blanket", both.also(flips), None, 1.0)
    with pytest.raises(PrivacyError, match="crowd: missing"):
        privacy_curve("shuffle", flips, None)
    linked = Contribution.of(free(0.3), linked=True)
    assert certify("shuffle", linked.also(both), None, 3.0).assumption == "services-apart"


def test_both_services_together_leave_nothing():
    sent = shifted((LAPLACE, 2)).also(Contribution.of(free(0.3)))
    assert sent.local_epsilon == math.inf
    for call in (
        lambda: certify("local", sent, 2, 5.0),
        lambda: certify("local", shifted((LAPLACE, 1)), None, 5.0),
        lambda: assess("local", sent, 2, 5.0),
        lambda: smallest_epsilon("local", sent, 2, 1e-6),
        lambda: smallest_noise("local", lambda flip: sent.also(alone(flip)), 2, 5.0, 1e-6),
    ):
        with pytest.raises(PrivacyError, match="nothing is left if both services work together"):
            call()
    assert "local" not in curves(sent, 100, [1.0])
    # Rounds in which noise was drawn again leave the local guarantee, which is none.
    redrawn = sent.also(Contribution((), redraws=0.5))
    with pytest.raises(PrivacyError, match="nothing is left"):
        smallest_epsilon("shuffle", redrawn, 100, 1e-6)


def alone(flip):
    """A report of one bit with that noise."""
    return Contribution.of(Schema.uniform([FREE_BIT], flip))


# With reports beside them


@pytest.mark.parametrize("crowd", [4, 9])
def test_reports_and_shifts_compose_into_one_curve(crowd):
    """A bit in the worst crowd, and two shifted counts: every outcome of both."""
    q, epsilon = BitFlip.at_least(0.3).numerator / 2**32, 1.2
    noise = AdditiveNoise.laplace(0.8, most=16)
    sent = Contribution.of(free(0.3)).also(shifted((noise, 2)))
    certificate = certify("shuffle", sent, crowd, epsilon)
    assert certificate.assumption == "whole-crowd" and certificate.beside == ("services-apart",)
    assert [pair.code for pair in certificate.worst] == ["any-crowd", "shifted-cells"]
    count = np.append(0.0, noise.chances), np.append(noise.chances, 0.0)
    cells = [np.multiply.outer(law, law).ravel() for law in count]
    worst = 0.0
    for ones in range(crowd):
        others = np.convolve(
            binom.pmf(range(ones + 1), ones, 1 - q),
            binom.pmf(range(crowd - ones), crowd - 1 - ones, q),
        )
        bit = [np.convolve(others, law) for law in ([q, 1 - q], [1 - q, q])]
        for x, y in ((0, 1), (1, 0)):
            p = np.multiply.outer(bit[x], cells[0]).ravel()
            r = np.multiply.outer(bit[y], cells[1]).ravel()
            worst = max(worst, np.maximum(p - math.exp(epsilon) * r, 0).sum())
    assert worst <= certificate.delta.upper * (1 + 1e-12) <= 1.02 * worst
    assert (
        certificate.delta.upper > certify("shuffle", shifted((noise, 2)), None, epsilon).delta.upper
    )
    curve = privacy_curve("shuffle", sent, crowd)
    assert curve.delta(epsilon) == pytest.approx(certificate.delta.upper, rel=1e-6)
    assert smallest_epsilon("shuffle", sent, crowd, curve.delta(epsilon)) <= epsilon + 1e-9


def test_noise_of_flips_is_found_beside_shifts():
    sent = shifted((AdditiveNoise.laplace(0.6, most=60), 2))

    def family(flip):
        return alone(flip).also(sent)

    flip = smallest_noise("shuffle", family, 1000, 1.5, 1e-6)
    assert certify("shuffle", family(flip), 1000, 1.5).delta.upper <= 1e-6
    less = BitFlip(int(flip.numerator * 0.97))
    assert certify("shuffle", family(less), 1000, 1.5).delta.upper > 1e-6
    assert flip > smallest_noise("shuffle", alone, 1000, 1.5, 1e-6)
