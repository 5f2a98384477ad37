"""Reports + Plan -> shares that look like proportions, by a named method, with its bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from incrowd.errors import TableError, UsageError
from incrowd.estimation.postprocessed import Method, Postprocessed, consistent, fitted
from incrowd.estimation.readings import table_of
from incrowd.estimation.results import Received
from incrowd.planner.sources import check_tables, readings
from incrowd.plans import Plan
from incrowd.plans.merging import with_merged
from incrowd.survey.merging import Merge
from incrowd.tally.tally import Kind
from incrowd.workflow.estimate import Reports, check_arrived, count

METHODS: tuple[Method, ...] = get_args(Method)


def postprocess(
    plan: Plan,
    reports: Reports,
    *,
    tables: Sequence[Sequence[str]],
    method: Method = "likelihood",
    bootstrap: int = 0,
    merge: Merge | None = None,
    accept_smaller_crowd: bool = False,
    received: Sequence[Received] = (),
) -> tuple[Postprocessed, ...]:
    """Change the unbiased estimates of some tables by a named method. All of them are biased.

    method: "simplex" (nearest shares that are not negative and sum to one), "likelihood"
    (nonnegative maximum likelihood, by EM) or "consistent" (shared margins of all the tables made
    equal). Of tables that come from cells the first two are one, constrained least squares.
    bootstrap: simulated collections that tell the bias of the first two, 0 for none. merge: answers
    that are read as one, as for `estimate`; their changed shares are added up. received: as for
    `estimate`. Raises UsageError for an unknown method or fewer than 2 draws, TableError for tables
    whose answers overlap, or that are too large for a histogram of their bits; ReportsError as
    `estimate`.
    """
    if method not in METHODS:
        raise UsageError.of("method", method, f"use one of {', '.join(METHODS)}")
    if bootstrap == 1 or (bootstrap and method == "consistent"):
        allowed = "should be 0, or at least 2 with simplex or likelihood"
        raise UsageError.of("bootstrap", bootstrap, allowed)
    plan = with_merged(plan, merge)
    wanted = check_tables(plan, tables)
    for ids in wanted:
        if clear := set(ids) - set(plan.survey.closed(ids)):
            allowed = "it is open, and known without noise; leave it out of post-processing"
            raise TableError.of("table", min(clear), allowed)
        if plan.survey.question(ids[0]).one_way_only:
            allowed = "it is a text question; leave it out of post-processing"
            raise TableError.of("table", ids[0], allowed)
    kind: Kind = "pairs" if method == "consistent" else "patterns"
    counted = count(plan, reports, tables=wanted, kind=kind)
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd, received)
    if method == "consistent":
        joints = [
            table_of(plan, readings(plan, counted, ids), ids, covariance=True) for ids in wanted
        ]
        return consistent(joints, guarantee, counted.seed)
    by = method, bootstrap, guarantee, counted.seed
    return tuple(
        fitted(list(map(plan.survey.question, ids)), readings(plan, counted, ids), *by)
        for ids in wanted
    )
