"""Several rounds: what they spend, and which permanent responses repeat those of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from incrowd.channels.bit_flip import BitFlip
from incrowd.plans.message import Message
from incrowd.plans.plan import Asked, Plan


class Spent(NamedTuple):
    """What a ledger has spent of the promise of a plan in it, and how many rounds are left.

    name: of the survey. done, rounds, left: carried out, planned, still covered. epsilon: what all
    that stands in the ledger has spent at delta; promised: what it may.
    """

    name: str
    done: int
    rounds: int
    left: int
    epsilon: float
    promised: float
    delta: float


def series(survey: str, message: Message, noise: BitFlip) -> str:
    """What names a series of reports that repeat each other's responses. survey: its name.

    Another noise must draw anew: one number compared with two thresholds tells the answer. So must
    another message: responses that stand in two of them would link both reports of a person.
    """
    questions = "; ".join(
        f"{question.id}: {', '.join(question.answers)}" for question in message.questions
    )
    return f"{survey}, noise {noise.numerator}, with {questions}"


def repeats(plan: Plan) -> bool:
    """Whether some responses are those that the same devices gave in an earlier round.

    Of a plan for several rounds nobody can tell which one this is: it may be any but the first.
    """
    if plan.survey.rounds > 1 and plan.memoised:
        return True
    before = {each for asked in plan.earlier for each in _all_series(asked)}
    return not before.isdisjoint(_all_series(plan))


def _all_series(asked: Asked | Plan) -> Iterator[str]:
    """Each question of a series by its own name: it is the response to it that is repeated."""
    for message in asked.messages:
        for question in message.questions:
            if question.memoised:
                noise = message.channels[question.id].permanent_stage
                assert isinstance(noise, BitFlip)  # RAPPOR's, or the planner's
                yield f"{series(asked.survey.name, message, noise)}: {question.id}"
