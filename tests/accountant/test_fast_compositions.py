"""Fast compositions of whole answers: never below what is true, and as close as the slow way.

The slow way evaluates every analysis at every dot, each on its finest lattice. What is true is
bounded from below by the exact counts of a crowd in which everybody else holds the same answer,
composed by dp_accounting with its optimistic rounding.
"""

import math
import random

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.stats import binom

from incrowd.accountant.analyses import ANALYSES
from incrowd.accountant.certificates import smallest_epsilon
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.composition import LossLaw, composed
from incrowd.accountant.curves import Orders, composed_curve
from incrowd.accountant.schema import Contribution, Part, Schema
from incrowd.errors import PrivacyError
from tests.accountant.conftest import choice

SEED = 20260


class SlowWay:
    """The smallest of all bounds of one report at each epsilon, each as sharp as it can be."""

    def spread(self, schema, crowd):
        return ANALYSES["shuffle"].spread(schema, crowd)

    def bit(self, schema):
        return None

    def orders(self, schema, crowd, spread, search=False):
        def delta(epsilon):
            bounds = [ANALYSES["seat"].bound_one(schema, crowd, epsilon)]
            for name in ("blanket", "local"):
                try:
                    sent = Contribution.of(schema)
                    bounds.append(ANALYSES[name].certificate(sent, crowd, epsilon).delta.upper)
                except PrivacyError:
                    pass
            return min(bounds)

        return Orders(delta, delta, WorstPair(code="any-pair"))


def rounds_of(local, options, rounds):
    part = Part(choice(options), KAry.from_epsilon(local, options))
    return Contribution.of(Schema.of([part]), rounds)


def settings(number, largest_crowd):
    """(local epsilon, options, crowd, rounds, delta), drawn as they are asked for."""
    drawn = random.Random(SEED)
    for _ in range(number):
        crowd = int(10 ** drawn.uniform(math.log10(500), math.log10(largest_crowd)))
        delta = 10 ** drawn.uniform(-12, -4)
        yield drawn.uniform(0.5, 4), drawn.choice([3, 5, 10]), crowd, drawn.choice([2, 100]), delta


@pytest.mark.slow
@pytest.mark.parametrize("setting", [*settings(8, 10**6)])
def test_the_fast_way_is_as_close_as_the_slow_one(setting):
    local, options, crowd, rounds, delta = setting
    sent = rounds_of(local, options, rounds)
    fast = smallest_epsilon("shuffle", sent, crowd, delta)
    slow = composed_curve(SlowWay(), sent, crowd).epsilon(delta)
    assert 0.999 * slow <= fast <= 1.001 * slow


def homogeneous_counts(local, options, crowd):
    """Laws of how many send 0 and how many send 1 if one person holds 0, or 1, and all others 2."""
    keep = KAry.from_epsilon(local, options).keep / 2**32
    other = (1 - keep) / (options - 1)
    mean, width = (crowd - 1) * other, 9 * math.sqrt(crowd * other) + 10
    counts = np.arange(max(0, math.floor(mean - width)), math.ceil(mean + width))
    zeros, ones = counts[:, None], counts[None, :]

    def others(zeros, ones):
        return binom.pmf(zeros, crowd - 1, other) * binom.pmf(
            ones, crowd - 1 - zeros, other / (1 - other)
        )

    neither, zero, one = others(zeros, ones), others(zeros - 1, ones), others(zeros, ones - 1)
    rest = (1 - keep - other) * neither
    return (keep * zero + other * one + rest).ravel(), (other * zero + keep * one + rest).ravel()


def optimistic(laws, rounds):
    """The composition of a pair of laws by dp_accounting, with all losses rounded down."""
    held = (laws[0] > 1e-25) & (laws[1] > 1e-25)
    upper, lower = (dict(enumerate(np.log(law[held]))) for law in laws)
    spread = math.sqrt(float(laws[0][held] @ np.log(laws[0][held] / laws[1][held]) ** 2))
    return pld.from_two_probability_mass_functions(
        lower, upper, pessimistic_estimate=False, value_discretization_interval=spread / 100
    ).self_compose(rounds)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [*settings(8, 3000)])
def test_the_fast_way_is_never_below_the_truth(setting):
    """And so close that twice the crowd would be."""
    local, options, crowd, rounds, delta = setting
    found = smallest_epsilon("shuffle", rounds_of(local, options, rounds), crowd, delta)
    wanted = optimistic(homogeneous_counts(local, options, crowd), rounds)
    assert wanted.get_epsilon_for_delta(delta) <= found
    larger = smallest_epsilon("shuffle", rounds_of(local, options, rounds), 2 * crowd, delta)
    assert larger < wanted.get_epsilon_for_delta(delta)


def test_more_losses_than_any_lattice_holds_are_infinite():
    """A trillion equal losses that are spread over a window of a million nats."""
    law = LossLaw(0.5, -1, np.array([0.4, 0.2, 0.4]), 0.0)
    assert composed([(law, 10**14)]).delta(1.0) == 1.0


@pytest.mark.parametrize(("points", "step"), [(1, 0.5), (3, 2.0), (400, 0.03), (5000, 0.002)])
def test_deltas_at_many_epsilons_are_exact_sums(points, step):
    """At the points of the lattice, between, below, and beyond them; never below the sum."""
    generator = np.random.default_rng(SEED)
    mass = generator.dirichlet(np.full(points, 0.3)) * 0.9
    law = LossLaw(step, -(points // 3), mass, 1e-9)
    losses = step * (np.arange(points) - points // 3)
    inside = generator.uniform(losses[0] - 1, losses[-1] + 1, 60)
    epsilons = np.concatenate([losses[:20], losses[-20:], inside, [-math.inf, math.inf]])
    for epsilon, bound in zip(epsilons, law.deltas(epsilons), strict=True):
        terms = [m * -math.expm1(min(epsilon - x, 0)) for m, x in zip(mass, losses, strict=True)]
        exact = math.fsum(terms)
        assert exact + 1e-9 <= bound <= exact * (1 + 1e-11) + 1.0001e-9
    assert np.isnan(law.deltas(np.array([math.nan])))
