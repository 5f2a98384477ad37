"""The blanket of every mix of channels, against lists of all reports, records and collections."""

import itertools
import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.channels.rappor import Rappor
from incrowd.accountant.channels.simmons import Simmons
from incrowd.accountant.schema import FREE_BIT, Domain, Part, Schema
from tests.conftest import examples, one_in
from tests.oracles.axes import patterns


def law_of(part):
    """P(report | record), shape (records, reports)."""
    if isinstance(part.channel, KAry):
        return part.channel.matrix.T
    bits, fewest, most = part.domain
    every = patterns(bits)
    records = every[(every.sum(axis=1) >= fewest) & (every.sum(axis=1) <= most)]
    return part.channel.matrix[every[None, :, :], records[:, None, :]].prod(axis=2)


def whole_law(parts):
    return reduce(np.kron, [law_of(part) for part in parts])


def blanket_by_hand(law, crowd, epsilon):
    """The largest E max(0, G_1 + ... + G_M) / (gamma N) over ALL ordered pairs of records, by
    adding up every sequence of reports: a report that the blanket does not cover counts zero."""
    omega = law.min(axis=0)
    chances = np.append(omega, 1 - omega.sum())
    largest = 0.0
    for x, other in itertools.permutations(range(len(law)), 2):
        values = np.append((law[x] - math.exp(epsilon) * law[other]) / omega, 0.0)
        atoms, place = np.unique(np.round(values, 12), return_inverse=True)
        mass = np.bincount(place, chances)
        total, weight = np.zeros(1), np.ones(1)
        for _ in range(crowd):
            total = np.add.outer(total, atoms).ravel()
            weight = np.multiply.outer(weight, mass).ravel()
        largest = max(largest, float(np.maximum(total, 0) @ weight) / crowd)
    return largest


def worst_of_all_collections(law, crowd, epsilon):
    """The largest hockey-stick divergence over every crowd of the others and every ordered pair:
    laws of the reports in any order, averaged over the orders."""
    largest = 0.0
    for others in itertools.combinations_with_replacement(range(len(law)), crowd - 1):
        rest = reduce(np.multiply.outer, [law[z] for z in others])
        laws = [_any_order(np.multiply.outer(law[x], rest)) for x in range(len(law))]
        for here, there in itertools.permutations(laws, 2):
            divergence = np.maximum(here - math.exp(epsilon) * there, 0).sum()
            largest = max(largest, float(divergence))
    return largest


def _any_order(joint):
    orders = list(itertools.permutations(range(joint.ndim)))
    return sum(joint.transpose(order) for order in orders) / len(orders)


YES, TWO, THREE = FREE_BIT, Domain(2, 1, 1), Domain(3, 1, 1)
AT_MOST_ONE, AT_MOST_TWO, ALL = Domain(3, 0, 1), Domain(3, 0, 2), Domain(2, 0, 2)
ASYMMETRIC = Bit.from_probabilities(0.15, 0.6)
REVERSED = Bit.from_probabilities(0.7, 0.35)
RARE = Simmons.from_probabilities(0.5, 0.1)
TWICE = Rappor.from_probabilities(0.5, 0.2, 0.75)
FLIP, LOUD = BitFlip.at_least(0.2), BitFlip.at_least(0.35)

MIXES = {
    "asymmetric bit": [Part(YES, ASYMMETRIC)],
    "two asymmetric bits": [Part(YES, ASYMMETRIC)] * 2,
    "reversed and rare": [Part(YES, REVERSED), Part(YES, RARE)],
    "three kinds of bits": [Part(YES, ASYMMETRIC), Part(YES, FLIP), Part(YES, TWICE)],
    "asymmetric choice": [Part(THREE, ASYMMETRIC)],
    "choice, reversed": [Part(THREE, REVERSED)],
    "at most one, asymmetric": [Part(AT_MOST_ONE, ASYMMETRIC)],
    "at most two, asymmetric": [Part(AT_MOST_TWO, RARE)],
    "any of two, asymmetric": [Part(ALL, ASYMMETRIC)],
    "at most one": [Part(AT_MOST_ONE, FLIP)],
    "at most two": [Part(AT_MOST_TWO, FLIP)],
    "at most two and a bit": [Part(AT_MOST_TWO, FLIP), Part(YES, ASYMMETRIC)],
    "k-ary": [Part(THREE, KAry.from_probabilities(0.6, 3))],
    "k-ary of two": [Part(TWO, KAry.from_probabilities(0.7, 2))],
    "k-ary and bit": [Part(THREE, KAry.from_probabilities(0.6, 3)), Part(YES, RARE)],
    "k-ary, choice": [Part(THREE, KAry.from_probabilities(0.5, 3)), Part(TWO, LOUD)],
    "nobody, or one": [Part(AT_MOST_ONE, LOUD), Part(YES, FLIP)],
}
every_mix = pytest.mark.parametrize("parts", MIXES.values(), ids=MIXES)


@every_mix
@pytest.mark.parametrize("epsilon", one_in(2, [0.1, 0.7]))
def test_the_blanket_is_the_largest_over_all_pairs_of_records(parts, epsilon):
    """The pairs that the accountant leaves out are not the worst, and its bound is the value."""
    law = whole_law(parts)
    crowd = 3 if law.shape[1] > 8 else 5
    by_hand = blanket_by_hand(law, crowd, epsilon)
    found = certify("blanket", Schema.of(parts), crowd, epsilon).delta
    assert found.upper >= by_hand * (1 - 1e-9)
    assert found.upper == pytest.approx(by_hand, rel=2e-4)


@every_mix
@pytest.mark.parametrize("epsilon", one_in(2, [0.1, 0.7]))
def test_no_collection_of_any_answers_beats_the_blanket(parts, epsilon):
    """Every crowd of two, and of three or four where they are few."""
    law = whole_law(parts)
    for crowd in (2, 3, 4):
        if len(law) ** (crowd + 1) * law.shape[1] ** crowd <= 4_000_000:
            worst = worst_of_all_collections(law, crowd, epsilon)
            claim = certify("blanket", Schema.of(parts), crowd, epsilon)
            assert claim.proved
            assert worst <= claim.delta.upper * (1 + 1e-9)


def test_a_claim_for_a_larger_crowd_than_there_is_would_be_found_out():
    """The enumeration has teeth: half of these claims for twelve are beaten by a crowd of three."""
    beaten = [
        worst_of_all_collections(whole_law(parts), 3, 0.1)
        > certify("blanket", Schema.of(parts), 12, 0.1).delta.upper
        for parts in MIXES.values()
        if whole_law(parts).shape[1] <= 8
    ]
    assert np.mean(beaten) > 0.5


bits_of = st.sampled_from([YES, TWO, THREE, AT_MOST_ONE, AT_MOST_TWO, ALL])
probabilities = st.floats(0.05, 0.95)
any_bit = st.builds(Bit.from_probabilities, probabilities, probabilities).filter(
    lambda channel: abs(channel.one_if_one - channel.one_if_zero) > 2**28
)
any_flip = st.floats(0.05, 0.45).map(BitFlip.at_least)
any_two_stage = st.builds(
    Rappor.from_probabilities, st.floats(0.1, 0.8), st.floats(0.05, 0.4), st.floats(0.6, 0.95)
)
any_k_ary = st.tuples(st.integers(2, 4), st.floats(0.5, 0.9)).map(
    lambda n: Part(Domain(n[0], 1, 1), KAry.from_probabilities(n[1], n[0]))
)
any_part = st.one_of(
    st.builds(Part, bits_of, st.one_of(any_bit, any_flip, any_two_stage)), any_k_ary
)


@given(st.lists(any_part, min_size=1, max_size=3), st.integers(2, 4), st.floats(0.0, 1.5))
@examples(60)
@example([Part(Domain(3, 0, 2), BitFlip.at_least(0.0546875))], 2, 1.0)  # two pairs, one quick bound
def test_any_mix_is_bounded_by_the_blanket(parts, crowd, epsilon):
    """By hand over all pairs, and over all collections of two: nothing exceeds the claim."""
    law = whole_law(parts)
    if law.shape[1] > 32 or (law.shape[1] > 8 and crowd > 3):
        return
    schema = Schema.of(parts)
    claim = certify("blanket", schema, crowd, epsilon).delta
    assert blanket_by_hand(law, crowd, epsilon) <= claim.upper * (1 + 1e-9) + 1e-11
    if len(law) <= 12:
        pair = certify("blanket", schema, 2, epsilon).delta
        assert worst_of_all_collections(law, 2, epsilon) <= pair.upper * (1 + 1e-9) + 1e-11
    ratio = max(float(np.log(column.max() / column.min())) for column in law.T)
    assert ratio <= schema.local_epsilon * (1 + 1e-12) <= ratio * (1 + 1e-9)
