"""Reports + Plan -> what people ask of a two-way table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incrowd.estimation.results import Received
from incrowd.estimation.two_way import TwoWay, two_way
from incrowd.planner.margins import Given, known_margins
from incrowd.planner.open_tables import table
from incrowd.planner.sources import check_tables
from incrowd.planner.weighting import Change, counted_for, derived
from incrowd.plans import Plan
from incrowd.plans.merging import with_merged
from incrowd.presentation.plan_text import legend
from incrowd.survey.merging import Merge
from incrowd.workflow.estimate import Reports, check_arrived, count


def compare(
    plan: Plan,
    reports: Reports,
    first: str,
    second: str,
    *,
    reference: str | None = None,
    merge: Merge | None = None,
    margins: Given | None = None,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
    received: Sequence[Received] = (),
) -> TwoWay:
    """Compare the answers to `second` between those who gave each answer to `first`.

    reference: the answer to `first` with which its others are compared, each against it, as in
    `regress`; by default its first. merge: answers that are read as one, as for `estimate`.
    margins: what is known of all people, as for `estimate`, to which the table is weighted.
    received: as for `estimate`. Raises ReportsError as `estimate` does, TableError for questions or
    answers that the plan does not have, and for what cannot be weighted, UsageError for answers
    that cannot be merged.
    """
    plan = with_merged(plan, merge)
    ids = check_tables(plan, [(first, second)])[0]
    change = None if margins is None else Change(known_margins(plan.survey, margins), False)
    together = (counted_for(plan, ids, change),) if change else ()
    counted = count(plan, reports, tables=list(filter(None, (ids, *together))), kind="pairs")
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd, received)
    made = derived(plan, counted, ids, change) if change else None
    if made:
        both = made.weighted
    else:
        both = table(plan, counted, ids, noise_only, covariance=True, margin=True)
    found = two_way(both.noise_alone() if noise_only else both, guarantee, counted.seed, reference)
    if made:
        names, ratio = made.table.weighted_to, made.table.error_ratio
        found = replace(found, weighted_to=names, error_ratio=ratio)
    return replace(found, wording=legend(plan.survey, first, second))
