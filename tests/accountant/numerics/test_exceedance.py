"""P[X_0 + X_1 + ... + X_M > 0] against fractions, mpmath, enumeration and simulation."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from incrowd.accountant import outlier_ratios
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.enumeration import enumerate_one
from incrowd.accountant.numerics import exceedance
from incrowd.accountant.numerics.exceedance import positive_chance
from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.one_bit import one_bit_at
from tests.conftest import examples, one_in, slowly

EXACT = 1e-9  # relative error of enumeration over compositions
PRINTED = 5e-7  # of seven printed digits
ESTIMATE = 1e-4  # of the lattice
ROUGH = 2e-2  # of the lattice where some sums lie just beside zero
FEW_VALUES = 1e-5  # of the lattice for the exact values of the design
NEAR_TIE = 1e-8
RARE = 1e-6  # false alarms of a statistical test
SIGMAS = norm.isf(RARE / 2)  # 4.9

FREE_BITS = [
    (0.30, 2, 120, 0.7, 1.769227e-10, 7.514439e-07),
    (0.35, 3, 60, 0.5, 9.536344e-04, 2.558070e-03),
    (0.15, 2, 200, 1.0, 4.741945e-05, 1.076571e-02),
    (0.02, 1, 1000, 1.0, 4.613949e-11, 7.124607e-04),
]


def eta_laws(channel, relation, epsilon):
    """The laws of G for the person's own report and for one of the others'."""
    ratios = outlier_ratios.ratios(channel, relation)
    law = ratios.law(epsilon)
    return Law(law.value, ratios.log_mass + ratios.log_a), law


def eta(q, relation, crowd, epsilon):
    return positive_chance(*eta_laws(BitFlip.at_least(q), relation, epsilon), crowd - 1)


@pytest.fixture
def lattice_only(monkeypatch):
    monkeypatch.setattr(exceedance, "MOST_OUTCOMES", 0)


def law_of(atoms):
    """A law of (value, probability) atoms, the rest at zero."""
    values, chances = zip(*atoms, strict=True)
    return Law(np.array(values, float), np.log(np.array(chances, float)))


def with_rest(atoms):
    rest = 1 - sum(Fraction(chance) for _, chance in atoms)
    return [*((Fraction(v), Fraction(chance)) for v, chance in atoms), (Fraction(0), rest)]


def brute(first, atoms, count):
    """Every outcome of every draw, in fractions."""
    total = Fraction(0)
    for outcome in itertools.product(with_rest(first), *[with_rest(atoms)] * count):
        if sum(value for value, _ in outcome) > 0:
            total += math.prod(chance for _, chance in outcome)
    return float(total)


chances = st.integers(1, 63).map(lambda n: n / 256)
integer_laws = st.lists(st.tuples(st.integers(-6, 6).filter(bool), chances), min_size=1, max_size=4)
distinct_laws = integer_laws.filter(lambda atoms: len({v for v, _ in atoms}) == len(atoms))


@given(distinct_laws, distinct_laws, st.integers(1, 5))
@examples(80)
def test_outcomes_are_brute_force_also_where_sums_are_zero(first, atoms, count):
    """Small whole values: many sums are exactly zero, which is not positive."""
    found = positive_chance(law_of(first), law_of(atoms), count)
    assert found == pytest.approx(brute(first, atoms, count), rel=EXACT, abs=1e-15)


def test_ties_that_no_double_holds_are_not_positive():
    """0.1 + 0.2 - 0.3 is 5.6e-17 in double precision; the sum of these values is never above 0."""
    tenth = law_of([(0.1, 0.25), (0.2, 0.25), (-0.7, 0.5)])
    start = law_of([(-0.3, 1.0)])
    assert positive_chance(start, tenth, 2) == pytest.approx(1 / 16, rel=EXACT)  # 0.2 + 0.2


@pytest.mark.parametrize(("count", "chance", "least"), [(1000, 0.3, 700), (10**7, 0.25, 2_510_000)])
def test_two_values_are_binomial(count, chance, least):
    """P[at least so many of the higher value], also where counting them all would be long."""
    law = law_of([(1.0, chance), (-1.0, 1 - chance)])
    start = law_of([(count - 2.0 * least + 1, 1.0)])
    assert positive_chance(start, law, count) == pytest.approx(
        binomial_tail(count, chance, least), rel=1e-8
    )


def binomial_tail(count, chance, least):
    """P[Bin(count, chance) >= least] for `least` above the mean: one term times a series."""
    with mpmath.workdps(40):
        p = mpmath.mpf(chance)
        log_ways = mpmath.loggamma(count + 1) - mpmath.loggamma(least + 1)
        log_ways -= mpmath.loggamma(count - least + 1)
        log_first = log_ways + least * mpmath.log(p) + (count - least) * mpmath.log(1 - p)
        first = float(mpmath.exp(log_first))
    t = np.arange(least, min(count, least + 100_000))
    return first * (1 + np.cumprod((count - t) / (t + 1) * chance / (1 - chance)).sum())


@pytest.mark.parametrize(("start", "wanted"), [(-100.5, 0.0), (-99.5, 0.5**100), (100.5, 1.0)])
def test_two_values_at_their_ends(start, wanted):
    law = law_of([(1.0, 0.5), (-1.0, 0.5)])
    found = positive_chance(law_of([(start, 1.0)]), law, 100)
    assert found == pytest.approx(wanted, rel=EXACT)


@pytest.mark.parametrize(("q", "L", "crowd", "epsilon", "presence", "absence"), FREE_BITS)
def test_exact_values_of_the_design(q, L, crowd, epsilon, presence, absence):
    assert eta(q, (L, 0, 0), crowd, epsilon) == pytest.approx(presence, rel=PRINTED)
    assert eta(q, (0, L, 0), crowd, epsilon) == pytest.approx(absence, rel=PRINTED)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "L", "crowd", "epsilon", "presence", "absence"), one_in(2, FREE_BITS)
)
def test_the_lattice_finds_the_exact_values(lattice_only, q, L, crowd, epsilon, presence, absence):
    assert eta(q, (L, 0, 0), crowd, epsilon) == pytest.approx(presence, rel=FEW_VALUES)
    assert eta(q, (0, L, 0), crowd, epsilon) == pytest.approx(absence, rel=FEW_VALUES)


def test_lattice_values_of_the_design():
    """Five and two digits; themselves from a lattice, and here converged to six."""
    presence, absence = (
        eta(0.2446, relation, 1000, math.log(2)) for relation in ((5, 0, 0), (0, 5, 0))
    )
    assert presence == pytest.approx(7.06760e-03, rel=ESTIMATE)
    assert absence == pytest.approx(2.14280e-03, rel=ESTIMATE)
    assert eta(0.3432, (40, 0, 0), 10**7, 2.0) == pytest.approx(6.1e-3, rel=1e-2)


@pytest.mark.slow
@given(st.floats(0.12, 0.45), st.integers(50, 200), st.floats(0.05, 1.5), st.sampled_from([2, 3]))
@settings(max_examples=4, deadline=None)
def test_the_lattice_agrees_with_compositions(q, crowd, epsilon, L):
    """A few values of few people are what a lattice is worst at: likely sums lie far apart, and
    at random some fall beside zero. In use such laws are enumerated."""
    for relation in ((L, 0, 0), (0, L, 0)):
        first, law = eta_laws(BitFlip.at_least(q), relation, epsilon)
        exact = positive_chance(first, law, crowd - 1)
        if 1e-10 < exact < 0.1:
            assert exceedance._on_lattice(first, law, crowd - 1, 1e-4) == pytest.approx(
                exact, rel=ROUGH
            )


@given(st.floats(0.03, 0.45), st.integers(2, 20), st.floats(0, 3), st.booleans())
@examples(40)
def test_eta_of_a_homogeneous_crowd_is_enumerated(q, crowd, epsilon, presence):
    """The ratio's tail over count vectors of reports, found without any G."""
    channel = BitFlip.at_least(q)
    pair, relation = ((3, 0), (2, 0, 0)) if presence else ((0, 3), (0, 2, 0))
    low, high = (
        enumerate_one(2, channel, pair, ((0, crowd - 1),), max(0.0, epsilon + shift))[1]
        for shift in (NEAR_TIE, -NEAR_TIE)
    )
    found = positive_chance(*eta_laws(channel, relation, epsilon), crowd - 1)
    assert low * (1 - EXACT) <= found <= high * (1 + EXACT) + 1e-14


@pytest.mark.parametrize(("q", "crowd", "epsilon"), [(0.3, 10**7, 0.001), (0.1, 5000, 0.1)])
def test_eta_of_one_bit_is_enumerated(q, crowd, epsilon):
    channel = BitFlip.at_least(q)
    for relation, ones in (((1, 0, 0), 0), ((0, 1, 0), crowd - 1)):
        found = positive_chance(*eta_laws(channel, relation, epsilon), crowd - 1)
        assert found == pytest.approx(one_bit_at(channel, crowd, epsilon, ones)[1], rel=1e-7)


def simulated(first, law, count, draws, seed):
    """The share of simulated sums above zero, and its standard error."""
    random = np.random.default_rng(seed)
    counts = random.multinomial(count, law.mass / law.mass.sum(), draws)
    own = random.choice(first.value, draws, p=first.mass / first.mass.sum())
    share = float(np.mean(counts @ law.value + own > 0))
    return share, math.sqrt(share * (1 - share) / draws)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "relation", "crowd", "epsilon"),
    [
        (0.2446, (5, 0, 0), 1000, math.log(2)),
        *slowly((0.2446, (0, 5, 0), 1000, math.log(2))),
        pytest.param(0.36, (4, 3, 3), 500, 0.2, marks=pytest.mark.slow),
        *slowly((0.05, (6, 0, 0), 3000, 1.0)),  # mostly decisive values
        pytest.param(
            0.33, (40, 0, 0), 100_000, 1.0, marks=pytest.mark.slow
        ),  # ordinary ones as well
    ],
)
def test_the_lattice_agrees_with_simulation(q, relation, crowd, epsilon):
    """Half a million sums, 4.9 standard errors: each case fails a right estimate once in a
    million seeds. Without the person's own report most fail."""
    first, law = eta_laws(BitFlip.at_least(q), relation, epsilon)
    share, error = simulated(first, law, crowd - 1, 500_000, seed=1)
    assert share > 100 * 2e-6
    assert abs(positive_chance(first, law, crowd - 1) - share) < SIGMAS * error


@pytest.mark.slow
def test_simulation_rejects_leaving_out_the_own_report():
    first, law = eta_laws(BitFlip.at_least(0.2446), (5, 0, 0), math.log(2))
    share, error = simulated(first, law, 999, 500_000, seed=2)
    assert abs(positive_chance(law, law, 999) - share) > 2 * SIGMAS * error


@pytest.mark.slow
def test_more_epsilon_is_less_eta():
    values = [eta(0.3, (8, 0, 0), 5000, epsilon) for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 1e-2 > values[-1] > 0


def test_what_cannot_be_positive_and_what_must_be(lattice_only):
    down = law_of([(-3.0, 0.3), (-1.0, 0.3), (-0.5, 0.2)])
    assert positive_chance(law_of([(-1.0, 1.0)]), down, 50) == 0
    assert positive_chance(law_of([(1e6, 1.0)]), down, 50) == pytest.approx(1, rel=1e-12)


def test_below_1e_300_is_zero(lattice_only):
    law = law_of([(1.0, 1e-3), (2.0, 1e-3), (-1.0, 0.9)])
    assert positive_chance(law_of([(1.0, 1.0)]), law, 100_000) == 0


@pytest.mark.slow
@given(st.floats(0.2, 0.45), st.integers(3, 20), st.integers(10, 10**5), st.floats(0.05, 1.5))
@examples(60)
def test_many_bits_agree_with_simulation(q, L, crowd, epsilon):
    """100,000 sums a case, at 6 standard errors and a millionth: a false alarm in 10^7 cases."""
    first, law = eta_laws(BitFlip.at_least(q), (L, 0, 0), epsilon)
    share, error = simulated(first, law, crowd - 1, 100_000, seed=3)
    assume(share > 1e-3)
    assert positive_chance(first, law, crowd - 1) == pytest.approx(
        share, abs=6 * error + 1e-6, rel=1e-3
    )
