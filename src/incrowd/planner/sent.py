"""Everything one person sends by some messages, as the accountant counts it.

Proof: docs/mathematics.md#unlinked-bits, docs/mathematics.md#memoised-rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from incrowd.accounting.schema import Part, Schema, Sent
from incrowd.plans import Asked, Message, Plan
from incrowd.survey import Survey


def sent_by(plan: Plan) -> Sent:
    """All that a person sends by a plan, and sent when asked before."""
    return sent(plan.survey, plan.messages, plan.earlier)


def sent(survey: Survey, messages: Sequence[Message], earlier: Sequence[Asked] = ()) -> Sent:
    """All that a person sends by some messages, for as many rows as may be one person's.

    earlier: what the same people were asked before, and sent then.
    """
    reports = [
        Sent.of(Schema.of([Part(*part) for part in message.parts]), message.repeats)
        for message in messages
    ] * survey.rows_per_person
    return reduce(Sent.also, reports + [sent(asked.survey, asked.messages) for asked in earlier])
