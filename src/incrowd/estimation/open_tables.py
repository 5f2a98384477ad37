"""Tables of a tally: of all people together, of each stratum, and of what is said openly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from incrowd.estimation.across import OpenAxis, across, across_joint, everybody, everybody_joint
from incrowd.estimation.covariance import JointEstimate, check_cells
from incrowd.estimation.readings import Ids, joint, table_of
from incrowd.estimation.sources import readings
from incrowd.estimation.tables import TableEstimate
from incrowd.plans import Plan
from incrowd.plans.strata import told_apart
from incrowd.reports.consistency import smallest
from incrowd.reports.tally import Tally
from incrowd.survey import Survey
from incrowd.survey.open import SEPARATOR

T = TypeVar("T")


def table(
    plan: Plan, counted: Tally, ids: Ids, noise_only: bool = False, places: int = 0
) -> TableEstimate:
    """One table of the released people, its errors as for `incrowd.estimation.readings.table_of`.

    An open question is an axis without noise; several are one axis, as "faculty / year".
    """
    closed = plan.survey.closed(ids)

    def of(part: Tally, people: int) -> TableEstimate:
        if not closed:
            return everybody(people, noise_only, plan.survey.rows_per_person)
        return table_of(plan, readings(plan, part, closed), closed, noise_only, places)

    if closed == ids:
        return of(counted, 0)
    return across(*_parts(plan, counted, ids, of))


def joint_table(
    plan: Plan, counted: Tally, ids: Ids, noise_only: bool = False, margin: bool = False
) -> JointEstimate:
    """`table` with the covariance of all cells, and margins if wanted.

    counted: counts of pairs. Raises TableError if it has more than 2,000 cells.
    """
    closed = plan.survey.closed(ids)

    def of(part: Tally, people: int) -> JointEstimate:
        if not closed:
            return everybody_joint(people, noise_only)
        return joint(plan, readings(plan, part, closed), closed, noise_only, margin)

    if closed == ids:
        return of(counted, 0)
    parts, axis = _parts(plan, counted, ids, of)
    check_cells(len(parts) * parts[0].estimate.size)
    return across_joint(parts, axis, margin)


def _parts(
    plan: Plan, counted: Tally, ids: Ids, of: Callable[[Tally, int], T]
) -> tuple[Sequence[T], OpenAxis]:
    """What a function makes of those who gave each answer to the open questions of a table."""
    answers = told_apart(plan.survey, open_of(plan.survey, ids), list(counted.strata))
    tallies = [counted.only(releases) for releases in answers.values()]
    people = tuple(smallest(plan, part.messages) for part in tallies)
    parts = [of(part, number) for part, number in zip(tallies, people, strict=True)]
    return parts, open_axis(plan.survey, ids, tuple(answers), people)


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
