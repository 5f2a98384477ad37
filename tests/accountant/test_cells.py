"""Messages of cells against all that they publish: no certificate is below the truth.

The oracle lists every crowd and every ordered pair of answers of one more person. A count is a sum
of independent bits, and counts of different cells are independent given the answers, so that the
cells in which two answers agree drop out of the ratio; `Published`, which lists whole collections,
says the same.
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
from incrowd.accountant.schema import FREE_BIT, Contribution, Part, Schema
from incrowd.plans.sent import sent_by
from tests.conftest import one_in, slowly
from tests.oracles.published import Published, answers, cells_of, count_law

A = {"id": "a", "type": "yesno"}
B = {"id": "b", "type": "yesno"}
C = {"id": "c", "type": "yesno"}
REGION = {"id": "region", "type": "choice", "options": ["x", "y", "z"]}
SICK = {"id": "sick", "type": "yesno", "optional": True}
TOOLS = {"id": "tools", "type": "multi", "options": ["u", "v", "w"], "at_most": 2}
FEW = {"id": "few", "type": "multi", "options": ["u", "v"], "at_most": 1, "optional": True}


# --- the truth -----------------------------------------------------------------------------------


def records(questions, tables):
    """The cells of all tables that every answer is in."""
    for answer in itertools.product(*map(answers, questions)):
        said = {q["id"]: record for q, record in zip(questions, answer, strict=True)}
        yield frozenset(
            (number, cell)
            for number, table in enumerate(tables)
            for cell in cells_of(table, [said[q["id"]] for q in table])
        )


def exact_delta(questions, tables, noises, people, epsilon):
    """The largest delta over all crowds and ordered pairs of records."""
    every, seen = sorted(set(records(questions, tables)), key=sorted_cells), {}
    factor = math.exp(epsilon)
    for others in itertools.combinations_with_replacement(every, people - 1):
        held = Counter(cell for record in others for cell in record)
        for x, y in itertools.permutations(every, 2):
            lost, gained = (
                tuple(sorted((cell[0], held[cell]) for cell in side)) for side in (x - y, y - x)
            )
            if (lost, gained) not in seen:
                here = [count_law(n + 1, people, noises[t]) for t, n in lost]
                there = [count_law(n, people, noises[t]) for t, n in lost]
                here += [count_law(n, people, noises[t]) for t, n in gained]
                there += [count_law(n + 1, people, noises[t]) for t, n in gained]
                p, r = (reduce(np.multiply.outer, laws) for laws in (here, there))
                seen[lost, gained] = float(np.maximum(p - factor * r, 0).sum())
    return max(seen.values())


def sorted_cells(record):
    return sorted(map(repr, record))


# --- plans ---------------------------------------------------------------------------------------


TABLES = {  # questions, and the tables that are sent as cells
    "one bit": ([A], [[A]]),
    "an optional question": ([SICK], [[SICK]]),
    "one option or none": ([FEW], [[FEW]]),
    "options": ([TOOLS], [[TOOLS]]),
    "two tables that share a question": ([A, B, C], [[A, B], [A, C]]),
    "a table and a question of it": ([A, REGION], [[A, REGION], [A]]),
    "options crossed with a question": ([TOOLS, B], [[TOOLS, B]]),
    "an optional question with one option at most": ([SICK, FEW], [[SICK, FEW], [SICK]]),
}


def plan_of(questions, tables, people, epsilon=0.7, delta=0.2):
    messages = [{"questions": [q["id"] for q in table], "cells": True} for table in tables]
    raw = {"name": "s", "crowd": people, "privacy": {"epsilon": epsilon, "delta": delta}}
    return incrowd.plan(incrowd.Survey.of(raw | {"question": questions, "message": messages}))


@pytest.mark.parametrize("people", [2, 3, *slowly(4)])
@pytest.mark.parametrize("name", one_in(2, TABLES))
def test_plans_keep_their_promise(name, people):
    """Every crowd and every pair of answers; the certificate is not vacuous either."""
    questions, tables = TABLES[name]
    plan = plan_of(questions, tables, people)
    noises = tuple(message.noise.q for message in plan.messages)
    truth = exact_delta(questions, tables, noises, people, 0.7)
    assert 0.25 * 0.2 < truth <= plan.guarantee.certified_delta <= 0.2
    for analysis in ("blanket", "seat", "local"):
        assert truth <= certify(analysis, sent_by(plan), people, 0.7).delta.upper
    assert exact_delta(questions, tables, noises, people, plan.guarantee.local_epsilon) < 1e-12


@pytest.mark.parametrize("name", ["options", "two tables that share a question"])
def test_cells_that_agree_drop_out_of_the_ratio(name):
    """By listing whole collections of two people."""
    questions, tables = TABLES[name]
    plan = plan_of(questions, tables, 2)
    noises = tuple(message.noise.q for message in plan.messages)
    for epsilon in (0.0, 0.7, 1.5):
        truth = exact_delta(questions, tables, noises, 2, epsilon)
        assert Published(plan.content, 2).delta(epsilon) == pytest.approx(truth, rel=1e-9)


# --- wrong variants ------------------------------------------------------------------------------


def certificate(bits, people, noise, epsilon):
    sent = Contribution.of(Schema.of([Part(FREE_BIT, noise)]), bits)
    return certify("shuffle", sent, people, epsilon).delta.upper


def test_fewer_differing_cells_than_there_are_would_promise_too_much():
    """Six people, two exclusive tables that share a question, q = .2. Wrong: the distance 1 for a
    choice, or one table left out (2 bits in all); the question that both share counted once
    (3 bits)."""
    noise = BitFlip.at_least(0.2)
    truth = exact_delta([A, B, C], [[A, B], [A, C]], (noise.q, noise.q), 6, 0.5)
    assert truth == pytest.approx(0.3816, abs=5e-5)
    assert certificate(2, 6, noise, 0.5) < certificate(3, 6, noise, 0.5) < truth
    assert truth <= certificate(4, 6, noise, 0.5)


def test_options_that_are_crossed_differ_in_the_cells_any_as_well():
    """Three people, q = .3. Wrong: the distance 2m of the options by themselves (4 bits), and one
    cell "any" in the place of two (5 bits)."""
    noise, both = BitFlip.at_least(0.3), [TOOLS | {"options": ["u", "v"]}, B]
    truth = exact_delta(both, [both], (noise.q,), 3, 2.0)
    assert certificate(4, 3, noise, 2.0) < certificate(5, 3, noise, 2.0) < truth
    assert truth <= certificate(6, 3, noise, 2.0)


def test_one_bit_leaks_half_of_what_two_cells_do():
    """The single bit of a yes/no question: its certificate is that of one collection, and the two
    cells of a question with three answers need two."""
    noise = BitFlip.at_least(0.2)
    one = exact_delta([A], [[A]], (noise.q,), 5, 0.5)
    two = exact_delta([SICK], [[SICK]], (noise.q,), 5, 0.5)
    assert one <= certificate(1, 5, noise, 0.5) < two <= certificate(2, 5, noise, 0.5)


def test_that_exclusive_counts_add_up_tells_no_more_than_the_bound():
    """The attacker knows that the others are in so many cells together: the truth of all crowds is
    that of crowds in which the two cells hold any numbers of people, or fewer."""
    noise, people, epsilon = BitFlip.at_least(0.25), 5, 0.5
    truth = exact_delta([REGION], [[REGION]], (noise.q,), people, epsilon)
    factor = math.exp(epsilon)
    free = 0.0
    for lost, gained in itertools.product(range(people), repeat=2):
        here = np.outer(count_law(lost + 1, people, noise.q), count_law(gained, people, noise.q))
        there = np.outer(count_law(lost, people, noise.q), count_law(gained + 1, people, noise.q))
        free = max(free, float(np.maximum(here - factor * there, 0).sum()))
    assert truth <= free <= certificate(2, people, noise, epsilon)
