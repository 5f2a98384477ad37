"""Tables from messages of cells: estimates and their errors, at the level of counts."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.survey import Multi
from tests.estimation.conftest import table_of_cells

TRIALS = 4000
WORDS = Multi(id="o", options=[f"w{i}" for i in range(1000)], at_most=2)
FOUR = Multi(id="o", options=list("abcd"), at_most=2)
TWO = Multi(id="o", options=["a", "b"], at_most=2)

# --- estimates and their errors, at the level of counts --------------------------------------


SHARES = np.array([0.3, 0.05, 0.01, 0.002])


def counted(people, q, fixed, seed, trials=TRIALS):
    """Counts of set bits: people draw answers (or keep them), each bit is flipped."""
    generator = np.random.default_rng(seed)
    having = np.tile(people * SHARES, (trials, 1)).astype(int)
    if not fixed:
        rest = [*SHARES, 1 - SHARES.sum()]
        having = generator.multinomial(people, rest, size=trials)[:, :-1]
    return generator.binomial(having, 1 - q) + generator.binomial(people - having, q)


def estimates(people, q, fixed, seed):
    flip = BitFlip.at_least(q)
    counts = counted(people, flip.q, fixed, seed)
    return [table_of_cells([FOUR], row, people, flip, fixed) for row in counts]


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [False, True])
def test_estimates_have_no_bias_and_intervals_cover(fixed):
    """4,000 collections, cells 5 standard errors from zero: coverage between 93.5% and 96.5% (a
    right interval fails with probability below 2e-5), means within 5 standard errors. Wrong:
    intervals a tenth too short."""
    found = estimates(200_000, 0.002, fixed, seed=1 + 2 * fixed)
    values = np.array([f.estimate for f in found])
    errors = np.array([f.standard_error for f in found])
    assert np.all(5 * errors.mean(axis=0) < SHARES)
    spread = values.std(axis=0) / math.sqrt(TRIALS)
    assert np.all(np.abs(values.mean(axis=0) - SHARES) < 5 * spread)

    def nominal(scale):
        reach = norm.ppf(0.975) * scale * errors
        coverage = np.mean(np.abs(values - SHARES) <= reach, axis=0)
        return bool(np.all((coverage >= 0.935) & (coverage <= 0.965)))

    assert nominal(1) and not nominal(0.9)


FALSE = [(20_000, 0.001), (1_000_000, 7.54e-5), (2000, 0.03)]
SLOWLY = [pytest.param(*each, 1500, marks=pytest.mark.slow) for each in FALSE]


@pytest.mark.slow
@pytest.mark.parametrize(("people", "q", "trials"), [(*FALSE[0], 100), *SLOWLY])
def test_hardly_anything_false_rises_above_the_noise(people, q, trials):
    """1,000 answers that nobody gave, 300 or 1,500 collections: any false mark in 5% of them at
    most (and 5 standard errors). Wrong: without the correction for many answers there is always
    one; and the normal quantile, since counts of 20 to 75 are skewed, gives one in 8% to 20%."""
    generator = np.random.default_rng(8)
    flip = BitFlip.at_least(q)
    false, uncorrected, normal = 0, 0, 0
    for _ in range(trials):
        found = table_of_cells([WORDS], generator.binomial(people, flip.q, 1000), people, flip)
        false += found.above_noise().any()
        uncorrected += found.above_noise(family_wise=1000 * 0.05 / 2).any()
        normal += (found.estimate > norm.isf(0.05 / 1000) * found.error.noise).any()
    limit = 0.05 + 5 * math.sqrt(0.05 * 0.95 / trials)
    assert uncorrected / trials > limit and normal / trials > limit
    assert false / trials <= limit


def test_what_many_people_say_rises_above_the_noise():
    """A word of 60 of 20,000 people, 13 standard deviations of the noise; not one of nobody."""
    flip, people = BitFlip.at_least(0.001), 20_000
    table = table_of_cells([TWO], [people * flip.q, people * flip.q + 60], people, flip)
    assert table.above_noise().tolist() == [False, True]
