"""Which questions travel together: a search over ways to cover the wanted tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from incrowd.accountant.analyses import plannable
from incrowd.accountant.channels.bit_flip import BitFlip, is_flip
from incrowd.estimation.precision import Axis, axis, cells_axis
from incrowd.planner.allocation import FINE, Allocation, Limits, Load, Share, allocate
from incrowd.planner.effects import best_ratio
from incrowd.planner.wanted import weighed
from incrowd.plans import fixed_channel
from incrowd.plans.grouping import joint_groups, memoized, together, wide
from incrowd.plans.message import crowd_channel
from incrowd.survey import AnyQuestion, Group, Survey
from incrowd.survey.crossings import Crossing, crossing, parities_record

Ids = frozenset[str]
Progress = Callable[[str], None]
Look = tuple[frozenset[tuple[str, ...]], int]
Copies = tuple[int, ...]
COPY_POINTS = 48


class Grouping(NamedTuple):
    """Messages, what each of them gets, and the inflation that the large-N limit promises.

    cells: which of them are messages of cells; the others are joint reports. parities: the numbers
    of those whose cells are the parities of all pairs.
    """

    groups: tuple[tuple[str, ...], ...]
    cells: tuple[bool, ...]
    allocation: Allocation
    parities: frozenset[int] = frozenset()

    @property
    def fits(self) -> bool:
        """Whether these messages keep the promise and the budget, in the limit."""
        return bool(self.allocation.shares)


NONE = Allocation((), math.inf)


class Search(NamedTuple):
    """What a search knows: the survey, and what all messages together may leak and send.

    tables: those whose inflation is made small. held: what has to be in one message: they, with
    what they are weighted by, and the questions of each regression.
    """

    survey: Survey
    limits: Limits
    axes: dict[str, Axis]
    tables: tuple[Ids, ...]
    held: tuple[Ids, ...]
    seen: dict[frozenset[tuple[Load, int]], Allocation | None]

    @classmethod
    def of(cls, survey: Survey, budget: int) -> Search:
        """A search that has not begun. budget: reports that a person may send.

        Raises PrivacyError if no plan can rest on the survey's analysis.
        """
        privacy, by = survey.privacy, plannable(survey.privacy.analysis)
        signal = by.large_crowd_signal(privacy.epsilon, privacy.delta, survey.honest)
        axes = {q.id: axis(q, fixed_channel(q)) for q in survey.randomized}
        tables = tuple(map(frozenset, weighed(survey)))
        held = tuple(dict.fromkeys([*tables, *map(frozenset, survey.held)]))
        return cls(survey, Limits(signal, budget, survey.objective), axes, tables, held, {})

    def try_groups(self, groups: Sequence[Ids], copies: Copies | None = None) -> Grouping:
        """The best copies and noise for some groups; those that look alike are tried once.

        copies: the numbers to choose from; by default all that one message may have when each of
        the others has one. Nothing is shared out if these messages leak too much or are too many.
        """
        copies = copies or copy_points(self.limits.budget - len(groups) + 1)
        homes = _homes(groups, self.tables)
        loads = {
            group: self.load(group, homes[group], copies, self._wide(group)) for group in groups
        }
        loads = dict(zip(loads, self._sharing(loads.values()), strict=True))
        ordered = sorted(loads.values(), key=repr)
        key = frozenset(Counter(ordered).items())
        if key not in self.seen:
            self.seen[key] = allocate(ordered, self.limits)
        found = self.seen[key]
        in_order, cells = tuple(map(self._in_order, groups)), tuple(map(self._wide, groups))
        if found is None:
            return Grouping(in_order, cells, NONE)
        shares = dict(zip(ordered, found.shares, strict=True))
        each = tuple(shares[loads[group]] for group in groups)
        return Grouping(in_order, cells, found._replace(shares=each))

    def best(self, groups: Sequence[Ids], copies: Copies | None = None) -> Grouping:
        """As `try_groups`, with finely tuned noise; if the limit finds none, with equal noise."""
        found = self.try_groups(groups, copies)
        if found.fits:
            return self.refined(found)
        return self.with_copies(found.groups, [1] * len(groups), found.cells)

    def refined(self, found: Grouping) -> Grouping:
        """The same messages and copies, with finely tuned noise."""
        copies = [share.copies for share in found.allocation.shares]
        return self.with_copies(found.groups, copies, found.cells)

    def with_copies(
        self,
        groups: Sequence[tuple[str, ...]],
        copies: Sequence[int],
        cells: Sequence[bool],
        parities: frozenset[int] = frozenset(),
    ) -> Grouping:
        """The best noise for messages and their copies. cells, parities: as `Grouping` has them.

        If the large-N limit finds none (it is rough about randomizers of the questions' own), all
        messages get the same noise, and the accountant has the last word.
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
        found = allocate(self._sharing(loads), limits)
        equal = Allocation(tuple(Share(k, 1.0) for k in copies), math.inf)
        return Grouping(tuple(groups), tuple(cells), found or equal, parities)

    def look(self, one: Ids, other: Ids) -> Look:
        """What two blocks look like to the search; pairs that look alike are as good."""
        both = sum(bool(one & table) and bool(other & table) for table in self.held)
        return frozenset({self._block(one), self._block(other)}), both

    def _block(self, block: Ids) -> tuple[str, ...]:
        """The questions of a block and of the tables that touch it."""
        touching = [table for table in self.held if table & block]
        kinds = [repr(sorted(map(repr, map(self.axes.get, table)))) for table in touching]
        return tuple(sorted(map(repr, map(self.axes.get, block)))) + tuple(sorted(kinds))

    def load(self, group: Ids, homes: Iterable[Ids], copies: Copies, cells: bool) -> Load:
        """A message and the tables it is to tell, as the allocation sees it."""
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
            copies = copies[:1]  # more buy nothing if all are the same
        return Load(distance, sum(map(_log_phi, questions)), times, copies, _sorted(joint_tables))

    def parities_load(self, group: Ids, homes: Iterable[Ids]) -> Load:
        """The same of the parities of some questions, as if other messages told each by itself."""
        questions = tuple(map(self.survey.question, self._in_order(group)))
        times = self._times(questions)
        scale = (1 + 2 / best_ratio(len(questions))) / 4  # of a parity's noise in a cell
        asked = {(replace(cells_axis(self.survey, questions, ids), scale=scale),) for ids in homes}
        return Load(1, 0.0, parities_record(questions).distance * times, (1,), _sorted(asked))

    def _times(self, questions: Sequence[AnyQuestion]) -> int:
        """How many rows and rounds have noise of their own."""
        rounds = 1 if all(q.memoized for q in questions) else self.survey.rounds
        return self.survey.rows_per_person * rounds

    def _sharing(self, loads: Collection[Load]) -> list[Load]:
        """The same, but that messages of too many cells alone get an equal part of what may leak.

        They stand outside of the inflation, which would starve all others for them.
        """
        large = [load.large for load in loads]
        if all(large):
            return list(loads)
        part = self.limits.signal / len(loads)
        return [load.with_leak(part) if load.large else load for load in loads]

    def _in_order(self, group: Ids) -> tuple[str, ...]:
        return tuple(q.id for q in self.survey.questions if q.id in group)

    def _wide(self, group: Ids) -> bool:
        """Whether a group has to be sent as cells."""
        return any(self.survey.question(id).wide for id in group)


def _sorted(tables: Iterable[tuple[Axis, ...]]) -> tuple[tuple[Axis, ...], ...]:
    return tuple(sorted(tables, key=repr))


def _most_v(survey: Survey, record: Crossing) -> float:
    """The most noise of a message of cells that keeps to the budget of reports.

    What the other messages leave at least is shared evenly by all such messages.
    """
    if survey.reports_per_person is None:
        return math.inf
    others = len(joint_groups(survey))
    flips = (survey.reports_per_person - others) / len(wide(survey)) - record.most
    if flips <= 0:
        return 0.0
    return 1 / (BitFlip.at_least(min(flips / record.cells, 0.49)).excess)


def fixed_way(survey: Survey, groups: Sequence[Group]) -> Grouping:
    """The best noise for messages that are given.

    Raises PrivacyError if no plan can rest on the survey's analysis.
    """
    copies = [group.copies for group in groups]
    search = Search.of(survey, sum(copies))
    cells = [group.cells for group in groups]
    parities = frozenset(number for number, group in enumerate(groups) if group.parities)
    return search.with_copies([group.questions for group in groups], copies, cells, parities)


def joint_ways(survey: Survey, budget: int, progress: Progress | None) -> list[Grouping]:
    """Ways to cover the wanted tables by joint reports, the best in the large-N limit first.

    Questions are put into blocks, first each alone; a message is the union of the blocks that a
    wanted table touches, so that blocks of one give a message a table, and one block gives one
    joint report. Step by step the two blocks are merged that leave the smallest inflation, down to
    one block. Questions with too many answers are sent as cells, each alone. The limit flatters
    messages of many bits, so the accountant has to choose: the best of all steps is followed by the
    finest that fits, the joint report, both also with one copy, and the best of fewer and of more
    messages.
    """
    search = Search.of(survey, budget)
    kept = memoized(survey)
    alone = [frozenset(kept)] * bool(kept) + [frozenset({id}) for id in wide(survey)]
    blocks = [frozenset({id}) for id in together(survey)]

    def tried(blocks: Sequence[Ids], copies: Copies | None = None) -> Grouping:
        return search.try_groups(_covering(blocks, search.held) + alone, copies)

    steps, single = [tried(blocks)], [tried(blocks, (1,))]
    while len(blocks) > 1:
        options = {}
        for one, other in combinations(blocks, 2):
            look = search.look(one, other)
            if look not in options:
                merged = [b for b in blocks if b not in (one, other)] + [one | other]
                found = tried(merged)
                options[look] = ((found.allocation.excess, len(found.groups)), merged)
        blocks = min(options.values(), key=lambda o: o[0])[1]
        steps.append(tried(blocks))
        if progress:
            progress(f"searching messages: {len(blocks)} blocks of questions left")
    return _worth_certifying(search, steps, [*single, tried(blocks, (1,))])


def _worth_certifying(
    search: Search, steps: Sequence[Grouping], single: Sequence[Grouping]
) -> list[Grouping]:
    """The ways of which one can be the best when certified, with finely tuned noise."""
    possible = [way for way in steps if way.fits]
    if not possible:
        return []
    excess = attrgetter("allocation.excess")
    best = min(possible, key=excess)
    fewer = [way for way in possible if 1 < len(way.groups) <= max(len(best.groups) // 2, 2)]
    more = [way for way in possible if len(way.groups) > len(best.groups)]
    chosen = [best, possible[0], possible[-1], *single]
    chosen += [min(side, key=excess) for side in (fewer, more) if side]
    kept = dict.fromkeys(way for way in chosen if way.fits)
    return sorted(map(search.refined, kept), key=excess)


def copy_points(most: int) -> Copies:
    """Numbers of copies to try: all small ones, then each about a tenth more."""
    points = np.geomspace(1, max(most, 1), COPY_POINTS).round().astype(int)
    return tuple(np.unique(points).tolist())


def _covering(blocks: Sequence[Ids], tables: Iterable[Ids]) -> list[Ids]:
    """The unions of blocks that tables touch, without those that lie in another one."""
    unions = {frozenset().union(*(block for block in blocks if block & table)) for table in tables}
    unions.discard(frozenset())
    return [u for u in sorted(unions, key=sorted) if not any(u < other for other in unions)]


def _homes(
    groups: Sequence[Ids], tables: Iterable[Ids], parities: frozenset[int] = frozenset()
) -> dict[Ids, list[Ids]]:
    """Every table in the smallest group that holds it. parities: groups that hold pairs alone."""
    homes: dict[Ids, list[Ids]] = {group: [] for group in groups}
    for table in tables:
        possible = (i for i in range(len(groups)) if i not in parities or len(table) == 2)
        homes[min((groups[i] for i in possible if table <= groups[i]), key=len)].append(table)
    return homes


def _log_phi(question: AnyQuestion) -> float:
    """d ln phi of a randomizer of the question's own; of one that is no bit flip, its epsilon."""
    channel = crowd_channel(question)
    if channel is None:
        return 0.0
    log_phi = math.log1p(channel.excess) if is_flip(channel) else channel.epsilon
    return question.distance * log_phi
