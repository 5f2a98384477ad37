"""Enclosures in ball arithmetic: against the accountant, exact sums, and wrong variants."""

import itertools
import math
from fractions import Fraction
from random import Random

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint")

from flint import arb, ctx, fmpq

from incrowd.accountant import (
    AdditiveNoise,
    Alternatives,
    BitFlip,
    Contribution,
    Domain,
    Schema,
    certify,
)
from incrowd.accountant.proved import (
    BitChances,
    Exposure,
    balls,
    bits,
    described,
    losses,
    prove,
    reports,
    shifts,
)
from incrowd.accountant.proved.losses import lowered
from incrowd.errors import ProofError
from tests.conftest import slowly, slowly_except

FREE = Domain(1, 0, 1)
BIT = BitChances(fmpq(9, 10), fmpq(1, 10))
DELTA = "1e-6"


@pytest.fixture(autouse=True)
def precision():
    before, ctx.prec = ctx.prec, balls.PRECISION
    yield
    ctx.prec = before


def flip(q: float) -> BitFlip:
    return BitFlip.at_least(q)


def cells(q: float, copies: int = 1, *, linked: bool = False) -> Contribution:
    return Contribution.of(Schema.uniform([FREE], flip(q)), copies, linked=linked)


def joint(q: float, *domains: Domain) -> Contribution:
    return Contribution.of(Schema.uniform(domains, flip(q)))


def shifted(*shifts: tuple[AdditiveNoise, int]) -> Contribution:
    return Contribution((), shifts=shifts)


LAPLACE, GAUSSIAN = AdditiveNoise.laplace(0.5, most=48), AdditiveNoise.gaussian(9.0, most=96)


def ends(sent, people, epsilon, delta=DELTA, **more):
    enclosure = prove(described(sent), people, repr(epsilon), delta, **more)
    return float(enclosure.delta_low), float(enclosure.delta_high)


CASES = {
    "one bit": (cells(0.05), 1000, 0.8),
    "cells": (cells(0.2, 3), 250, 1.0),
    "cells of two noises": (cells(0.2, 1).also(cells(0.3, 2)), 200, 0.7),
    "a small crowd": (cells(0.25, 3), 30, 1.5),
    "a report": (joint(0.15, FREE, Domain(3, 1, 1)), 3000, 1.0),
    "linked": (cells(0.25, 1).also(cells(0.45, linked=True)), 200, 0.9),
    "shifts": (shifted((LAPLACE, 4)), None, 2.0),
    "shifts with the noise of both services": (shifted((LAPLACE.plus(LAPLACE), 4)), None, 1.6),
    "shifts with different noise": (shifted((LAPLACE, 1), (GAUSSIAN, 2)), None, 0.8),
    "many shifts": (shifted((GAUSSIAN, 20)), None, 2.0),
    "shifts and cells": (cells(0.3, 2).also(shifted((GAUSSIAN, 4))), 200, 1.5),
    "shifts and linked": (shifted((LAPLACE, 2)).also(cells(0.4, 2, linked=True)), None, 1.5),
    "redraws": (Contribution(cells(0.2, 2).reports, redraws=1e-12), 200, 0.9),
    "alternatives": (Alternatives((cells(0.25, 2), cells(0.2, 1))), 200, 1.0),
}


@pytest.mark.slow
def test_a_report_composed_with_cells():
    sent = joint(0.3, FREE, FREE).also(cells(0.3))
    upper = certify("shuffle", sent, 200, 0.6).delta.upper
    _, high = ends(sent, 200, 0.6, repr(upper))
    assert high <= 1.05 * upper


@pytest.mark.parametrize(
    "case",
    slowly_except(
        CASES,
        *("one bit", "a small crowd", "linked", "shifts and cells"),
    ),
)
def test_the_enclosure_contains_the_certificate_or_lies_below_it(case):
    sent, people, epsilon = CASES[case]
    upper = certify("shuffle", sent, people, epsilon).delta.upper
    low, high = ends(sent, people, epsilon, repr(upper))
    assert 0 <= low <= upper * (1 + 1e-9)
    assert low <= high <= 1.03 * upper


@pytest.mark.parametrize(
    ("domains", "people", "epsilon", "q"),
    [
        ([FREE], 12, 0.5, 0.2),
        ([FREE], 40, 0.3, 0.05),
        *slowly(([FREE, FREE], 6, 0.7, 0.25)),
        *slowly(([Domain(3, 1, 1)], 7, 0.5, 0.3)),
        *slowly(([Domain(4, 0, 2)], 4, 0.5, 0.35)),
    ],
)
def test_no_crowd_of_a_few_people_exceeds_it(domains, people, epsilon, q):
    sent = Contribution.of(Schema.uniform(domains, flip(q)))
    truth = certify("exact", sent, people, epsilon).delta
    low, high = ends(sent, people, epsilon)
    assert low <= truth.upper * (1 + 1e-9) and truth.lower * (1 - 1e-9) <= high
    if domains == [FREE]:
        assert high <= low * (1 + 1e-6) + 1e-15


SHIFTS = {
    "one": [(LAPLACE, 1)],
    "two": [(AdditiveNoise.gaussian(2.0, most=16), 2)],
    "of two laws": [
        (AdditiveNoise.polya(1.0, most=12), 1),
        (AdditiveNoise.laplace(0.7, most=8), 2),
    ],
}


def delta_of_outcomes(shifts, epsilon):
    """The sum of max(0, P - e^epsilon Q) over every outcome of the counts."""
    counts = [law for law, n in shifts for _ in range(n)]
    with mpmath.workdps(60):
        alpha, total = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(0)
        pairs = [list(zip((*c.whole, 0), (0, *c.whole), strict=True)) for c in counts]
        for outcome in itertools.product(*pairs):
            p, q = (math.prod(each) for each in zip(*outcome, strict=True))
            total += max(mpmath.mpf(0), p - alpha * q)
        return total / 2 ** sum(c.bits for c in counts)


@pytest.mark.parametrize("epsilon", ["0.3", "0.7", "1", "1.4", "2.1"])
@pytest.mark.parametrize("case", SHIFTS)
def test_delta_of_shifts_is_enclosed_exactly(case, epsilon):
    enclosure = prove(described(shifted(*SHIFTS[case])), None, epsilon, DELTA)
    with mpmath.workdps(60):
        low, high = mpmath.mpf(enclosure.delta_low), mpmath.mpf(enclosure.delta_high)
        assert low <= delta_of_outcomes(SHIFTS[case], epsilon) <= high <= low * (1 + 1e-8)


@pytest.mark.parametrize(
    "others",
    [
        [(AdditiveNoise.gaussian(2.0, most=16), 1)],  # one shift forgotten
        [(AdditiveNoise.gaussian(2.0, most=18), 2)],  # another edge
        [(AdditiveNoise.gaussian(2.01, most=16), 2)],  # another law
    ],
)
def test_the_enclosure_of_other_shifts_does_not_contain_delta(others):
    enclosure = prove(described(shifted(*others)), None, "1", DELTA)
    true = float(delta_of_outcomes(SHIFTS["two"], "1"))
    assert not float(enclosure.delta_low) <= true <= float(enclosure.delta_high)


@pytest.mark.slow
def test_shifts_on_a_lattice_are_above_the_exact_sum(monkeypatch):
    sent = described(shifted((LAPLACE.plus(LAPLACE), 3), (GAUSSIAN, 1)))
    exact = prove(sent, None, "1.3", DELTA)
    monkeypatch.setattr(shifts, "MOST_OUTCOMES", 10)
    rough = prove(sent, None, "1.3", DELTA)
    assert rough.delta_low == "0"
    assert float(exact.delta_high) <= float(rough.delta_high) <= 1.001 * float(exact.delta_high)


def test_nothing_is_proved_where_both_services_work_together():
    with pytest.raises(ProofError, match="both services work together"):
        described(shifted((LAPLACE, 1)), named=True)


def collection(bit: BitChances, same: int, other: int):
    """The distributions of the number of ones in one crowd, in mpmath."""
    direct, stray = (mpmath.mpf(int(c.p)) / int(c.q) for c in bit)

    def law(*chances):
        masses = [mpmath.mpf(1)]
        for c in chances:
            pairs = zip([*masses, 0], [0, *masses], strict=True)
            masses = [(1 - c) * at + c * before for at, before in pairs]
        return masses

    others = [direct] * same + [stray] * other
    return law(direct, *others), law(stray, *others)


def exact_delta(bit: BitChances, people: int, epsilon: float):
    with mpmath.workdps(40):
        return max(
            sum(max(0, p - mpmath.e ** mpmath.mpf(epsilon) * q) for p, q in zip(*laws, strict=True))
            for order in bit.orders
            for m in range(people)
            for laws in [collection(order, m, people - 1 - m)]
        )


@pytest.mark.parametrize(
    "bit", [BitChances(fmpq(9, 10), fmpq(1, 10)), BitChances(fmpq(7, 10), fmpq(1, 20))]
)
def test_one_bit_against_mpmath(bit):
    truth = exact_delta(bit, 20, 0.6)
    enclosure = prove([Exposure(((bit, 1),))], 20, "0.6", DELTA)
    with mpmath.workdps(30):
        assert mpmath.mpf(enclosure.delta_low) <= truth <= mpmath.mpf(enclosure.delta_high)


def test_linked_bits_are_exact():
    q, epsilon = Fraction(3, 10), 0.5
    truth = sum(
        math.comb(3, k)
        * max(0, (1 - q) ** (3 - k) * q**k - math.exp(epsilon) * q ** (3 - k) * (1 - q) ** k)
        for k in range(4)
    )
    enclosure = prove([Exposure(linked=((fmpq(3, 10), 3),))], 1, "0.5", DELTA)
    assert float(enclosure.delta_low) <= truth * (1 + 1e-8)
    assert truth <= float(enclosure.delta_high) * (1 + 1e-8)
    local = prove([Exposure(linked=((fmpq(3, 10), 3),))], 1, "2.5419", "0.0")
    assert local.delta_high == "0" and local.at_most("0.0")
    less = prove([Exposure(linked=((fmpq(3, 10), 3),))], 1, "2.5418", "0.0")
    assert not less.at_most("0.0")


@pytest.mark.slow
def test_redraws_move_both_ends():
    plain, drawn = cells(0.2, 2), Contribution(cells(0.2, 2).reports, redraws=1e-7)
    low, high = ends(plain, 100, 0.9)
    lower, higher = ends(drawn, 100, 0.9)
    assert lower < low and high < higher


def test_text_is_rounded_outward():
    third = arb(1) / 3
    assert balls.text_above(third) == "0.333333334" and balls.text_below(third) == "0.333333333"
    assert balls.text_above(arb(0)) == "0" and balls.text_above(arb(2) ** 100) >= "1.26"
    assert balls.floor(arb("-2.5")) == -3 and balls.ceiling(arb("-2.5")) == -2


class TestWrongVariants:
    """Each changes one step, and would be seen."""

    def test_midpoints_in_the_place_of_balls(self, monkeypatch):
        sent, people, epsilon = CASES["one bit"]
        low, high = ends(sent, people, epsilon)
        monkeypatch.setattr("incrowd.accountant.proved.enclosures.PRECISION", 30)
        coarse_low, coarse_high = ends(sent, people, epsilon)
        assert coarse_low <= low <= high <= coarse_high  # balls grow
        true_product, true_above = bits.BitCollection._excess, bits.BitCollection.above

        def mid(self, alpha):
            return true_product(self, alpha).mid()

        monkeypatch.setattr(bits.BitCollection, "_excess", mid)
        monkeypatch.setattr(bits.BitCollection, "above", lambda self, alpha: mid(self, alpha))
        wrong_low, wrong_high = ends(sent, people, epsilon)
        assert wrong_high < low or high < wrong_low  # away from the truth
        assert true_above is not bits.BitCollection.above

    def test_a_tail_that_is_dropped(self):
        crowd, clock, epsilon = (
            bits.BitCollection(BIT, 20, 20, 60.0),
            balls.TimeLimit(60),
            arb("1.2"),
        )
        parts = [(lowered(crowd, 0.01), 4)]
        truth = float(losses.composed(parts, 60.0, clock).delta(epsilon).lower())
        rough = losses.composed(parts, 3.0, clock)
        assert float(rough.delta(epsilon).upper()) >= truth
        assert float(rough._replace(infinite=arb(0)).delta(epsilon).upper()) < truth

    def test_a_window_whose_rest_is_forgotten(self):
        law = balls.binomial(60, fmpq(1, 10), 0.5)
        inside = sum(law.masses, arb(0))
        assert inside < 1 <= (inside + law.missing).upper()
        crowd, alpha = bits.BitCollection(BIT, 30, 29, 0.5), arb("0.3").exp()
        wide = bits.BitCollection(BIT, 30, 29, 80.0)
        assert crowd.below(alpha).upper() <= wide.below(alpha).lower()
        assert wide.above(alpha).upper() <= crowd.above(alpha).upper()

    @pytest.mark.slow
    def test_one_m_that_is_left_out(self, monkeypatch):
        bit = BitChances(fmpq(9744, 10000), fmpq(256, 10000))  # the worst crowd is a mixed one
        truth = exact_delta(bit, 39, 0.036)
        pieces = bits.pieces
        monkeypatch.setattr(bits, "pieces", lambda others, _: pieces(others, others + 1))

        def high():
            return float(prove([Exposure(((bit, 1),))], 39, "0.036", DELTA).delta_high)

        assert truth <= high() * (1 + 1e-8)
        every = list(pieces(38, 39))
        monkeypatch.setattr(
            bits,
            "pieces",
            lambda *_: [each for each in every if each not in ((19, 19), (20, 20), (18, 18))],
        )
        assert high() < truth

    def test_one_bit_for_a_table_in_the_place_of_two(self):
        sent = Contribution.of(Schema.uniform([FREE], flip(0.2)), 2)
        low, high = ends(sent, 6, 0.5)
        _, one = ends(cells(0.2), 6, 0.5)
        assert one < low <= high


def test_intervals_cover_every_m():
    for others in (0, 1, 5, 63, 64, 1000):
        covered = [m for first, last in bits.pieces(others, 64) for m in range(first, last + 1)]
        assert covered == list(range(others + 1))
    assert bits.halves(3, 6) == ((3, 4), (5, 6)) and bits.halves(3, 3) == ((3, 3),)


@pytest.mark.slow
@pytest.mark.parametrize("third", [[], *slowly([Domain(3, 1, 1)])])
def test_the_blanket_and_the_seat_are_those_of_the_accountant(third):
    schema = Schema.uniform([FREE, Domain(4, 0, 2), *third], flip(0.3))
    report = described(Contribution.of(schema))[0].reports[0][0]
    clock = balls.TimeLimit(60)
    blanket = float(reports.BlanketSum(report, 800, arb(1)).bound(clock).upper())
    assert blanket == pytest.approx(certify("blanket", schema, 800, 1.0).delta.upper, rel=2e-3)
    seat = float(reports.seat_bound(report, 800, arb(1), clock).upper())
    assert seat <= 1.01 * certify("seat", schema, 800, 1.0).delta.upper


@pytest.mark.slow
def test_decisive_values(monkeypatch):
    """With a cut, the bound is smaller; without what the values above it add, it is wrong."""
    schema = Schema.uniform([Domain(3, 1, 1)] * 2, flip(0.2))
    report = described(Contribution.of(schema))[0].reports[0][0]

    def seat():
        clock = balls.TimeLimit(60)
        return float(reports.seat_bound(report, 60, arb(0.6), clock, reports.ANYTHING).upper())

    attack, with_cuts = certify("outlier", schema, 60, 0.6).delta.lower, seat()
    assert attack <= with_cuts <= certify("seat", schema, 60, 0.6).delta.upper
    with monkeypatch.context() as patched:
        patched.setattr(reports, "CUTS", ())
        assert with_cuts < 0.8 * seat()
    monkeypatch.setattr(reports, "_decisive", lambda above, *_: [arb(0)] * len(above))
    assert seat() < attack


@pytest.mark.slow
def test_mixed_crowds_need_one_contour_for_all_classes(monkeypatch):
    """Four bits, 9,105 people: a crowd of which a tenth holds x' reveals far more than either
    homogeneous one, and the seat discloses who they are. A contour for each class alone misses it.

    The game in which all others are named, by importance sampling; its error is below 1%, and the
    bound contains it, up to the chance that nobody has a label.
    """
    people, epsilon, noise = 9105, 1.326, 552019327
    report = described(joint(noise / 2**32, *[FREE] * 4))[0].reports[0][0]
    q, p, k = noise / 2**32, 1 - noise / 2**32, np.arange(5)
    mass = np.array([math.comb(4, i) for i in k]) * q**k * p ** (4 - k)
    ratio = (p / q) ** (2 * k - 4.0)
    same, other = 1 - math.exp(epsilon) * ratio, ratio - math.exp(epsilon)
    tenth = people // 10
    groups = [(same, people - 1 - tenth), (other, tenth)]

    def log_moment(theta):
        return sum(n * np.log(mass @ np.exp(theta * g)) for g, n in groups)

    thetas = np.geomspace(1e-5, 0.1, 2000)
    theta = min(thetas, key=lambda theta: log_moment(theta) - 2 * math.log(theta))
    generator = np.random.default_rng(1)
    sums = np.zeros(200_000)
    for g, n in groups:
        tilted = mass * np.exp(theta * g)
        sums += generator.multinomial(n, tilted / tilted.sum(), len(sums)) @ g
    weights = np.exp(log_moment(theta) - theta * sums)
    named = float(np.mean(weights * np.maximum(sums, 0))) / (people - 1)

    def seat():
        return float(reports.seat_bound(report, people, arb("1.326"), balls.TimeLimit(60)).upper())

    assert 0.99 * named <= seat()
    with_one = reports._with_cut

    def with_one_for_each(laws, *rest):
        return max((with_one([law], *rest) for law in laws), key=lambda bound: float(bound.mid()))

    monkeypatch.setattr(reports, "_with_cut", with_one_for_each)
    assert seat() < 0.1 * named


def test_a_lowered_loss_has_no_more_than_the_mass_of_its_crowd():
    crowd = bits.BitCollection(BitChances(fmpq(9, 10), fmpq(1, 10)), 0, 50, 40.0)
    assert float(sum(lowered(crowd, 0.01).masses, arb(0)).upper()) <= 1 + 1e-12


def test_what_is_not_covered_has_a_reason():
    with pytest.raises(ProofError, match="longer than 0 seconds"):
        ends(cells(0.05, 6), 2000, 1.0, seconds=0.0)


def random_sent(random: Random) -> tuple[Contribution, int, float]:
    """What a person could send, in a crowd where delta is mostly between 1e-10 and 1e-3."""
    people, kind = (
        int(10 ** random.uniform(2, 3.5)),
        random.choice(["cells", "joint", "one", "one"]),
    )
    if kind == "joint":
        domains = random.choices(
            [FREE, FREE, Domain(3, 1, 1), Domain(4, 0, 2)], k=random.choice([2, 3])
        )
        sent, number = joint(random.uniform(0.1, 0.35), *domains), len(domains)
    else:
        number = 1 if kind == "one" else random.randint(2, 4)
        sent = cells(min(random.uniform(20, 150) / people, 0.4), number)
        if kind == "cells" and random.random() < 0.5:
            sent = sent.also(cells(min(random.uniform(20, 150) / people, 0.4)))
    return sent, people, round(random.uniform(0.15, 0.4) * math.sqrt(number) * 2, 3)


def check_random(seeds: range) -> None:
    for seed in seeds:
        sent, people, epsilon = random_sent(Random(seed))
        upper = certify("shuffle", sent, people, epsilon).delta.upper
        low, high = ends(sent, people, epsilon, repr(max(upper, 1e-12)), seconds=900.0)
        assert low <= upper * (1 + 1e-9), seed
        assert low <= high and (high <= 1.1 * upper or upper > 0.01 or high < 1e-12), seed


@pytest.mark.parametrize(
    ("first", "number"), [(0, 1), *slowly((1, 24), *((first, 25) for first in range(25, 500, 25)))]
)
def test_five_hundred_random_plans(first, number):
    check_random(range(first, first + number))
