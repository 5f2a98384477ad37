"""Everything one person sends by some messages, as the accountant counts it.

Proof: docs/mathematics.md#cells, docs/mathematics.md#memoised-rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from incrowd.accounting.schema import Part, Schema, Sent
from incrowd.plans import Asked, Message, Plan
from incrowd.plans.rounds import (
    Rounds,
    all_rounds,
    permanent,
    repeated,
    rounds_before,
    rounds_planned,
)
from incrowd.survey import Survey


def sent_by(plan: Plan) -> Sent:
    """All that a person sends by a plan, and sent when asked before."""
    return _sent(all_rounds(plan))


def sent(survey: Survey, messages: Sequence[Message], earlier: Sequence[Asked] = ()) -> Sent:
    """All that a person sends by some messages, in all rounds, for as many rows as may be hers.

    earlier: what the same people were asked before, and sent then.
    """
    return _sent([*rounds_before(earlier), rounds_planned(survey, messages)])


def sent_before(earlier: Sequence[Asked]) -> Sent:
    """What a person sent when she was asked so far: each plan in as many rounds as there were."""
    return _sent(rounds_before(earlier))


def _sent(plans: Sequence[Rounds]) -> Sent:
    exposed = repeated(plans).exposed
    return reduce(Sent.also, (each for rounds in plans for each in _of_rounds(rounds, exposed)))


def _of_rounds(rounds: Rounds, exposed: Iterable[str]) -> Iterator[Sent]:
    """What a person sends in the rounds of one plan. exposed: permanent responses, by name.

    Memoised responses are the same in every round, all others are drawn again. A round without a
    shuffler hides nothing; in a permanent response that is sent there, none of them does.
    """
    survey, messages, _ = rounds[0]
    linked = sum(release.linked for release in rounds)
    for message in messages:
        schema = Schema.of([Part(*part) for part in message.parts])
        times = message.repeats * survey.rows_per_person
        if message.memoised:
            shown = linked > 0 or not set(permanent(survey, message)).isdisjoint(exposed)
            yield Sent.of(schema, times, linked=shown)
            continue
        if linked:
            yield Sent.of(schema, times * linked, linked=True)
        if linked < len(rounds):
            yield Sent.of(schema, times * (len(rounds) - linked))
    tails = (release.collected.tail for release in rounds if release.collected)
    yield Sent((), redraws=sum(-math.log1p(-tail) for tail in tails))
