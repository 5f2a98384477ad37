"""Everything that a device's coins can lead to: what its services see, and how likely each is.

A device with one report of one yes or no is carried out once for each outcome of each of its draws.
Its services record all uploads that reach them and hold the collector's key, like whoever has only
the local guarantee against them.
"""

import math
from collections import Counter

import numpy as np

import incrowd
from incrowd.collection.protocol.sealed import unseal
from incrowd.collection.protocol.upload import parse_upload
from incrowd.plans.slots import slots
from incrowd.sampling.keystream import Keystream
from tests.oracles import make_vectors

FLIP, KEEP = 0, 2**64 - 1  # words below every probability, and above


def one_question(codes=False):
    """The bundle of a survey with a local guarantee of epsilon 1."""
    privacy = {"epsilon": 1.0, "analysis": "local"}
    question = {"id": "smokes", "type": "yesno"}
    survey = {"name": "One", "crowd": 500, "privacy": privacy, "question": [question]}
    plan = incrowd.plan(incrowd.Survey.of(survey))
    words = {"language": "en", "title": "One", "questions": {"smokes": "Do you smoke?"}}
    changes = {"plan": plan, "wording": words, "slots": slots(plan), "colluding": 0}
    return make_vectors.bundle(**changes, codes=codes)


class Coins(Keystream):
    """A stream whose words are all below the probability of a flip, or all above."""

    def __init__(self, flips):
        super().__init__(bytes(32), bytes(16))
        self.word = FLIP if flips else KEEP

    def words(self, count):
        return np.full(count, self.word, np.uint64)


def paths(carry_out):
    """Yield everything that `carry_out` can do: each list of flips, and what it gave.

    carry_out: takes a function that tells the flip of the next draw, as often as there are draws.
    """
    waiting = [()]
    while waiting:
        start, taken = waiting.pop(), []

        def flip(start=start, taken=taken):
            taken.append(start[len(taken)] if len(taken) < len(start) else False)
            return taken[-1]

        seen = carry_out(flip)
        yield tuple(taken), seen
        waiting += [(*taken[:at], True) for at in range(len(start), len(taken))]


def opened(bodies, bundle):
    """The answers in what reached the services: one bit for each different sealed report."""
    sealed = {parse_upload(body, bundle).sealed[0]: None for body in bodies}
    private, binding = make_vectors.RECEIVER, bundle.binding(0)
    return tuple(unseal(each, private, bundle.key, binding)[3] & 1 for each in sealed)


def law(results, bundle):
    """P(seen), given each list of flips and what was seen."""
    found, q = Counter(), bundle.plan.messages[0].noise.q
    for flips, seen in results:
        found[seen] += math.prod(q if flip else 1 - q for flip in flips)
    assert math.isclose(sum(found.values()), 1)
    return found


def delta(one, other, epsilon=1.0):
    """The smallest delta of two laws in one direction: no bound, every term."""
    return sum(max(0.0, one[seen] - math.exp(epsilon) * other[seen]) for seen in one)


def of_draws(number, q, epsilon=1.0):
    """The same of so many independent draws of one bit, by counting those that are flipped."""
    total = 0.0
    for flipped in range(number + 1):
        one = q**flipped * (1 - q) ** (number - flipped)
        other = q ** (number - flipped) * (1 - q) ** flipped
        total += math.comb(number, flipped) * max(0.0, one - math.exp(epsilon) * other)
    return total
