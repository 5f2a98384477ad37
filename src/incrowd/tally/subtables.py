"""Tables that a tally holds without counting them: some questions of another table, in any order.

The entry 0 of a question's axis counts all reports, whatever they say to it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from incrowd.plans import Plan
from incrowd.tally.tally import Ids, MessageTally, Tally


def with_tables(plan: Plan, counted: Tally, wanted: Iterable[Ids]) -> Tally:
    """The tally, with those wanted tables as well that follow from what it counts.

    A table has to be told by the same messages as the one that it is a part of.
    """
    found = {ids: whole for ids in wanted if (whole := _holding(plan, counted, ids))}
    if not found:
        return counted
    joint = {number for number, message in enumerate(plan.messages) if not message.cells}
    return replace(
        counted,
        tables=(*counted.tables, *found),
        messages=_each(counted.messages, found, joint),
        strata={names: _each(crowd, found, joint) for names, crowd in counted.strata.items()},
    )


def _holding(plan: Plan, counted: Tally, ids: Ids) -> Ids | None:
    """A counted table that has all these questions and no fewer messages; None if there is no need
    for one, or none."""
    if ids in counted.tables:
        return None
    if counted.tables and plan.by_cells_alone(ids):  # all cells are counted
        return counted.tables[0]
    if counted.kind == "patterns":
        return None
    places = _messages(plan, ids)
    for whole in counted.tables:
        if set(ids) <= set(whole) and _messages(plan, whole) == places:
            return whole
    return None


def _messages(plan: Plan, ids: Ids) -> list[int]:
    return [number for number, message in enumerate(plan.messages) if message.holds(ids)]


def _each(
    messages: Mapping[int, MessageTally], found: Mapping[Ids, Ids], joint: Container[int]
) -> dict[int, MessageTally]:
    """joint: the messages of joint reports; the others count cells, in any case all of them."""
    return {
        number: _completed(counts, found) if number in joint else counts
        for number, counts in messages.items()
    }


def _completed(counts: MessageTally, found: Mapping[Ids, Ids]) -> MessageTally:
    made = dict(counts.tables)
    for ids, whole in found.items():
        if whole not in counts.tables or not set(ids) <= set(whole):
            continue
        kept = counts.tables[whole][tuple(slice(None) if id in ids else 0 for id in whole)]
        order = [id for id in whole if id in ids]
        made[ids] = kept.transpose([order.index(id) for id in ids])
    return replace(counts, tables=made)
