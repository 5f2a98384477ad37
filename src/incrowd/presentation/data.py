"""Results as JSON-ready data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from incrowd.guarantees.parties import against
from incrowd.guarantees.strength import strength
from incrowd.interviews.promise import InterviewPromise
from incrowd.number_text import finite
from incrowd.plans import Guarantee
from incrowd.plans.plan import written_epsilon
from incrowd.presentation.guarantee_text import Organizations, against_sentence, guarantee_sentence
from incrowd.presentation.receipts import WARNING, invented_warning, marked
from incrowd.views import Result


def json_ready(result: Result) -> dict[str, Any]:
    """Return the facts of a result as JSON holds them, with its seed,
    and a warning if it has one."""
    facts = marked(plain(result.facts()), result.seed)
    if result.invented and result.seed is None:
        return {WARNING: str(invented_warning(result))} | facts
    return facts


def plain(value: Any) -> Any:
    """Return a value of facts for JSON: a guarantee as `guarantee_facts`, dataclasses as mappings,
    and null for nan and infinity."""
    if isinstance(value, Guarantee):
        return guarantee_facts(value)
    if isinstance(value, InterviewPromise):
        return value.facts()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return finite(value)


def guarantee_facts(
    guarantee: Guarantee, organizations: Organizations | None = None
) -> dict[str, Any]:
    """Return a guarantee as JSON-ready data, with its sentence and the limit that holds against
    each party.

    strength: in a word. promise_holds: whether it is the plan's own; if not, `reduced_by` has the
    reasons. against: afterwards; against_if_planned: with two mixers, if parties deviated from the
    protocol from the start. organizations: those that run the services, if the bundle is known.
    """
    afterwards, planned = (
        {
            party: limit._asdict() | {"epsilon": written_epsilon(limit.epsilon)}
            for party, limit in limits.items()
        }
        for limits in against(guarantee)
    )
    facts = guarantee.model_dump(mode="json") | {
        "strength": strength(guarantee),
        "promise_holds": not guarantee.reduced_by,
        "reduced_by": list(guarantee.reduced_by),
        "sentence": guarantee_sentence(guarantee),
        "against": afterwards,
    }
    if planned:
        facts["against_if_planned"] = planned
    if organizations:
        facts["organizations"] = dict(organizations)
        facts["who_could_cheat"] = str(against_sentence(guarantee, organizations))
    return facts
