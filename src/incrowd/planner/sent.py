"""Everything one person sends by some messages, as the accountant counts it.

Proof: docs/mathematics.md#unlinked-bits, docs/mathematics.md#memoised-rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from incrowd.accounting.schema import Part, Schema, Sent
from incrowd.plans import Message, Plan
from incrowd.survey import Survey


def sent_by(plan: Plan) -> Sent:
    """All that a person sends by a plan, and sent when asked before."""
    before = (sent(asked.survey, asked.messages) for asked in plan.earlier)
    return reduce(Sent.also, before, sent(plan.survey, plan.messages))


def sent(survey: Survey, messages: Sequence[Message]) -> Sent:
    """All that a person sends by some messages, for as many rows as may be one person's."""
    reports = [
        Sent.of(Schema.of([Part(*part) for part in message.parts]), message.repeats)
        for message in messages
    ]
    return reduce(Sent.also, reports * survey.rows_per_person)
