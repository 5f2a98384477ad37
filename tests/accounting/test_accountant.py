"""The accountant against exact laws, independent scripts, simulation and another library."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.accounting import blanket_ratios, outlier_ratios
from incrowd.accounting.analyses import ANALYSES
from incrowd.accounting.assessment import assess
from incrowd.accounting.calibration import (
    smallest_epsilon,
    smallest_noise,
    smallest_noise_for_eta,
)
from incrowd.accounting.certificates import certify, privacy_curve
from incrowd.accounting.composition import connect_the_dots, sampled
from incrowd.accounting.eta import pair_eta
from incrowd.accounting.pairs import blanket_candidates, outlier_candidates, papers_pair
from incrowd.accounting.ratios import Ratios, merged
from incrowd.accounting.ratios import product as independent
from incrowd.accounting.schema import FREE_BIT, Part, Schema, Sent
from incrowd.accounting.worst import delta, worst_delta
from incrowd.channels.bit_flip import BitFlip
from incrowd.errors import PrivacyError
from incrowd.numerics import positive_part as engine
from incrowd.numerics.law import saddlepoint
from incrowd.survey import Domain
from tests.oracles import expected


def choice(options):
    return Domain(options, 1, 1)


def schema(q, *domains):
    return Schema.uniform(domains, BitFlip.at_least(q))


def free(q, bits):
    return schema(q, *[FREE_BIT] * bits)


def same_noise(domains, copies=1):
    """The family of reports with one noise on every bit."""
    return lambda flip: Sent.of(Schema.uniform(domains, flip), copies)


@pytest.mark.parametrize("case", expected.HOMOGENEOUS)
def test_homogeneous_crowds(case):
    """Within 3e-5 by default (an upper bound), and to the digits shown on a finer lattice."""
    q, bits, crowd, epsilon, *wanted = case
    for order, (d, eta) in enumerate([wanted[0::2], wanted[1::2]]):
        ratios = papers_pair(free(q, bits), presence=order == 0)
        found = delta(ratios, crowd, epsilon)
        assert found.upper == pytest.approx(d, rel=1e-4)
        assert found.lower <= d * (1 + 1e-6) and found.upper >= d * (1 - 1e-6)
        assert pair_eta(ratios, crowd, epsilon) == pytest.approx(eta, rel=3e-5)
    worst = worst_delta(outlier_candidates(free(q, bits)), crowd, epsilon)
    assert worst.delta.upper >= max(wanted[:2]) * (1 - 1e-6)


@pytest.mark.parametrize("case", expected.ENUMERABLE)
def test_homogeneous_crowds_to_seven_digits(case):
    q, bits, crowd, epsilon, *wanted = case
    for order, d in enumerate(wanted[:2]):
        ratios = papers_pair(free(q, bits), presence=order == 0)
        found = delta(ratios, crowd, epsilon, tolerance=2e-7)
        assert found.estimate == pytest.approx(d, rel=6e-7)


def test_many_bits():
    q, bits, crowd, epsilon, d, eta = expected.MANY_BITS
    ratios = papers_pair(free(q, bits), presence=True)
    assert delta(ratios, crowd, epsilon).upper == pytest.approx(d, abs=5e-7)
    assert pair_eta(ratios, crowd, epsilon) == pytest.approx(eta, abs=5e-5)


BLANKET = [
    (schema(q, *(Domain(bits, least, most) for bits, most, least in asked)), *rest)
    for q, asked, *rest in expected.BLANKET
]


@pytest.mark.parametrize("case", BLANKET)
def test_blanket(case):
    """A relative 3e-5 covers the last digit shown and the default lattice."""
    report, crowd, epsilon, wanted = case
    found = certify("blanket", report, crowd, epsilon)
    assert found.proved
    assert found.delta.estimate == pytest.approx(wanted, rel=3e-5)
    assert found.delta.upper >= wanted * (1 - 2e-5)


@pytest.mark.parametrize("case", BLANKET[:4])
def test_blanket_by_enumeration(case):
    """Oracle: every number of blanket reports and every composition of them, with its law."""
    report, crowd, epsilon, _ = case
    (part, bits), *_ = report.parts
    q, p, lam = part.channel.q, part.channel.p, math.exp(epsilon)
    gamma = (2 * q) ** bits
    kinds = [(p**i * q ** (bits - i), q**i * p ** (bits - i)) for i in range(bits + 1)]
    ways = [math.comb(bits, i) / 2**bits for i in range(bits + 1)]
    values = [(a - lam * b) / q**bits * gamma for a, b in kinds]
    total = 0.0
    chances = [*(gamma * w for w in ways), 1 - gamma]
    values = [*values, 0.0]

    def walk(left, place, log_chance, value):
        nonlocal total
        if place == len(values) - 1:
            log_chance += left * math.log(chances[place]) - math.lgamma(left + 1)
            total += math.exp(log_chance) * max(0.0, value + left * values[place])
            return
        for n in range(left + 1):
            more = n * math.log(chances[place]) - math.lgamma(n + 1)
            walk(left - n, place + 1, log_chance + more, value + n * values[place])

    people = min(crowd, 40)  # a smaller crowd keeps the walk short
    walk(people, 0, math.lgamma(people + 1), 0.0)
    found = certify("blanket", report, people, epsilon).delta
    assert found.estimate == pytest.approx(total / (gamma * people), rel=1e-5)
    assert found.upper >= total / (gamma * people) * (1 - 1e-12)


def test_finer_lattices_never_raise_the_bound():
    for report, crowd, epsilon, _ in BLANKET[:5]:
        law = blanket_candidates(report)[0].ratios.law(epsilon)
        _, lattice = engine._prepared(law, crowd)
        values = [lattice.positive_mean(halvings).bound for halvings in range(6)]
        assert all(b <= a * (1 + 1e-9) for a, b in pairwise(values))
        settled = delta(blanket_candidates(report)[0].ratios, crowd, epsilon)
        finer = delta(blanket_candidates(report)[0].ratios, crowd, epsilon, tolerance=1e-6)
        assert settled.upper / finer.upper - 1 < 1e-3


def integral(law, count):
    """E[max(0, S)] by the inversion integral along the saddlepoint: no lattice at all."""
    theta = saddlepoint(law)
    spread = math.sqrt(count * float((law.mass * np.exp(theta * law.value)) @ law.value**2))
    omega = np.arange(0, 14 / spread, 0.02 / spread)
    s = theta + 1j * omega
    rest = law.total - law.mass.sum()
    log_m = np.log(np.exp(np.multiply.outer(s, law.value)) @ law.mass + rest)
    values = (np.exp(count * log_m) / s**2).real
    return (values.sum() - values[0] / 2) * (omega[1] - omega[0]) / math.pi


@pytest.mark.parametrize(
    ("q", "bits", "crowd", "epsilon"),
    [(0.35, 8, 10**6, 0.5), (0.45, 4, 10**5, 0.05), (0.3, 6, 10**6, 1.5), (0.25, 1, 10**9, 0.001)],
)
def test_large_crowds_against_the_inversion_integral(q, bits, crowd, epsilon):
    """The integral is exact up to rounding where the sum is near normal, however far the tail."""
    ratios = blanket_candidates(free(q, bits))[0].ratios
    exact = integral(ratios.law(epsilon), crowd) / crowd
    found = delta(ratios, crowd, epsilon)
    assert found.estimate == pytest.approx(exact, rel=1e-4)
    assert found.upper >= exact * (1 - 1e-6)


def test_tails_keep_their_digits():
    """About 1e-80, against the inversion integral."""
    ratios = blanket_candidates(free(0.3, 1))[0].ratios
    epsilon = 0.017
    exact = integral(ratios.law(epsilon), 10**6) / 10**6
    assert 1e-90 < exact < 1e-60
    assert delta(ratios, 10**6, epsilon).upper == pytest.approx(exact, rel=3e-4)


def test_where_double_precision_ends_the_bound_says_so():
    found = certify("blanket", free(0.49, 1), 10**9, 0.01).delta
    assert 0 < found.upper < 1e-290


@pytest.mark.parametrize("domain", [Domain(4, 0, 2), choice(4), Domain(4, 2, 3)])
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


@pytest.mark.parametrize("case", expected.CALIBRATED)
def test_calibrated_noise_lies_where_the_bound_crosses_the_wanted_delta(case):
    bits, crowd, epsilon, wanted, less, more = case
    found = smallest_noise("blanket", same_noise([FREE_BIT] * bits), crowd, epsilon, wanted)
    assert less < found.q < more


@settings(max_examples=6, deadline=None)
@given(
    st.sampled_from(["blanket", "outlier", "local"]),
    st.integers(1, 4),
    st.integers(30, 10**6),
    st.floats(0.2, 3.0),
    st.floats(-9.0, -3.0),
)
def test_calibrated_noise_holds_and_a_little_less_does_not(analysis, bits, crowd, epsilon, power):
    domains, wanted = [FREE_BIT] * bits, 10.0**power
    channel = smallest_noise(analysis, same_noise(domains), crowd, epsilon, wanted)
    assert certify(analysis, Schema.uniform(domains, channel), crowd, epsilon).delta.upper <= wanted
    if analysis != "local" and channel.numerator > 10_000:
        less = BitFlip(int(channel.numerator * 0.9995))
        found = certify(analysis, Schema.uniform(domains, less), crowd, epsilon)
        assert found.delta.estimate > wanted


def test_noise_for_eta():
    channel = smallest_noise_for_eta("blanket", same_noise([FREE_BIT] * 3), 10**4, 1.0, 1e-4)
    report = Schema.uniform([FREE_BIT] * 3, channel)
    assert ANALYSES["blanket"].eta_bound(Sent.of(report), 10**4, 1.0) <= 1e-4
    assert pair_eta(papers_pair(report, presence=False), 10**4, 1.0) <= 1e-4


def test_epsilon_and_delta_are_inverse():
    report = free(0.3, 5)
    epsilon = smallest_epsilon("blanket", report, 5000, 1e-6)
    assert certify("blanket", report, 5000, epsilon).delta.upper <= 1e-6 * (1 + 1e-9)
    assert certify("blanket", report, 5000, epsilon * 0.999).delta.estimate > 1e-6


# Composition


def randomized_response(channel, epsilon):
    return max(0.0, channel.p - math.exp(epsilon) * channel.q)


def exact_product(channel, copies, epsilon):
    """delta of k independent randomised responses, by listing how many tell the truth."""
    total = 0.0
    for i in range(copies + 1):
        here = channel.p ** (copies - i) * channel.q**i
        there = channel.q ** (copies - i) * channel.p**i
        total += math.comb(copies, i) * max(0.0, here - math.exp(epsilon) * there)
    return total


@pytest.mark.parametrize("copies", [1, 2, 5, 10])
def test_copies_of_local_are_exact(copies):
    channel = BitFlip.at_least(0.3)
    for epsilon in (0.3, 1.0, 2.0):
        exact = exact_product(channel, copies, epsilon)
        found = certify("local", Sent.of(free(0.3, 1), copies), 2, epsilon).delta.upper
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-15)
        step = math.log(channel.p / channel.q) / 20
        curve = sampled(lambda e: randomized_response(channel, e), step, 100, 0.0, 100)
        composed = connect_the_dots(curve, curve, step) ** copies
        assert composed.delta(epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-13)


def one_bit_laws(channel, crowd):
    """The number of ones sent if one person holds 1, or 0, all others 0."""
    counts = np.arange(crowd + 1)
    f = np.array(
        [math.comb(crowd - 1, t) * channel.q**t * channel.p ** (crowd - 1 - t) for t in counts]
    )
    before = np.append(0.0, f[:-1])
    return channel.p * before + channel.q * f, channel.q * before + channel.p * f


@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_one_bit_against_the_product_of_explicit_laws(copies):
    """Pessimistic, and by less than 1% here."""
    channel, crowd = BitFlip.at_least(0.2), 60
    one, zero = one_bit_laws(channel, crowd)
    here, there = one, zero
    for _ in range(copies - 1):
        here, there = np.multiply.outer(here, one).ravel(), np.multiply.outer(there, zero).ravel()
    curve = privacy_curve("outlier", Sent.of(free(0.2, 1), copies), crowd, steps=40)
    for epsilon in (0.3, 0.6, 1.0):
        lam = math.exp(epsilon)
        exact = max(
            np.maximum(here - lam * there, 0).sum(), np.maximum(there - lam * here, 0).sum()
        )
        found = curve.delta(epsilon)
        assert exact * (1 - 1e-9) <= found <= exact * 1.01 + 1e-12


@pytest.mark.slow
def test_composition_of_merged_copies_against_simulation():
    """L = 40, N = 1e7: k copies merged in one collection leak at most as much as in k collections.
    The simulated delta of the merged collection (presence) has a standard error; 5 of them."""
    from reproduction.merged import Merged, simulate

    channel = BitFlip.at_least(0.36)
    for copies, draws in ((4, 20_000), (10, 8_000), (20, 3_000)):
        merged = simulate(Merged(channel, 10**7, 40, copies), 2.0, draws, seed=copies)
        bound = privacy_curve("outlier", Sent.of(free(channel.q, 40), copies), 10**7).delta(2.0)
        assert merged.delta - 5 * merged.delta_error <= bound
        assert bound <= 3 * (merged.delta + 5 * merged.delta_error)


def test_composition_against_dp_accounting():
    """The library's PLD of randomised response, composed in a loop."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    channel = BitFlip.at_least(0.4)
    noise = 2 * channel.q  # its noise parameter is the chance of a uniformly random answer
    one = pld.from_randomized_response(noise, 2, value_discretization_interval=1e-4)
    composed = one
    for _ in range(9):
        composed = composed.compose(one)
    for epsilon in (0.5, 1.0, 2.0):
        theirs = composed.get_delta_for_epsilon(epsilon)
        ours = certify("local", Sent.of(free(channel.q, 1), 10), 2, epsilon).delta.upper
        assert theirs > 1e-9
        assert ours == pytest.approx(theirs, rel=2e-3)


def test_curves_combine_and_invert():
    first = privacy_curve("blanket", free(0.35, 3), 2000)
    second = privacy_curve("blanket", free(0.4, 8), 2000)
    both = first * second
    for epsilon in (0.1, 0.5):
        assert both.delta(epsilon) >= max(first.delta(epsilon), second.delta(epsilon)) * (1 - 1e-6)
    epsilon = both.epsilon(1e-6)
    assert both.delta(epsilon) <= 1e-6 < both.delta(epsilon * 0.99)
    twice = first * first
    assert twice.delta(0.3) == pytest.approx((first**2).delta(0.3), rel=1e-9)


def test_copies_need_more_noise():
    """docs/mathematics.md#large-crowds: q must rise with k; the paper's condition (6.3) lets it
    fall (error 2)."""
    noises = [
        smallest_noise("blanket", same_noise([FREE_BIT] * 8, copies), 10**5, 1.0, 1e-6).q
        for copies in (1, 4)
    ]
    assert noises[0] < noises[1]


# The papers' errors


def test_error_1_one_direction_is_not_enough():
    report = free(0.15, 2)
    presence = delta(papers_pair(report, presence=True), 200, 1.0).upper
    absence = delta(papers_pair(report, presence=False), 200, 1.0).lower
    assert presence < 2.5e-6 and absence > 2.4e-3


def test_error_3_exclusive_bits_are_not_two_free_bits():
    """A crowd on a third option is worse than the papers' own pair in both directions."""
    q, crowd, epsilon, third, presence, absence = expected.THIRD_OPTION
    report = schema(q, choice(3))
    worst = worst_delta(outlier_candidates(report), crowd, epsilon)
    assert worst.delta.estimate == pytest.approx(third, rel=1e-4)
    for there, wanted in ((True, presence), (False, absence)):
        found = delta(papers_pair(report, presence=there), crowd, epsilon)
        assert found.estimate == pytest.approx(wanted, rel=1e-3)


def test_error_3_by_simulation():
    """1e6 draws of the reports of the third-option crowd; 5 standard errors."""
    channel, crowd, lam = BitFlip.at_least(0.1), 1000, math.exp(0.8)
    reports = np.array(list(product([0, 1], repeat=3)))

    def sent(record):
        flips = (reports != np.array(record)).sum(axis=1)
        return channel.q**flips * channel.p ** (3 - flips)

    g = (sent([1, 0, 0]) - lam * sent([0, 1, 0])) / sent([0, 0, 1])
    drawn = np.random.default_rng(1).multinomial(crowd, sent([0, 0, 1]), size=1_000_000)
    values = np.maximum(drawn @ g, 0) / crowd
    error = values.std() / 1000
    found = delta(outlier_ratios.ratios(channel, (1, 1, 1)), crowd, 0.8).estimate
    assert abs(values.mean() - found) < 5 * error
    assert (
        abs(values.mean() - delta(outlier_ratios.ratios(channel, (0, 2, 0)), crowd, 0.8).estimate)
        > 5 * error
    )


def test_error_7_mixed_question_types():
    """Three yes/no questions and one of three options: the opposite pair gives 4.8e-5 (with a
    third-option crowd), the pair that agrees on the yes/no bits 2.5e-3."""
    report = schema(0.15, FREE_BIT, FREE_BIT, FREE_BIT, choice(3))
    channel = BitFlip.at_least(0.15)
    opposite = delta(outlier_ratios.ratios(channel, (4, 1, 1)), 20_000, 1.0).estimate
    assert opposite == pytest.approx(4.8e-5, abs=5e-7)
    worst = worst_delta(outlier_candidates(report), 20_000, 1.0)
    assert worst.delta.estimate == pytest.approx(2.5e-3, abs=5e-5)


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


# Wrong use


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: free(0.5, 2),
        lambda: free(0.3, 65),
        lambda: certify("blanket", free(0.3, 2), 1, 1.0),
        lambda: certify("blanket", free(0.3, 2), 100, -1.0),
        lambda: certify("magic", free(0.3, 2), 100, 1.0),
        lambda: assess("magic", free(0.3, 2), 100, 1.0),
        lambda: assess("exact", free(0.3, 40), 100, 1.0),
        lambda: certify("blanket", free(1e-6, 64), 10**9, 2.0),
        lambda: smallest_noise("blanket", same_noise([FREE_BIT]), 100, 1.0, 0.0),
        lambda: smallest_noise("blanket", same_noise([FREE_BIT]), 100, 1.0, 1.0),
        lambda: smallest_noise("local", same_noise([FREE_BIT] * 60), 100, 1e-9, 0.1),
        lambda: smallest_noise("blanket", same_noise([FREE_BIT] * 60), 3, 1e-12, 1e-300),
    ],
)
def test_wrong_use_gives_one_clear_message(wrong):
    with pytest.raises(PrivacyError) as error:
        wrong()
    assert len(error.value.problems) == 1 and error.value.exit_code == 2


def test_an_assessment_says_what_it_is():
    report = free(0.3, 2)
    outlier_found = assess("outlier", report, 120, 0.7)
    assert not outlier_found.proved and "lower bound on the worst case" in outlier_found.assumption
    assert "homogeneous" in outlier_found.assumption
    for analysis in ("blanket", "local", "exact"):
        assert assess(analysis, free(0.3, 1), 20, 0.3).proved
    assert outlier_found.presence.delta == pytest.approx(2.364161e-12, rel=1e-4)


def test_extremes_are_bounded_in_memory_and_time():
    for q, bits, crowd, epsilon in [
        (0.4999, 64, 3, 1e-4),
        (0.02, 64, 10**9, 2.0),
        (0.01, 64, 2, 30.0),
    ]:
        found = certify("blanket", free(q, bits), crowd, epsilon).delta
        assert 0 <= found.lower <= found.upper
