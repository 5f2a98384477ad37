"""Slots: exact tails of the number of reports; the wrong variants are found."""

import math
import tracemalloc
from collections import Counter
from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import pytest

from incrowd.accountant.certificates import (
    certify,
    clearly_keeps,
    redrawn,
    smallest_epsilon,
    smallest_noise,
)
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.numerics.laws import at_least
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from incrowd.errors import PrivacyError
from incrowd.plans import Plan
from incrowd.plans.slots import TAIL, fit, most_reports, shared, slots, slots_of, tail
from tests.conftest import one_in, plan_of, planned
from tests.oracles.recorded import VECTORS


def as_cells(*questions, crowd=1000):
    """The plan of one message of cells."""
    message = {"questions": [question["id"] for question in questions], "cells": True}
    return planned(list(questions), crowd=crowd, message=[message])


def exact_tail(messages, cells, chosen, places):
    """P[reports > places] if so many of the cells are chosen: one cell after the other.

    cells, chosen: of each message.
    """
    with mpmath.workdps(50):
        law = [mpmath.mpf(1)]
        set_bits = [
            (message, cell < some)
            for message, count, some in zip(messages, cells, chosen, strict=True)
            for cell in range(count)
        ]
        for message, chosen_one in set_bits:
            q = mpmath.mpf(message.noise_numerator) / 2**32
            one = 1 - q if chosen_one else q
            law = [
                (law[n] * (1 - one) if n < len(law) else 0) + (law[n - 1] * one if n else 0)
                for n in range(len(law) + 1)
            ]
        return mpmath.fsum(law[places + 1 :])


FIVE = {"id": "five", "type": "choice", "options": list("abcde")}
SICK = {"id": "sick", "type": "yesno", "optional": True}
TOOLS = {"id": "tools", "type": "multi", "options": list("abcdefghijkl"), "at_most": 4}
QUICK = {"epsilon": 3.0, "delta": 1e-3, "analysis": "blanket"}
CASES = {  # cells, and how many of them a person is in at most
    "one": ([FIVE], 5, 1),
    "yes or no": ([{"id": "old", "type": "yesno"}], 1, 1),
    "crossed": ([FIVE, SICK], 15, 1),
    "multi": ([TOOLS], 12, 4),
    "multi crossed": ([TOOLS, SICK], 36 + 3, 5),
}


@pytest.mark.slow
@pytest.mark.parametrize(("questions", "cells", "most"), one_in(2, CASES.values()), ids=CASES)
def test_the_tail_is_exact_and_the_slots_are_the_fewest(questions, cells, most):
    """By adding cell after cell in fifty digits; who chooses fewer options sends fewer reports."""
    plan = as_cells(*questions)
    messages, (places,) = plan.messages, slots(plan)
    for n in range(places + 1):
        wanted = exact_tail(messages, [cells], [most], n)
        assert tail(plan, (n,)) == pytest.approx(float(wanted), rel=1e-9, abs=1e-300)
        assert all(exact_tail(messages, [cells], [fewer], n) <= wanted for fewer in range(most))
    crowd = plan.survey.crowd
    assert crowd * exact_tail(messages, [cells], [most], places) <= TAIL
    assert crowd * exact_tail(messages, [cells], [most], places - 1) > TAIL
    assert tail(plan, (cells,)) == 0


def test_answers_that_travel_together_have_as_many_slots_as_copies():
    assert slots(plan_of("bits")) == (3,) and slots(plan_of("messages")) == (3,)
    assert tail(plan_of("bits"), (3,)) == 0 and tail(plan_of("bits"), (2,)) == 1


@pytest.mark.slow
def test_messages_of_cells_share_one_pool_beside_the_copies_of_joint_reports():
    """By adding the cells of all messages one after the other. Wrong: slots for each message."""
    message = [
        {"questions": ["five"], "cells": True},
        {"questions": ["tools"], "cells": True},
        {"questions": ["sick"], "copies": 2},
    ]
    plan = planned([FIVE, TOOLS, SICK], crowd=500, message=message, privacy=QUICK)
    sets, ((number,), crowd) = plan.messages[:2], (slots(plan), plan.survey.crowd)
    assert shared(plan.messages) == ((0, 1, 2),)
    law = [exact_tail(sets, [5, 12], [1, 4], n) for n in range(17)]
    assert crowd * law[number - 2] <= TAIL < crowd * law[number - 3]
    assert tail(plan, (number,)) == pytest.approx(float(law[number - 2]), rel=1e-9)
    assert most_reports(plan.messages, (number,)) == (number - 2, number - 2, 2)
    assert fit((number,), (3, number - 5, 2), shared(plan.messages))
    assert not fit((number,), (3, number - 4, 2), shared(plan.messages))
    apart = [
        next(n for n in range(17) if crowd * exact_tail([one], [cells], [most], n) <= TAIL / 2)
        for one, cells, most in zip(sets, (5, 12), (1, 4), strict=True)
    ]
    assert number < sum(apart) + 2


@pytest.mark.slow
def test_permanent_sets_have_slots_of_their_own():
    """Whether a set fits must not depend on what is drawn anew beside it."""
    asked = [{"memoized": True, **FIVE}, {**FIVE, "id": "other"}, {**TOOLS, "memoized": True}]
    message = [{"questions": [question["id"]], "cells": True} for question in asked]
    plan = planned(asked, crowd=500, message=message)
    assert shared(plan.messages) == ((1,), (0,), (2,))
    fresh, first, last = slots(plan)
    assert most_reports(plan.messages, (fresh, first, last)) == (first, fresh, last)
    for number, cells, most, places in [(1, 5, 1, fresh), (0, 5, 1, first), (2, 12, 4, last)]:
        one = [plan.messages[number]]
        chance = [500 * exact_tail(one, [cells], [most], n) for n in (places, places - 1)]
        assert chance[0] <= TAIL / 3 < chance[1]
    assert 0 < 500 * tail(plan, slots(plan)) <= TAIL
    assert fit((3, 2, 2), (2, 3, 2), shared(plan.messages))
    assert not fit((3, 2, 2), (3, 0, 0), shared(plan.messages))


def test_a_message_of_four_thousand_million_cells_takes_little_memory():
    """The law of the number of reports begins where the chances do."""
    plan = Plan.load(VECTORS / "cells-plan.json")
    most = max(plan.messages, key=lambda message: message.record_bits)
    assert most.record_bits == 1 << 32
    tracemalloc.start()
    (places,) = slots_of(plan.survey, [most])
    assert tracemalloc.get_traced_memory()[1] < 1e9
    tracemalloc.stop()
    mean = most.noise.q * (1 << 32)
    assert mean < places < mean + 10 * mean**0.5 + 40


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
        grown, cost = (1 - t) ** -crowd, -crowd * mpmath.log(1 - t)
        wanted = mpmath.mpf(10) ** -6 * grown
        unseen = mpmath.e * (grown - 1)
    for named, more in ((True, 0), (False, unseen)):
        epsilon, delta = redrawn(1.0, 1e-6, tail=1e-20, crowd=10**7, named=named)
        assert delta == pytest.approx(float(wanted + more), rel=1e-15)
        assert epsilon == pytest.approx(float(1 + cost), rel=1e-15)
    assert redrawn(1.0, 1e-6, tail=0.0, crowd=9) == (1.0, 1e-6)


@pytest.mark.parametrize("delta", [1e-4, 1e-9])
def test_the_smallest_epsilon_after_redraws_is_certified(delta):
    """Redraws cost about 1e-8. A smaller delta is not seen to hold until names would not hurt."""
    bits = Contribution.of(Schema.of([Part(FREE_BIT, BitFlip.at_least(0.1))]), 3)
    sent = replace(bits, redraws=1e-11)
    epsilon = smallest_epsilon("blanket", sent, 1000, delta)
    assert certify("blanket", sent, 1000, epsilon).delta.upper <= delta
    assert certify("blanket", sent, 1000, 0.99 * epsilon).delta.upper > delta
    assert (epsilon == sent.local_epsilon) == (delta < 1e-8)
    assert smallest_epsilon("blanket", bits, 1000, delta) < epsilon


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


def test_an_epsilon_below_the_cost_of_redraws_is_met_by_no_noise():
    """1,000 people whose redraws cost 1e-4 each: .1 in all. With more to spare, noise is enough."""

    def family(flip):
        return replace(Contribution.of(Schema.uniform([FREE_BIT], flip)), redraws=1e-4)

    with pytest.raises(PrivacyError, match="epsilon"):
        smallest_noise("shuffle", family, 1000, 0.05, 0.9)
    assert not clearly_keeps("shuffle", family(BitFlip(1 << 30)), 1000, 0.05, 0.9)
    enough = smallest_noise("shuffle", family, 1000, 1.0, 0.5)
    assert certify("shuffle", family(enough), 1000, 1.0).delta.upper <= 0.5
