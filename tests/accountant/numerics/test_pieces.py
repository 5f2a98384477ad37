"""What the engine is built of, each against an independent computation."""

import ast
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

import incrowd.accountant.numerics
from incrowd.accountant.numerics.lattice import (
    Split,
    TiltedLaw,
    convolution_error,
    convolved,
    gathered,
    log_neighbors,
    neighbors,
    split,
)
from incrowd.accountant.numerics.laws import Law, at_least, log_binomial, log_sum_exp
from incrowd.accountant.numerics.precision import UNIT
from tests.conftest import examples

ROUNDING = 1e-12
values = st.lists(st.floats(-50, 50), min_size=1, max_size=12).map(np.array)


def kept(found, step, rate):
    """The mass of each value, and its mean of v or of exp(rate v), after splitting."""
    points = step * np.array([found.below, found.below + 1])
    kernel = np.exp(rate * points) if rate else points
    return found.lower + found.upper, found.lower * kernel[0] + found.upper * kernel[1]


@given(values, st.floats(0.01, 5.0), st.sampled_from([0.0, -1.0, -2.5]))
@examples(60)
def test_a_split_keeps_the_mass_and_its_mean(value, step, rate):
    mass, mean = kept(neighbors(value, step, rate), step, rate)
    wanted = np.exp(rate * value) if rate else value
    np.testing.assert_allclose(mass, 1.0, rtol=1e-10)
    np.testing.assert_allclose(mean, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rate", [0.0, -0.5, -1.0])
def test_shares_that_keep_another_mean_are_found_out(rate):
    value = np.array([0.3, 1.7])
    others = {0.0, -0.5, -1.0} - {rate}
    _, mean = kept(neighbors(value, 1.0, rate), 1.0, rate)
    for other in others:
        _, wrong = kept(neighbors(value, 1.0, other), 1.0, rate)
        assert np.all(np.abs(wrong - mean) > 1e-2)


@given(values, st.floats(0.01, 3000.0), st.sampled_from([1.0, 1e3, 1e6]))
@examples(60)
def test_a_split_of_logarithms_keeps_the_mass_and_the_mean(value, step, scale):
    """Also with steps of which the exponential overflows."""
    split_logs = log_neighbors(scale * value, step)
    mass = np.logaddexp(split_logs.lower, split_logs.upper)
    points = step * np.array([split_logs.below, split_logs.below + 1])
    mean = np.logaddexp(split_logs.lower + points[0], split_logs.upper + points[1])
    np.testing.assert_allclose(mass, 0.0, atol=1e-10)
    np.testing.assert_allclose(mean, scale * value, rtol=1e-12, atol=1e-10)


def test_values_far_below_a_step_allow_a_large_one():
    """A step h adds at most |v| h to the variance of v: a step may be far larger than the values.

    Steps of at most four times the largest value once took millions of lattice points.
    """
    law = Law(np.array([-1e-5, 2e-6]), np.log([0.3, 0.1]))
    step = TiltedLaw.at(law, 10**6, 0.0).widest_step(0.05)
    draw = split(law, step)
    added = float(draw.mass @ draw.points**2) - law.second_moment
    assert added == pytest.approx(0.05, rel=1e-6)


def test_masses_are_gathered_where_neighbors_meet():
    first, mass = gathered(Split(np.array([2.0, -1.0, 1.0]), np.ones(3), np.full(3, 0.5)))
    assert first == -1
    np.testing.assert_array_equal(mass, [1.0, 0.5, 1.0, 1.5, 0.5])


def test_a_tilted_law_on_a_lattice_has_its_mass_and_cumulant():
    law = Law(np.array([-1.3, 0.4, 2.6]), np.log([0.3, 0.2, 0.1]))
    tilted = TiltedLaw.at(law, 10, 0.7)
    draw, cumulant = tilted.on_lattice(0.5)
    coarse = split(law, 0.5)
    moment = float(coarse.mass @ np.exp(0.7 * coarse.points)) + 1 - float(coarse.mass.sum())
    assert cumulant == pytest.approx(math.log(moment), rel=ROUNDING)
    wanted = coarse.mass * np.exp(0.7 * coarse.points) / moment
    np.testing.assert_allclose(draw.mass, wanted, rtol=ROUNDING)
    assert cumulant > tilted.cumulant  # splitting spreads


@given(st.integers(0, 60), st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
@examples(60)
def test_the_binomial_law_is_that_of_fractions(trials, chance):
    found = np.exp(log_binomial(trials, math.log(1 - chance), math.log(chance)))
    wanted = [
        float(math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k))
        for k in range(trials + 1)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-11)
    beyond = at_least(trials, float(chance), np.arange(trials + 2)) if trials else np.ones(1)
    exact = np.cumsum(wanted[::-1])[::-1]
    np.testing.assert_allclose(beyond[: trials + 1], exact, rtol=1e-9)


def test_part_of_a_binomial_law_adds_up_to_one():
    found = np.exp(log_binomial(10**6, math.log(0.7), math.log(0.3), 299_000, 301_000))
    with mpmath.workdps(30):
        log_ways = mpmath.loggamma(10**6 + 1) - mpmath.loggamma(300_101) - mpmath.loggamma(699_901)
        chance = mpmath.exp(log_ways + 300_100 * mpmath.log("0.3") + 699_900 * mpmath.log("0.7"))
    assert found.sum() == pytest.approx(1.0, rel=ROUNDING)
    inside = math.erf(1000.5 / math.sqrt(2 * 10**6 * 0.21))  # the normal law's share within
    assert found[1100] == pytest.approx(float(chance) / inside, rel=1e-4)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 700), (1000, 1000)])
def test_convolution_is_the_sum_of_products(sizes):
    random = np.random.default_rng(5)
    one, other = (random.random(size) ** 8 for size in sizes)
    found = convolved(one, other)
    wanted = np.convolve(one.astype(np.longdouble), other.astype(np.longdouble))
    assert len(found) == len(wanted)
    rounded = UNIT * one.sum() * other.sum()  # of the whole mass, allowed for where it is used
    assert np.abs(np.cumsum(found - wanted)).max() <= convolution_error(one, other) + rounded


def test_log_sum_exp_is_that_of_scipy():
    random = np.random.default_rng(6)
    exponents = random.normal(size=(5, 40)) * 300
    exponents[0, :3], exponents[1] = -np.inf, -np.inf
    np.testing.assert_allclose(log_sum_exp(exponents), logsumexp(exponents, axis=-1), rtol=1e-15)


def test_precision_stands_in_one_module():
    """No other module of the engine gives a name of its own to a unit of rounding."""
    folder = Path(incrowd.accountant.numerics.__file__).parent
    suspicious = {
        f"{file.name}: {name}"
        for file in folder.glob("*.py")
        if file.name != "precision.py"
        for name in _names(file)
        if name in {"ROUNDOFF", "ROUNDING", "UNIT", "SMALLEST", "MOST_EXPONENT", "OVERFLOW"}
    }
    assert not suspicious


def _names(file):
    tree = ast.parse(file.read_text())
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    return [target.id for node in assigned for target in node.targets if hasattr(target, "id")]
