"""Many bits in a small crowd, where rare reports are millions of times likelier: `outlier`."""

import numpy as np
import pytest

from incrowd.accounting import outlier_ratios
from incrowd.accounting.certificates import certify
from incrowd.accounting.schema import FREE_BIT, Schema
from incrowd.accounting.worst import delta
from incrowd.channels.bit_flip import BitFlip
from incrowd.numerics.law import Law
from incrowd.numerics.positive_part import positive_part
from tests.oracles.homogeneous import absence, presence, simulated

BITS = 64
GRID = 1e-5  # relative error of the oracle's grid
DEVIATIONS = 4.5  # false alarm below 1e-5 for each of four comparisons

SETTINGS = [(q, N, e) for q, N in ((0.43799, 70), (0.44, 100)) for e in (0.3, 0.54, 1.0, 1.5)]


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


def test_the_worst_of_all_relations():
    sent = Schema.uniform([FREE_BIT] * BITS, BitFlip.at_least(0.43799))
    found = certify("outlier", sent, 70, 0.54).delta
    assert found.lower <= 0.0843 + 4 * 0.0014 and found.upper >= 0.0840
    assert found.upper - found.lower <= 1e-3 * found.upper
    assert found.upper <= certify("blanket", sent, 70, 0.54).delta.lower


def test_what_only_bounds_is_no_lower_bound(monkeypatch):
    """Without setting values apart the lattice is too coarse: then upper and lower say so."""
    channel, truth = BitFlip.at_least(0.44), presence(0.44, BITS, 100, 0.3)
    monkeypatch.setattr("incrowd.numerics.positive_part.SAFE", np.inf)
    found = delta(outlier_ratios.ratios(channel, (BITS, 0, 0)), 100, 0.3)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower > 1e-3 * truth


def test_a_heavy_value_that_seldom_decides():
    """Heavy values of both signs: the bound and the lower bound hold the enumerated value."""
    law = Law(np.array([1e6, -1e6, 1.0, -1.0]), np.log([2e-3, 3e-3, 0.3, 0.4]))
    people = 12
    found = positive_part(law, people)
    generator = np.random.default_rng(3)
    value = np.append(law.value, 0.0)
    chance = np.append(law.mass, 1 - law.mass.sum())
    sums = value[generator.choice(5, p=chance, size=(400_000, people))].sum(axis=1)
    mean, error = np.maximum(sums, 0).mean(), np.maximum(sums, 0).std() / np.sqrt(len(sums))
    assert found.lower <= mean + 5 * error and found.upper >= mean - 5 * error
