"""Messages of cells: what the plan's noise hides."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.plans.sent import sent_by
from tests.conftest import cells_survey, choice_survey, planned, slowly

WORDS = tuple(f"w{i}" for i in range(50_000))


# --- what it hides ---------------------------------------------------------------------------


def one_bit_pair(q, people):
    """ln P/Q and P of one person's bit in its blanket, by listing what can be seen: T = 1 + M
    reports, M ~ Bin(N - 1, 2q) of them coins, and how many are ones; x sends 1 with chance p."""
    mean, p = (people - 1) * 2 * q, 1 - q
    reach = 9 * math.sqrt(mean) + 30
    seen = np.arange(max(0, int(mean - reach)), int(mean + reach)) + 1
    seen = np.repeat(seen, seen + 1)
    ones = np.arange(len(seen)) - np.searchsorted(seen, seen)
    # x's report is any of the T with the same chance: j p + (T - j) q against j q + (T - j) p
    here = 2 * (ones * p + (seen - ones) * q) / seen
    there = 2 * (ones * q + (seen - ones) * p) / seen
    mass = binom.pmf(seen - 1, people - 1, 2 * q) * binom.pmf(ones, seen, 0.5)
    return np.log(here / there), mass * here


def homogeneous_pair(q, people, order):
    """ln P/Q and P of how many ones are seen if all others hold 0: of Ann's 1 beside her 0, or
    the reverse. No noise below what this pair asks for keeps the promise, by any analysis."""
    reach = int(9 * math.sqrt(people * q)) + 30
    ones = np.arange(max(0, int(people * q) - reach), int(people * q) + reach)
    rest, more = (binom.pmf(ones - k, people - 1, q) for k in (0, 1))
    laws = [rest * (1 - own) + more * own for own in (1 - q, q)][::order]
    return np.log(laws[0] / laws[1]), laws[0]


def composed_by_hand(one, other, epsilon):
    """delta of two independent pairs: the sum over all pairs of outcomes, by sorting: sum_a P_a
    delta(epsilon - loss_a)."""
    order = np.argsort(other[0])
    losses, masses = other[0][order], other[1][order]
    here = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    there = np.append(np.cumsum((masses * np.exp(-losses))[::-1])[::-1], 0.0)
    left = epsilon - one[0]
    first = np.searchsorted(losses, left)
    return float(one[1] @ np.maximum(here[first] - np.exp(left) * there[first], 0))


def composed_blanket(q, people, epsilon):
    """Two collections, one in each order, of which the blanket's law is the same in both."""
    pair = one_bit_pair(q, people)
    return composed_by_hand(pair, pair, epsilon)


def of_a_million(analysis):
    survey = choice_survey(WORDS[:2000], 1_000_000, 1.0, 1e-6)
    privacy = {**survey.privacy.model_dump(), "analysis": analysis}
    return incrowd.plan(incrowd.Survey.of(survey.model_dump(by_alias=True) | {"privacy": privacy}))


@pytest.mark.slow
def test_the_noise_for_a_million_people():
    """About 7.54e-5 for epsilon 1, delta 1e-6 by the blanket: two one-bit collections composed by
    hand, as a choice moves a one from one bit to another. One percent less noise breaks the
    promise, and so does the noise that one collection by itself would need."""
    plan = of_a_million("blanket")
    noise = plan.messages[0].noise
    assert noise.q == pytest.approx(7.54e-5, rel=0.01)
    assert composed_blanket(noise.q, 10**6, 1.0) <= 1e-6
    assert composed_blanket(0.99 * noise.q, 10**6, 1.0) > 1e-6
    assert sent_by(plan) == one_bit(noise, 2)
    alone = incrowd.smallest_noise("blanket", one_bit, 10**6, 1.0, 1e-6)
    assert composed_blanket(alone.q, 10**6, 1.0) > 1e-6


@pytest.mark.slow
def test_a_third_of_that_noise_was_never_needed():
    """The default knows the worst crowd of one bit: two percent less noise breaks the promise to
    somebody in a crowd that is otherwise all alike."""
    noise = of_a_million("shuffle").messages[0].noise.q

    def by_hand(q):
        pairs = [homogeneous_pair(q, 10**6, order) for order in (1, -1)]
        tried = itertools.combinations_with_replacement(pairs, 2)
        return max(composed_by_hand(*two, 1.0) for two in tried)

    assert noise < 0.67 * of_a_million("blanket").messages[0].noise.q
    assert by_hand(noise) <= 1e-6 < by_hand(0.98 * noise)


def one_bit(noise, times=1):
    from incrowd.accountant.schema import FREE_BIT

    return incrowd.Contribution.of(incrowd.Schema.of([incrowd.Part(FREE_BIT, noise)]), times)


@pytest.mark.parametrize(
    ("question", "times"),
    [
        ({"type": "choice"}, 2),
        ({"type": "choice", "optional": True}, 2),
        ({"type": "multi", "at_most": 3}, 6),
        *slowly(({"type": "multi", "at_most": 8}, 10)),
    ],
)
def test_two_answers_differ_in_so_many_collections(question, times):
    """m of c options against m others: 2m bits, or all of them."""
    plan = incrowd.plan(cells_survey(list("abcdefghij"), **question))
    assert sent_by(plan) == one_bit(plan.messages[0].noise, times)
    found = incrowd.certify("shuffle", one_bit(plan.messages[0].noise, times), 2000, 2.0)
    assert plan.guarantee.certified_delta == pytest.approx(found.delta.upper, rel=1e-9)


def test_no_small_crowd_beats_the_claim():
    """Three people, three options: the counts of set bits of every crowd and pair of answers, by
    listing; the claim for twenty people is beaten."""
    noise, epsilon = BitFlip.at_least(0.25), 0.5
    p, q = noise.p, noise.q

    def count_law(ones, people):
        law = np.ones(1)
        for person in range(people):
            law = np.convolve(law, [q, p] if person < ones else [p, q])
        return law

    worst = 0.0
    for others in itertools.combinations_with_replacement(range(3), 2):
        laws = []
        for x in range(3):
            held = Counter([x, *others])
            a, b, c = (count_law(held[option], 3) for option in range(3))
            laws.append(np.multiply.outer(np.multiply.outer(a, b), c))
        for here, there in itertools.permutations(laws, 2):
            worst = max(worst, float(np.maximum(here - math.exp(epsilon) * there, 0).sum()))
    claims = [incrowd.certify("blanket", one_bit(noise, 2), n, epsilon) for n in (3, 20)]
    assert claims[1].delta.upper < worst <= claims[0].delta.upper


@pytest.mark.slow
def test_the_table_of_fixed_cells_is_wanted():
    """Or nothing would be spent on it: its noise would be close to that of a coin."""
    asked = [{"id": id, "type": "yesno"} for id in "abcd"]
    groups = [["a", "b"], ["b", "c"], ["c", "d", "a"], ["d"]]
    made = planned(asked, crowd=2000, message=[{"questions": ids, "cells": True} for ids in groups])
    assert made.survey.wanted[4:] == (("a", "b"), ("b", "c"), ("c", "d", "a"))
    variances = [message.noise.q / (1 - 2 * message.noise.q) ** 2 for message in made.messages]
    assert max(variances) < 5 * min(variances)
