"""Everything that three people and two services do, enumerated: what each party learns, exactly."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import pytest

from incrowd.accountant import AdditiveNoise, Contribution, certify
from tests.conftest import one_in

WIDE = AdditiveNoise((8, 3, 1), bits=4)  # of -2, ..., 2, over 16
NARROW = AdditiveNoise((2, 1), bits=2)  # of -1, 0, 1, over 4
ALPHAS = [Fraction(3, 2), Fraction(5, 2), Fraction(4), Fraction(10)]
WITHIN = 1e-4  # of what a lattice of losses adds to delta


# What people answer: each answer is the set of cells that it counts in.

CHOICE = [{0}, {1}]
CHOICE_OF_THREE = [{0}, {1}, {2}]
LONE_BIT = [set(), {0}]
TWO_LONE_BITS = [set(), {0}, {1}, {0, 1}]
MULTI = [{*some} for size in (0, 1, 2) for some in itertools.combinations(range(3), size)]
SHARING = [  # a table of one question, and a table of that question by another one
    {first, 2 + 2 * first + second} for first in (0, 1) for second in (0, 1)
]
KINDS = {
    "choice": (CHOICE, 2),
    "choice of three": (CHOICE_OF_THREE, 2),
    "lone bit": (LONE_BIT, 1),
    "two lone bits": (TWO_LONE_BITS, 2),
    "multi": (MULTI, 3),
    "two tables sharing a question": (SHARING, 4),
}


def number_of_cells(kind):
    return 1 + max(cell for answer in kind for cell in answer)


def counts(people, cells):
    return tuple(sum(cell in answer for answer in people) for cell in range(cells))


def draws(law, cells):
    """Every draw of a service for all cells, with its probability."""
    whole = dict(zip(range(-law.reach, law.reach + 1), law.whole, strict=True))
    for z in itertools.product(whole, repeat=cells):
        yield z, Fraction(math.prod(whole[each] for each in z), 1 << (law.bits * cells))


def added(*vectors):
    return tuple(map(sum, zip(*vectors, strict=True)))


def law_of(outcomes):
    law = defaultdict(Fraction)
    for outcome, chance in outcomes:
        law[outcome] += chance
    return law


def collection(people, cells, law, sees):
    """The law of what a party sees of n, the shuffler's numbers, and the collector's."""
    n = counts(people, cells)
    return law_of(
        (sees(n, first, second), p * q)
        for first, p in draws(law, cells)
        for second, q in draws(law, cells)
    )


def with_one_noise(people, cells, law):
    n = counts(people, cells)
    return law_of((added(n, z), p) for z, p in draws(law, cells))


def delta(one, other, alpha):
    """The larger delta of the two orders, at the epsilon ln(alpha)."""
    return max(
        sum(max(Fraction(0), chance - alpha * b.get(outcome, Fraction(0))) for outcome, chance in a)
        for a, b in ((one.items(), other), (other.items(), one))
    )


def certified(law, shifts, alpha):
    sent = Contribution((), shifts=((law, shifts),))
    return certify("shuffle", sent, None, math.log(alpha)).delta.upper


def distance(one, other):
    return len(one ^ other)


def collector(n, first, second):
    return added(n, first), second


def shuffler(n, first, second):
    return first, added(n, first, second)


def readers(n, first, second):
    return added(n, first, second)


VIEWS = {
    "collector": (collector, lambda law: law),
    "shuffler": (shuffler, lambda law: law),
    "readers": (readers, lambda law: law.plus(law)),
}


@pytest.mark.parametrize("view", one_in(3, VIEWS))
@pytest.mark.parametrize(
    ("kind", "law"), [("choice", WIDE), ("lone bit", WIDE), ("choice of three", NARROW)]
)
def test_each_party_learns_exactly_what_is_certified(kind, law, view):
    answers, shifts = KINDS[kind]
    sees, noise = VIEWS[view]
    cells = number_of_cells(answers)
    bounds = {alpha: certified(noise(law), shifts, alpha) for alpha in ALPHAS}
    for others in itertools.combinations_with_replacement(answers, 2):
        laws = [collection([*others, each], cells, law, sees) for each in answers[:2]]
        for alpha, bound in bounds.items():
            true = float(delta(*laws, alpha))
            assert true <= bound * (1 + 1e-12)
            assert bound - true <= WITHIN


@pytest.mark.parametrize("kind", KINDS)
def test_every_change_of_answers_costs_at_most_its_shifts(kind):
    """The largest delta is the certified one, whatever the others answer."""
    answers, shifts = KINDS[kind]
    cells = number_of_cells(answers)
    assert max(distance(*pair) for pair in itertools.combinations(answers, 2)) == shifts
    bounds = {alpha: certified(NARROW, shifts, alpha) for alpha in ALPHAS[::2]}
    laws = {}
    for others in ([answers[0]] * 2, [answers[0], answers[-1]]):
        for i, answer in enumerate(answers):
            laws[i] = with_one_noise([*others, answer], cells, NARROW)
        for alpha, bound in bounds.items():
            deltas = {
                pair: float(delta(laws[pair[0]], laws[pair[1]], alpha))
                for pair in itertools.combinations(laws, 2)
            }
            assert all(true <= bound * (1 + 1e-12) for true in deltas.values())
            assert bound - max(deltas.values()) <= WITHIN


# Variants that promise too much.


def exceeds(one, other, law, shifts):
    """Whether some delta is larger than what is certified."""
    return any(
        delta(one, other, alpha) > certified(law, shifts, alpha) + WITHIN for alpha in ALPHAS
    )


def test_one_shift_is_not_enough_for_a_choice():
    one, other = (with_one_noise([{0}, {1}, each], 2, WIDE) for each in CHOICE)
    assert exceeds(one, other, WIDE, 1)
    assert not exceeds(one, other, WIDE, 2)


def test_fresh_noise_at_a_second_opening_reveals_more():
    """The shuffler sees two publications of the same counts."""

    def twice(people):
        n = counts(people, 1)
        return law_of(
            ((added(n, one), added(n, two)), p * q)
            for one, p in draws(WIDE, 1)
            for two, q in draws(WIDE, 1)
        )

    one, other = twice([{0}, set(), {0}]), twice([{0}, set(), set()])
    assert exceeds(one, other, WIDE, 1)
    assert not exceeds(one, other, WIDE, 2)


def test_the_number_of_invented_messages_reveals_the_answer():
    """The collector sees n + Z1 of two cells, and the sum of Z1."""

    def with_sum(people):
        n = counts(people, 2)
        return law_of(((added(n, z), sum(z)), p) for z, p in draws(WIDE, 2))

    one, other = with_sum([{0}, {1}, {0}]), with_sum([{0}, {1}, set()])
    assert exceeds(one, other, WIDE, 1)
    assert delta(one, other, ALPHAS[-1]) == 1


def test_equal_noise_in_two_releases_reveals_the_answer():
    """Ann is in the first release only."""

    def released(answer):
        first, second = counts([{0}, {1}, answer], 2), counts([{0}, {1}], 2)
        return law_of(((added(first, z), added(second, z)), p) for z, p in draws(WIDE, 2))

    one, other = released({0}), released({1})
    assert exceeds(one, other, WIDE, 2)
    assert delta(one, other, ALPHAS[-1]) == 1


def test_both_services_together_know_the_answer():
    def everything(n, first, second):
        return first, second, added(n, first, second)

    one, other = (collection([{0}, set(), each], 1, WIDE, everything) for each in LONE_BIT)
    assert delta(one, other, ALPHAS[-1]) == 1
