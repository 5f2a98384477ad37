"""Counted reports -> a table, combined from every message that holds its questions.

Proof: docs/mathematics.md#several-messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from incrowd.catalog.sentences import likely, sentence
from incrowd.errors import TableError
from incrowd.estimation.cells import (
    CellCounts,
    CellsReading,
    FalseReports,
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
from incrowd.plans import JointReport, Message, Outline, Plan
from incrowd.plans.claims import ClaimedRelease
from incrowd.plans.slots import slots, slots_of_messages
from incrowd.plans.strata import releases_by_answer
from incrowd.survey import AnyQuestion, Survey
from incrowd.survey.open import SEPARATOR
from incrowd.survey.question import QuestionIds

if TYPE_CHECKING:
    from incrowd.reports.tally import Tally

ReportPlaces = tuple[
    int, ...
]  # reports in an upload: of any message, or of each one; empty if not known


class MessageReading(NamedTuple):
    """The counts of a table in the joint reports of one message, and their weight."""

    message: JointReport
    weight: float
    counts: np.ndarray

    def table(
        self,
        questions: Sequence[AnyQuestion],
        noise_only: bool,
        false_reports: FalseReports,
        *,
        covariance: bool = False,
        margin: bool = False,
    ) -> TableEstimate:
        """Return a table of some questions, as `CellsReading.table`."""
        channels, copies = self.message.channels, self.message.copies
        table = estimate_table(
            [question.id for question in questions],
            [question_decoder(each, channels[each.id], margin) for each in questions],
            self.counts,
            copies,
            noise_only,
            covariance=covariance,
        )
        influence = table.provenance.influence * false_reports.of(self.message)
        return replace(table, provenance=replace(table.provenance, influence=influence))


Readings = Sequence[MessageReading | CellsReading]


class MessageSource(NamedTuple):
    """A message that holds a table.

    weight: the inverse of the planned noise variance of the table's largest cell, for the people
    that the plan relies on. It does not depend on the reports, so weighted means have no bias.
    """

    number: int
    message: Message
    weight: float


def sources(plan: Outline, ids: QuestionIds) -> tuple[MessageSource, ...]:
    """Return the messages that hold all questions of a table. Raises TableError if there
    are none."""
    holding = tuple(
        MessageSource(number, message, weight(plan.survey, message, ids))
        for number, message in enumerate(plan.messages)
        if message.holds(ids)
    )
    if not holding:
        together = [
            sentence(
                "estimation.two-of-these" if message.parities else "estimation.these",
                questions=message.ids,
            )
            for message in plan.messages
        ]
        why = sentence("estimation.not-together", messages=together)
        raise TableError.of("table", "estimation.no-table", value=",".join(ids), why=why)
    return holding


def joint_sources(plan: Outline, ids: QuestionIds) -> tuple[MessageSource, ...]:
    """Return the messages of joint reports among `sources`. Raises TableError as `sources` does."""
    return tuple(source for source in sources(plan, ids) if not source.message.cells)


def pair_weight(survey: Survey, message: Message, ids: QuestionIds) -> float:
    """Return the weight of a message for the pairs of the first question with each of
    the others."""
    first, *others = ids
    tables: list[QuestionIds] = [(first, id) for id in others] or [(first,)]
    return 1 / sum(1 / weight(survey, message, pair) for pair in tables)


def readings(plan: Plan, counted: Tally, ids: QuestionIds) -> Readings:
    """Return the counts of a table in every message of joint reports that holds it, and those of
    all messages of cells together, if one of these does."""
    reports = joint_readings(plan, counted, ids)
    return _with_cells(plan, ids, reports, lambda: cells_reading(plan, counted))


def expected_readings(
    plan: Outline,
    ids: QuestionIds,
    people: int,
    counts_of: Callable[[JointReport], np.ndarray],
    shares_of: Callable[[AnyQuestion], ArrayLike],
) -> Readings:
    """Return the average of `readings`, if the answers to different questions are independent.

    counts_of: the counts of a message of joint reports. shares_of: the shares of the answers to a
    question.
    """
    reports = [
        MessageReading(message, planned, counts_of(message))
        for _, message, planned in sources(plan, ids)
        if not message.cells
    ]
    return _with_cells(plan, ids, reports, lambda: expected_cells_reading(plan, people, shares_of))


def _with_cells(
    plan: Outline,
    ids: QuestionIds,
    reports: Sequence[MessageReading],
    cells: Callable[[], CellsReading],
) -> Readings:
    """Return the joint reports, and the cells if one of their messages holds the table."""
    if not any(source.message.cells for source in sources(plan, ids)):
        return reports
    reading = cells()
    messages = [part.message for part in reading.parts]
    return (*reports, reading._replace(weight=planned_weight(messages, ids, plan.survey.crowd)))


def joint_readings(plan: Plan, counted: Tally, ids: QuestionIds) -> tuple[MessageReading, ...]:
    """Return the counts of a table in every message of joint reports that holds it.

    The copies of a permanent response share their noise, so they are read as one report: the
    variance of their mean is at most that of one.
    """
    reports = []
    for number, message, planned in sources(plan, ids):
        if message.cells:
            continue
        counts = counted.messages[number].tables[ids]
        if message.independent_copies < message.copies:
            counts = counts / message.copies
            message = message.model_copy(update={"copies": 1})
        reports.append(MessageReading(message, planned, counts))
    return tuple(reports)


def cells_reading(plan: Plan, counted: Tally) -> CellsReading:
    """Return the counts of all messages of cells. weight: 1."""
    counts = [
        (number, message, counted.messages[number].tables[message.ids])
        for number, message in enumerate(plan.messages)
        if message.cells
    ]
    parts = [
        CellCounts(message, int(each[0]), each[1:], counted.messages[number].draws)
        for number, message, each in counts
    ]
    return CellsReading(tuple(parts), 1.0)


def expected_cells_reading(
    plan: Outline, people: int, shares_of: Callable[[AnyQuestion], ArrayLike]
) -> CellsReading:
    """Return the average of `cells_reading`,
    if the answers to different questions are independent."""
    cells = [message for message in plan.messages if message.cells]
    return CellsReading(tuple(expected_cells(each, people, shares_of) for each in cells), 1.0)


def sharpest(plan: Plan, counted: Tally, ids: QuestionIds) -> MessageReading:
    """Return the counts of a table in the joint reports that measure it best, according to the
    plan."""
    return max(joint_readings(plan, counted, ids), key=lambda reading: reading.weight)


def check_tables(plan: Outline, tables: Sequence[Sequence[str]] | None) -> tuple[QuestionIds, ...]:
    """Return the requested tables, by default those that the survey requests.

    Raises TableError if one names no question or names one twice, if its questions do not travel
    together, or if it is too large for memory.
    """
    if tables is None:
        return plan.survey.wanted
    survey = plan.survey
    questions = [question.id for question in survey.questions]
    for ids in tables:
        for id in ids:
            if id not in questions:
                raise TableError.of(
                    "table",
                    "estimation.no-such-question",
                    value=id,
                    hint=likely(id, questions),
                    questions=questions,
                )
        if len(set(ids)) < len(ids) or not ids:
            raise TableError.of("table", "estimation.questions-once", value=",".join(ids))
        alone = [id for id in ids if survey.question(id).one_way_only]
        if alone and len(ids) > 1:
            raise TableError.of("table", "survey.text-in-table", value=alone[0])
        closed = survey.closed(ids)
        cells = math.prod(1 + survey.question(id).bits for id in closed)
        if len(ids) > 1 and cells > MOST_COUNTS:
            why = sentence("estimation.too-many-counts", counts=cells, most=MOST_COUNTS)
            raise TableError.of("table", "estimation.no-table", value=",".join(ids), why=why)
        if closed:
            sources(plan, closed)
    return tuple(map(tuple, tables))


def table(
    plan: Plan,
    counted: Tally,
    ids: QuestionIds,
    noise_only: bool = False,
    places: ReportPlaces = (),
    *,
    covariance: bool = False,
    margin: bool = False,
) -> TableEstimate:
    """Return one table of the released people, combined from all messages that hold it.

    An open question is an axis without noise; several open questions are one axis, such as
    "faculty / year". places: that a malicious
    sender can fill, from `places_of`. covariance: include that of all cells, from
    counts of pairs; margin: then also include "any answer" as the last entry of each axis. Raises
    TableError for a covariance of more than 2,000 cells.
    """
    closed = plan.survey.closed(ids)
    questions = [plan.survey.question(id) for id in closed]
    sender = false_reports(plan, places)

    # Here, so that a plan is forecast without loading what reads reports.
    from incrowd.reports.consistency import smallest

    def of_people(part: Tally, people: int) -> TableEstimate:
        if not closed:
            return everybody(people, noise_only, plan.survey.rows_per_person, covariance=covariance)
        holding = readings(plan, part, closed)
        tables = [
            each.table(questions, noise_only, sender, covariance=covariance, margin=margin)
            for each in holding
        ]
        return combined(tables, [each.weight for each in holding])

    if closed == ids:
        return of_people(counted, 0)
    answers = releases_by_answer(plan.survey, open_of(plan.survey, ids), list(counted.strata))
    tallies = [counted.only(releases) for releases in answers.values()]
    people = tuple(smallest(plan, part.messages) for part in tallies)
    parts = [of_people(part, number) for part, number in zip(tallies, people, strict=True)]
    if covariance:
        check_cells(len(parts) * parts[0].estimate.size)
    return across(parts, open_axis(plan.survey, ids, tuple(answers), people), margin)


def false_reports(plan: Outline, places: ReportPlaces) -> FalseReports:
    """Return what one malicious sender can send at most.

    Without places, as many copies as an honest person, or as many cells as an upload has slots, for
    each row.
    """

    def of(message: Message) -> int:
        if message.by_services:  # one for each lane of cells
            return plan.survey.rows_per_person
        if len(places) > 1:
            return places[plan.messages.index(message)]
        if places:
            return places[0]
        reports = sum(slots(plan)) if message.cells else message.copies
        return reports * plan.survey.rows_per_person

    return FalseReports(of, shared=len(places) <= 1 and not plan.by_services)


def places_of(plan: Plan, releases: Iterable[ClaimedRelease]) -> ReportPlaces:
    """Return the places that a malicious sender can fill in an upload; empty without releases.

    To one shuffler, every report can be of any message. With two mixers, each message has slots of
    its own. In reports of both kinds, each person sent one upload.
    """
    claims = {release.claims for release in releases}
    any_message = [each.places for each in claims if each.mixers == 1]
    if len(any_message) == len(claims):
        return tuple(sorted(any_message)[-1:])
    return tuple(max([places, *any_message]) for places in slots_of_messages(plan))


def open_of(survey: Survey, ids: QuestionIds) -> QuestionIds:
    """Return the open ones among some questions, in the order of the survey."""
    return tuple(question.id for question in survey.open if question.id in ids)


def open_axis(
    survey: Survey, ids: QuestionIds, answers: tuple[str, ...], people: tuple[int, ...]
) -> OpenAxis:
    """Return the open axis of a table, in place of the first open question."""
    clear = open_of(survey, ids)
    place = min(map(ids.index, clear))
    return OpenAxis(SEPARATOR.join(clear), answers, place, people)
