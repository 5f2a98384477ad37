"""Sums of small and rarely large values on two lattices, against every way they can fall."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.numerics import positive_part
from incrowd.accountant.numerics import positive_part as engine
from incrowd.accountant.numerics.lattice import TiltedLaw, discretize
from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.numerics.positive_part import mean_in_two
from incrowd.accountant.pairs import blanket_candidates, outlier_candidates
from incrowd.accountant.schema import FREE_BIT, Schema
from tests.conftest import examples, slowly

ROUNDING = 1e-9


def law_of(atoms):
    values, chances = zip(*atoms, strict=True)
    return Law(np.array(values, float), np.log(np.array(chances, float)))


def two_sized(small, large, chance, drift):
    """Values of about -1 to 1, and rarely large ones, of negative mean."""
    up, down = 0.2, 0.2 * (1 + drift)
    return law_of([(1.0, up), (-1.0, down), (large, chance), (-small * large, chance / 3)])


def discretized(law, count):
    tilted = TiltedLaw.at_saddlepoint(law, count)
    return discretize(tilted, tilted.spare_variance())


@given(
    st.floats(0.1, 2.0),
    st.floats(30.0, 3000.0),
    st.floats(-6.0, -2.5),
    st.floats(0.2, 2.0),
    st.integers(5, 40),
)
@examples(40)
def test_two_lattices_bound_every_sum(small, large, log_chance, drift, count):
    """Never below the exact value, and close to it once the steps are halved."""
    law = two_sized(small, large, 10.0**log_chance, drift)
    exact = engine._exact(law, count)
    lattice = discretized(law, count)
    worth, positive_part.WORTH_IT = positive_part.WORTH_IT, 1e-9  # whether or not it is
    try:
        means = {halvings: mean_in_two(lattice, halvings) for halvings in (0, 3)}
    finally:
        positive_part.WORTH_IT = worth
    for halvings, mean in means.items():
        if mean is not None:
            assert mean.bound >= exact.lower * (1 - ROUNDING)
            assert not halvings or mean.bound <= 1.05 * exact.upper


def test_the_division_keeps_the_mean_and_adds_little_spread():
    law = two_sized(0.5, 1e4, 1e-7, 0.01)
    small, large = positive_part.divided(discretized(law, 10**6))
    assert small.mean + large.mean == pytest.approx(law.mean, rel=1e-12)
    spread = small.second_moment - small.mean**2 + large.second_moment - large.mean**2
    assert law.second_moment - law.mean**2 < spread < 1.01 * law.second_moment
    assert np.abs(small.value).max() < 2 < np.abs(large.value).min()
    assert small.total == large.total == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("q", "crowd", "epsilon"), [(0.3432, 10**7, 2.0), (0.39, 10**7, 0.4)])
def test_forty_bits_in_one_and_in_two(monkeypatch, q, crowd, epsilon):
    """A crowd of one record: values up to (p/q)^40. Within the tolerance of the digits."""
    report = Schema.uniform([FREE_BIT] * 40, BitFlip.at_least(q))
    relations = [*outlier_candidates(report)[47::24], *blanket_candidates(report)]
    laws = [candidate.ratios.law(epsilon) for candidate in relations]
    two = [engine.positive_part(law, crowd) for law in laws]
    monkeypatch.setattr(engine, "mean_in_two", lambda lattice, halvings: None)
    one = [engine.positive_part(law, crowd) for law in laws]
    assert two != one
    for found, wanted in zip(two, one, strict=True):
        assert found.estimate == pytest.approx(wanted.estimate, rel=2e-4, abs=1e-290)
        assert found.upper >= wanted.lower * (1 - ROUNDING)


def test_one_scale_stays_on_one_lattice():
    law = law_of([(1.0, 0.3), (-1.0, 0.35), (0.5, 0.1)])
    assert mean_in_two(discretized(law, 10**6)) is None


def test_the_chance_of_no_decisive_value_is_a_factor():
    """Where decisive values were taken out, the chance that there is none is a factor."""
    whole = two_sized(0.5, 500.0, 1e-4, 1.0)
    part = Law(whole.value, whole.log_mass + math.log(0.9), 0.9)
    tilted = TiltedLaw.at_saddlepoint(whole, 30)
    values = []
    for law in (whole, part):
        lattice = discretize(TiltedLaw.at(law, 30, tilted.theta), tilted.spare_variance())
        values.append(lattice.positive_mean(2).bound)
    assert values[1] == pytest.approx(values[0] * 0.9**30, rel=1e-9)


@pytest.mark.parametrize("q", [0.002, 0.15, 0.3, *slowly(0.359)])
@pytest.mark.parametrize("epsilon", [0.003, 0.3, 3.0, 20.6])
@pytest.mark.filterwarnings("error")
def test_little_noise_and_many_bits(q, epsilon):
    """Values up to -(p/q)^40 that no tilted sum meets: no lattice could hold them as they are."""
    report = Schema.uniform([FREE_BIT] * 40, BitFlip.at_least(q))
    for candidate in blanket_candidates(report):
        law = candidate.ratios.law(epsilon)
        closed = engine.chernoff_bound(law, 10**7)
        quick = engine.upper_bound(law, 10**7, sharp=False)
        found = engine.positive_part(law, 10**7)
        assert 0 < found.lower <= quick * (1 + 1e-6)
        assert found.upper <= quick * (1 + 1e-6) <= closed * (1 + 1e-5)


def test_values_of_one_size_are_not_divided():
    """Nothing is left of the law without its large values: one lattice does."""
    law = law_of([(-37.0, 0.02), (0.0, 0.04), (37.0, 0.02)])
    variance = 10**6 * 0.04 * 37.0**2
    found = engine.positive_part(law, 10**6)
    assert found.upper == pytest.approx(math.sqrt(variance / (2 * math.pi)), rel=1e-4)
