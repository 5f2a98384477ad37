"""What people can send where some questions are not asked of all, against what is promised.

Three people and a filter with questions below it, enumerated: for every crowd of two others and
every two possible records of the third, in both orders, the exact law of all messages together.
"""

from functools import cache, reduce
from itertools import combinations_with_replacement, permutations

import numpy as np
import pytest

from incrowd.accountant.certificates import certify
from incrowd.plans.sent import sent
from tests.conftest import slowly
from tests.oracles import crowds
from tests.oracles.observers import Encoder, Round, Sight, excess, records
from tests.oracles.pairs import plan_of
from tests.oracles.published import count_law

EPSILON = 1.0
SMOKES = {"id": "smokes", "type": "yesno"}
DAILY = {"id": "daily", "type": "yesno", "asked_if": "smokes = yes"}
QUIT = {"id": "quit", "type": "yesno", "asked_if": "daily = yes"}
TRIED = {"id": "tried", "type": "yesno", "asked_if": "smokes = yes"}
DRINKS = {"id": "drinks", "type": "yesno"}


def cells(*groups):
    return [{"questions": [*ids], "cells": True} for ids in groups]


PARITIES = {"questions": ["smokes", "drinks"], "cells": True, "parities": True}
SINGLE = cells(["smokes"], ["daily"], ["quit"])
NESTED = [SMOKES, DAILY, QUIT]
SURVEYS = {
    "single cells": (NESTED, SINGLE),
    "single cells, not nested": ([SMOKES, DAILY, TRIED], cells(["smokes"], ["daily"], ["tried"])),
    "one table": (NESTED, cells(["smokes", "daily", "quit"])),
    "two tables": (NESTED, cells(["smokes", "daily"], ["daily", "quit"])),
    "one joint report": (NESTED, [{"questions": ["smokes", "daily", "quit"]}]),
    "a joint report and cells": (NESTED, [{"questions": ["smokes", "daily"]}, *cells(["quit"])]),
    "parities": ([SMOKES, DRINKS, *NESTED[1:]], [PARITIES, *cells(["drinks"]), *SINGLE]),
}
BY_SERVICES = ("single cells", "one table", "two tables")
CASES = [
    *((name, "devices") for name in SURVEYS if name != "parities"),
    *((name, "services") for name in BY_SERVICES),
    *slowly(("parities", "devices")),
]


def survey_of(name, noise="devices"):
    questions, groups = SURVEYS[name]
    raw = {"name": name, "crowd": 3, "question": questions, "message": groups}
    raw |= {"privacy": {"epsilon": EPSILON, "delta": 0.9, "noise": noise}}
    return raw | ({"least": 2} if noise == "services" else {})


class Law:
    """What a message publishes of three people, for records of the survey by their numbers."""

    def __init__(self, message, bits):
        """bits: the message's bits of each record."""
        self.message, self.bits = message, bits
        self.in_any_order = cache(self._in_any_order)
        if not message.cells:
            q = message.noise.q
            sent = np.array([*np.ndindex((2,) * message.bits)])
            flipped = (sent[:, None] != bits).sum(2)
            chances = q**flipped * (1 - q) ** (message.bits - flipped)
            self.reports = crowds.merged(chances).T

    def pairs(self, one, other, crowd):
        """The laws for either record of one person, as independent pairs, but for those that are
        the same for both."""
        if not self.message.cells:
            yield self.in_any_order(one, *crowd), self.in_any_order(other, *crowd)
            return
        for bit in np.flatnonzero(self.bits[one] != self.bits[other]):
            both = self.bits[[one, other], bit]
            if self.message.by_services:
                yield tuple(np.pad(self.message.added.chances, (mine, 1 - mine)) for mine in both)
            else:
                ones, q = self.bits[[*crowd], bit].sum(), self.message.noise.q
                yield tuple(count_law(ones + mine, len(crowd) + 1, q) for mine in both)

    def _in_any_order(self, *people):
        """The law of reports without their order."""
        joined = reduce(np.multiply.outer, self.reports[[*people]])
        orders = [*permutations(range(len(people)))]
        return sum(joined.transpose(order) for order in orders).ravel() / len(orders)


def outer(one, other):
    return np.multiply.outer(one, other).ravel()


def truth(plan, epsilon=EPSILON):
    """The largest delta of all that three people send."""
    encoder = Encoder(plan.survey, [question.id for question in plan.survey.questions])
    numbers = range(len(encoder.every))
    people = [encoder.people.take(np.array([number])) for number in numbers]
    laws = [
        Law(message, np.array([next(records(message, person))[1] for person in people]))
        for message in plan.messages
    ]
    worst = 0.0
    for crowd in combinations_with_replacement(numbers, 2):
        for one, other in permutations(numbers, 2):
            p = q = np.ones(1)
            for law in laws:
                for mine, others in law.pairs(one, other, crowd):
                    p, q = outer(p, mine), outer(q, others)
            worst = max(worst, excess(p, q, np.exp(epsilon)))
    return worst


def each_alone(plan):
    """The wrong promise: the largest for a question or a message, as if nothing else changed."""
    deltas = []
    for message in plan.messages:
        one_each = [message.model_copy(update={"questions": (q,)}) for q in message.questions]
        for part in [message] if message.cells else one_each:
            deltas.append(certify("shuffle", sent(plan.survey, [part]), 3, EPSILON).delta.upper)
    return max(deltas)


@pytest.mark.parametrize(("name", "noise"), CASES)
def test_a_change_of_the_filter_is_counted_in_every_question_below_it(name, noise):
    """What is promised is close to the truth; a promise for each question alone is below it, but
    where all questions are in one table, in which a person moves from one cell to another."""
    plan = plan_of(survey_of(name, noise))
    promised, largest = plan.guarantee.certified_delta, truth(plan)
    assert promised / 2 < largest <= promised * (1 + 1e-9)
    if name == "one table":
        assert each_alone(plan) == pytest.approx(promised, rel=1e-5)
    else:
        assert each_alone(plan) < 0.9 * largest


def test_only_what_a_person_can_send_is_tried():
    """Three nested questions have 18 combinations of records, of which four are possible."""
    survey = plan_of(survey_of("one table")).survey
    assert len(Encoder(survey, ["quit"]).every) == 4
    assert len(Encoder(survey, ["smokes"]).every) == 2


def test_the_other_enumeration_gives_the_same():
    """That of the pairs of features adds up counts, and knows nothing of independent cells."""
    for group in (cells(["smokes"], ["daily"]), [{"questions": ["smokes", "daily"]}]):
        plan = plan_of(survey_of("single cells") | {"question": [SMOKES, DAILY], "message": group})
        seen = Sight([Round(plan, ((0, 1, 2),))])
        for epsilon in (0.5, EPSILON, 2.0):
            assert truth(plan, epsilon) == pytest.approx(seen.delta(epsilon), rel=1e-9)
