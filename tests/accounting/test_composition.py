"""Everything one person sends: reports of several schemas, composed and calibrated together.

Oracles: products of explicit laws, every small collection, the large-N limit.
"""

import math
import warnings
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import binom, norm

from incrowd.accounting.analyses import ANALYSES
from incrowd.accounting.assessment import assess
from incrowd.accounting.calibration import (
    smallest_epsilon,
    smallest_noise,
    smallest_noise_for_eta,
)
from incrowd.accounting.certificates import certify, privacy_curve
from incrowd.accounting.curves import all_dots
from incrowd.accounting.gaussian_limit import gaussian_delta, gaussian_signal, log_signal
from incrowd.accounting.schema import FREE_BIT, Part, Schema, Sent, as_sent
from incrowd.accounting.search import first_below
from incrowd.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.channels.k_ary import KAry
from incrowd.channels.simmons import Simmons
from incrowd.channels.warner import Warner
from incrowd.errors import PrivacyError
from incrowd.survey import Domain


def flip(q):
    return BitFlip.at_least(q)


def free(q, bits=1):
    return Schema.uniform([FREE_BIT] * bits, flip(q))


def choice(options):
    return Domain(options, 1, 1)


def everything(*reports):
    """Sent, from pairs of a schema and its copies."""
    first, *others = (Sent.of(schema, copies) for schema, copies in reports)
    for sent in others:
        first = first.also(sent)
    return first


# What it is


def test_equal_schemas_are_counted_together():
    sent = everything((free(0.2), 2), (free(0.3), 1), (free(0.2), 3))
    assert dict(sent.reports) == {free(0.2): 5, free(0.3): 1}
    assert sent == everything((free(0.3), 1), (free(0.2), 5))
    assert sent.copies == 6 and sent.single is None
    assert Sent.of(free(0.2)).single == free(0.2) and Sent.of(free(0.2), 2).single is None
    assert as_sent(free(0.2)) == Sent.of(free(0.2)) and as_sent(sent) is sent
    parts = {part: count for part, count in everything((free(0.2, 3), 2), (free(0.2), 1)).parts}
    assert parts == {Part(FREE_BIT, flip(0.2)): 7}


def test_local_epsilons_add_up():
    sent = everything((free(0.2, 2), 3), (Schema.uniform([choice(4)], flip(0.3)), 2))
    exact = 6 * math.log(0.8 / 0.2) + 4 * math.log(0.7 / 0.3)
    assert sent.local_epsilon == pytest.approx(exact, rel=1e-8)
    assert certify("local", sent, 2, sent.local_epsilon).delta.upper == 0.0


def test_a_schema_by_itself_is_one_report():
    for analysis in ANALYSES:
        for figure in (certify, assess):
            bare, sent = (figure(analysis, s, 30, 0.4) for s in (free(0.3), Sent.of(free(0.3))))
            assert bare == sent
    assert smallest_epsilon("blanket", free(0.3), 300, 1e-5) == smallest_epsilon(
        "blanket", Sent.of(free(0.3)), 300, 1e-5
    )


def test_one_report_is_not_composed():
    """The sharp engine: the composition is close to it, and above it."""
    report = free(0.3, 4)
    sharp = certify("blanket", report, 3000, 0.5).delta
    composed = privacy_curve("blanket", report, 3000).delta(0.5)
    assert sharp.lower <= composed <= 1.05 * sharp.upper
    assert sharp.upper / sharp.lower < 1.001


# Composition against explicit laws


def one_bit_laws(q, crowd):
    """Laws of the number of ones if one person holds 1, or 0, and all others 0."""
    counts = np.arange(crowd + 1)
    others = np.append(binom.pmf(counts[:-1], crowd - 1, q), 0.0)
    before = np.append(0.0, others[:-1])
    return (1 - q) * before + q * others, q * before + (1 - q) * others


def explicit(pairs, epsilon):
    """delta of the product of pairs of laws, in one order."""
    here, there = np.ones(1), np.ones(1)
    for one, zero in pairs:
        here, there = np.outer(here, one).ravel(), np.outer(there, zero).ravel()
        keep = here > 1e-18
        here, there = here[keep], there[keep]
    return np.maximum(here - math.exp(epsilon) * there, 0).sum()


@pytest.mark.parametrize(
    "noises",
    [(0.2, 0.3), (0.2, 0.2, 0.35), (0.05, 0.4), (0.3, 0.499), (0.1, 0.45, 0.3)],
)
def test_messages_of_one_bit_against_the_product_of_explicit_laws(noises):
    """Homogeneous crowds; each message in the order that is worse for it. Within 3 per cent."""
    crowd = 40
    curve = privacy_curve("outlier", everything(*((free(q), 1) for q in noises)), crowd)
    for epsilon in (0.2, 0.6, 1.0, 1.5):
        laws = [one_bit_laws(flip(q).q, crowd) for q in noises]
        exact = max(explicit(laws, epsilon), explicit([law[::-1] for law in laws], epsilon))
        assert exact <= curve.delta(epsilon) <= 1.03 * exact + 1e-11


def blanket_law(q, crowd):
    """The blanket's pair of one bit, explicitly: ones and zeros among Bin(N, 2q) reports."""
    total = np.arange(binom.ppf(1e-15, crowd, 2 * q), binom.isf(1e-15, crowd, 2 * q) + 1)
    reports, ones = (a.ravel() for a in np.meshgrid(total, np.arange(total[-1] + 1)))
    inside = (ones <= reports) & (reports > 0)
    reports, ones = reports[inside], ones[inside]
    chance = binom.pmf(reports, crowd, 2 * q) * binom.pmf(ones, reports, 0.5)
    ratio = (1 - q) / q
    here = chance * (ones * ratio + reports - ones) / crowd
    return here, chance * (ones + (reports - ones) * ratio) / crowd


def two_fold(law, epsilon):
    """delta of a pair of laws with itself, by sorting the losses of one of them."""
    here, there = law
    loss = np.log(here / there)
    order = np.argsort(loss)
    here_beyond, there_beyond = (
        np.append(np.cumsum(mass[order][::-1])[::-1], 0.0) for mass in (here, there)
    )
    place = np.searchsorted(loss[order], epsilon - loss)
    return here @ here_beyond[place] - math.exp(epsilon) * (there @ there_beyond[place])


def test_set_bits_that_travel_alone():
    """A choice of 50,000 options, each bit its own collection: a changed answer touches two.

    Oracle: the blanket's exact law of one bit, with itself. One per cent less noise breaks it. And
    the exact law of the homogeneous crowd, which the certificate has to cover as well.
    """
    crowd, epsilon, wanted = 10**6, 1.0, 1e-6
    found = smallest_noise("blanket", lambda f: Sent.of(free(f.q), 2), crowd, epsilon, wanted)
    assert found.q == pytest.approx(7.5e-5, rel=0.01)
    assert two_fold(blanket_law(found.q, crowd), epsilon) <= wanted
    assert two_fold(blanket_law(0.99 * found.q, crowd), epsilon) > wanted
    ones = np.arange(1, 300)
    log_rate = ones * np.log(crowd * found.q) - gammaln(ones + 1) - crowd * found.q
    others, before = np.exp(log_rate), np.exp(log_rate + np.log(ones / (crowd * found.q)))
    poisson = found.p * before + found.q * others, found.q * before + found.p * others
    for law in (poisson, poisson[::-1]):
        assert two_fold(law, epsilon) <= wanted


def test_every_small_pair_of_collections():
    """Two messages of one person, each in a collection of three: all answers of the others."""
    crowd = 3
    parts = [Part(FREE_BIT, flip(0.2)), Part(choice(3), KAry.from_probabilities(0.7, 3))]
    sent = everything(*((Schema.of([part]), 1) for part in parts))
    curve = privacy_curve("blanket", sent, crowd)
    laws = [collections(part.channel.matrix, crowd) for part in parts]
    for epsilon in (0.3, 1.0, 1.6):
        worst = 0.0
        for one, other in product(*laws):
            for (x, y), (a, b) in product(permutations(one, 2), permutations(other, 2)):
                gap = np.outer(x, a) - math.exp(epsilon) * np.outer(y, b)
                worst = max(worst, np.maximum(gap, 0).sum())
        assert worst <= curve.delta(epsilon)


def collections(sent, crowd):
    """For every multiset of the others' answers, the laws of the reports for each own answer."""
    kinds, records = sent.shape
    ordered = np.array(list(product(range(kinds), repeat=crowd)))
    _, group = np.unique(np.sort(ordered, axis=1), axis=0, return_inverse=True)
    for others in combinations_with_replacement(range(records), crowd - 1):
        rest = np.ones(1)
        for record in others:
            rest = np.outer(rest, sent[:, record]).ravel()
        yield [
            np.bincount(group.ravel(), np.outer(sent[:, x], rest).ravel()) for x in range(records)
        ]


@given(
    st.lists(st.tuples(st.floats(0.1, 0.45), st.integers(1, 3)), min_size=2, max_size=4),
    st.floats(0.05, 2.0),
)
@settings(max_examples=25, deadline=None)
def test_local_composition_is_exact(messages, epsilon):
    """Messages of one bit, by listing which of them tell the truth."""
    sent = everything(*((free(q), copies) for q, copies in messages))
    noises = [flip(q).q for q, copies in messages for _ in range(copies)]
    exact = 0.0
    for truths in product((0, 1), repeat=len(noises)):
        here = math.prod(1 - q if t else q for q, t in zip(noises, truths, strict=True))
        there = math.prod(q if t else 1 - q for q, t in zip(noises, truths, strict=True))
        exact += max(0.0, here - math.exp(epsilon) * there)
    found = certify("local", sent, 2, epsilon).delta
    assert found.estimate == pytest.approx(exact, rel=1e-9, abs=1e-14)


# Scales


def test_messages_of_very_different_signal():
    """One message of signal 0.15 and a hundred of 0.0015: as the large-N limit, and no larger."""
    crowd = 10**6
    loud, faint = free(0.0000445), free(0.2)
    assert math.exp(log_signal(Sent.of(loud), crowd)) == pytest.approx(0.15, rel=1e-3)
    assert math.exp(log_signal(Sent.of(faint), crowd)) == pytest.approx(0.0015, rel=2e-3)
    alone = certify("outlier", everything((loud, 2)), crowd, 0.8).delta.upper
    for faint_ones in (1, 100):
        sent = everything((loud, 2), (faint, faint_ones))
        found = certify("outlier", sent, crowd, 0.8).delta.upper
        grown = math.hypot(0.15 * math.sqrt(2), 0.0015 * math.sqrt(faint_ones))
        wanted = gaussian_delta(0.8, grown) / gaussian_delta(0.8, 0.15 * math.sqrt(2))
        assert found / alone == pytest.approx(wanted, rel=0.03)
    curve = privacy_curve("outlier", sent, crowd)
    assert len(curve.forward.mass) < 5000
    assert sum(len(dots.forward) for dots, _ in all_dots(ANALYSES["outlier"], sent, crowd)) < 2000


def test_many_faint_messages_add_up():
    """Three thousand reports of three faint kinds: the large-N limit, to three per cent."""
    crowd = 10**6
    noises = [flip(0.40 + 0.02 * i) for i in range(3)]
    sent = everything(*((Schema.uniform([FREE_BIT] * 2, n), 1000) for n in noises))
    mu = math.exp(log_signal(sent, crowd))
    assert mu == pytest.approx(math.sqrt(sum(1000 * (n.phi**2 - 1) for n in noises) / crowd))
    wanted = gaussian_delta(0.1, mu)
    found = certify("outlier", sent, crowd, 0.1).delta
    assert wanted * 0.99 <= found.upper <= wanted * 1.03
    assert found.lower <= found.estimate <= found.upper


def test_more_messages_never_tell_less():
    first, second = free(0.3, 2), Schema.uniform([choice(4)], flip(0.35))
    for analysis in ("blanket", "outlier", "local"):
        alone = [certify(analysis, Sent.of(s, 2), 5000, 0.1).delta.upper for s in (first, second)]
        both = certify(analysis, everything((first, 2), (second, 2)), 5000, 0.1).delta.upper
        assert both > max(alone)


# The large-N limit


def test_gaussian_signal_is_the_inverse_of_its_delta():
    for epsilon, delta in ((1.0, 1e-6), (0.0, 0.01), (3.0, 1e-200), (0.01, 0.9), (50.0, 1e-9)):
        mu = gaussian_signal(epsilon, delta)
        assert gaussian_delta(epsilon, mu) == pytest.approx(delta, rel=1e-6)
    assert gaussian_delta(0.0, 0.3) == pytest.approx(2 * norm.cdf(0.15) - 1, rel=1e-12)


def test_signal_where_nobody_hides():
    assert log_signal(Sent.of(free(1e-9, 64)), 100) > math.log(1e200)
    most = Sent.of(Schema.uniform([FREE_BIT] * 64, BitFlip(1)))
    assert log_signal(most, 2) == pytest.approx((64 * math.log(2**32) - math.log(2)) / 2)


# Calibration


def scaled(reference, times):
    """The bit flip whose phi - 1 is that of the reference, divided."""
    spread = reference.p * reference.q / (reference.p - reference.q) ** 2 * times
    q = 0.5 * (1 - 1 / math.sqrt(1 + 4 * spread))
    return BitFlip(min(math.ceil(q * DENOMINATOR), DENOMINATOR // 2 - 1))


def mixed(reference):
    """Three messages with different noise, one of them sent three times."""
    return everything(
        (Schema.uniform([FREE_BIT] * 2, reference), 1),
        (Schema.uniform([choice(5)], scaled(reference, 2.0)), 3),
        (Schema.uniform([Domain(6, 0, 2)], scaled(reference, 0.5)), 1),
    )


@pytest.mark.parametrize("analysis", ["blanket", "outlier", "local"])
def test_messages_scaled_together(analysis):
    """The noise holds; half a per cent less does not."""
    found = smallest_noise(analysis, mixed, 20_000, 1.0, 1e-5)
    assert certify(analysis, mixed(found), 20_000, 1.0).delta.upper <= 1e-5
    less = BitFlip(int(found.numerator * 0.995))
    assert certify(analysis, mixed(less), 20_000, 1.0).delta.estimate > 1e-5 * (analysis != "local")
    if analysis == "local":
        assert mixed(found).local_epsilon <= 1.0 < mixed(less).local_epsilon


def test_local_noise_is_exact():
    for epsilon in (0.02, 1.0, 40.0):
        found = smallest_noise("local", lambda f: Sent.of(free(f.q, 3), 2), 2, epsilon, 0.1)
        exact = DENOMINATOR / (1 + math.exp(epsilon / 6))
        assert abs(found.numerator - exact) <= 2
        assert Sent.of(free(found.q, 3), 2).local_epsilon <= epsilon


def test_a_family_may_give_schemas():
    bare = smallest_noise("blanket", lambda f: free(f.q, 2), 1000, 1.0, 1e-5)
    assert bare == smallest_noise("blanket", lambda f: Sent.of(free(f.q, 2)), 1000, 1.0, 1e-5)


def with_device(channel):
    return lambda f: everything((Schema.of([Part(FREE_BIT, channel)]), 1), (free(f.q), 1))


def test_fixed_randomisers_are_part_of_the_family():
    device = Simmons.from_probabilities(0.8, 0.3)
    family = with_device(device)
    found = smallest_noise("blanket", family, 5000, 1.0, 1e-6)
    alone = smallest_noise("blanket", lambda f: free(f.q), 5000, 1.0, 1e-6)
    assert found > alone
    assert certify("blanket", family(found), 5000, 1.0).delta.upper <= 1e-6


@pytest.mark.parametrize("analysis", ["blanket", "local"])
def test_fixed_randomisers_that_break_the_promise_are_named(analysis):
    device = Simmons.from_probabilities(0.01, 0.3)
    with pytest.raises(PrivacyError) as error:
        smallest_noise(analysis, with_device(device), 300, 1.0, 1e-6)
    (problem,) = error.value.problems
    assert problem.field == "privacy"
    assert "fixed randomisers" in str(problem) and str(device) in str(problem)


def test_a_promise_out_of_reach_without_fixed_randomisers():
    with pytest.raises(PrivacyError) as error:
        smallest_noise("blanket", lambda f: free(f.q, 60), 3, 1e-12, 1e-300)
    assert "no noise below 1/2" in str(error.value)
    assert "fixed" not in str(error.value)


def test_noise_for_eta_of_several_messages():
    family = lambda f: everything((free(f.q, 2), 2), (free(f.q), 1))  # noqa: E731
    found = smallest_noise_for_eta("blanket", family, 10**4, 1.0, 1e-4)
    assert ANALYSES["blanket"].eta_bound(family(found), 10**4, 1.0) <= 1e-4
    less = BitFlip(int(found.numerator * 0.995))
    assert ANALYSES["blanket"].eta_bound(family(less), 10**4, 1.0) > 1e-4


def test_epsilon_and_delta_of_several_messages_are_inverse():
    sent = mixed(flip(0.3))
    epsilon = smallest_epsilon("blanket", sent, 20_000, 1e-6)
    assert certify("blanket", sent, 20_000, epsilon).delta.upper <= 1e-6 * (1 + 1e-9)
    assert certify("blanket", sent, 20_000, epsilon * 0.99).delta.upper > 1e-6


def test_few_certificates_are_needed(monkeypatch):
    """All relations are tried at the end only: once or twice, however many there are."""
    asked, outlier = [], ANALYSES["outlier"]
    certificate = outlier.certificate

    def counted(sent, crowd, epsilon):
        asked.append(sent)
        return certificate(sent, crowd, epsilon)

    monkeypatch.setattr(outlier, "certificate", counted)
    smallest_noise("outlier", lambda f: free(f.q, 12), 10**4, 1.0, 1e-5)
    assert 1 <= len(asked) <= 3


# The search


@given(
    st.floats(-21.0, -1e-8),
    st.floats(0.05, 50.0),
    st.floats(-20.0, -1e-6),
    st.sampled_from(["line", "bend", "steps"]),
)
@settings(max_examples=150, deadline=None)
def test_search_finds_the_first_noise_below(root, steep, start, shape):
    """Any falling height: the noise found holds, and hardly less does not."""
    heights = {
        "line": lambda logit: steep * (root - logit),
        "bend": lambda logit: steep * (math.exp(min(root - logit, 50.0)) - 1),
        "steps": lambda logit: steep * (math.floor((root - logit) * 1e3) + 0.5),
    }
    height = heights[shape]
    found, _ = first_below(lambda f: height(f.logit), BitFlip.from_logit(start), -1.0, 1e-6)
    assert found is not None and height(found.logit) <= 0
    below = BitFlip(max(found.numerator - 1, 1))
    nearly = height(found.logit) >= -1e-6 or height(found.logit + 2e-7 * found.logit) > 0
    assert nearly or below == found or height(below.logit) > 0


def test_search_says_when_there_is_none():
    assert first_below(lambda f: 1.0, flip(0.3), -1.0, 1e-3)[0] is None
    assert first_below(lambda f: -1.0, flip(0.3), -1.0, 1e-3)[0] == BitFlip(1)


# Extremes


def test_hardly_any_noise_gives_no_warning():
    """1e-12 is rounded up to 2^-32; nothing is printed, nothing overflows."""
    least = flip(1e-12)
    assert least == BitFlip(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for report in (free(1e-12), Schema.uniform([choice(3)], least), free(1e-12, 4)):
            for analysis in ("blanket", "outlier", "local"):
                for crowd in (2, 10**6):
                    assert 0.9 < certify(analysis, report, crowd, 1.0).delta.upper <= 1.0
                assert 0.9 < assess(analysis, report, 100, 1.0).eta <= 1.0
        assert certify("blanket", Sent.of(free(1e-12), 3), 100, 1.0).delta.upper > 0.9


def test_wrong_numbers_of_copies():
    with pytest.raises(PrivacyError, match="at least 1"):
        Sent.of(free(0.3), 0)


def test_unknown_analyses_are_named():
    for figure in (certify, assess):
        with pytest.raises(PrivacyError, match="use one of"):
            figure("magic", Sent.of(free(0.3), 2), 100, 1.0)
    with pytest.raises(PrivacyError, match="one bit only"):
        certify("exact", Sent.of(free(0.3, 2), 2), 100, 1.0)
    with pytest.raises(PrivacyError, match="shuffle or seat or blanket or outlier or exact"):
        privacy_curve("local", free(0.3), 100)
    with pytest.raises(PrivacyError, match="shuffle or local"):
        certify("outlier", Schema.uniform([FREE_BIT], Warner.from_probability(0.3)), 100, 1.0)
