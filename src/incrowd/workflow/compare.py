"""Reports + Plan -> what people ask of a two-way table."""

from __future__ import annotations

from dataclasses import replace

from incrowd.estimation.two_way import TwoWay, two_way
from incrowd.planner.open_tables import joint_table
from incrowd.planner.sources import check_tables
from incrowd.plans import Plan
from incrowd.presentation.plan_text import legend
from incrowd.workflow.estimate import Reports, check_arrived, count


def compare(
    plan: Plan,
    reports: Reports,
    first: str,
    second: str,
    *,
    reference: str | None = None,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
) -> TwoWay:
    """Compare the answers to `second` between those who gave each answer to `first`.

    reference: the answer to `first` with which its others are compared, each against it, as in
    `regress`; by default its first.
    Raises ReportsError as `estimate` does, TableError for questions or answers that the plan does
    not have.
    """
    ids = check_tables(plan, [(first, second)])[0]
    counted = count(plan, reports, tables=[ids], kind="pairs")
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd)
    table = joint_table(plan, counted, ids, noise_only, margin=True)
    found = two_way(table, guarantee, counted.seed, reference)
    return replace(found, wording=legend(plan.survey, first, second))
