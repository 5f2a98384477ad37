"""Everything one person sends by some messages, as the accountant counts it.

Proof: docs/mathematics.md#unlinked-bits, docs/mathematics.md#memoised-rounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce

from incrowd.accounting.schema import Part, Schema, Sent
from incrowd.plans import Asked, Message, Plan
from incrowd.survey import Survey


def sent_by(plan: Plan) -> Sent:
    """All that a person sends by a plan, and sent when asked before."""
    return sent(plan.survey, plan.messages, plan.earlier)


def sent(survey: Survey, messages: Sequence[Message], earlier: Sequence[Asked] = ()) -> Sent:
    """All that a person sends by some messages, in all rounds, for as many rows as may be hers.

    earlier: what the same people were asked before, and sent then.
    """
    now = _sent(survey, messages, survey.rounds)
    return now.also(sent_before(earlier)) if earlier else now


def sent_before(earlier: Sequence[Asked]) -> Sent:
    """What a person sent when she was asked so far: each plan in as many rounds as there were."""
    rounds, plans = Counter(a.digest for a in earlier), {a.digest: a for a in earlier}
    found = (_sent(a.survey, a.messages, rounds[digest]) for digest, a in plans.items())
    return reduce(Sent.also, found)


def _sent(survey: Survey, messages: Sequence[Message], rounds: int) -> Sent:
    """Memoised responses are the same in every round, all others are drawn again."""
    reports = [
        Sent.of(
            Schema.of([Part(*part) for part in message.parts]),
            message.repeats * (1 if message.memoised else rounds),
        )
        for message in messages
    ]
    return reduce(Sent.also, reports * survey.rows_per_person)
