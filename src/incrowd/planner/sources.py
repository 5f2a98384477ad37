"""Where a table can be read: in every message that holds its questions.

Proof: docs/mathematics.md#several-messages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from incrowd.errors import TableError, likely
from incrowd.estimation.covariance import MOST_COUNTS
from incrowd.estimation.readings import Reading
from incrowd.planner.expectation import weight
from incrowd.plans import Message, Plan
from incrowd.survey import Survey, Text
from incrowd.tally.tally import Tally

Ids = tuple[str, ...]


class Source(NamedTuple):
    """A message in which a table can be read.

    weight: the inverse of the noise variance that was planned for its largest cell, for the
    people that the plan counts on. It does not depend on the reports, so that weighted means have
    no bias.
    """

    number: int
    message: Message
    weight: float

    def counted(self, ids: Ids) -> Ids:
        """Under which ids a tally has the counts of a table: of cells all are counted."""
        return self.message.ids if self.message.cells else ids


def sources(plan: Plan, ids: Ids) -> tuple[Source, ...]:
    """The messages that hold all questions of a table. Raises TableError if there are none."""
    found = tuple(
        Source(number, message, weight(plan.survey, message, ids))
        for number, message in enumerate(plan.messages)
        if message.holds(ids)
    )
    if not found:
        together = ", ".join(f"({', '.join(message.ids)})" for message in plan.messages)
        allowed = f"no message holds all of them; ask for what travels together: {together}"
        raise TableError.of("table", ",".join(ids), allowed)
    return found


def pair_weight(survey: Survey, message: Message, ids: Ids) -> float:
    """How much a message counts for the pairs of a first question with each of the others."""
    first, *others = ids
    tables: list[Ids] = [(first, id) for id in others] or [(first,)]
    return 1 / sum(1 / weight(survey, message, pair) for pair in tables)


def readings(plan: Plan, counted: Tally, ids: Ids) -> tuple[Reading, ...]:
    """The counts of a table in every message that holds it."""
    return tuple(
        _reading(source, counted.messages[source.number].tables[source.counted(ids)])
        for source in sources(plan, ids)
    )


def _reading(source: Source, counts: np.ndarray) -> Reading:
    """Copies of permanent responses are read as the one report that they share the noise of: their
    mean has at most its variance."""
    message, copies = source.message, source.message.copies
    if message.independent_copies < copies:
        message, counts = message.model_copy(update={"copies": 1}), counts / copies
    return Reading(message, source.weight, counts)


def sharpest(plan: Plan, counted: Tally, ids: Ids) -> Reading:
    """The counts of a table in the message that tells most of it, by the plan."""
    return max(readings(plan, counted, ids), key=lambda reading: reading.weight)


def check_tables(plan: Plan, tables: Sequence[Sequence[str]] | None) -> tuple[Ids, ...]:
    """The wanted tables.

    Raises TableError if one names no question or names one twice, if its questions do not travel
    together, or if no memory holds it.
    """
    if tables is None:
        return plan.survey.wanted
    survey = plan.survey
    known = [question.id for question in survey.questions]
    for ids in tables:
        for id in ids:
            if id not in known:
                allowed = f"no question has this id; {likely(id, known)}use {', '.join(known)}"
                raise TableError.of("table", id, allowed)
        if len(set(ids)) < len(ids) or not ids:
            raise TableError.of("table", ",".join(ids), "should name some questions, each once")
        alone = [id for id in ids if isinstance(survey.question(id), Text)]
        if alone and len(ids) > 1:
            allowed = "it is a text question; give it a table of its own"
            raise TableError.of("table", alone[0], allowed)
        closed = survey.closed(ids)
        if len(closed) < len(ids) and any(survey.question(id).one_way_only for id in closed):
            allowed = "it stands in no table with others; drop the rest, each stratum has its table"
            raise TableError.of("table", closed[0], allowed)
        cells = math.prod(1 + survey.question(id).bits for id in closed)
        if len(ids) > 1 and cells > MOST_COUNTS:
            allowed = f"it needs {cells:,} counts, more than {MOST_COUNTS:,}; drop a question"
            raise TableError.of("table", ",".join(ids), allowed)
        if closed:
            sources(plan, closed)
    return tuple(map(tuple, tables))
