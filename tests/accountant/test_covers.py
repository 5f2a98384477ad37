"""Covers of reports of any channel, and the classes of pairs that stand for all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.accountant import blanket_ratios
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.pairs import blanket_candidates
from incrowd.accountant.ratios import product as independent
from incrowd.accountant.ratios import thinned
from incrowd.accountant.schema import Domain, Part, Schema
from incrowd.accountant.worst import delta
from tests.accountant.conftest import DOMAINS, choice, mixes
from tests.oracles.matrices import matrix_of, records_of

ROUNDING = 1e-9


# The blanket


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("domain", DOMAINS)
def test_covers_and_ratios_by_listing_reports(domain, symmetric):
    """Mass, A and B of every class against the matrix, summed over reports."""
    channel = BitFlip.at_least(0.2) if symmetric else Bit.from_probabilities(0.15, 0.4)
    sent, records = matrix_of(Part(domain, channel)), records_of(domain)
    cover = sent.min(axis=1)
    for u, v, w in blanket_ratios.pairs(domain, symmetric):
        x = (1,) * u + (0,) * v + (1,) * w + (0,) * (domain.bits - u - v - w)
        other = (0,) * u + (1,) * v + (1,) * w + (0,) * (domain.bits - u - v - w)
        a, b = (sent[:, records.index(record)] / cover for record in (x, other))
        found = blanket_ratios.ratios(domain, channel, (u, v, w))
        for power in ((0, 0), (1, 0), (0, 1), (2, 1), (1, 2)):
            wanted = cover @ (a ** power[0] * b ** power[1])
            moment = np.exp(found.log_mass + power[0] * found.log_a + power[1] * found.log_b).sum()
            assert moment == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
def test_the_farthest_pair_is_not_always_the_worst():
    """At most 5 of 8 options, a million people: 7 bits apart are worse than 8."""
    report = Schema.uniform([Domain(8, 0, 5)], BitFlip.at_least(0.1975))
    far, near = (
        delta(blanket_ratios.ratios(Domain(8, 0, 5), BitFlip.at_least(0.1975), pair), 10**6, 1.0)
        for pair in ((4, 4, 0), (3, 4, 1))
    )
    found = certify("blanket", report, 10**6, 1.0)
    assert near.lower > far.upper
    assert found.delta.upper >= near.lower and found.worst[0].farthest is False


# Covers of many classes


@pytest.mark.slow
@given(mixes(5), st.sampled_from([20, 3000]), st.floats(0.0, 1.5))
@settings(max_examples=8, deadline=None)
def test_few_classes_cover_all(parts, crowd, epsilon):
    """The bound for reports with many classes of pairs, against all classes of the same report."""
    report = Schema.of(parts)
    every = certify("blanket", report, crowd, epsilon).delta.estimate
    few = blanket_candidates(report, most=0)
    assert len(few) <= len(blanket_candidates(report, most=10**6))
    covering = max(delta(one.ratios, crowd, epsilon).upper for one in few)
    assert covering >= every * (1 - ROUNDING) - 1e-13


@pytest.mark.slow
def test_many_classes_are_covered_closely():
    """Three questions of "at most 7 of 9", 21 classes each; an eighth more delta, by one cover."""
    domain, channel = Domain(9, 0, 7), BitFlip.at_least(0.4)
    assert len(blanket_ratios.pairs(domain)) == 21
    few = blanket_candidates(Schema.uniform([domain] * 3, channel))
    assert len(few) == 1
    covering = delta(few[0].ratios, 50_000, 1.0).upper
    parts = [
        (blanket_ratios.ratios(domain, channel, (u, v, w)), 3)
        for u, v, w in blanket_ratios.pairs(domain)
    ]
    largest = max(delta(independent([part]), 50_000, 1.0).upper for part in parts)
    assert largest < covering < 1.2 * largest


@pytest.mark.slow
def test_thinned_ratios_are_an_upper_bound_and_close():
    parts = [Part(choice(4), BitFlip.at_least(0.2 + 0.01 * i)) for i in range(5)]
    exact = blanket_candidates(Schema.of(parts))[0].ratios
    thin = thinned(exact, 600)
    assert len(thin.log_mass) < 0.8 * len(exact.log_mass)
    for log_values in ("log_a", "log_b"):
        means = [np.exp(r.log_mass) @ np.exp(getattr(r, log_values)) for r in (exact, thin)]
        assert means[0] == pytest.approx(means[1], rel=1e-10)
    for crowd, epsilon in ((500, 0.5), (20_000, 1.0)):
        sharp, rough = (delta(ratios, crowd, epsilon) for ratios in (exact, thin))
        assert sharp.lower <= rough.upper and rough.estimate <= 1.05 * sharp.estimate


@pytest.mark.slow
def test_a_report_of_many_channels_is_computed():
    """Fourteen questions, each with a noise of its own: millions of different ratios."""
    channels = [BitFlip.at_least(0.35 + 0.004 * i) for i in range(14)]
    report = Schema.of([Part(choice(5), channel) for channel in channels])
    found = certify("blanket", report, 50_000, 1.0).delta.upper
    same = [
        certify("blanket", Schema.uniform([choice(5)] * 14, channels[i]), 50_000, 1.0).delta.upper
        for i in (0, -1)
    ]
    assert same[1] < found < same[0]
