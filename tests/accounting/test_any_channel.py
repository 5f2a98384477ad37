"""Any channel in a report: against explicit matrices, and against every small collection.

Oracle: the Kronecker matrix of all reports and all allowed records. From it the blanket of every
ordered pair of records, the local delta, and, person by person, the law of every collection.
"""

import math
from functools import reduce
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.accounting import blanket_ratios
from incrowd.accounting.certificates import certify, privacy_curve
from incrowd.accounting.pairs import FEW_CLASSES, _blanket_pairs, _number, blanket_candidates
from incrowd.accounting.parts import Part, alike, as_flip, farthest
from incrowd.accounting.ratios import Ratios, merged, thinned
from incrowd.accounting.ratios import product as independent
from incrowd.accounting.schema import FREE_BIT, Schema, Sent
from incrowd.accounting.worst import delta
from incrowd.channels.bit import Bit
from incrowd.channels.bit_flip import BitFlip
from incrowd.channels.k_ary import KAry
from incrowd.channels.rappor import Rappor
from incrowd.channels.simmons import Simmons
from incrowd.channels.two_stage import TwoStage
from incrowd.channels.warner import Warner
from incrowd.errors import PrivacyError
from incrowd.survey import Domain

ROUNDING = 1e-9
ESTIMATE = 3e-5  # relative error of the lattice


def choice(options):
    return Domain(options, 1, 1)


# The oracle


def records_of(domain):
    every = product((0, 1), repeat=domain.bits)
    return [record for record in every if domain.fewest <= sum(record) <= domain.most]


def matrix_of(part):
    """P(report | record) of one question: columns of allowed records."""
    if isinstance(part.channel, KAry):
        return part.channel.matrix
    bits = part.channel.matrix
    columns = [reduce(np.kron, (bits[:, bit] for bit in record)) for record in records_of(part[0])]
    return np.stack(columns, axis=1)


def matrix(parts):
    return reduce(np.kron, map(matrix_of, parts))


def blanket_by_matrix(parts, crowd, epsilon):
    """The largest blanket delta over all ordered pairs of records; equal laws are tried once.

    Its lower bound and its estimate.
    """
    sent = matrix(parts)
    cover = sent.min(axis=1)
    low, best, seen = 0.0, 0.0, set()
    for x, other in permutations(range(sent.shape[1]), 2):
        ratios = Ratios(
            *(np.log(column) for column in (sent[:, x] / cover, sent[:, other] / cover)),
            np.log(cover),
        )
        ratios = merged(ratios)
        key = tuple(
            np.round(np.concatenate([ratios.log_a, ratios.log_b, ratios.log_mass]), 7) + 0.0
        )
        if key not in seen:
            seen.add(key)
            found = delta(ratios, crowd, epsilon)
            low, best = max(low, found.lower), max(best, found.estimate)
    return low, best


def largest_delta(sent, crowd, epsilon):
    """The largest delta over all collections and pairs of records."""
    return max(
        np.maximum(laws[x] - math.exp(epsilon) * laws[other], 0).sum()
        for laws in laws_of_collections(sent, crowd)
        for x, other in permutations(range(len(laws)), 2)
    )


def laws_of_collections(sent, crowd):
    """For all answers of the others: the laws of what is collected, one for each own record."""
    kinds, records = sent.shape
    ordered = np.array(list(product(range(kinds), repeat=crowd)))
    _, group = np.unique(np.sort(ordered, axis=1), axis=0, return_inverse=True)
    for others in combinations_with_replacement(range(records), crowd - 1):
        rest = reduce(np.multiply.outer, (sent[:, record] for record in others)).ravel()
        yield [
            np.bincount(group.ravel(), np.outer(sent[:, x], rest).ravel()) for x in range(records)
        ]


# What is drawn

probabilities = st.integers(1, 19).map(lambda n: n / 20)
flips = st.integers(1, 19).map(lambda n: BitFlip.at_least(n / 40))
bits = st.tuples(probabilities, probabilities).map(lambda two: Bit.from_probabilities(*two))
devices = st.one_of(
    flips,
    bits,
    probabilities.filter(lambda a: a != 0.5).map(Warner.from_probability),
    st.tuples(probabilities, probabilities).map(lambda two: Simmons.from_probabilities(*two)),
    st.tuples(probabilities, probabilities, probabilities).map(
        lambda three: Rappor.from_probabilities(*three)
    ),
    st.tuples(bits, bits).map(lambda two: TwoStage(*two)),
)
k_aries = st.tuples(st.integers(2, 4), st.integers(11, 19)).map(
    lambda two: KAry.from_probabilities(two[1] / 20, two[0])
)
DOMAINS = [
    FREE_BIT,
    choice(2),
    choice(3),
    Domain(2, 0, 1),
    Domain(3, 0, 1),
    Domain(3, 0, 2),
    Domain(3, 0, 3),
    Domain(3, 1, 2),
    Domain(4, 0, 2),
    Domain(4, 0, 3),
]
parts_of_any_kind = st.one_of(
    st.tuples(st.sampled_from(DOMAINS), devices).map(lambda two: Part(*two)),
    k_aries.map(lambda channel: Part(choice(channel.options), channel)),
)


def size(parts):
    """Bits of the reports, about."""
    return sum(
        math.log2(p.channel.options) if isinstance(p.channel, KAry) else p.domain.bits
        for p in parts
    )


def mixes(most_bits):
    """Lists of parts; sometimes one of them twice."""
    lists = st.lists(parts_of_any_kind, min_size=1, max_size=3)
    doubled = st.tuples(lists, st.booleans()).map(lambda two: two[0] + two[0][:1] * two[1])
    return doubled.filter(lambda parts: size(parts) <= most_bits)


# The blanket


@given(mixes(5), st.sampled_from([3, 40, 1000]), st.floats(0.0, 2.0))
@settings(max_examples=60, deadline=None)
def test_the_blanket_is_that_of_the_explicit_matrices(parts, crowd, epsilon):
    """All pairs of records of any mix: none is worse than the classes that are tried.

    Where the classes are too many, a few that cover them are tried, and the bound is looser.
    """
    schema = Schema.of(parts)
    low, wanted = blanket_by_matrix(parts, crowd, epsilon)
    found = certify("blanket", schema, crowd, epsilon).delta
    assert found.upper >= low * (1 - ROUNDING) - 1e-300
    if _number(schema.parts, _blanket_pairs) <= FEW_CLASSES:
        assert found.estimate == pytest.approx(wanted, rel=1e-4, abs=1e-13)


@pytest.mark.parametrize(
    "part",
    [
        Part(FREE_BIT, Bit.from_probabilities(0.1, 0.7)),
        Part(choice(4), Bit.from_probabilities(0.2, 0.5)),
        Part(Domain(5, 0, 3), BitFlip.at_least(0.3)),
        Part(Domain(5, 0, 2), Simmons.from_probabilities(0.6, 0.2)),
        Part(choice(4), KAry.from_probabilities(0.6, 4)),
    ],
)
def test_a_single_draw_is_seen_exactly(part):
    """crowd = 2 has few ways to fall, so that the engine adds them all up."""
    _, wanted = blanket_by_matrix([part], 2, 0.3)
    assert certify("blanket", Schema.of([part]), 2, 0.3).delta.estimate == pytest.approx(
        wanted, rel=1e-9
    )


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


def test_the_farthest_pair_is_not_always_the_worst():
    """At most 5 of 8 options, a million people: 7 bits apart are worse than 8."""
    report = Schema.uniform([Domain(8, 0, 5)], BitFlip.at_least(0.1975))
    far, near = (
        delta(blanket_ratios.ratios(Domain(8, 0, 5), BitFlip.at_least(0.1975), pair), 10**6, 1.0)
        for pair in ((4, 4, 0), (3, 4, 1))
    )
    found = certify("blanket", report, 10**6, 1.0)
    assert near.lower > far.upper
    assert found.delta.upper >= near.lower and "nearer" in found.worst


# Every small collection

SMALL = [
    ([Part(FREE_BIT, Bit.from_probabilities(0.1, 0.7))], 4),
    ([Part(FREE_BIT, Bit.from_probabilities(0.8, 0.3))], 4),
    ([Part(FREE_BIT, Simmons.from_probabilities(0.5, 0.1))] * 2, 3),
    (
        [
            Part(FREE_BIT, Rappor.from_probabilities(0.3, 0.4, 0.8)),
            Part(FREE_BIT, BitFlip.at_least(0.2)),
        ],
        3,
    ),
    ([Part(choice(3), KAry.from_probabilities(0.7, 3))], 4),
    ([Part(choice(4), KAry.from_probabilities(0.5, 4))], 3),
    ([Part(choice(3), Bit.from_probabilities(0.2, 0.6))], 3),
    ([Part(Domain(3, 0, 2), Bit.from_probabilities(0.1, 0.4))], 3),
    ([Part(choice(3), KAry.from_probabilities(0.6, 3)), Part(FREE_BIT, BitFlip.at_least(0.25))], 2),
    (
        [
            Part(Domain(3, 0, 2), BitFlip.at_least(0.2)),
            Part(FREE_BIT, Warner.from_probability(0.3)),
        ],
        2,
    ),
]


@pytest.mark.parametrize(("parts", "crowd"), SMALL)
def test_no_small_collection_exceeds_the_certificate(parts, crowd):
    """Exact deltas of all collections; a claim at an epsilon that is too small must fail."""
    report, sent = Schema.of(parts), matrix(parts)
    for epsilon in (0.1, 0.5, 1.0):
        exact = largest_delta(sent, crowd, epsilon)
        assert exact <= certify("blanket", report, crowd, epsilon).delta.upper * (1 + ROUNDING)
    wrong = certify("blanket", report, crowd, report.local_epsilon * 0.999).delta.upper
    assert largest_delta(sent, crowd, 0.0) > wrong


@given(mixes(2.6), st.integers(2, 3), st.floats(0.0, 1.5))
@settings(max_examples=40, deadline=None)
def test_no_small_collection_of_any_mix_exceeds_the_certificate(parts, crowd, epsilon):
    exact = largest_delta(matrix(parts), crowd, epsilon)
    found = certify("blanket", Schema.of(parts), crowd, epsilon).delta.upper
    assert exact <= found * (1 + ROUNDING) + 1e-14


# Covers of many classes


@given(mixes(5), st.sampled_from([20, 3000]), st.floats(0.0, 1.5))
@settings(max_examples=25, deadline=None)
def test_few_classes_cover_all(parts, crowd, epsilon):
    """The bound for reports with many classes of pairs, against all classes of the same report."""
    report = Schema.of(parts)
    every = certify("blanket", report, crowd, epsilon).delta.estimate
    few = blanket_candidates(report, most=0)
    assert len(few) <= len(blanket_candidates(report, most=10**6))
    covering = max(delta(one.ratios, crowd, epsilon).upper for one in few)
    assert covering >= every * (1 - ROUNDING) - 1e-13


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


# Local


def local_by_matrix(sent, epsilon):
    here, there = sent[:, :, None], sent[:, None, :]
    return np.maximum(here - math.exp(epsilon) * there, 0).sum(axis=0).max()


@given(mixes(5), st.floats(0.0, 3.0))
@settings(max_examples=80, deadline=None)
def test_local_is_that_of_the_explicit_matrices(parts, epsilon):
    report, sent = Schema.of(parts), matrix(parts)
    logs = np.log(sent)
    wanted = (logs.max(axis=1) - logs.min(axis=1)).max()
    assert wanted * (1 - 1e-13) <= report.local_epsilon <= wanted * (1 + 1e-12) + 1e-15
    found = certify("local", report, 2, epsilon).delta
    assert found.estimate == pytest.approx(local_by_matrix(sent, epsilon), rel=1e-9, abs=1e-14)


@given(parts_of_any_kind, parts_of_any_kind, st.integers(1, 2), st.floats(0.0, 2.0))
@settings(max_examples=25, deadline=None)
def test_local_of_several_reports_is_one_of_all_parts(one, other, copies, epsilon):
    sent = Sent.of(Schema.of([one]), copies).also(Sent.of(Schema.of([other])))
    whole = matrix([one] * copies + [other])
    if copies == 2:  # a person has one answer, however often it is sent
        first = matrix([one])
        twice = np.stack([np.kron(column, column) for column in first.T], axis=1)
        whole = np.kron(twice, matrix([other]))
    found = certify("local", sent, 2, epsilon).delta.estimate
    exact = local_by_matrix(whole, epsilon)
    assert found >= exact - 1e-12  # copies may take different pairs in the bound, not in life
    if copies == 1:
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-14)


# Parts


@pytest.mark.parametrize("domain", [*DOMAINS, Domain(6, 2, 4), Domain(5, 3, 3)])
def test_farthest_pairs_by_listing(domain):
    apart = {
        (
            sum(a > b for a, b in zip(x, y, strict=True)),
            sum(a < b for a, b in zip(x, y, strict=True)),
        )
        for x, y in product(records_of(domain), repeat=2)
    }
    largest = {
        (u, v)
        for u, v in apart
        if not any((a >= u and b >= v and (a, b) != (u, v)) for a, b in apart)
    }
    assert set(farthest(domain)) == largest
    assert max(u + v for u, v in largest) == domain.distance


@given(parts_of_any_kind)
@settings(max_examples=60, deadline=None)
def test_log_phi_is_the_largest_chi_square(part):
    sent = matrix_of(part)
    chi = (sent[:, :, None] ** 2 / sent[:, None, :]).sum(axis=0).max()
    assert part.log_phi == pytest.approx(math.log(chi), abs=1e-12)


def test_as_flip_keeps_what_a_symmetric_channel_tells():
    flip = BitFlip.at_least(0.3)
    assert as_flip(flip) == flip
    assert as_flip(Bit.from_flip(flip)) == flip
    assert as_flip(Warner.from_probability(0.3)) == as_flip(Warner.from_probability(0.7)) == flip
    assert as_flip(Rappor.one_time(0.6)) == flip
    assert as_flip(Simmons.from_probabilities(0.6)) == flip
    assert as_flip(Bit.from_probabilities(0.3, 0.3)) is None
    assert as_flip(Bit.from_probabilities(0.3, 0.6)) is None
    assert as_flip(Simmons.from_probabilities(0.5, 0.2)) is None
    assert as_flip(KAry.from_probabilities(0.5, 2)) is None
    two_stage = TwoStage(Bit.from_flip(flip), Bit.from_flip(BitFlip(3)))
    assert as_flip(two_stage) is None and alike(two_stage)  # 2^-64 are no 2^-32
    assert not alike(Simmons.from_probabilities(0.5, 0.2))


def test_a_symmetric_device_is_worth_its_flip():
    flip = BitFlip.at_least(0.3)
    wanted = certify("blanket", Schema.uniform([choice(3), FREE_BIT], flip), 900, 0.7).delta
    for device in (Bit.from_flip(flip), Warner.from_probability(0.3), Rappor.one_time(0.6)):
        found = certify("blanket", Schema.uniform([choice(3), FREE_BIT], device), 900, 0.7).delta
        assert found.estimate == pytest.approx(wanted.estimate, rel=1e-9)


def test_a_channel_that_tells_nothing_costs_nothing():
    silent = Schema.uniform([FREE_BIT], Bit.from_probabilities(0.4, 0.4))
    assert certify("blanket", silent, 100, 0.0).delta.upper < 1e-12
    assert silent.local_epsilon == 0.0
    loud = Sent.of(Schema.uniform([FREE_BIT], BitFlip.at_least(0.2)))
    both = certify("blanket", loud.also(Sent.of(silent, 3)), 500, 0.5).delta.upper
    alone = certify("blanket", loud, 500, 0.5).delta
    assert alone.lower <= both <= 1.05 * alone.upper


# Wrong use


@pytest.mark.parametrize(
    ("wrong", "field", "says"),
    [
        (lambda: Schema.of([Part(FREE_BIT, Bit(0, 2**31))]), "channel", "add noise"),
        (
            lambda: Schema.of([Part(choice(3), KAry.from_probabilities(0.5, 4))]),
            "channel",
            "4 options",
        ),
        (
            lambda: Schema.of([Part(Domain(3, 0, 2), KAry.from_probabilities(0.5, 3))]),
            "channel",
            "choice",
        ),
        (
            lambda: Schema.of([Part(choice(3), TwoStage(*[KAry.from_probabilities(0.5, 3)] * 2))]),
            "channel",
            "k-ary",
        ),
        (lambda: Schema.of([]), "bits", "1 to 64"),
        (
            lambda: certify("outlier", Schema.uniform([FREE_BIT], Bit(2**30, 2**31)), 90, 1.0),
            "analysis",
            "use shuffle or local",
        ),
        (
            lambda: certify("exact", Schema.uniform([choice(3)], KAry(2**31, 3)), 9, 1.0),
            "analysis",
            "use shuffle or local",
        ),
        (
            lambda: certify(
                "blanket", Schema.uniform([Domain(600, 0, 250)], BitFlip(2**30)), 9, 1.0
            ),
            "options",
            "kinds of reports",
        ),
    ],
)
def test_wrong_use_says_what_works(wrong, field, says):
    with pytest.raises(PrivacyError) as error:
        wrong()
    (problem,) = error.value.problems
    assert problem.field == field and says in str(error.value)


def test_curves_of_other_channels_compose():
    """Two reports of k-ary response, explicitly: every pair of small collections of two people."""
    channel, crowd = KAry.from_probabilities(0.6, 3), 3
    sent = channel.matrix
    curve = privacy_curve("blanket", Sent.of(Schema.uniform([choice(3)], channel), 2), crowd)
    for epsilon in (0.2, 0.6):
        assert largest_delta_of_two(sent, crowd, epsilon) <= curve.delta(epsilon)


def largest_delta_of_two(sent, crowd, epsilon):
    """Two collections, each of everybody's reports: the largest delta over all answers."""
    both = ([np.outer(law, law) for law in laws] for laws in laws_of_collections(sent, crowd))
    return max(
        np.maximum(laws[x] - math.exp(epsilon) * laws[other], 0).sum()
        for laws in both
        for x, other in permutations(range(len(laws)), 2)
    )
