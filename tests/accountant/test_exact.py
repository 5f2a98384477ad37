"""The analysis `enumerate` against brute force, fractions and mpmath, and the other analyses
against it."""

import itertools
import math
import time
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from incrowd.accountant import blanket_ratios, enumeration, outlier_ratios
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.enumeration import allowed_records, enumerate_all, enumerate_one
from incrowd.accountant.numerics.positive_part import positive_part
from incrowd.accountant.one_bit import one_bit, one_bit_at
from incrowd.accountant.schema import Domain
from incrowd.errors import PrivacyError
from tests.accountant.conftest import a_person
from tests.conftest import examples, one_in
from tests.oracles import expected

ROUNDED_UP = 1e-9  # delta is rounded up by this share of it
FIGURES = 1e-11  # relative error of a figure before that
BOUNDS = 1e-11  # relative roundoff in what is compared with a bound
NEAR_HALF = 1e-10  # enumeration's own, next to q = 1/2: 2.3e-11 at q = .484375 by 40 digits
ESTIMATE = 1e-5  # relative error of `positive_part`'s estimate where no value is decisive
DECISIVE = (
    1e-4  # the same where a few values decide and make the crowd useless (q < .05, few people)
)
PRINTED = 5e-7  # relative error of seven printed digits
NEAR_TIE = 1e-8

FREE_BIT, TWO_BITS, THREE_BITS = Domain(1, 0, 1), Domain(2, 0, 2), Domain(3, 0, 3)
CHOICE, AT_MOST_ONE = Domain(3, 1, 1), Domain(3, 0, 1)

channels = st.integers(1, DENOMINATOR // 2 - 1).map(BitFlip)
usual_channels = st.floats(0.02, 0.49).map(BitFlip.at_least)
epsilons = st.floats(0, 4)


def odds(channel):
    """q and p as fractions."""
    q = Fraction(channel.numerator, DENOMINATOR)
    return q, 1 - q


def brute(bits, channel, pair, others, epsilon):
    """Exact delta and a bracket of eta, over all assignments of reports to people, in fractions.

    The collection is the sorted tuple of reports; ratios near e^epsilon may fall on either side.
    """
    q, p = odds(channel)
    factor = Fraction(math.exp(epsilon))
    held = [record for record, people in others for _ in range(people)]

    def law(x):
        found = Counter()
        for reports in itertools.product(range(1 << bits), repeat=len(held) + 1):
            apart = sum((s ^ r).bit_count() for s, r in zip(reports, (x, *held), strict=True))
            same = bits * len(reports) - apart
            found[tuple(sorted(reports))] += q**apart * p**same
        return found

    here, there = law(pair[0]), law(pair[1])
    delta = sum(max(0, here[s] - factor * there[s]) for s in here)
    low, high = (
        sum(here[s] for s in here if here[s] > factor * there[s] * Fraction(1 + shift))
        for shift in (NEAR_TIE, -NEAR_TIE)
    )
    return float(delta), float(low), float(high)


def one_bit_law(channel, crowd, ones):
    """Law of the ones among the others, with mpmath."""
    q, p = (
        mpmath.mpf(channel.numerator) / DENOMINATOR,
        1 - mpmath.mpf(channel.numerator) / DENOMINATOR,
    )
    binomial = [
        [mpmath.binomial(n, t) * hit**t * (1 - hit) ** (n - t) for t in range(n + 1)]
        for n, hit in ((ones, p), (crowd - 1 - ones, q))
    ]
    law = [mpmath.mpf(0)] * crowd
    for (i, a), (j, b) in itertools.product(*(list(enumerate(row)) for row in binomial)):
        law[i + j] += a * b
    return p, q, law


def one_bit_exact(channel, crowd, epsilon, ones):
    """delta and eta of x = 1 against x' = 0 from the definition, with 60 digits."""
    with mpmath.workdps(60):
        p, q, law = one_bit_law(channel, crowd, ones)
        padded = [mpmath.mpf(0), *law, mpmath.mpf(0)]
        factor = mpmath.exp(mpmath.mpf(epsilon))
        delta = eta = mpmath.mpf(0)
        for before, here in itertools.pairwise(padded):
            one, zero = p * before + q * here, q * before + p * here
            if one > factor * zero:
                delta, eta = delta + one - factor * zero, eta + one
        return float(delta), float(eta)


def assert_rounded_up(value, exact):
    """Not below the exact value, and above it by the documented share only."""
    assert exact * (1 - FIGURES) <= value <= exact * (1 + 2 * ROUNDED_UP + FIGURES) + 1e-300


# One bit


@given(channels, st.integers(2, 6), epsilons, st.data())
@examples(60)
def test_one_bit_is_brute_force(channel, crowd, epsilon, data):
    ones = data.draw(st.integers(0, crowd - 1))
    assume(abs(epsilon - channel.epsilon) > 1e-5)  # there delta is a difference of equal numbers
    found = one_bit(channel, crowd, epsilon)
    others = ((0, crowd - 1 - ones), (1, ones))
    delta, low, high = brute(1, channel, (1, 0), others, epsilon)
    assert_rounded_up(found.delta[ones], delta)
    assert low * (1 - FIGURES) <= found.eta[ones] <= high * (1 + FIGURES) + 1e-300
    reverse, *_ = brute(1, channel, (0, 1), others, epsilon)
    assert_rounded_up(found.delta[::-1][ones], reverse)


@pytest.mark.parametrize(
    ("q", "crowd", "epsilon", "ones"),
    one_in(
        3,
        [
            (0.1, 200, 1.0, 0),
            (0.1, 200, 1.0, 199),
            (0.3, 300, 0.6, 140),
            (0.45, 300, 0.15, 17),
            (0.01, 250, 3.0, 100),
            (1e-6, 100, 5.0, 60),
            (2**-32, 60, 21.0, 59),
            (0.4999, 100, 1e-4, 3),
            (0.2, 250, 0.0, 120),
            (0.02, 400, 2.2, 10),
        ],
    ),
)
def test_one_bit_has_all_digits_down_to_1e_300(q, crowd, epsilon, ones):
    channel = BitFlip.at_least(q)
    delta, eta = one_bit_exact(channel, crowd, epsilon, ones)
    for found in (one_bit_at(channel, crowd, epsilon, ones), one_bit(channel, crowd, epsilon)):
        value = found if isinstance(found, tuple) else (found.delta[ones], found.eta[ones])
        assert_rounded_up(value[0], delta)
        assert value[1] == pytest.approx(eta, rel=FIGURES)


@pytest.mark.slow
def test_one_bit_far_in_the_tail():
    """A delta near 1e-200, which no difference of rounded probabilities could give."""
    channel = BitFlip.at_least(0.3)
    delta, _ = one_bit_exact(channel, 700, 0.83, 300)
    assert 1e-300 < delta < 1e-50
    assert_rounded_up(one_bit_at(channel, 700, 0.83, 300)[0], delta)


@given(usual_channels, st.integers(2, 1200), st.floats(0, 1), st.data())
@examples(60)
def test_all_collections_agree_with_each_alone(channel, crowd, epsilon, data):
    found = one_bit(channel, crowd, epsilon)
    ones = data.draw(st.integers(0, crowd - 1))
    alone = one_bit_at(channel, crowd, epsilon, ones)
    assert (found.delta[ones], found.eta[ones]) == pytest.approx(alone, rel=FIGURES)
    assert found.worst_delta.value == found.delta.max()
    assert np.all(found.eta >= found.delta * (1 - 2 * ROUNDED_UP))


@pytest.mark.parametrize(
    ("q", "crowd", "epsilon", "delta", "ones"),
    [
        (0.1, 200, 1.0, 4.853557e-06, 0),
        (0.05, 500, 0.8, 3.886830e-05, 0),
        (0.0256, 39, 0.036, 4.376827e-01, 20),
    ],
)
def test_worst_collection_of_the_design(q, crowd, epsilon, delta, ones):
    found = one_bit(BitFlip.at_least(q), crowd, epsilon)
    assert found.worst_delta.value == pytest.approx(delta, rel=PRINTED)
    in_either_order = max(found.delta[ones], found.delta[::-1][ones])
    assert in_either_order == pytest.approx(delta, rel=PRINTED)


def test_the_worst_of_one_bit_can_be_a_mixed_crowd():
    case = one_bit(BitFlip.at_least(0.0256), 39, 0.036).worst_delta
    assert all(people > 0 for _, people in case.others)
    assert sum(people for _, people in case.others) == 38


def test_nothing_is_revealed_beyond_the_local_epsilon():
    channel = BitFlip.at_least(0.25)
    found = one_bit(channel, 50, channel.epsilon)
    assert not found.delta.any() and not found.eta.any()
    assert one_bit_at(channel, 50, channel.epsilon * 1.5, 3) == (0.0, 0.0)


@pytest.mark.slow
def test_a_hundred_thousand_collections_take_seconds():
    """About 1 s alone; ten times that on a busy machine is still no hang."""
    start = time.perf_counter()
    found = one_bit(BitFlip.at_least(0.3), 100_000, 0.02)
    assert time.perf_counter() - start < 15
    some = [0, 31_337, 99_999]
    alone = [one_bit_at(BitFlip.at_least(0.3), 100_000, 0.02, ones)[0] for ones in some]
    assert found.delta[some] == pytest.approx(alone, rel=1e-10)


def test_one_collection_of_ten_million():
    delta, eta = one_bit_at(BitFlip.at_least(0.3), 10_000_000, 0.002, 4_000_000)
    assert 0 < delta < eta < 1


@pytest.mark.parametrize(
    ("crowd", "epsilon", "ones"), [(1, 1.0, 0), (9, -0.1, 0), (9, 1.0, 9), (9, 1.0, -1)]
)
def test_one_bit_refuses_crowds_and_epsilons_that_cannot_be(crowd, epsilon, ones):
    with pytest.raises(PrivacyError):
        one_bit_at(BitFlip.at_least(0.2), crowd, epsilon, ones)


# A few bits


SMALL = [(FREE_BIT, 5), (TWO_BITS, 4), (THREE_BITS, 2), (CHOICE, 3), (AT_MOST_ONE, 3)]


@pytest.mark.parametrize(("domain", "crowd"), one_in(3, SMALL))
@given(channel=channels, epsilon=epsilons, data=st.data())
@settings(max_examples=8, deadline=None)
def test_one_collection_is_brute_force(domain, crowd, channel, epsilon, data):
    records = allowed_records(domain)
    pair = data.draw(st.permutations(records))[:2]
    held = data.draw(st.lists(st.sampled_from(records), min_size=crowd - 1, max_size=crowd - 1))
    others = tuple(Counter(held).items())
    delta, low, high = brute(domain.bits, channel, pair, others, epsilon)
    found, eta = enumerate_one(domain.bits, channel, tuple(pair), others, epsilon)
    assert found == pytest.approx(delta, rel=1e-6, abs=1e-13)  # roundoff of sums near one
    assert low * (1 - FIGURES) <= eta <= high * (1 + FIGURES)


@pytest.mark.parametrize(
    ("domain", "crowd"), one_in(3, [(TWO_BITS, 3), (CHOICE, 3), (AT_MOST_ONE, 3)])
)
@pytest.mark.parametrize(("q", "epsilon"), [(0.1, 1.0), (0.31, 0.4)])
def test_every_pair_and_collection_is_tried(domain, crowd, q, epsilon):
    """Brute force over all pairs, also those that symmetry leaves out."""
    channel, records = BitFlip.at_least(q), allowed_records(domain)
    every = [
        enumerate_one(domain.bits, channel, pair, tuple(Counter(held).items()), epsilon)
        for pair in itertools.permutations(records, 2)
        for held in itertools.combinations_with_replacement(records, crowd - 1)
    ]
    found = enumerate_all(domain, channel, crowd, epsilon)
    assert found.delta.value == pytest.approx(max(delta for delta, _ in every), rel=FIGURES)
    assert found.eta.value == pytest.approx(max(eta for _, eta in every), rel=FIGURES)


@given(usual_channels, st.integers(2, 25), epsilons)
@examples(40)
def test_one_free_bit_is_one_bit(channel, crowd, epsilon):
    few, one = enumerate_all(FREE_BIT, channel, crowd, epsilon), one_bit(channel, crowd, epsilon)
    assert few.delta.value == pytest.approx(one.worst_delta.value, rel=1e-8, abs=1e-15)
    assert few.eta.value == pytest.approx(one.worst_eta.value, rel=1e-8, abs=1e-15)


@pytest.mark.parametrize("worst", ["delta", "eta"])
@pytest.mark.parametrize(("domain", "crowd"), [(TWO_BITS, 8), (CHOICE, 6)])
def test_the_worst_case_names_its_collection(domain, crowd, worst):
    channel = BitFlip.at_least(0.15)
    case = getattr(enumerate_all(domain, channel, crowd, 0.7), worst)
    assert sum(people for _, people in case.others) == crowd - 1
    again = enumerate_one(domain.bits, channel, case.pair, case.others, 0.7)
    assert case.value == pytest.approx(again[worst == "eta"], rel=FIGURES)


def test_a_mixed_crowd_exceeds_the_papers_pair():
    """Two free bits, eight people: docs/mathematics.md#what-is-false."""
    channel, epsilon = BitFlip.at_least(0.1095), math.log(7.389)
    papers = max(
        enumerate_one(2, channel, pair, ((0, 7),), epsilon)[0] for pair in ((3, 0), (0, 3))
    )
    mixed = enumerate_one(2, channel, (0, 3), ((0, 3), (3, 4)), epsilon)[0]
    case = enumerate_all(TWO_BITS, channel, 8, epsilon).delta
    assert papers == pytest.approx(0.1389, abs=5e-5)
    assert case.value == pytest.approx(0.1953, abs=5e-5)
    assert case.value == pytest.approx(mixed, rel=FIGURES)


@pytest.mark.parametrize(
    ("domain", "crowd", "allowed"),
    [
        (THREE_BITS, 40, r"too many to try; use at most [1-9]\d* people"),
        (CHOICE, 600, r"use at most \d+ people"),
        (Domain(40, 0, 40), 3, "too many to try; use one yes/no question, or the analysis shuffle"),
    ],
)
def test_too_many_collections_are_refused_with_what_would_work(domain, crowd, allowed):
    with pytest.raises(PrivacyError, match=allowed):
        enumerate_all(domain, BitFlip.at_least(0.2), crowd, 1.0)


def test_the_largest_crowd_offered_is_not_refused():
    with pytest.raises(PrivacyError) as refused:
        enumerate_all(CHOICE, BitFlip.at_least(0.2), 100, 1.0)
    most = int(str(refused.value).split("at most ")[1].split()[0])
    enumeration._check_size(3, 3, most)
    with pytest.raises(PrivacyError):
        enumeration._check_size(3, 3, most + 1)


# The other analyses


def crowd_of_relation(relation):
    """Bits, x, x' for z = 0 (outlier: only x differs, only x', both)."""
    only_x, only_other, _ = relation
    mask = [(1 << n) - 1 for n in relation]
    shared = mask[2] << (only_x + only_other)
    return sum(relation), mask[0] | shared, mask[1] << only_x | shared


def crowd_delta(ratios, crowd, epsilon):
    """Bounds of delta, without the accountant's own rounding."""
    return a_person(positive_part(ratios.law(epsilon), crowd), crowd)


@st.composite
def homogeneous(draw):
    """A relation of one to three bits and a crowd that can be enumerated."""
    relation = draw(st.tuples(*[st.integers(0, 3)] * 3).filter(lambda r: 1 <= sum(r) <= 3))
    assume(relation[0] + relation[1])
    most = {1: 200, 2: 25, 3: 8}[sum(relation)]
    return relation, draw(st.integers(2, most))


@given(homogeneous(), usual_channels, st.floats(0, 2))
@settings(examples(30), derandomize=True)
def test_outlier_is_the_enumerated_homogeneous_crowd(case, channel, epsilon):
    """Upper bounds are above the truth, estimates near it, wherever enumeration is possible."""
    relation, crowd = case
    bits, x, other = crowd_of_relation(relation)
    exact, _ = enumerate_one(bits, channel, (x, other), ((0, crowd - 1),), epsilon)
    exact /= 1 + ROUNDED_UP
    assume(exact > 1e-7)  # below it enumeration loses digits to roundoff
    exact *= 1 - NEAR_HALF
    bounds = crowd_delta(outlier_ratios.ratios(channel, relation), crowd, epsilon)
    assert bounds.upper >= exact * (1 - BOUNDS)
    assert bounds.lower <= bounds.estimate <= bounds.upper
    assert bounds.estimate == pytest.approx(exact, rel=ESTIMATE if channel.q > 0.05 else DECISIVE)


@pytest.mark.parametrize(
    ("q", "L", "crowd", "epsilon", "presence", "absence"),
    [row[:6] for row in expected.ENUMERABLE],
)
def test_outlier_has_the_exact_values(q, L, crowd, epsilon, presence, absence):
    """The row of one bit is in reach of enumeration too."""
    channel = BitFlip.at_least(q)
    for relation, wanted in (((L, 0, 0), presence), ((0, L, 0), absence)):
        law = outlier_ratios.ratios(channel, relation).law(epsilon)
        bounds = a_person(positive_part(law, crowd), crowd)
        assert bounds.upper >= wanted * (1 - PRINTED)
        assert bounds.estimate == pytest.approx(wanted, rel=ESTIMATE)
    if L == 1:  # 0 against 1 among zeros is 1 against 0 among ones
        found = [one_bit_at(channel, crowd, epsilon, ones)[0] for ones in (0, crowd - 1)]
        assert found == pytest.approx([presence, absence], rel=PRINTED)


@given(
    st.sampled_from([(FREE_BIT, 150), (TWO_BITS, 8), (THREE_BITS, 4), (CHOICE, 5)]),
    usual_channels,
    st.floats(0.05, 2),
)
@examples(40)
def test_blanket_is_above_enumerate_and_enumerate_above_outlier(case, channel, epsilon):
    """The order of the analyses: a proof, the truth, a lower bound."""
    domain, crowd = case
    enumerated = worst_delta(domain, channel, crowd, epsilon)
    assume(enumerated > 1e-9)
    outliers = [
        crowd_delta(outlier_ratios.ratios(channel, relation), crowd, epsilon)
        for relation in outlier_ratios.relations(domain)
        if relation[0] + relation[1]
    ]
    proofs = [
        crowd_delta(blanket_ratios.ratios(domain, channel, pair), crowd, epsilon)
        for pair in blanket_ratios.pairs(domain)
    ]
    tolerance = ESTIMATE if channel.q > 0.05 else DECISIVE
    assert max(bounds.estimate for bounds in outliers) <= enumerated * (1 + tolerance)
    assert max(bounds.upper for bounds in proofs) >= enumerated * (1 - 2 * ROUNDED_UP)


def worst_delta(domain, channel, crowd, epsilon):
    if domain == FREE_BIT:
        return one_bit(channel, crowd, epsilon).worst_delta.value
    return enumerate_all(domain, channel, crowd, epsilon).delta.value
