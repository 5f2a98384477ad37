"""The messages that are worth certifying for a survey."""

from __future__ import annotations

from incrowd.accounting.analyses import plannable
from incrowd.planner.cell_search import WORK
from incrowd.planner.cell_ways import cell_ways
from incrowd.planner.groups import Grouping, Progress, fixed_way, joint_ways
from incrowd.plans.grouping import default_groups, grouping
from incrowd.survey import Survey


def ways(survey: Survey, progress: Progress | None = None, work: float = WORK) -> list[Grouping]:
    """The survey's own messages, or those worth a try: cells, or joint reports.

    Where the promise alone limits what is sent, no joint report is as precise as the cells of its
    tables. Joint reports are tried as well where the reports of a person, their size or the
    local epsilon are limited. work: as in `SearchTask`. None if none fits. Raises PrivacyError if
    no plan can rest on the survey's analysis.
    """
    plannable(survey.privacy.analysis)
    fixed = grouping(survey)
    if fixed is not None:
        return [fixed_way(survey, fixed)]
    cells = [] if survey.tables == "any" else list(cell_ways(survey, work))
    if cells and not _capped(survey):
        return cells
    if survey.reports_per_person is None:
        return [*cells, fixed_way(survey, default_groups(survey))]
    return [*cells, *joint_ways(survey, survey.reports_per_person, progress)]


def sends_cells(survey: Survey) -> bool:
    """Whether the planner chooses messages, of cells among others."""
    return grouping(survey) is None and survey.tables != "any" and bool(cell_ways(survey))


def _capped(survey: Survey) -> bool:
    limits = (survey.reports_per_person, survey.upload_bytes, survey.privacy.local_epsilon)
    return any(limit is not None for limit in limits)
