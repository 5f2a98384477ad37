"""Reports + Plan -> what people ask of a two-way table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from incrowd.errors import InWords, UsageError
from incrowd.estimation.estimate import Reports, check_arrived, count
from incrowd.estimation.readings import check_tables, table
from incrowd.estimation.results import Received
from incrowd.estimation.shares_apart import (
    ShareDifference,
    check_answers,
    held_together,
    shares_compared,
)
from incrowd.estimation.two_way import TwoWay, two_way
from incrowd.estimation.weighting.known_margins import Given, known_margins
from incrowd.estimation.weighting.weighting import Change, counted_for, derived
from incrowd.plans import Plan
from incrowd.plans.plan import with_merged
from incrowd.survey.merging import Merge


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
    return replace(found, wording=plan.survey.legend(first, second))


# Reports + Plan -> how far apart two shares are, of one table or of two.


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
