"""Everything one person sends by some messages, as the accountant counts it.

Proof: docs/mathematics.md#cells, docs/mathematics.md#parities,
docs/mathematics.md#memoized-rounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from typing import Literal

from incrowd.accountant.additive import BITS, AdditiveNoise
from incrowd.accountant.schema import (
    Alternatives,
    AnyContribution,
    Contribution,
    Part,
    Schema,
    alternatives,
)
from incrowd.plans import EarlierPlan, Message, Plan
from incrowd.plans.changes import MOST, MessageFamily, families
from incrowd.plans.ledger import (
    Permanent,
    Rounds,
    all_rounds,
    permanent,
    repeated,
    rounds_before,
    rounds_planned,
)
from incrowd.survey import Survey

NO_NOISE = AdditiveNoise((1 << BITS,))  # of counts that one party saw: nothing is left
CountsView = Literal["service", "readers"]  # who faces the noise of one service, or of both


@lru_cache(maxsize=64)
def twice(law: AdditiveNoise) -> AdditiveNoise:
    """Return the law of what both services add."""
    return law.plus(law)


def sent_by(plan: Plan, view: CountsView = "service") -> AnyContribution:
    """Return all that a person sends by a plan and sent in the earlier rounds that it covers.

    view: one of the services that add noise, which faces only the noise of the other one; or
    readers. The shuffler sees sealed reports and the results, the collector the counts before its
    own noise: their views are alike. Readers are promised no more than that, unless the survey
    states another epsilon for the services: one party that holds the answers then adds the noise of
    both, and otherwise that of one.
    """
    return _sent(all_rounds(plan), view)


def sent(
    survey: Survey,
    messages: Sequence[Message],
    earlier: Sequence[EarlierPlan] = (),
    view: CountsView = "service",
) -> AnyContribution:
    """Return all that a person sends by some messages, in all rounds and for all rows she may have.

    earlier: earlier rounds with the same people, included. view: as in `sent_by`.
    """
    return _sent([*rounds_before(earlier), rounds_planned(survey, messages)], view)


def sent_before(earlier: Sequence[EarlierPlan], view: CountsView = "service") -> AnyContribution:
    """Return what a person sent in earlier rounds. view: as in `sent_by`."""
    return _sent(rounds_before(earlier), view)


def _sent(plans: Sequence[Rounds], view: CountsView) -> AnyContribution:
    exposed, ways = repeated(plans).exposed, _ways_each(plans)
    each = (sent for rounds in plans for sent in _of_rounds(rounds, exposed, ways, view))
    return reduce(_also, each)


def _also(one: AnyContribution, other: AnyContribution) -> AnyContribution:
    if isinstance(one, Contribution) and isinstance(other, Contribution):
        return one.also(other)
    return Alternatives(alternatives(one)).also(other)


def _ways_each(plans: Sequence[Rounds]) -> int:
    """Return in how many ways the parities of one message may differ; the numbers of several
    messages multiply."""
    several = sum(message.parities for rounds in plans for message in rounds[0].messages)
    return max(int(MOST ** (1 / max(several, 1))), 1)


def _of_rounds(
    rounds: Rounds, exposed: frozenset[Permanent], ways: int, view: CountsView
) -> Iterator[AnyContribution]:
    """Yield what a person sends in the rounds of one plan.

    exposed: permanent responses that count as if they carried names. ways: as in `_ways_each`.
    Memoized responses are the same in every round, all others are drawn again. A round without a
    shuffler hides nothing, and a permanent response sent there is hidden in no round.
    """
    survey, messages, _ = rounds[0]
    linked, rows = sum(release.linked for release in rounds), survey.rows_per_person
    for family in families(messages):
        law = family.messages[0].added
        if law is not None:
            both = view == "readers" and survey.privacy.service_epsilon is not None
            faced = twice(law) if both else law
            assert rows == 1, "noise is added once to a count that several rows change"
            shifts = family.messages[0].repeats
            hidden, alone = (len(rounds) - linked) * shifts, linked * shifts
            pairs = ((faced, hidden), (NO_NOISE, alone))
            yield Contribution((), shifts=tuple((law, cells) for law, cells in pairs if cells))
            continue
        if family.messages[0].memoized:
            names = {name for message in family.messages for name in permanent(survey, message)}
            yield _of_family(family, rows, ways, linked=linked > 0 or not names.isdisjoint(exposed))
            continue
        if linked:
            yield _of_family(family, rows * linked, ways, linked=True)
        if linked < len(rounds):
            yield _of_family(family, rows * (len(rounds) - linked), ways)
    tails = (release.collected.tail for release in rounds if release.collected)
    yield Contribution((), redraws=sum(-math.log1p(-tail) for tail in tails))


def _of_family(
    family: MessageFamily, times: int, ways: int, *, linked: bool = False
) -> AnyContribution:
    """Return what a person sends of a family of messages, `times` times."""
    schemas = [Schema.of([Part(*part) for part in message.parts]) for message in family.messages]
    contributions = [
        reduce(
            Contribution.also,
            (
                Contribution.of(schema, n, linked=linked)
                for schema, n in zip(schemas, bits, strict=True)
                if n
            ),
        )
        for bits in family.differences(times, ways)
    ]
    return contributions[0] if len(contributions) == 1 else Alternatives(tuple(contributions))
