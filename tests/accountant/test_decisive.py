"""Many bits in a small crowd, where rare reports are millions of times likelier: `outlier`."""

import math

import numpy as np
import pytest
import scipy.stats

from incrowd.accountant import outlier_ratios
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.numerics.positive_part import positive_part
from incrowd.accountant.schema import FREE_BIT, Schema
from incrowd.accountant.worst import delta
from tests.oracles.homogeneous import absence, presence, simulated

BITS = 64
GRID = 1e-5  # relative error of the oracle's grid
DEVIATIONS = 4.5  # false alarm below 1e-5 for each of four comparisons

SETTINGS = [(q, N, e) for q, N in ((0.43799, 70), (0.44, 100)) for e in (0.3, 0.54, 1.0, 1.5)]


@pytest.mark.slow
@pytest.mark.parametrize(("q", "crowd", "epsilon"), SETTINGS)
def test_both_orders_of_the_opposite_pair(q, crowd, epsilon):
    channel = BitFlip.at_least(q)
    for relation, oracle in (((BITS, 0, 0), presence), ((0, BITS, 0), absence)):
        truth = oracle(channel.q, BITS, crowd, epsilon)
        found = delta(outlier_ratios.ratios(channel, relation), crowd, epsilon)
        assert found.lower <= truth * (1 + GRID) + 1e-9
        assert truth * (1 - GRID) - 1e-9 <= found.upper
        assert found.upper <= truth * (1 + 1e-4) + 1e-9
        assert found.upper - found.lower <= 1e-3 * found.upper


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "crowd", "relation"),
    [
        (0.43799, 70, (30, 0, 34)),
        (0.43799, 70, (20, 20, 24)),
        (0.44, 100, (0, 30, 34)),
        (0.44, 100, (32, 32, 0)),
    ],
)
def test_other_relations_by_simulation(q, crowd, relation):
    channel, generator = BitFlip.at_least(q), np.random.default_rng(20)
    mean, error = simulated(channel.q, relation, crowd, 0.54, 100_000, generator)
    found = delta(outlier_ratios.ratios(channel, relation), crowd, 0.54)
    assert abs(found.estimate - mean) <= DEVIATIONS * error
    wrong = delta(
        outlier_ratios.ratios(channel, relation), crowd * 5 // 4, 0.54
    )  # too large a crowd
    assert abs(wrong.estimate - mean) > DEVIATIONS * error


@pytest.mark.slow
def test_the_worst_of_all_relations():
    sent = Schema.uniform([FREE_BIT] * BITS, BitFlip.at_least(0.43799))
    found = certify("outlier", sent, 70, 0.54).delta
    assert found.lower <= 0.0843 + 4 * 0.0014 and found.upper >= 0.0840
    assert found.upper - found.lower <= 1e-3 * found.upper
    assert found.upper <= certify("blanket", sent, 70, 0.54).delta.lower


@pytest.mark.slow
def test_what_only_bounds_is_no_lower_bound(monkeypatch):
    """Where no value counts as decisive the lattice is too coarse: then upper and lower say so."""
    channel, truth = BitFlip.at_least(0.44), presence(0.44, BITS, 100, 0.3)
    monkeypatch.setattr("incrowd.accountant.numerics.positive_part.SAFE", np.inf)
    found = delta(outlier_ratios.ratios(channel, (BITS, 0, 0)), 100, 0.3)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower > 1e-3 * truth


def test_a_large_value_that_seldom_decides():
    """Large values of both signs: the bound and the lower bound hold the enumerated value."""
    law = Law(np.array([1e6, -1e6, 1.0, -1.0]), np.log([2e-3, 3e-3, 0.3, 0.4]))
    people = 12
    found = positive_part(law, people)
    generator = np.random.default_rng(3)
    value = np.append(law.value, 0.0)
    chance = np.append(law.mass, 1 - law.mass.sum())
    sums = value[generator.choice(5, p=chance, size=(400_000, people))].sum(axis=1)
    mean, error = np.maximum(sums, 0).mean(), np.maximum(sums, 0).std() / np.sqrt(len(sums))
    assert found.lower <= mean + 5 * error and found.upper >= mean - 5 * error


def blanket_by_numbers(q, bits, crowd, epsilon, most=3):
    """The blanket's delta of opposite records, by how many reports the blanket covers.

    E[max(0, G_1 + ... + G_m)] / (gamma N) for every way in which m reports fall, up to m = `most`;
    the last number bounds what more of them add.
    """
    k, gamma = np.arange(bits + 1), (2 * q) ** bits
    log_x = k * math.log1p(-q) + (bits - k) * math.log(q)
    value = (np.exp(log_x) - math.exp(epsilon) * np.exp(log_x[::-1])) * 2.0**bits
    chance = scipy.stats.binom.pmf(k, bits, 0.5)
    total, weight, found = np.zeros(1), np.ones(1), 0.0
    for m in range(1, most + 1):
        total, weight = (
            np.add.outer(total, value).ravel(),
            np.multiply.outer(weight, chance).ravel(),
        )
        found += scipy.stats.binom.pmf(m, crowd, gamma) * (weight @ np.maximum(total, 0))
    each = chance @ np.maximum(value, 0)
    numbers = np.arange(most + 1, crowd + 1)
    more = each * (scipy.stats.binom.pmf(numbers, crowd, gamma) @ numbers)
    return found / (gamma * crowd), more / (gamma * crowd)


@pytest.mark.parametrize("epsilon", [0.3, 0.54, 1.0, 1.5])
def test_a_low_value_beside_a_decisive_one_counts(epsilon):
    """The blanket of 64 bits in a crowd of 70: reports that are very likely for one record cancel.

    Where low values were raised beside decisive ones, the bound was up to half a percent too
    high, and the lower one was above the truth."""
    channel = BitFlip.at_least(0.43799)
    bits = Schema.uniform([FREE_BIT] * 64, channel)
    found = certify("blanket", bits, 70, epsilon).delta
    low, more = blanket_by_numbers(channel.q, 64, 70, epsilon)
    assert more < 1e-6 * low
    assert found.lower <= low + more
    assert low <= found.upper <= (low + more) * (1 + 1e-5)
    without = certify("local", bits, 70, epsilon).delta  # what was called a lower bound as well
    assert without.lower > (low + more) * 1.001
