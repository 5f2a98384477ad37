"""Shares of those who were asked a question: ratios, since their number is estimated too.

"Not asked" is an answer like any other, so the number of those who were asked has noise. The share
of an answer among them is tested as the share within a group is, so that its interval covers at any
size, however few were asked. Proof: docs/mathematics.md#conditions,
docs/mathematics.md#ratios-and-lengths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from incrowd.estimation.cell_errors import CellErrors
from incrowd.estimation.intervals import Ends
from incrowd.estimation.ratios import SHARE, GroupShares
from incrowd.estimation.small_groups import GroupCounts, SmallGroup, small_group
from incrowd.estimation.tables import TableEstimate
from incrowd.estimation.weighting.weighting import TableChange, derived
from incrowd.plans import Plan
from incrowd.reports.tally import Tally
from incrowd.survey import NOT_ASKED


@dataclass(frozen=True)
class SharesOfAsked:
    """The share of each answer among those who were asked, to be tested."""

    answers: tuple[GroupShares, ...]

    def ends(self, level: float) -> Ends:
        """Return the ends of the interval of each share."""
        low, high = zip(*(each.interval(SHARE, level) for each in self.answers), strict=True)
        return np.array(low), np.array(high)


def of_those_asked(plan: Plan, counted: Tally, id: str, change: TableChange) -> TableEstimate:
    """Return the table of a question of only those who were asked.

    counted: counts of pairs, if the table is read from joint reports. change: whether it is
    weighted. Raises TableError if the share of those who were asked is not clearly above the noise.
    """
    result = derived(plan, counted, (id,), change._replace(left_out=(NOT_ASKED,)))
    if change.margins:
        return result.table
    tested = SharesOfAsked(tuple(_tested(result.weighted, change.noise_only)))
    return replace(result.table, error=replace(result.table.error, within=tested))


def _tested(table: TableEstimate, noise_only: bool) -> list[GroupShares]:
    """Return the tests of each answer but "not asked". table: of all people, with "any answer"."""
    (answers,), error = table.answers, table.error
    last = answers.index(NOT_ASKED)
    asked = np.zeros(len(answers) + 1)
    asked[-1], asked[last] = 1.0, -1.0
    sampling = np.zeros(1) if noise_only else np.full(1, 1 / table.people)
    tests = []
    for place in range(last):
        one = np.zeros(len(asked))
        one[place] = 1.0
        weights = np.stack([one, asked - one])
        values, noise = weights @ table.estimate, weights @ error.joint_noise @ weights.T
        few = _few(error, place, last, noise_only) if table.exclusive[0] else ()
        tests.append(GroupShares(values, noise, sampling, few))
    return tests


def _few(error: CellErrors, place: int, last: int, census: bool) -> tuple[SmallGroup, ...]:
    """Return the test of an answer by the law of the noise of few people; empty for many."""
    published = error.exact
    if published is None:
        return ()
    counts = published.counts[: last + 1]
    group = GroupCounts(
        published.noise,
        (int(counts[place]), int(counts[:last].sum())),
        (1, last),
        int(published.of[place]),
        int(published.missing[place]),
        census,
    )
    return (small_group(group),)
