"""Slots: exact tails of the number of reports; the wrong variants are found."""

import math
from collections import Counter
from itertools import product

import mpmath
import numpy as np
import pytest

from incrowd.accounting.redraws import redrawn
from incrowd.errors import PrivacyError
from incrowd.numerics.binomial import at_least
from incrowd.plans.slots import TAIL, slots, tail
from tests.conftest import plan_of, planned


def as_cells(*questions, crowd=1000):
    """The plan of one message of cells."""
    message = {"questions": [question["id"] for question in questions], "cells": True}
    return planned(list(questions), crowd=crowd, message=[message])


def exact_tail(message, cells, chosen, places):
    """P[reports > places] if so many of the cells are chosen: one cell after the other."""
    with mpmath.workdps(50):
        q = mpmath.mpf(message.noise_numerator) / 2**32
        law = [mpmath.mpf(1)]
        for cell in range(cells):
            one = 1 - q if cell < chosen else q
            law = [
                (law[n] * (1 - one) if n < len(law) else 0) + (law[n - 1] * one if n else 0)
                for n in range(len(law) + 1)
            ]
        return mpmath.fsum(law[places + 1 :])


FIVE = {"id": "five", "type": "choice", "options": list("abcde")}
SICK = {"id": "sick", "type": "yesno", "optional": True}
TOOLS = {"id": "tools", "type": "multi", "options": list("abcdefghijkl"), "at_most": 4}
CASES = {  # cells, and how many of them a person is in at most
    "one": (as_cells(FIVE), 5, 1),
    "yes or no": (as_cells({"id": "old", "type": "yesno"}), 1, 1),
    "crossed": (as_cells(FIVE, SICK), 15, 1),
    "multi": (as_cells(TOOLS), 12, 4),
    "multi crossed": (as_cells(TOOLS, SICK), 36 + 3, 5),
}


@pytest.mark.parametrize(("plan", "cells", "most"), CASES.values(), ids=CASES)
def test_the_tail_is_exact_and_the_slots_are_the_fewest(plan, cells, most):
    """By adding cell after cell in fifty digits; who chooses fewer options sends fewer reports."""
    (message,), (places,) = plan.messages, slots(plan)
    for n in range(places + 1):
        wanted = exact_tail(message, cells, most, n)
        assert tail(plan, (n,)) == pytest.approx(float(wanted), rel=1e-9, abs=1e-300)
        assert all(exact_tail(message, cells, fewer, n) <= wanted for fewer in range(most))
    crowd = plan.survey.crowd
    assert crowd * exact_tail(message, cells, most, places) <= TAIL
    assert crowd * exact_tail(message, cells, most, places - 1) > TAIL
    assert tail(plan, (cells,)) == 0


def test_answers_that_travel_together_have_as_many_slots_as_copies():
    assert slots(plan_of("bits")) == (3,) and slots(plan_of("messages")) == (2, 1)
    assert tail(plan_of("bits"), (3,)) == 0 and tail(plan_of("bits"), (2,)) == 1


def test_several_messages_share_the_tail():
    asked = [
        {"id": id, "type": "choice", "options": list("abcdefghij"), "cells": True} for id in "uvw"
    ]
    plan = planned(asked, crowd=500)
    assert 0 < 500 * tail(plan, slots(plan)) <= TAIL


# --- the cost of drawing again -------------------------------------------------------------------


def law(bits, chosen, q):
    """Of every pattern of set bits, if one is chosen (None: no bit is)."""
    return {
        pattern: math.prod(
            1 - q if (bit == chosen) == one else q for bit, one in enumerate(pattern)
        )
        for pattern in product((False, True), repeat=bits)
    }


def conditioned(law, places):
    kept = {pattern: chance for pattern, chance in law.items() if sum(pattern) <= places}
    return {pattern: chance / math.fsum(kept.values()) for pattern, chance in kept.items()}


def divergence(one, other, epsilon):
    return math.fsum(max(0.0, one[seen] - math.exp(epsilon) * other[seen]) for seen in one)


def mixed(one, another):
    """Both people's patterns, without saying whose is whose."""
    seen = Counter()
    for (a, p), (b, r) in product(one.items(), another.items()):
        seen[tuple(sorted((a, b)))] += p * r
    return seen


def test_drawing_again_costs_no_more_than_is_said():
    """Over every outcome of two people. Wrong: the guarantee as if nothing were drawn again."""
    wrong = 0
    for q, bits, places in [(0.2, 4, 2), (0.3, 3, 1), (0.1, 4, 1), (0.4, 4, 3)]:
        first, second, none = (law(bits, chosen, q) for chosen in (0, 1, None))
        t = max(
            math.fsum(chance for pattern, chance in one.items() if sum(pattern) > places)
            for one in (first, second, none)
        )
        for (x, y, z), epsilon in product(
            [(first, second, none), (first, none, second), (none, first, first)], (0.0, 0.3, 1.0)
        ):
            delta = divergence(mixed(x, z), mixed(y, z), epsilon)
            found = redrawn(epsilon, delta, tail=t, crowd=2)
            x, y, z = (conditioned(one, places) for one in (x, y, z))
            assert divergence(mixed(x, z), mixed(y, z), found.epsilon) <= found.delta
            wrong += divergence(mixed(x, z), mixed(y, z), epsilon) > delta * (1 + 1e-9)
    assert wrong > 5


def independent(*laws):
    """Of several collections together."""
    return {
        tuple(seen for seen, _ in each): math.prod(chance for _, chance in each)
        for each in product(*(one.items() for one in laws))
    }


def test_what_is_drawn_once_costs_no_more_beside_what_is_drawn_again_in_every_round():
    """Two people, two rounds of two questions: the set that is kept is drawn until it fits, once,
    and the other one in each round. Wrong: as if nothing were drawn again."""
    wrong = 0
    for q, epsilon in product((0.2, 0.3, 0.4), (0.0, 0.5, 1.0)):
        first, second, none = (law(2, chosen, q) for chosen in (0, 1, None))
        t = 2 * max(one[True, True] for one in (first, second, none))
        free, fitting = [], []
        for own in (first, second):
            free.append(independent(*[mixed(own, none)] * 3))
            kept, other = conditioned(own, 1), conditioned(none, 1)
            fitting.append(independent(*[mixed(kept, other)] * 3))
        found = redrawn(epsilon, divergence(*free, epsilon), tail=t, crowd=2 * 2)
        one, other = fitting
        zero = dict.fromkeys(set(one) ^ set(other), 0.0)
        one, other = zero | one, zero | other
        assert divergence(one, other, found.epsilon) <= found.delta
        wrong += divergence(one, other, epsilon) > divergence(*free, epsilon) * (1 + 1e-9)
    assert wrong > 2


def test_the_formula_in_many_digits():
    with mpmath.workdps(40):
        t, crowd = mpmath.mpf(10) ** -20, 10**7
        wanted = mpmath.mpf(10) ** -6 * (1 - t) ** -crowd, -crowd * mpmath.log(1 - t)
    epsilon, delta = redrawn(0.0, 1e-6, tail=1e-20, crowd=10**7)
    assert delta == pytest.approx(float(wanted[0]), rel=1e-15)
    assert epsilon == pytest.approx(float(wanted[1]), rel=1e-12)
    assert redrawn(1.0, 1e-6, tail=0.0, crowd=9) == (1.0, 1e-6)


@pytest.mark.parametrize(("tail", "crowd"), [(1.0, 2), (-0.1, 2), (math.nan, 2), (0.1, 0)])
def test_wrong_figures_are_refused(tail, crowd):
    with pytest.raises(PrivacyError):
        redrawn(1.0, 1e-6, tail=tail, crowd=crowd)


@pytest.mark.parametrize(
    ("trials", "q", "least"),
    [(10**5, 1e-3, 200), (10**6, 1e-4, 190), (10**6, 2e-2, 20_900), (4000, 0.3, 1500)],
)
def test_far_tails_of_large_binomials(trials, q, least):
    """Term after term in forty digits: what the slots of many options rest on."""
    with mpmath.workdps(40):
        odds = mpmath.mpf(q) / (1 - mpmath.mpf(q))
        term = (
            mpmath.binomial(trials, least)
            * mpmath.mpf(q) ** least
            * (1 - mpmath.mpf(q)) ** (trials - least)
        )
        wanted, count = mpmath.mpf(0), least
        while count <= trials and term > wanted * mpmath.mpf(10) ** -30:
            wanted += term
            term *= odds * (trials - count) / (count + 1)
            count += 1
    assert at_least(trials, q, np.array([least]))[0] == pytest.approx(float(wanted), rel=1e-11)
