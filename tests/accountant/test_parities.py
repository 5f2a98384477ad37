"""Parities of all pairs of yes/no questions beside a bit for each question, against all that they
publish: no certificate is below the truth, and fewer changed bits would promise too much.

The oracle lists every crowd and every ordered pair of answers of one more person, as that of
tests/accountant/test_cells.py does.
"""

import itertools
import math
from collections import Counter
from functools import reduce

import numpy as np
import pytest

import incrowd
from incrowd.accountant.certificates import certify
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.schema import FREE_BIT, Alternatives, Contribution, Part, Schema
from incrowd.plans.sent import sent, sent_by
from tests.conftest import slowly
from tests.oracles.parities import messages_of, survey_of
from tests.oracles.published import count_law


def record(answers):
    """The bits that are set: of questions (i,) answered yes, of pairs (i, j) answered unlike."""
    pairs = itertools.combinations(range(len(answers)), 2)
    singles = {(i,) for i, answer in enumerate(answers) if answer}
    return frozenset(singles | {(i, j) for i, j in pairs if answers[i] != answers[j]})


def exact_delta(count, noises, people, epsilon):
    """The largest delta over all crowds and ordered pairs of answers. noises: of a bit of so many
    questions."""
    every = list(map(record, itertools.product((0, 1), repeat=count)))
    factor, seen = math.exp(epsilon), {}
    for others in itertools.combinations_with_replacement(every, people - 1):
        held = Counter(bit for each in others for bit in each)
        for x, y in itertools.permutations(every, 2):
            changed = [(len(bit), held[bit], bit in x) for bit in x ^ y]
            key = tuple(sorted(changed))
            if key not in seen:
                here = [count_law(n + own, people, noises[size]) for size, n, own in key]
                there = [count_law(n + (not own), people, noises[size]) for size, n, own in key]
                p, r = (reduce(np.multiply.outer, laws) for laws in (here, there))
                seen[key] = float(np.maximum(p - factor * r, 0).sum())
    return max(seen.values())


def plan_of(count, people, epsilon=0.7, delta=0.2):
    """Parities of all pairs, and a bit for each question."""
    ids = [f"q{i}" for i in range(count)]
    pairs = {"questions": ids, "cells": True, "parities": True}
    messages = [pairs, *({"questions": [id], "cells": True} for id in ids)]
    privacy = {"epsilon": epsilon, "delta": delta}
    return incrowd.plan(
        survey_of(count, crowd=people, tables="pairs", privacy=privacy, message=messages)
    )


@pytest.mark.parametrize(
    ("count", "people"), [(2, 2), *slowly((2, 4), (3, 2), (3, 3), (3, 4), (4, 2))]
)
def test_plans_keep_their_promise(count, people):
    """Every crowd and every pair of answers; the certificate is not vacuous either, and what is
    left without a shuffler is right."""
    plan = plan_of(count, people)
    noises = {2 - (not message.parities): message.noise.q for message in plan.messages}
    truth = exact_delta(count, noises, people, 0.7)
    assert 0.25 * 0.2 < truth <= plan.guarantee.certified_delta <= 0.2
    for analysis in ("blanket", "seat", "local"):
        assert truth <= certify(analysis, sent_by(plan), people, 0.7).delta.upper
    assert exact_delta(count, noises, people, plan.guarantee.local_epsilon) < 1e-12
    assert exact_delta(count, noises, 1, 0.999 * plan.guarantee.local_epsilon) > 0


def bits(number, noise):
    return Contribution.of(Schema.of([Part(FREE_BIT, noise)]), number)


def bound(what, people, epsilon):
    return certify("shuffle", what, people, epsilon).delta.upper


def of_messages(count, pair, single, people):
    survey = survey_of(count, crowd=people)
    return sent(survey, messages_of(survey, pair.numerator, single.numerator))


def test_three_questions_of_four_people():
    """Two of three answers change 2 parities and 2 bits. All six bits counted would be safe, and
    cost more noise."""
    noise = BitFlip.at_least(0.2)
    truth = exact_delta(3, {1: noise.q, 2: noise.q}, 4, 0.7)
    assert truth == pytest.approx(0.449, abs=5e-4)
    counted = bound(of_messages(3, noise, noise, 4), 4, 0.7)
    assert counted == bound(bits(4, noise), 4, 0.7) == pytest.approx(0.537, abs=5e-4)
    assert bound(bits(6, noise), 4, 0.7) == pytest.approx(0.662, abs=1e-3)


def test_one_answer_alone_would_promise_too_much():
    """Two parities and its own bit; so many bits change as well if all three answers do."""
    noise = BitFlip.at_least(0.25)
    truth = exact_delta(3, {1: noise.q, 2: noise.q}, 4, 0.7)
    assert bound(bits(3, noise), 4, 0.7) < truth <= bound(of_messages(3, noise, noise, 4), 4, 0.7)


@pytest.mark.parametrize(
    ("pair", "single", "worst"), [(0.4, 0.1, 3), (0.2, 0.4, 2)], ids=["single bits", "parities"]
)
def test_which_answers_are_worst_depends_on_the_noise(pair, single, worst):
    """Of three answers that change all three, if the single bits have little noise, and two, if the
    parities have. The other of both alone would promise too much."""
    pair, single = map(BitFlip.at_least, (pair, single))
    found = of_messages(3, pair, single, 4)
    assert isinstance(found, Alternatives)
    other = bits(2, pair).also(bits(2, single)) if worst == 3 else bits(3, single)
    assert other in found.each
    truth = exact_delta(3, {1: single.q, 2: pair.q}, 4, 0.7)
    assert bound(other, 4, 0.7) < truth <= bound(found, 4, 0.7)
