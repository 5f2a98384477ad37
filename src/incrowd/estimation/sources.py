"""Where a table can be read: in every message that holds its questions.

Proof: docs/mathematics.md#several-messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from incrowd.errors import TableError, likely
from incrowd.estimation.cells import CellCounts, CellsReading, expected_cells, planned_weight
from incrowd.estimation.covariance import MOST_COUNTS
from incrowd.estimation.expectation import weight
from incrowd.estimation.readings import Reading, Readings
from incrowd.plans import JointReport, Message, Plan
from incrowd.survey import AnyQuestion, Survey

if TYPE_CHECKING:
    from incrowd.reports.tally import Tally

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


def sources(plan: Plan, ids: Ids) -> tuple[Source, ...]:
    """The messages that hold all questions of a table. Raises TableError if there are none."""
    found = tuple(
        Source(number, message, weight(plan.survey, message, ids))
        for number, message in enumerate(plan.messages)
        if message.holds(ids)
    )
    if not found:
        together = ", ".join(
            f"{'two of ' * message.parities}({', '.join(message.ids)})" for message in plan.messages
        )
        allowed = f"no message holds all of them; ask for what travels together: {together}"
        raise TableError.of("table", ",".join(ids), allowed)
    return found


def joint_sources(plan: Plan, ids: Ids) -> tuple[Source, ...]:
    """The messages of joint reports that hold all questions of a table. Raises as `sources`."""
    return tuple(source for source in sources(plan, ids) if not source.message.cells)


def pair_weight(survey: Survey, message: Message, ids: Ids) -> float:
    """How much a message counts for the pairs of a first question with each of the others."""
    first, *others = ids
    tables: list[Ids] = [(first, id) for id in others] or [(first,)]
    return 1 / sum(1 / weight(survey, message, pair) for pair in tables)


def readings(plan: Plan, counted: Tally, ids: Ids) -> Readings:
    """The counts of a table in every message of joint reports that holds it, and of all messages of
    cells together, if one of these does."""
    found = sources(plan, ids)
    joint: Readings = joint_readings(plan, counted, ids)
    if not any(source.message.cells for source in found):
        return joint
    reading = cells_reading(plan, counted)
    messages = [part.message for part in reading.parts]
    return (*joint, reading._replace(weight=planned_weight(messages, ids) if joint else 1.0))


def cells_reading(plan: Plan, counted: Tally) -> CellsReading:
    """The counts of all messages of cells. weight: 1."""
    return CellsReading(tuple(_cells(plan, counted)), 1.0)


def expected_readings(
    plan: Plan,
    ids: Ids,
    people: int,
    counts_of: Callable[[JointReport], np.ndarray],
    shares_of: Callable[[AnyQuestion], ArrayLike],
) -> Readings:
    """What `readings` are on average, if the answers to different questions are independent.

    counts_of: the counts of a message of joint reports. shares_of: of the answers to a question.
    """
    found = sources(plan, ids)
    joint: Readings = [
        Reading(source.message, source.weight, counts_of(source.message))
        for source in found
        if not source.message.cells
    ]
    if not any(source.message.cells for source in found):
        return joint
    reading = expected_cells_reading(plan, people, shares_of)
    messages = [part.message for part in reading.parts]
    return (*joint, reading._replace(weight=planned_weight(messages, ids)))


def expected_cells_reading(
    plan: Plan, people: int, shares_of: Callable[[AnyQuestion], ArrayLike]
) -> CellsReading:
    """What `cells_reading` is on average, if the answers to different questions are independent."""
    cells = [message for message in plan.messages if message.cells]
    return CellsReading(tuple(expected_cells(each, people, shares_of) for each in cells), 1.0)


def joint_readings(plan: Plan, counted: Tally, ids: Ids) -> tuple[Reading, ...]:
    """The counts of a table in every message of joint reports that holds it."""
    return tuple(
        _reading(source.message, source.weight, counted.messages[source.number].tables[ids])
        for source in sources(plan, ids)
        if not source.message.cells
    )


def _cells(plan: Plan, counted: Tally) -> Iterator[CellCounts]:
    """The counts of every message of cells."""
    for number, message in enumerate(plan.messages):
        if message.cells:
            counts = counted.messages[number].tables[message.ids]
            yield CellCounts(message, int(counts[0]), counts[1:])


def _reading(message: JointReport, weight: float, counts: np.ndarray) -> Reading:
    """Copies of permanent responses are read as the one report that they share the noise of: their
    mean has at most its variance."""
    copies = message.copies
    if message.independent_copies < copies:
        message, counts = message.model_copy(update={"copies": 1}), counts / copies
    return Reading(message, weight, counts)


def sharpest(plan: Plan, counted: Tally, ids: Ids) -> Reading:
    """The counts of a table in the joint reports that tell most of it, by the plan."""
    return max(joint_readings(plan, counted, ids), key=lambda reading: reading.weight)


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
        alone = [id for id in ids if survey.question(id).one_way_only]
        if alone and len(ids) > 1:
            allowed = "it is a text question; give it a table of its own"
            raise TableError.of("table", alone[0], allowed)
        closed = survey.closed(ids)
        cells = math.prod(1 + survey.question(id).bits for id in closed)
        if len(ids) > 1 and cells > MOST_COUNTS:
            allowed = f"it needs {cells:,} counts, more than {MOST_COUNTS:,}; drop a question"
            raise TableError.of("table", ",".join(ids), allowed)
        if closed:
            sources(plan, closed)
    return tuple(map(tuple, tables))
