"""The proof of the empty seat's bound, step by step, each with a wrong variant that must fail."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from incrowd.accountant.analyses.seat import SEAT
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.numerics import contours as bound
from incrowd.accountant.numerics.contours import Contour, ContourBound
from incrowd.accountant.numerics.laws import Law
from incrowd.accountant.schema import FREE_BIT, Schema
from incrowd.accountant.seat import of_flips
from tests.conftest import slowly
from tests.oracles import crowds as truth


def any_channel(random, reports, records, share=0.3):
    """A random mechanism; every chance at least a share of the mean."""
    drawn = random.random((reports, records)) ** 2 + share
    return drawn / drawn.sum(axis=0)


def collection(mechanism, others, target):
    """The law of the counts of everybody's reports."""
    law = np.zeros((len(others) + 2,) * (len(mechanism) - 1))
    law[(0,) * (len(mechanism) - 1)] = 1.0
    for record in (*others, target):
        law = truth.joined(law, mechanism[:, record])
    return law


def seated(mechanism, others, target, eta, taken):
    """The collection as the proof draws it: over the least label, and with no label at all.

    Gauss's rule is exact, since the integrand is a polynomial in u.
    """
    common, n = mechanism.min(axis=1), len(others)
    gamma = common.sum()
    nodes, weights = np.polynomial.legendre.leggauss(n + 1)
    u = eta * (nodes + 1) / 2
    density = eta / 2 * weights * n * gamma * (1 - u * gamma) ** (n - 1)
    drawn = zip(u, density, strict=True)
    labeled = sum(d * truth.labeled(mechanism, others, target, one, taken) for one, d in drawn)
    rest = mechanism.copy()
    rest = (rest - eta * common[:, None]) / (1 - eta * gamma)
    alone = np.column_stack([rest, mechanism[:, target]])
    return labeled + (1 - eta * gamma) ** n * collection(alone, others, alone.shape[1] - 1)


@pytest.mark.parametrize("others", [(0,), (0, 1), (2, 2, 1), (0, 1, 2, 2)])
def test_the_labeled_draw_gives_the_collection(others):
    random = np.random.default_rng(3)
    mechanism = any_channel(random, 3, 3)
    for target in range(3):
        expected = collection(mechanism, others, target)
        found = seated(mechanism, others, target, 0.7, taken=True)
        np.testing.assert_allclose(found, expected, atol=1e-13)
        if len(others) > 1:  # labels that start at J, the common part left in the other reports
            wrong = seated(mechanism, others, target, 0.7, taken=False)
            assert np.abs(wrong - expected).max() > 1e-4


def gains(mechanism, pair, epsilon, sent):
    """Values and chances of (P_x - e^epsilon P_x') / P under P, for each law P of reports sent."""
    x, other = pair
    difference = mechanism[:, x] - math.exp(epsilon) * mechanism[:, other]
    return [difference / law for law in sent.T], list(sent.T)


def seat_and_spread(random, kappa_counts=True):
    """n F^(u) of a random crowd, exactly; and what the second step says it is at most."""
    mechanism, n = any_channel(random, 4, 3), int(random.integers(1, 5))
    others, epsilon, u = random.integers(3, size=n), random.uniform(0, 1), random.uniform(0.05, 0.9)
    common = mechanism.min(axis=1)
    gamma = common.sum()
    left = (mechanism - u * common[:, None]) / (1 - u * gamma)
    exact = truth.positive_part(*gains(mechanism, (0, 1), epsilon, left[:, others]))
    kappa = (1 - u * gamma) / (1 - u) if kappa_counts else 1.0
    values, chances = gains(mechanism, (0, 1), epsilon, mechanism[:, others])
    thinner = [np.append(chance / kappa, 1 - 1 / kappa) for chance in chances]
    spread = truth.positive_part([kappa * np.append(value, 0.0) for value in values], thinner)
    return exact, spread


def test_what_is_left_of_a_law_is_below_its_thinned_self():
    random = np.random.default_rng(5)
    cases = [seat_and_spread(random) for _ in range(300)]
    assert all(exact <= spread * (1 + 1e-12) for exact, spread in cases)
    wrong = [seat_and_spread(random, kappa_counts=False) for _ in range(300)]
    assert sum(exact > spread * (1 + 1e-9) for exact, spread in wrong) > 30


def any_law(random, gain):
    """A few values, one of them often large, with the mean -gain."""
    value = random.normal(size=4) * np.array([1, 1, 1, random.choice([1, 30])])
    mass = random.random(4) * np.array([1, 1, 1, 1 / (1 + value[3] ** 2)]) + 1e-3
    mass /= mass.sum()
    return Law(value - mass @ value - gain, np.log(mass))


def seats_and_terms(random, cut=False, extra=0, most_gain=1.0):
    """The integral over labels of a mixed crowd, exactly, and the mean of T_z over its people.

    Of several contours the best one. extra: a wrong exponent of the geometric mean.
    """
    n, gamma = int(random.integers(2, 7)), random.uniform(0.1, 0.9)
    gain = random.uniform(0, most_gain)
    laws = [any_law(random, gain) for _ in range(2)]
    held, eta = random.integers(2, size=n), random.uniform(0.1, 0.9)
    nodes, weights = np.polynomial.legendre.leggauss(10)
    exact = 0.0
    for u, weight in zip(eta * (nodes + 1) / 2, eta / 2 * weights, strict=True):
        kappa = (1 - u * gamma) / (1 - u)
        values = [np.append(laws[z].value, 0.0) for z in held]
        chances = [np.append(laws[z].mass / kappa, 1 - 1 / kappa) for z in held]
        density = n * gamma * (1 - u * gamma) ** (n - 1)
        exact += weight * density * kappa / n * truth.positive_part(values, chances)
    used = ContourBound(laws, gamma, n + extra, gain, 1.0)
    return exact, min(
        mean_term(used, held, one) for one in contours(random, laws, n, gain, eta, cut)
    )


def mean_term(crowd, held, contour):
    """The mean of T_z over the people."""
    decisive = bound.log_decisive(crowd, contour)
    terms = [bound.log_term(crowd, contour, z, decisive[z]) for z in range(2)]
    return float(np.exp([min(terms[z], 700.0) for z in held]).mean())


def contours(random, laws, n, gain, eta, cut):
    """Contours of several theta, with one cut above most values if one is asked for."""
    spread = math.sqrt(n * max(law.second_moment for law in laws))
    level = max(n * gain, 0.5) * random.uniform(1.05, 3) if cut else math.inf
    return [Contour(x / spread, spread, eta, level) for x in np.geomspace(0.4, 12, 8)]


@pytest.mark.slow
@pytest.mark.parametrize("cut", [True, *slowly(False)])
def test_mixed_crowds_are_below_the_mean_over_their_people(cut):
    random = np.random.default_rng(8)
    shares = np.array([e / b for e, b in (seats_and_terms(random, cut) for _ in range(150))])
    assert (shares <= 1 + 1e-9).all()
    assert shares.max() > 0.85  # .90, with decisive values .91


@pytest.mark.slow
def test_a_wrong_exponent_of_the_geometric_mean_is_found():
    """Where M < 1 one too many is too low, where M > 1 one too few."""
    for extra, most_gain in ((1, 1.0), (-1, 0.0)):
        random = np.random.default_rng(9)
        drawn = (seats_and_terms(random, extra=extra, most_gain=most_gain) for _ in range(100))
        assert max(exact / term for exact, term in drawn) > 1.01, extra


def integral(crowd, contour, place):
    """T_z without smoothing, by an adaptive rule."""
    law = crowd.laws[place]

    def over_t(t):
        moment = abs(np.sum(law.mass * np.exp((contour.theta + 1j * t) * law.value)))
        return over_u(moment) / (contour.theta**2 + t**2)

    def over_u(moment):
        return quad(
            lambda u: (u * (1 - crowd.common) + (1 - u) * moment) ** crowd.others / (1 - u),
            0,
            contour.eta,
            epsrel=1e-9,
        )[0]

    top = 12 / contour.spread
    inside = quad(over_t, 0, top, epsrel=1e-8, limit=200)[0]
    return crowd.common * inside / math.pi


@pytest.mark.parametrize("n", [20, 1000, 10**6])
def test_both_sums_lie_above_the_integrals_and_close(n):
    random = np.random.default_rng(2)
    laws = [any_law(random, 3 / math.sqrt(n)) for _ in range(2)]
    crowd = ContourBound(laws, 10 / n, n, 3 / math.sqrt(n), 1.0)
    spread = math.sqrt(n * laws[0].second_moment)
    contour = Contour(3 / spread, spread, 0.8)
    exact = integral(crowd, contour, 0)
    assert 0.999 * exact <= math.exp(bound.log_term(crowd, contour, 0)) <= 1.03 * exact
    rough = Contour(3 / spread, 4 * spread, 0.8)
    assert math.exp(bound.log_term(crowd, rough, 0)) >= exact


def listed_flips(q, only_x, only_other, both):
    """E of A^s B^u of every report of so many bits, by listing all reports."""
    x = [1] * only_x + [0] * only_other + [1] * both
    other = [0] * only_x + [1] * only_other + [1] * both
    found = {}
    for report in itertools.product((0, 1), repeat=len(x)):
        chances = [
            math.prod(1 - q if r == held else q for r, held in zip(report, record, strict=True))
            for record in (x, other, [0] * len(x))
        ]
        key = (
            round(math.log(chances[0] / chances[2]), 6),
            round(math.log(chances[1] / chances[2]), 6),
        )
        found[key] = found.get(key, 0.0) + chances[2]
    return found


def flips_as_listed(q, row):
    ratios = of_flips(BitFlip.at_least(q), *row)
    keys = zip(np.round(ratios.log_a, 6) + 0.0, np.round(ratios.log_b, 6) + 0.0, strict=True)
    return dict(zip(keys, np.exp(ratios.log_mass), strict=True))


@pytest.mark.parametrize("row", [(3, 0, 0), (2, 1, 4), (0, 3, 3), (1, 1, 1)])
def test_ratios_of_flips_are_those_of_every_report(row):
    exact = listed_flips(BitFlip.at_least(0.2).q, *row)
    found = flips_as_listed(0.2, row)
    assert found.keys() == exact.keys()
    assert all(found[key] == pytest.approx(exact[key], rel=1e-12) for key in exact)


def test_kinds_in_another_order_are_found_out():
    assert flips_as_listed(0.2, (1, 2, 4)).keys() != listed_flips(0.2, 2, 1, 4).keys()


def test_a_search_knows_the_worst_class():
    """Of many bits in a large crowd the classes that tell the most hold the worst one."""
    for bits, q, crowd, epsilon in ((8, 0.24, 10**5, 1.0), (16, 0.32, 10**6, 0.5)):
        schema = Schema.uniform([FREE_BIT] * bits, BitFlip.at_least(q))
        searched = SEAT.searched_one(schema, crowd, epsilon)
        assert searched == pytest.approx(SEAT.one(schema, crowd, epsilon).delta.upper, rel=0.02)
