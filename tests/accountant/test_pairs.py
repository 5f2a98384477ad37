"""The pairs of records that are tried, and those that are left out because another is worse."""

from itertools import product

import numpy as np
import pytest

from incrowd.accountant import blanket_ratios, outlier_ratios
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.ratios import Ratios, merged
from incrowd.accountant.ratios import product as independent
from incrowd.accountant.schema import FREE_BIT, Domain, Part, Schema
from incrowd.accountant.worst import delta
from tests.accountant.conftest import choice, schema
from tests.conftest import slowly


@pytest.mark.parametrize("domain", [choice(4), *slowly(Domain(4, 2, 3)), *slowly(Domain(4, 0, 2))])
def test_pairs_left_out_are_not_the_worst(domain):
    """Every ordered pair of records, ratios by listing all reports; the classes kept reach it."""
    channel, crowd, epsilon = BitFlip.at_least(0.22), 400, 0.8
    reports = np.array(list(product([0, 1], repeat=domain.bits)))
    records = [r for r in reports if domain.fewest <= r.sum() <= domain.most]

    def sent(record):
        flips = (reports != record).sum(axis=1)
        return channel.q**flips * channel.p ** (domain.bits - flips)

    cover = np.min([sent(r) for r in records], axis=0)
    best, seen = 0.0, set()
    for x, other in product(records, records):
        a, b = np.log(sent(x) / cover), np.log(sent(other) / cover)
        ratios = merged(Ratios(a, b, np.log(cover)))
        law = np.round(np.concatenate([ratios.log_a, ratios.log_b, ratios.log_mass]), 8) + 0.0
        if (x != other).any() and law.tobytes() not in seen:  # equal laws are tried once
            seen.add(law.tobytes())
            best = max(best, delta(ratios, crowd, epsilon).estimate)
    kept = Schema.of([Part(domain, channel)])
    assert certify("blanket", kept, crowd, epsilon).delta.estimate == pytest.approx(best, rel=2e-5)


@pytest.mark.slow
def test_farther_pairs_dominate_for_independent_questions():
    """The proof in `blanket.pairs`, checked: agreeing on a question is never worse."""
    channel = BitFlip.at_least(0.2)
    same = {FREE_BIT: (0, 0, 1), choice(4): (0, 0, 1)}
    apart = {FREE_BIT: (1, 0, 0), choice(4): (1, 1, 0)}
    for kinds in product([same, apart], [same, apart]):
        domains = (FREE_BIT, choice(4))
        parts = [
            (blanket_ratios.ratios(d, channel, kind[d]), 1)
            for d, kind in zip(domains, kinds, strict=True)
        ]
        far = [(blanket_ratios.ratios(d, channel, apart[d]), 1) for d in domains]
        for crowd, epsilon in ((50, 0.5), (2000, 1.0)):
            near_delta = delta(independent(parts), crowd, epsilon).estimate
            assert near_delta <= delta(independent(far), crowd, epsilon).upper


def test_different_noise_for_different_questions():
    """Merging equal noises must give the same, and unequal noises lie between."""
    low, high = BitFlip.at_least(0.2), BitFlip.at_least(0.3)
    mixed = Schema.of([Part(FREE_BIT, low), Part(choice(3), high)])
    values = [
        certify("blanket", report, 2000, 0.8).delta.upper
        for report in (schema(0.3, FREE_BIT, choice(3)), mixed, schema(0.2, FREE_BIT, choice(3)))
    ]
    assert values[0] < values[1] < values[2]


# The papers' errors


@pytest.mark.slow
def test_adding_a_bit_to_a_relation_never_lowers_delta():
    """The argument in `outlier.relations`, checked over relations of few bits."""
    channel = BitFlip.at_least(0.2)
    for relation in product(range(2), repeat=3):
        if relation[0] + relation[1] > 0:
            here = delta(outlier_ratios.ratios(channel, relation), 300, 0.7).lower
            for place in range(3):
                more = tuple(n + (i == place) for i, n in enumerate(relation))
                assert here <= delta(outlier_ratios.ratios(channel, more), 300, 0.7).upper


def test_relations_of_three_records_by_listing():
    for domain in (FREE_BIT, choice(3), Domain(3, 0, 2), Domain(4, 2, 2), Domain(3, 0, 3)):
        reports = list(product([0, 1], repeat=domain.bits))
        records = [r for r in reports if domain.fewest <= sum(r) <= domain.most]
        found = set()
        for x, other, z in product(records, repeat=3):
            differ = [(a != c, b != c) for a, b, c in zip(x, other, z, strict=True)]
            found.add(tuple(differ.count(kind) for kind in [(1, 0), (0, 1), (1, 1)]))
        assert set(outlier_ratios.relations(domain)) == set(outlier_ratios.maximal(found))
