"""Which questions travel together: a search over ways to cover the wanted tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from incrowd.accountant.analyses import plannable
from incrowd.accountant.channels.bit_flip import BitFlip, is_flip
from incrowd.estimation.precision import CellAxis, axis, cells_axis
from incrowd.planner.allocation import (
    FINE,
    STEPS,
    Allocation,
    AllocationLimits,
    Load,
    MessageAllocation,
    allocate,
)
from incrowd.planner.effects import best_ratio
from incrowd.planner.wanted import wanted_tables
from incrowd.plans import fixed_channel
from incrowd.plans.grouping import joint_groups, memoized, together, wide
from incrowd.plans.message import crowd_channel
from incrowd.survey import AnyQuestion, Group, Survey
from incrowd.survey.crossings import Crossing, crossing, parities_record

QuestionSet = frozenset[str]
SearchProgress = Callable[[str], None]
Look = tuple[frozenset[tuple[str, ...]], int]
GroupCopies = tuple[int, ...]
COPY_POINTS = 48


class Grouping(NamedTuple):
    """The questions of each message, its copies and noise, and the inflation in the large-N limit.

    cells: which of them are messages of cells; the others are joint reports. parities: the numbers
    of the messages whose cells are the parities of all pairs.
    """

    groups: tuple[tuple[str, ...], ...]
    cells: tuple[bool, ...]
    allocation: Allocation
    parities: frozenset[int] = frozenset()

    @property
    def fits(self) -> bool:
        """Whether these messages meet the guarantee and the budget, in the limit."""
        return bool(self.allocation.shares)


NONE = Allocation((), math.inf)


class Search(NamedTuple):
    """The state of a search: the survey, and what all messages together may leak and send.

    tables: those whose inflation is minimized. held: sets of questions that have to be in one
    message: the tables with their weighting questions, and the questions of each regression. seen:
    the allocations that were computed before. loads: those of groups, likewise.
    """

    survey: Survey
    limits: AllocationLimits
    axes: dict[str, CellAxis]
    tables: tuple[QuestionSet, ...]
    held: tuple[QuestionSet, ...]
    seen: dict[frozenset[tuple[Load, int]], Allocation]
    loads: dict[tuple[QuestionSet, tuple[QuestionSet, ...], GroupCopies], Load]

    @classmethod
    def of(cls, survey: Survey, budget: int, steps: int = STEPS) -> Search:
        """Begin a search. budget: the number of reports that a person may send. steps: as in
        `AllocationLimits`.

        Raises PrivacyError if the survey's analysis cannot be planned with.
        """
        privacy, by = survey.privacy, plannable(survey.privacy.analysis)
        signal = by.large_crowd_signal(privacy.epsilon, privacy.delta, survey.honest)
        axes = {q.id: axis(q, fixed_channel(q)) for q in survey.randomized}
        tables = tuple(map(frozenset, wanted_tables(survey)))
        held = tuple(dict.fromkeys([*tables, *map(frozenset, survey.held)]))
        limits = AllocationLimits(signal, budget, survey.objective, steps=steps)
        return cls(survey, limits, axes, tables, held, {}, {})

    def try_groups(
        self,
        groups: Sequence[QuestionSet],
        copies: GroupCopies | None = None,
        useful: float = math.inf,
    ) -> Grouping:
        """The best copies and noise for some groups; equivalent groups are computed once.

        copies: the numbers to choose from; by default all that one message may have if each of the
        others has one. There are no shares if these messages leak too much or are too many, or have
        an excess above `useful` (see `allocate`).
        """
        copies = copies or copy_points(self.limits.budget - len(groups) + 1)
        homes = _homes(groups, self.tables)
        loads = {group: self._load_once(group, tuple(homes[group]), copies) for group in groups}
        loads = dict(zip(loads, self._sharing(loads.values()), strict=True))
        ordered = sorted(loads.values(), key=repr)
        key = frozenset(Counter(ordered).items())
        allocation = self.seen.get(key) or allocate(ordered, self.limits, useful)
        if allocation:
            self.seen[key] = allocation
        in_order, cells = tuple(map(self._in_order, groups)), tuple(map(self._wide, groups))
        if allocation is None:
            return Grouping(in_order, cells, NONE)
        shares = dict(zip(ordered, allocation.shares, strict=True))
        each = tuple(shares[loads[group]] for group in groups)
        return Grouping(in_order, cells, allocation._replace(shares=each))

    def best(self, groups: Sequence[QuestionSet], copies: GroupCopies | None = None) -> Grouping:
        """As `try_groups`, with finely tuned noise; with equal noise if the limit permits none."""
        way = self.try_groups(groups, copies)
        if way.fits:
            return self.refined(way)
        return self.with_copies(way.groups, [1] * len(groups), way.cells)

    def refined(self, way: Grouping) -> Grouping:
        """The same messages and copies, with finely tuned noise."""
        copies = [share.copies for share in way.allocation.shares]
        return self.with_copies(way.groups, copies, way.cells)

    def with_copies(
        self,
        groups: Sequence[tuple[str, ...]],
        copies: Sequence[int],
        cells: Sequence[bool],
        parities: frozenset[int] = frozenset(),
    ) -> Grouping:
        """The best noise for messages with given copies. cells, parities: as in `Grouping`.

        If the large-N limit permits none (it is rough for fixed randomizers), all messages get the
        same noise, and the accountant decides.
        """
        ids = list(map(frozenset, groups))
        homes = _homes(ids, self.tables, parities)
        loads = [
            self.parities_load(i, homes[i])
            if number in parities
            else self.load(i, homes[i], (k,), as_cells)
            for number, (i, k, as_cells) in enumerate(zip(ids, copies, cells, strict=True))
        ]
        limits = self.limits._replace(budget=sum(copies), points=FINE)
        allocation = allocate(self._sharing(loads), limits)
        equal = Allocation(tuple(MessageAllocation(k, 1.0) for k in copies), math.inf)
        return Grouping(tuple(groups), tuple(cells), allocation or equal, parities)

    def look(self, one: QuestionSet, other: QuestionSet) -> Look:
        """A key under which equivalent pairs of blocks are equal."""
        both = sum(bool(one & table) and bool(other & table) for table in self.held)
        return frozenset({self._block(one), self._block(other)}), both

    def _block(self, block: QuestionSet) -> tuple[str, ...]:
        """The kinds of questions in a block, and of the tables that share a question with it."""
        touching = [table for table in self.held if table & block]
        kinds = [repr(sorted(map(repr, map(self.axes.get, table)))) for table in touching]
        return tuple(sorted(map(repr, map(self.axes.get, block)))) + tuple(sorted(kinds))

    def _load_once(
        self, group: QuestionSet, homes: tuple[QuestionSet, ...], copies: GroupCopies
    ) -> Load:
        """The load of a group that is sent as it has to be, computed once."""
        key = group, homes, copies
        if key not in self.loads:
            self.loads[key] = self.load(group, homes, copies, self._wide(group))
        return self.loads[key]

    def load(
        self, group: QuestionSet, homes: Iterable[QuestionSet], copies: GroupCopies, cells: bool
    ) -> Load:
        """A message with the tables that are estimated from it, for the allocation."""
        questions = [self.survey.question(id) for id in self._in_order(group)]
        times = self._times(questions)
        if cells:
            tables = {(cells_axis(self.survey, questions, ids),) for ids in homes}
            record = crossing(tuple(questions))
            most_v = _most_v(self.survey, record)
            return Load(1, 0.0, record.distance * times, (1,), _sorted(tables), most_v)
        distance = sum(q.distance for q in questions if q.randomizer is None)
        joint_tables = {tuple(sorted((self.axes[id] for id in ids), key=repr)) for ids in homes}
        if any(q.asked_memoized for q in questions):
            copies = copies[:1]  # identical copies add nothing
        return Load(distance, sum(map(_log_phi, questions)), times, copies, _sorted(joint_tables))

    def parities_load(self, group: QuestionSet, homes: Iterable[QuestionSet]) -> Load:
        """The same for parities of some questions, as if each question had a message of its own."""
        questions = tuple(map(self.survey.question, self._in_order(group)))
        times = self._times(questions)
        scale = (1 + 2 / best_ratio(len(questions))) / 4  # of a parity's noise in a cell
        tables = {(replace(cells_axis(self.survey, questions, ids), scale=scale),) for ids in homes}
        return Load(1, 0.0, parities_record(questions).distance * times, (1,), _sorted(tables))

    def _times(self, questions: Sequence[AnyQuestion]) -> int:
        """The number of rows and rounds with independent noise."""
        rounds = 1 if all(q.memoized for q in questions) else self.survey.rounds
        return self.survey.rows_per_person * rounds

    def _sharing(self, loads: Collection[Load]) -> list[Load]:
        """The loads, where messages with too many cells get an equal part of what may leak.

        Their tables do not count in the inflation; they would take nearly all of the leak.
        """
        large = [load.large for load in loads]
        if all(large):
            return list(loads)
        part = self.limits.signal / len(loads)
        return [load.with_leak(part) if load.large else load for load in loads]

    def _in_order(self, group: QuestionSet) -> tuple[str, ...]:
        return tuple(q.id for q in self.survey.questions if q.id in group)

    def _wide(self, group: QuestionSet) -> bool:
        """Whether a group has to be sent as cells."""
        return any(self.survey.question(id).wide for id in group)


def _sorted(tables: Iterable[tuple[CellAxis, ...]]) -> tuple[tuple[CellAxis, ...], ...]:
    return tuple(sorted(tables, key=repr))


def _most_v(survey: Survey, record: Crossing) -> float:
    """The largest noise with which messages of cells keep the budget of reports.

    They share equally what the other messages leave at least.
    """
    if survey.reports_per_person is None:
        return math.inf
    others = len(joint_groups(survey))
    flips = (survey.reports_per_person - others) / len(wide(survey)) - record.most
    if flips <= 0:
        return 0.0
    return 1 / (BitFlip.at_least(min(flips / record.cells, 0.49)).excess)


def fixed_way(survey: Survey, groups: Sequence[Group]) -> Grouping:
    """The best noise for given messages.

    Raises PrivacyError if the survey's analysis cannot be planned with.
    """
    copies = [group.copies for group in groups]
    search = Search.of(survey, sum(copies))
    cells = [group.cells for group in groups]
    parities = frozenset(number for number, group in enumerate(groups) if group.parities)
    return search.with_copies([group.questions for group in groups], copies, cells, parities)


def joint_ways(
    survey: Survey, budget: int, progress: SearchProgress | None, steps: int = STEPS
) -> list[Grouping]:
    """Ways to cover the wanted tables by joint reports, the best in the large-N limit first.

    Questions are put into blocks, at first each alone. A message is the union of the blocks that
    share a question with a wanted table: single questions give one message per table, and one block
    gives one joint report. In each step the two blocks are merged whose merger leaves the smallest
    inflation. Questions with too many answers are sent as cells, each alone. The limit is too
    optimistic about messages with many bits, so the accountant has to choose among several: the
    best of all steps, the finest that fits, and the joint report, the last two also with one copy,
    and the best with fewer and with more messages. steps: as in `AllocationLimits`.
    """
    search = Search.of(survey, budget, steps)
    permanent = memoized(survey)
    alone = [frozenset(permanent)] * bool(permanent) + [frozenset({id}) for id in wide(survey)]
    blocks = [frozenset({id}) for id in together(survey)]

    def way(
        blocks: Sequence[QuestionSet], copies: GroupCopies | None = None, useful: float = math.inf
    ) -> Grouping:
        return search.try_groups(_covering(blocks, search.held) + alone, copies, useful)

    tried, single = [way(blocks)], [way(blocks, (1,))]
    while len(blocks) > 1:
        options, least = {}, math.inf
        for one, other in combinations(blocks, 2):
            look = search.look(one, other)
            if look not in options:
                merged = [b for b in blocks if b not in (one, other)] + [one | other]
                option = way(merged, useful=least)
                least = min(least, option.allocation.excess)
                options[look] = ((option.allocation.excess, len(option.groups)), merged)
        blocks = min(options.values(), key=lambda o: o[0])[1]
        tried.append(way(blocks))
        if progress:
            progress(f"searching messages: {len(blocks)} blocks of questions left")
    return _worth_certifying(search, tried, [*single, way(blocks, (1,))])


def _worth_certifying(
    search: Search, steps: Sequence[Grouping], single: Sequence[Grouping]
) -> list[Grouping]:
    """The ways that may be the best once they are certified, with finely tuned noise."""
    possible = [way for way in steps if way.fits]
    if not possible:
        return []
    excess = attrgetter("allocation.excess")
    best = min(possible, key=excess)
    fewer = [way for way in possible if 1 < len(way.groups) <= max(len(best.groups) // 2, 2)]
    more = [way for way in possible if len(way.groups) > len(best.groups)]
    chosen = [best, possible[0], possible[-1], *single]
    chosen += [min(side, key=excess) for side in (fewer, more) if side]
    fitting = dict.fromkeys(way for way in chosen if way.fits)
    return sorted(map(search.refined, fitting), key=excess)


@lru_cache(maxsize=64)
def copy_points(most: int) -> GroupCopies:
    """Numbers of copies to try: all small ones, then steps of about a tenth."""
    points = np.geomspace(1, max(most, 1), COPY_POINTS).round().astype(int)
    return tuple(np.unique(points).tolist())


def _covering(blocks: Sequence[QuestionSet], tables: Iterable[QuestionSet]) -> list[QuestionSet]:
    """For each table, the union of the blocks that share a question with it; no union twice."""
    unions = {frozenset().union(*(block for block in blocks if block & table)) for table in tables}
    unions.discard(frozenset())
    return [u for u in sorted(unions, key=sorted) if not any(u < other for other in unions)]


def _homes(
    groups: Sequence[QuestionSet],
    tables: Iterable[QuestionSet],
    parities: frozenset[int] = frozenset(),
) -> dict[QuestionSet, list[QuestionSet]]:
    """Assign every table to the smallest group that holds it. parities: groups of pairs only."""
    homes: dict[QuestionSet, list[QuestionSet]] = {group: [] for group in groups}
    for table in tables:
        possible = (i for i in range(len(groups)) if i not in parities or len(table) == 2)
        homes[min((groups[i] for i in possible if table <= groups[i]), key=len)].append(table)
    return homes


def _log_phi(question: AnyQuestion) -> float:
    """d ln phi of a question's fixed randomizer; if it is not a bit flip, its epsilon."""
    channel = crowd_channel(question)
    if channel is None:
        return 0.0
    log_phi = math.log1p(channel.excess) if is_flip(channel) else channel.epsilon
    return question.distance * log_phi
