"""Tables of a tally: of all people together, of each stratum, and of what is said openly."""

from __future__ import annotations

from incrowd.estimation.readings import Ids, table_of
from incrowd.estimation.sources import readings
from incrowd.estimation.tables import OpenAxis, TableEstimate, across, check_cells, everybody
from incrowd.plans import Plan
from incrowd.plans.strata import told_apart
from incrowd.reports.consistency import smallest
from incrowd.reports.tally import Tally
from incrowd.survey import Survey
from incrowd.survey.open import SEPARATOR


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

    def of(part: Tally, people: int) -> TableEstimate:
        if not closed:
            return everybody(people, noise_only, plan.survey.rows_per_person, covariance=covariance)
        found = readings(plan, part, closed)
        return table_of(
            plan, found, closed, noise_only, places, covariance=covariance, margin=margin
        )

    if closed == ids:
        return of(counted, 0)
    answers = told_apart(plan.survey, open_of(plan.survey, ids), list(counted.strata))
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
