"""Permanent responses in several rounds with two mixers: what is promised, by enumeration.

Three people, of whom everyone else's answers are known. Nothing but the reports links the rounds:
codes, nonces, tokens and seals are new (`device/test_permanent_sets.py`). The collector sees the
permanent responses of those who took part in each round, in an order that says nothing.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import exp, log

import pytest

import incrowd
from incrowd.collection.claims import claims_of
from incrowd.guarantees.collected import guarantee_of
from incrowd.guarantees.parties import against
from tests.oracles import mixers

Q = Fraction(1, 5)
EVERYBODY = (0, 1, 2)


def law(answers, rounds, q=Q, permanent=True):
    """The probability of each outcome: how many ones each round's reports contain.

    rounds: who takes part in each. permanent: whether the noise is drawn only once.
    """
    outcomes = defaultdict(Fraction)
    draws = len(answers) if permanent else len(answers) * len(rounds)
    for flips in product((0, 1), repeat=draws):
        chance = Fraction(1)
        for flip in flips:
            chance *= q if flip else 1 - q
        seen = tuple(
            sum(answers[n] ^ flips[n + (0 if permanent else number * len(answers))] for n in people)
            for number, people in enumerate(rounds)
        )
        outcomes[seen] += chance
    return outcomes


def delta(rounds, epsilon, **more):
    """The hockey-stick divergence at epsilon, the worst over people and answers."""
    worst = 0.0
    for answers in product((0, 1), repeat=len(EVERYBODY)):
        for person in EVERYBODY:
            other = tuple(a ^ (n == person) for n, a in enumerate(answers))
            one, two = law(answers, rounds, **more), law(other, rounds, **more)
            excess = (float(one[k]) - exp(epsilon) * float(two[k]) for k in one)
            worst = max(worst, sum(max(0.0, each) for each in excess))
    return worst


LOCAL = log((1 - Q) / Q)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_the_same_people_in_every_round_reveal_what_one_round_does(epsilon):
    once = delta([EVERYBODY], epsilon)
    assert delta([EVERYBODY] * 3, epsilon) == pytest.approx(once, rel=1e-12)
    anew = delta([EVERYBODY] * 2, epsilon, permanent=False)
    assert anew > 1.1 * once, "noise that is drawn again reveals more"


def test_whoever_leaves_has_only_her_own_noise():
    """The difference of two rounds is her permanent bit: no crowd hides it."""
    without = [EVERYBODY, EVERYBODY[:2]]
    for epsilon in (0.1, 0.5, 1.0):
        shown = float(1 - Q) - exp(epsilon) * float(Q)
        assert delta(without, epsilon) >= shown * (1 - 1e-12) > delta([EVERYBODY], epsilon)


@pytest.mark.slow
def test_the_local_guarantee_holds_for_any_people_in_any_rounds():
    groups = [(0, 1, 2), (0, 1), (0,), (1, 2)]
    for rounds in product(groups, repeat=3):
        assert delta(rounds, LOCAL + 1e-12) <= 1e-12
    assert delta([EVERYBODY, EVERYBODY[:2]], 0.99 * LOCAL) > 1e-3, "no smaller one does"


# --- what is promised ----------------------------------------------------------------------------


def weekly(**changes):
    raw = {
        "name": "Weeks",
        "crowd": 400,
        "privacy": {"epsilon": 1.0, "delta": 1e-4},
        "question": [{"id": "a", "type": "yesno", "memoized": True}],
    }
    return incrowd.plan(incrowd.Survey.of(raw | changes))


def bundles(plan):
    return [mixers.bundle(plan, period=week) for week in ("the first week", "the second week")]


def test_two_collections_of_one_plan_promise_the_local_guarantee():
    """As the enumeration requires: nobody signs that the people were the same."""
    plan = weekly()
    claims = [claims_of(each) for each in bundles(plan)]
    once, twice = guarantee_of(plan, None, claims[:1]), guarantee_of(plan, None, claims)
    assert once.analysis != "local" and not once.reduced_by
    assert (twice.analysis, twice.delta) == ("local", 0.0)
    assert twice.reduced_by == ("permanent-responses",)
    (message,) = plan.messages
    noise = message.noise
    assert twice.epsilon == pytest.approx(log(noise.p / noise.q), rel=1e-6)
    shown = noise.p - exp(once.epsilon) * noise.q  # of whoever leaves
    assert shown > 100 * once.delta, "the promise of one round would be wrong"


def test_against_everybody():
    """Also against who sees nobody's address: two tables are enough."""
    plan = weekly()
    twice = guarantee_of(plan, None, map(claims_of, bundles(plan)))
    limits = against(twice)
    assert {each.epsilon for each in (*limits.afterwards.values(), *limits.planned.values())} == {
        twice.local_epsilon
    }
