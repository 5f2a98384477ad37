"""Set bits that travel unlinked: what the plan's noise hides."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

import incrowd
from incrowd.channels.bit_flip import BitFlip
from incrowd.planner.sent import sent_by
from tests.conftest import unlinked_survey

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


def composed_by_hand(losses, masses, epsilon):
    """delta of two independent pairs, one in each order (the law is the same in both): the sum
    over all pairs of outcomes, by sorting: sum_a P_a delta(epsilon - loss_a)."""
    order = np.argsort(losses)
    losses, masses = losses[order], masses[order]
    here = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    there = np.append(np.cumsum((masses * np.exp(-losses))[::-1])[::-1], 0.0)
    left = epsilon - losses
    first = np.searchsorted(losses, left)
    return float(masses @ np.maximum(here[first] - np.exp(left) * there[first], 0))


def test_the_noise_for_a_million_people():
    """About 7.54e-5 for epsilon 1, delta 1e-6: two one-bit collections composed by hand, as a
    choice moves a one from one bit to another. One percent less noise breaks the promise, and so
    does the noise that one collection by itself would need."""
    plan = incrowd.plan(unlinked_survey(WORDS[:2000], 1_000_000, 1.0, 1e-6, apart=None))
    noise = plan.messages[0].noise
    assert noise.q == pytest.approx(7.54e-5, rel=0.01)
    assert composed_by_hand(*one_bit_pair(noise.q, 10**6), 1.0) <= 1e-6
    assert composed_by_hand(*one_bit_pair(0.99 * noise.q, 10**6), 1.0) > 1e-6
    assert sent_by(plan) == one_bit(noise, 2)
    alone = incrowd.smallest_noise("blanket", one_bit, 10**6, 1.0, 1e-6)
    assert composed_by_hand(*one_bit_pair(alone.q, 10**6), 1.0) > 1e-6


def one_bit(noise, times=1):
    from incrowd.accounting.schema import FREE_BIT

    return incrowd.Sent.of(incrowd.Schema.of([incrowd.Part(FREE_BIT, noise)]), times)


@pytest.mark.parametrize(
    ("question", "times"),
    [
        ({"type": "choice"}, 2),
        ({"type": "choice", "optional": True}, 2),
        ({"type": "multi", "at_most": 3}, 6),
        ({"type": "multi", "at_most": 8}, 10),
    ],
)
def test_two_answers_differ_in_so_many_collections(question, times):
    """m of c options against m others: 2m bits, or all of them."""
    plan = incrowd.plan(unlinked_survey(list("abcdefghij"), **question))
    assert sent_by(plan) == one_bit(plan.messages[0].noise, times)
    found = incrowd.certify("blanket", one_bit(plan.messages[0].noise, times), 2000, 2.0)
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
