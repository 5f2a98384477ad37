"""Certified means certified, where A - e^epsilon B cancels: every analysis against 40 digits."""

from collections import Counter
from functools import reduce
from itertools import combinations_with_replacement, permutations

import mpmath
import pytest

from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit import Bit
from incrowd.accountant.channels.bit_flip import DENOMINATOR, BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.accountant.ratios import Ratios
from incrowd.accountant.schema import FREE_BIT, Contribution, Domain, Part, Schema
from tests.conftest import one_in

HALF = DENOMINATOR // 2
NOISES = [HALF - 1, HALF - 1000, HALF - 10**6, round(0.49 * DENOMINATOR), round(0.3 * DENOMINATOR)]
BELOW = [1e-3, 1e-6, 1e-9, 1e-11, 1e-12, 1e-13, 1e-14]  # the local epsilon, as a share of it


@pytest.fixture(autouse=True)
def _forty_digits():
    with mpmath.workdps(40):
        yield


def number(numerator, denominator=DENOMINATOR):
    return mpmath.mpf(numerator) / denominator


def blanket_of_a_bit(q, crowd, epsilon):
    """E[max(0, G_1 + ... + G_M)] / (gamma N), M ~ Bin(N, 2 q), G from a fair coin."""
    p, factor = 1 - q, mpmath.exp(mpmath.mpf(epsilon))
    total = mpmath.mpf(0)
    for i in range(crowd + 1):
        for j in range(crowd + 1 - i):
            value = i * (p / q - factor) + j * (1 - factor * p / q)
            ways = mpmath.binomial(crowd, i) * mpmath.binomial(crowd - i, j)
            total += max(value, 0) * ways * q ** (i + j) * (1 - 2 * q) ** (crowd - i - j)
    return total / crowd


def bit_cases(noises=NOISES, shares=BELOW, crowds=(2, 5, 20)):
    for n in noises:
        q = number(n)
        local = mpmath.log((1 - q) / q)
        for share in shares:
            epsilon = float(local * (1 - mpmath.mpf(share)))
            for crowd in crowds:
                yield BitFlip(n), crowd, epsilon, blanket_of_a_bit(q, crowd, epsilon)


@pytest.mark.slow
def test_the_blanket_of_a_bit_next_to_the_local_epsilon():
    for channel, crowd, epsilon, truth in bit_cases():
        found = certify("blanket", Schema.uniform([FREE_BIT], channel), crowd, epsilon).delta
        assert found.lower <= truth <= found.upper, (channel, crowd, epsilon)


@pytest.mark.slow
def test_the_allowance_is_needed_and_small(monkeypatch):
    """Digits are lost in epsilon itself; without the allowance a share of bounds is too low."""
    right = list(bit_cases())
    for channel, crowd, epsilon, truth in right:
        local = channel.epsilon
        found = certify("blanket", Schema.uniform([FREE_BIT], channel), crowd, epsilon).delta
        assert found.upper <= truth * (1 + 1e-9 + 200 * 2.0**-52 * local / (local - epsilon))
    monkeypatch.setattr(Ratios, "doubt", lambda self, epsilon: 0.0)
    monkeypatch.setattr(Ratios, "gaps", lambda self, epsilon, side: _as_before(self, epsilon))
    wrong = [
        certify("blanket", Schema.uniform([FREE_BIT], channel), crowd, epsilon).delta.upper < truth
        for channel, crowd, epsilon, truth in right
    ]
    assert sum(wrong) >= 5


def _as_before(ratios, epsilon):
    return ratios.log_a - (epsilon + ratios.log_b)


def reports_of(matrix, record):
    """The law of a report whose bits go through channels of their own."""
    law = {(): mpmath.mpf(1)}
    for channel, answer in zip(matrix, record, strict=True):
        law = {(*s, r): c * row[answer] for s, c in law.items() for r, row in enumerate(channel)}
    return law


def collections(laws):
    """The law of the multiset of reports."""

    def more(found, law):
        total = Counter()
        for reports, chance in found.items():
            for report, other in law.items():
                total[tuple(sorted((*reports, report)))] += chance * other
        return total

    return reduce(more, laws, Counter({(): mpmath.mpf(1)}))


def truth_of(matrix, records, crowd, epsilon):
    """The largest delta over all collections and pairs of records, to 40 digits."""
    factor, worst = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(0)
    sent = {record: reports_of(matrix, record) for record in records}
    for others in combinations_with_replacement(records, crowd - 1):
        laws = {x: collections([sent[x], *(sent[z] for z in others)]) for x in records}
        for x, other in permutations(records, 2):
            excess = (laws[x][k] - factor * laws[other][k] for k in laws[x])
            worst = max(worst, sum((e for e in excess if e > 0), mpmath.mpf(0)))
    return worst


def flip(n):
    q = number(n)
    return [[1 - q, q], [q, 1 - q]]


def asymmetric(zero, one):
    zero, one = number(zero), number(one)
    return [[1 - zero, 1 - one], [zero, one]]


def k_ary(channel):
    own = number(channel.keep)
    other = (1 - own) / (channel.options - 1)
    return [[own if r == x else other for x in range(3)] for r in range(3)]


TWO, THREE = [(a, b) for a in (0, 1) for b in (0, 1)], [(0,), (1,), (2,)]
NEAR, ODD = HALF - 10**5, HALF - 77_777
KARY = KAry(DENOMINATOR // 3 + 5000, 3)
UNEVEN = (HALF - 3000, HALF + 1_000_000)
CASES = {
    "a bit": (Schema.uniform([FREE_BIT], BitFlip(NEAR)), [flip(NEAR)], [(0,), (1,)]),
    "two bits": (Schema.uniform([FREE_BIT] * 2, BitFlip(NEAR)), [flip(NEAR)] * 2, TWO),
    "two noises": (
        Schema.of([Part(FREE_BIT, BitFlip(NEAR)), Part(FREE_BIT, BitFlip(ODD))]),
        [flip(NEAR), flip(ODD)],
        TWO,
    ),
    "next to no signal": (
        Schema.of([Part(FREE_BIT, BitFlip(HALF - 1)), Part(FREE_BIT, BitFlip(HALF - 2))]),
        [flip(HALF - 1), flip(HALF - 2)],
        TWO,
    ),
    "asymmetric": (
        Schema.of([Part(FREE_BIT, Bit(*UNEVEN)), Part(FREE_BIT, BitFlip(NEAR))]),
        [asymmetric(*UNEVEN), flip(NEAR)],
        TWO,
    ),
    "k-ary": (Schema.of([Part(Domain(3, 1, 1), KARY)]), [k_ary(KARY)], THREE),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("share", one_in(3, [0.3, 1e-3, 1e-8, 1e-11, 1e-13]))
def test_no_analysis_is_below_the_truth(name, share):
    """One report, and its exact analyses not above it in their lower bounds either."""
    schema, matrix, records = CASES[name]
    sent = {record: reports_of(matrix, record) for record in records}
    pairs = permutations(sent.values(), 2)
    local = max(mpmath.log(x[s] / other[s]) for x, other in pairs for s in x)
    epsilon = float(local * (1 - mpmath.mpf(share)))
    for crowd in (2, 3):
        truth = truth_of(matrix, records, crowd, epsilon)
        for analysis in ("blanket", "local"):
            assert certify(analysis, schema, crowd, epsilon).delta.upper >= truth
        if name in ("a bit", "two bits"):
            found = certify("exact", schema, crowd, epsilon).delta
            assert found.lower <= truth <= found.upper
            assert certify("outlier", schema, crowd, epsilon).delta.lower <= truth


@pytest.mark.parametrize("share", [0.3, 1e-3, 1e-6, 1e-10])
def test_compositions_are_not_below_the_truth(share):
    """Two and three collections of one bit each, in crowds of two."""
    n = HALF - 10**8
    one = [collections([reports_of([flip(n)], r) for r in held]) for held in _held()]
    local = mpmath.log((1 - number(n)) / number(n))
    for copies in (2, 3):
        epsilon = float(copies * local * (1 - mpmath.mpf(share)))
        factor, truth = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(0)
        for x, other in permutations(one, 2):
            pairs = [(mpmath.mpf(1), mpmath.mpf(1))]
            for _ in range(copies):
                pairs = [(a * x[k], b * other[k]) for a, b in pairs for k in x]
            truth = max(truth, sum((max(a - factor * b, 0) for a, b in pairs), mpmath.mpf(0)))
        sent = Contribution.of(Schema.uniform([FREE_BIT], BitFlip(n)), copies)
        found = certify("blanket", sent, 2, epsilon).delta
        assert found.lower <= found.upper and truth <= found.upper


def _held():
    """What two people hold who differ in one answer."""
    return [((1,), (0,)), ((0,), (0,))]
