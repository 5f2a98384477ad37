"""Reports + Plan -> how far apart two shares are, of one table or of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incrowd.errors import InWords, UsageError
from incrowd.estimation.results import Received
from incrowd.estimation.shares_apart import ShareDifference
from incrowd.planner.shares_apart import check_answers, held_together, shares_compared
from incrowd.planner.sources import check_tables
from incrowd.plans import Plan
from incrowd.plans.merging import with_merged
from incrowd.survey.merging import Merge
from incrowd.workflow.estimate import Reports, check_arrived, count


def compare_shares(
    plan: Plan,
    reports: Reports,
    first: Mapping[str, str],
    second: Mapping[str, str],
    *,
    positive: bool = False,
    merge: Merge | None = None,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
    received: Sequence[Received] = (),
) -> ShareDifference:
    """The share of people who give some answers less that of those who give others.

    first, second: answers by question, as {"smokes": "yes"} or {"smokes": "yes", "sex": "f"}. The
    tables of both need not travel together. Then it is not told how many people are in both shares,
    and the error is the largest that there can be, unless positive=True states that those of one
    share are in the other at least as often as everybody is. merge, noise_only, received: as for
    `estimate`. Raises TableError for questions and answers that the plan does not have or that do
    not travel together, UsageError if a share names none, ReportsError as `estimate`.
    """
    plan = with_merged(plan, merge)
    for name, answers in (("first", first), ("second", second)):
        if not answers:
            raise UsageError.of(name, InWords("no answers"), "name a question and an answer")
    check_tables(plan, [tuple(first), tuple(second)])
    tables = [check_answers(plan.survey, answers) for answers in (first, second)]
    together = held_together(plan, first, second)
    counted = count(plan, reports, tables=[together] if together else tables, kind="pairs")
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd, received)
    found = shares_compared(plan, counted, first, second, noise_only, positive)
    return ShareDifference(dict(first), dict(second), found, guarantee, counted.seed)
