"""The accountant against exact laws, independent scripts, simulation and another library."""

import math
from itertools import pairwise

import numpy as np
import pytest

from incrowd.accountant.certificates import assess, certify, smallest_noise
from incrowd.accountant.numerics import positive_part as engine
from incrowd.accountant.numerics.laws import saddlepoint
from incrowd.accountant.pairs import blanket_candidates, outlier_candidates, pair_eta, papers_pair
from incrowd.accountant.schema import FREE_BIT, Domain
from incrowd.accountant.worst import delta, worst_delta
from incrowd.errors import PrivacyError
from tests.accountant.conftest import free, same_noise, schema
from tests.conftest import slowly
from tests.oracles import expected


@pytest.mark.parametrize("case", expected.HOMOGENEOUS)
def test_homogeneous_crowds_are_exact_in_both_orders(case):
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


def test_forty_bits_are_those_of_an_independent_script():
    q, bits, crowd, epsilon, d, eta = expected.MANY_BITS
    ratios = papers_pair(free(q, bits), presence=True)
    assert delta(ratios, crowd, epsilon).upper == pytest.approx(d, abs=5e-7)
    assert pair_eta(ratios, crowd, epsilon) == pytest.approx(eta, abs=5e-5)


BLANKET = [
    (schema(q, *(Domain(bits, least, most) for bits, most, least in asked)), *rest)
    for q, asked, *rest in expected.BLANKET
]


@pytest.mark.parametrize("case", BLANKET)
def test_blankets_are_those_of_an_independent_script(case):
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


@pytest.mark.slow
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
    [
        (0.35, 8, 10**6, 0.5),
        (0.45, 4, 10**5, 0.05),
        (0.3, 6, 10**6, 1.5),
        *slowly((0.25, 1, 10**9, 0.001)),
    ],
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
    assert len(error.value.problems) == 1


def test_an_assessment_says_what_it_is():
    report = free(0.3, 2)
    outlier_found = assess("outlier", report, 120, 0.7)
    assert not outlier_found.proved and outlier_found.assumption == "crowd-alike"
    for analysis in ("blanket", "local", "exact"):
        assert assess(analysis, free(0.3, 1), 20, 0.3).proved
    assert outlier_found.presence.delta == pytest.approx(2.364161e-12, rel=1e-4)


def test_bounds_of_extremes_are_in_order():
    for q, bits, crowd, epsilon in [
        (0.4999, 64, 3, 1e-4),
        (0.02, 64, 10**9, 2.0),
        (0.01, 64, 2, 30.0),
    ]:
        found = certify("blanket", free(q, bits), crowd, epsilon).delta
        assert 0 <= found.lower <= found.upper
