"""Copies of one report: composed exactly, by simulation, and by another library."""

import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom

from incrowd.accountant.analyses.local import LOCAL
from incrowd.accountant.certificates import certify, privacy_curve
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.composition import connect_the_dots, sampled
from incrowd.accountant.pairs import local_candidates
from incrowd.accountant.schema import Contribution
from tests.accountant.conftest import free
from tests.conftest import slowly


def randomized_response(channel, epsilon):
    return max(0.0, channel.p - math.exp(epsilon) * channel.q)


def exact_product(channel, copies, epsilon):
    """delta of k independent randomized responses, by listing how many tell the truth."""
    total = 0.0
    for i in range(copies + 1):
        here = channel.p ** (copies - i) * channel.q**i
        there = channel.q ** (copies - i) * channel.p**i
        total += math.comb(copies, i) * max(0.0, here - math.exp(epsilon) * there)
    return total


@pytest.mark.parametrize("copies", [1, 2, 5, 10])
def test_copies_of_local_are_exact(copies):
    channel = BitFlip.at_least(0.3)
    for epsilon in (0.3, 1.0, 2.0):
        exact = exact_product(channel, copies, epsilon)
        found = certify("local", Contribution.of(free(0.3, 1), copies), 2, epsilon).delta.upper
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-15)
        step = math.log(channel.p / channel.q) / 20
        curve = sampled(lambda e: randomized_response(channel, e), step, 100, 0.0, 100)
        composed = connect_the_dots(curve, curve, step) ** copies
        assert composed.delta(epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-13)


def binomial_delta(channel, copies, epsilon):
    """delta of many independent randomized responses, from the number that tells the truth."""
    true = np.arange(copies + 1)
    loss = (2 * true - copies) * math.log1p((channel.p - channel.q) / channel.q)
    beyond = loss > epsilon
    here = np.exp(binom.logpmf(true[beyond], copies, channel.p))
    return float(here @ -np.expm1(epsilon - loss[beyond]))


@pytest.mark.parametrize(
    ("copies", "local"), [(201, 0.01), (10**6, 2.0), *slowly((10**4, 2.0), (10**6, 0.01))]
)
def test_many_copies_of_local_are_composed_closely(copies, local):
    """Within a thousandth, and an allowance for each copy. The mean loss is up to 1.5 million."""
    channel = BitFlip.from_epsilon(local)
    sent = Contribution.of(free(channel.q, 1), copies)
    mean, spread = (copies * channel.epsilon * x for x in (channel.p - channel.q, copies**-0.5))
    for deviations in (-2.0, 0.0, 3.0):
        epsilon = max(mean + deviations * spread, 0.01)
        exact, bound = binomial_delta(channel, copies, epsilon), LOCAL.bound(sent, 2, epsilon)
        assert exact <= bound <= 1.001 * exact + 1e-15 * copies
        closer = LOCAL.bound(sent, 2, epsilon + 0.01 * spread)
        assert closer < exact  # a hundredth of a deviation more is found out


@pytest.mark.parametrize("copies", [200, *slowly(10**5)])
def test_certificates_of_many_copies_of_local_cover_the_binomial_law(copies):
    """The joint ratios: losses of up to 200,000 spread over few atoms."""
    channel = BitFlip.from_epsilon(2.0)
    sent = Contribution.of(free(channel.q, 1), copies)
    for epsilon in (1.0, min(copies * channel.epsilon * (channel.p - channel.q), 700.0)):
        exact = binomial_delta(channel, copies, epsilon)
        upper = certify("local", sent, 2, epsilon).delta.upper
        assert exact * (1 - 1e-6) <= upper <= min(1.0, exact * 1.001)


@pytest.mark.slow
def test_the_joint_ratios_of_many_copies_keep_all_their_mass():
    """Under both answers. The step of the ratios is 780, and e^-780 is zero in double precision."""
    channel = BitFlip.from_epsilon(2.0)
    ratios = local_candidates(Contribution.of(free(channel.q, 1), 10**5))[0].ratios
    for log_likelihood in (ratios.log_a, ratios.log_b):
        assert logsumexp(ratios.log_mass + log_likelihood) == pytest.approx(0.0, abs=1e-6)


def one_bit_laws(channel, crowd):
    """The number of ones sent if one person holds 1, or 0, all others 0."""
    counts = np.arange(crowd + 1)
    f = np.array(
        [math.comb(crowd - 1, t) * channel.q**t * channel.p ** (crowd - 1 - t) for t in counts]
    )
    before = np.append(0.0, f[:-1])
    return channel.p * before + channel.q * f, channel.q * before + channel.p * f


@pytest.mark.parametrize("copies", [2, *slowly(3)])
def test_copies_of_one_bit_against_the_product_of_explicit_laws(copies):
    """Pessimistic, and by less than 1% here."""
    channel, crowd = BitFlip.at_least(0.2), 60
    one, zero = one_bit_laws(channel, crowd)
    here, there = one, zero
    for _ in range(copies - 1):
        here, there = np.multiply.outer(here, one).ravel(), np.multiply.outer(there, zero).ravel()
    curve = privacy_curve("outlier", Contribution.of(free(0.2, 1), copies), crowd, steps=40)
    for epsilon in (0.3, 0.6, 1.0):
        lam = math.exp(epsilon)
        exact = max(
            np.maximum(here - lam * there, 0).sum(), np.maximum(there - lam * here, 0).sum()
        )
        found = curve.delta(epsilon)
        assert exact * (1 - 1e-9) <= found <= exact * 1.01 + 1e-12


@pytest.mark.slow
def test_composition_of_merged_copies_against_simulation():
    """L = 40, N = 1e7: k copies merged in one collection leak at most as much as in k collections.
    The simulated delta of the merged collection (presence) has a standard error; 5 of them."""
    from reproduction.merged import Merged, simulate

    channel = BitFlip.at_least(0.36)
    for copies, draws in ((4, 20_000), (10, 8_000), (20, 3_000)):
        merged = simulate(Merged(channel, 10**7, 40, copies), 2.0, draws, seed=copies)
        bound = privacy_curve("outlier", Contribution.of(free(channel.q, 40), copies), 10**7).delta(
            2.0
        )
        assert merged.delta - 5 * merged.delta_error <= bound
        assert bound <= 3 * (merged.delta + 5 * merged.delta_error)


def test_composition_against_dp_accounting():
    """The library's PLD of randomized response, composed in a loop."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

    channel = BitFlip.at_least(0.4)
    noise = 2 * channel.q  # its noise parameter is the chance of a uniformly random answer
    one = pld.from_randomized_response(noise, 2, value_discretization_interval=1e-4)
    composed = one
    for _ in range(9):
        composed = composed.compose(one)
    for epsilon in (0.5, 1.0, 2.0):
        theirs = composed.get_delta_for_epsilon(epsilon)
        ours = certify("local", Contribution.of(free(channel.q, 1), 10), 2, epsilon).delta.upper
        assert theirs > 1e-9
        assert ours == pytest.approx(theirs, rel=2e-3)


def test_curves_combine_and_invert():
    first = privacy_curve("blanket", free(0.35, 3), 2000)
    second = privacy_curve("blanket", free(0.4, 8), 2000)
    both = first * second
    for epsilon in (0.1, 0.5):
        assert both.delta(epsilon) >= max(first.delta(epsilon), second.delta(epsilon)) * (1 - 1e-6)
    epsilon = both.epsilon(1e-6)
    assert both.delta(epsilon) <= 1e-6 < both.delta(epsilon * 0.99)
    twice = first * first
    assert twice.delta(0.3) == pytest.approx((first**2).delta(0.3), rel=1e-9)
