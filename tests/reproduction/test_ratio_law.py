"""The law of the privacy ratio against all counts and simulation."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, multinomial, norm

from incrowd.accountant.channels.bit_flip import BitFlip
from reproduction import ratio_law
from reproduction import sufficient_dp as paper
from reproduction.merged import Merged, simulate
from tests.reproduction.conftest import E2, SIGMAS


def exact_ratio_law(flip, N, L):
    """Values and probabilities of R, over all counts of reports by their bits set."""
    bits = np.arange(L + 1)
    zero, one = binom.pmf(bits, L, flip.q), binom.pmf(bits, L, flip.p)
    counts = [c for c in itertools.product(range(N), repeat=L + 1) if sum(c) == N - 1]
    mass = multinomial.pmf(counts, N - 1, zero)
    weight = (flip.p / flip.q) ** (2.0 * bits - L)
    values = (np.array(counts) @ weight)[:, None] + weight
    return (values / N).ravel(), np.outer(mass, one).ravel()


@pytest.mark.parametrize(("q", "N", "L"), [(0.3, 12, 2), (0.2, 9, 3), (0.1, 40, 1)])
def test_ratio_law_against_all_counts(q, N, L):
    flip = BitFlip.at_least(q)
    value, mass = exact_ratio_law(flip, N, L)
    found = ratio_law.ratio_law(flip, N, L, largest=(flip.p / flip.q) ** L + 1, step=1e-4)
    assert found.mass.sum() == pytest.approx(1, abs=1e-9)
    assert found.points @ found.mass == pytest.approx(value @ mass, rel=1e-9)
    for x in (0.731, 1.033, 1.717, 2.219):
        beyond = mass[value > x].sum()
        near = mass[abs(value - x) < 3e-3].sum()  # values that splitting moves across x
        assert found.mass[found.points > x].sum() == pytest.approx(beyond, abs=near + 1e-9)
        assert ratio_law.exceeding(flip, N, L, x) == pytest.approx(beyond, rel=1e-9, abs=1e-15)


def test_density_is_that_of_the_law():
    flip = BitFlip.at_least(0.2)
    found = ratio_law.ratio_law(flip, 500, 3, largest=10, step=1e-3)
    at = np.arange(0.0, 10, 0.05) + 5e-4
    curve = ratio_law.density(found, at, 0.05)
    assert curve.sum() * 0.05 == pytest.approx(1, abs=1e-9)
    inside = (found.points > 0.9755) & (found.points < 1.0255)
    assert curve[20] == pytest.approx(found.mass[inside].sum() / 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "N", "point"), [(2.0, 1000, 1.5), (E2, 3000, 1.0), (E2, 5000, 5.0)]
)
def test_points_of_the_plots_against_simulation(limit, N, point):
    """False alarms 1e-6 each; rejected: the normal law's value."""
    flip, draws = paper.noise_3_12(limit, N, 5), 400_000
    chance = ratio_law.exceeding(flip, N, 5, point)
    found = simulate(Merged(flip, N, 5), math.log(point), draws, 3).eta

    def rejected(value):
        return abs(found - value) > SIGMAS * math.sqrt(value * (1 - value) / draws)

    assert not rejected(chance)
    moments = paper.moments_of_ratio(flip, N, 5)
    assert rejected(norm.sf(point, moments.mean, math.sqrt(moments.variance)))
