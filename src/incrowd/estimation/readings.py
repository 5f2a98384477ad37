"""Reports that were counted -> a table: it is read in every message that holds its questions.

Proof: docs/mathematics.md#several-messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from incrowd.errors import TableError, likely
from incrowd.estimation.cells import (
    CellCounts,
    CellsReading,
    cells_table,
    expected_cells,
    planned_weight,
)
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.precision import weight
from incrowd.estimation.tables import (
    MOST_COUNTS,
    OpenAxis,
    TableEstimate,
    across,
    check_cells,
    combined,
    estimate_table,
    everybody,
)
from incrowd.plans import JointReport, Message, Plan
from incrowd.plans.slots import slots
from incrowd.plans.strata import releases_by_answer
from incrowd.survey import AnyQuestion, Survey
from incrowd.survey.open import SEPARATOR

if TYPE_CHECKING:
    from incrowd.reports.tally import Tally

Ids = tuple[str, ...]


class Reading(NamedTuple):
    """The counts of a table in the joint reports of one message, and how much they weigh."""

    message: JointReport
    weight: float
    counts: np.ndarray


Readings = Sequence[Reading | CellsReading]


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
    reports = joint_readings(plan, counted, ids)
    return _with_cells(plan, ids, reports, lambda: cells_reading(plan, counted))


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
    reports = [
        Reading(source.message, source.weight, counts_of(source.message))
        for source in sources(plan, ids)
        if not source.message.cells
    ]
    return _with_cells(plan, ids, reports, lambda: expected_cells_reading(plan, people, shares_of))


def _with_cells(
    plan: Plan, ids: Ids, reports: Sequence[Reading], cells: Callable[[], CellsReading]
) -> Readings:
    """Joint reports, and the cells if a message of these holds the table."""
    if not any(source.message.cells for source in sources(plan, ids)):
        return reports
    reading = cells()
    messages = [part.message for part in reading.parts]
    return (*reports, reading._replace(weight=planned_weight(messages, ids)))


def joint_readings(plan: Plan, counted: Tally, ids: Ids) -> tuple[Reading, ...]:
    """The counts of a table in every message of joint reports that holds it."""
    return tuple(
        _reading(source.message, source.weight, counted.messages[source.number].tables[ids])
        for source in sources(plan, ids)
        if not source.message.cells
    )


def _reading(message: JointReport, weight: float, counts: np.ndarray) -> Reading:
    """Copies of permanent responses are read as the one report that they share the noise of: their
    mean has at most its variance."""
    copies = message.copies
    if message.independent_copies < copies:
        message, counts = message.model_copy(update={"copies": 1}), counts / copies
    return Reading(message, weight, counts)


def cells_reading(plan: Plan, counted: Tally) -> CellsReading:
    """The counts of all messages of cells. weight: 1."""
    counts = [
        (message, counted.messages[number].tables[message.ids])
        for number, message in enumerate(plan.messages)
        if message.cells
    ]
    parts = [CellCounts(message, int(each[0]), each[1:]) for message, each in counts]
    return CellsReading(tuple(parts), 1.0)


def expected_cells_reading(
    plan: Plan, people: int, shares_of: Callable[[AnyQuestion], ArrayLike]
) -> CellsReading:
    """What `cells_reading` is on average, if the answers to different questions are independent."""
    cells = [message for message in plan.messages if message.cells]
    return CellsReading(tuple(expected_cells(each, people, shares_of) for each in cells), 1.0)


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


def table_of(
    plan: Plan,
    found: Readings,
    ids: Ids,
    noise_only: bool = False,
    places: int = 0,
    *,
    covariance: bool = False,
    margin: bool = False,
) -> TableEstimate:
    """One table, combined from all messages that hold it.

    places: as `false_reports` has them. covariance: that of all cells as well, from counts of
    pairs; margin: then with "any answer" as the last entry of each axis. Raises TableError for a
    covariance of more than 2,000 cells.
    """
    questions = [plan.survey.question(id) for id in ids]

    def of(reading: Reading | CellsReading) -> TableEstimate:
        if isinstance(reading, CellsReading):
            senders = partial(false_reports, plan, places=places)
            return cells_table(
                questions, reading, noise_only, senders, covariance=covariance, margin=margin
            )
        message, channels = reading.message, reading.message.channels
        decoders = [question_decoder(q, channels[q.id], margin) for q in questions]
        table = estimate_table(
            ids, decoders, reading.counts, message.copies, noise_only, covariance=covariance
        )
        return replace(table, influence=table.influence * false_reports(plan, message, places))

    return combined([of(reading) for reading in found], [reading.weight for reading in found])


def false_reports(plan: Plan, message: Message, places: int) -> int:
    """How many reports of a message one malicious sender can send at most.

    places: sealed reports in one upload, if the reports came over a network: all of them may hold
    this message. Otherwise 0: she sends the copies of an honest person, or of cells as many as the
    slots of an upload hold; and that for each of her rows.
    """
    if places:
        return places
    reports = sum(slots(plan)) if message.cells else message.copies
    return reports * plan.survey.rows_per_person


def table(
    plan: Plan,
    counted: Tally,
    ids: Ids,
    noise_only: bool = False,
    places: int = 0,
    *,
    covariance: bool = False,
    margin: bool = False,
) -> TableEstimate:
    """One table of the released people, as `incrowd.estimation.readings.table_of` has it.

    An open question is an axis without noise; several are one axis, as "faculty / year".
    """
    closed = plan.survey.closed(ids)

    # Here, so that a plan is forecast without loading what reads reports.
    from incrowd.reports.consistency import smallest

    def of(part: Tally, people: int) -> TableEstimate:
        if not closed:
            return everybody(people, noise_only, plan.survey.rows_per_person, covariance=covariance)
        found = readings(plan, part, closed)
        return table_of(
            plan, found, closed, noise_only, places, covariance=covariance, margin=margin
        )

    if closed == ids:
        return of(counted, 0)
    answers = releases_by_answer(plan.survey, open_of(plan.survey, ids), list(counted.strata))
    tallies = [counted.only(releases) for releases in answers.values()]
    people = tuple(smallest(plan, part.messages) for part in tallies)
    parts = [of(part, number) for part, number in zip(tallies, people, strict=True)]
    if covariance:
        check_cells(len(parts) * parts[0].estimate.size)
    return across(parts, open_axis(plan.survey, ids, tuple(answers), people), margin)


def open_of(survey: Survey, ids: Ids) -> Ids:
    """Those of some questions that are open, in the order of the survey."""
    return tuple(question.id for question in survey.open if question.id in ids)


def open_axis(
    survey: Survey, ids: Ids, answers: tuple[str, ...], people: tuple[int, ...]
) -> OpenAxis:
    """The open axis of a table, in the place of the first open question."""
    found = open_of(survey, ids)
    place = min(map(ids.index, found))
    return OpenAxis(SEPARATOR.join(found), answers, place, people)
