"""Reports of several schemas, composed.

Oracles: products of explicit laws, every small collection.
"""

import math
import warnings
from itertools import combinations_with_replacement, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import binom

from incrowd.accountant.analyses import ANALYSES
from incrowd.accountant.certificates import assess, certify, privacy_curve, smallest_noise
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.curves import all_dots
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from incrowd.accountant.search import gaussian_delta, log_signal
from tests.accountant.conftest import choice, everything, flip, free
from tests.conftest import examples, one_in

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
    one_in(
        3, [(0.2, 0.3), (0.2, 0.2, 0.35), (0.05, 0.4), (0.3, 0.499), (0.1, 0.45, 0.3)], whole=True
    ),
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


@pytest.mark.slow
def test_set_bits_that_travel_alone():
    """A choice of 50,000 options, each bit its own collection: a changed answer touches two.

    Oracle: the blanket's exact law of one bit, with itself. One per cent less noise breaks it. And
    the exact law of the homogeneous crowd, which the certificate has to cover as well.
    """
    crowd, epsilon, wanted = 10**6, 1.0, 1e-6
    found = smallest_noise(
        "blanket", lambda f: Contribution.of(free(f.q), 2), crowd, epsilon, wanted
    )
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
@examples(25)
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


@pytest.mark.slow
def test_messages_of_very_different_signal():
    """One message of signal 0.15 and a hundred of 0.0015: as the large-N limit, and no larger."""
    crowd = 10**6
    loud, faint = free(0.0000445), free(0.2)
    assert math.exp(log_signal(Contribution.of(loud), crowd)) == pytest.approx(0.15, rel=1e-3)
    assert math.exp(log_signal(Contribution.of(faint), crowd)) == pytest.approx(0.0015, rel=2e-3)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_more_messages_never_tell_less():
    first, second = free(0.3, 2), Schema.uniform([choice(4)], flip(0.35))
    for analysis in ("blanket", "outlier", "local"):
        alone = [
            certify(analysis, Contribution.of(s, 2), 5000, 0.1).delta.upper for s in (first, second)
        ]
        both = certify(analysis, everything((first, 2), (second, 2)), 5000, 0.1).delta.upper
        assert both > max(alone)


# Extremes


@pytest.mark.slow
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
        assert certify("blanket", Contribution.of(free(1e-12), 3), 100, 1.0).delta.upper > 0.9
