"""Which questions travel together: a search over ways to cover the wanted tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from incrowd.channels.bit_flip import BitFlip
from incrowd.planner.allocation import FINE, Allocation, Limits, Load, Share, allocate
from incrowd.planner.expectation import Axis, axis
from incrowd.plans import fixed_channel
from incrowd.plans.fixed_channels import crowd_channel
from incrowd.plans.grouping import memoised, together, unlinked
from incrowd.survey import AnyQuestion, Group, Survey

Ids = frozenset[str]
Progress = Callable[[str], None]
Look = tuple[frozenset[tuple[str, ...]], int]
COPY_POINTS = 48


class Grouping(NamedTuple):
    """Messages, what each of them gets, and the error that the large-N limit promises."""

    groups: tuple[tuple[str, ...], ...]
    allocation: Allocation


class Search(NamedTuple):
    """What a search knows: the survey, what may leak (mu^2 N), the budget of reports."""

    survey: Survey
    signal: float
    budget: int
    axes: dict[str, Axis]
    tables: tuple[Ids, ...]
    seen: dict[frozenset[tuple[Load, int]], Allocation | None]

    @classmethod
    def of(cls, survey: Survey, signal: float, budget: int) -> Search:
        """A search that has not begun."""
        axes = {q.id: axis(q, fixed_channel(q)) for q in survey.questions}
        tables = tuple(dict.fromkeys(map(frozenset, survey.wanted)))
        return cls(survey, signal, budget, axes, tables, {})

    @property
    def limits(self) -> Limits:
        """What all messages together may use."""
        survey = self.survey
        return Limits(self.signal, survey.honest, self.budget, survey.objective)

    def try_groups(self, groups: Sequence[Ids], copies: tuple[int, ...]) -> Grouping | None:
        """The best copies and noise for some groups; those that look alike are tried once."""
        homes = _homes(groups, self.tables)
        loads = {group: self.load(group, homes[group], copies) for group in groups}
        key = frozenset(Counter(loads.values()).items())
        if key not in self.seen:
            self.seen[key] = allocate(sorted(loads.values(), key=repr), self.limits)
        found = self.seen[key]
        if found is None:
            return None
        shares = dict(zip(sorted(loads.values(), key=repr), found.shares, strict=True))
        ordered = tuple(shares[loads[group]] for group in groups)
        return Grouping(tuple(map(self._in_order, groups)), Allocation(ordered, found.error))

    def best(self, groups: Sequence[Ids], copies: tuple[int, ...]) -> Grouping:
        """As `try_groups`, with finely tuned noise; if the limit finds none, with equal noise."""
        found = self.try_groups(groups, copies)
        chosen = found.allocation.shares if found else (Share(1, 1.0),) * len(groups)
        fixed = [
            Group(questions=self._in_order(group), copies=share.copies)
            for group, share in zip(groups, chosen, strict=True)
        ]
        return fixed_groups(self.survey, fixed, self.signal)

    def look(self, one: Ids, other: Ids) -> Look:
        """What two blocks look like to the search; pairs that look alike are as good."""
        both = sum(bool(one & table) and bool(other & table) for table in self.tables)
        return frozenset({self._block(one), self._block(other)}), both

    def _block(self, block: Ids) -> tuple[str, ...]:
        """The questions of a block and of the tables that touch it."""
        touching = [table for table in self.tables if table & block]
        kinds = [repr(sorted(map(repr, map(self.axes.get, table)))) for table in touching]
        return tuple(sorted(map(repr, map(self.axes.get, block)))) + tuple(sorted(kinds))

    def refined(self, grouping: Grouping) -> Grouping:
        """The same messages and copies, with finely tuned noise."""
        groups = [
            Group(questions=ids, copies=share.copies)
            for ids, share in zip(grouping.groups, grouping.allocation.shares, strict=True)
        ]
        return fixed_groups(self.survey, groups, self.signal)

    def load(self, group: Ids, homes: Iterable[Ids], copies: tuple[int, ...]) -> Load:
        """A message and the tables it is to tell, as the allocation sees it."""
        questions = [self.survey.question(id) for id in group]
        distance = sum(q.distance for q in questions if q.randomizer is None)
        fixed = sum(map(_log_phi, questions))
        tables = {tuple(sorted((self.axes[id] for id in ids), key=repr)) for ids in homes}
        load = Load(
            distance, fixed, self.survey.rows_per_person, copies, tuple(sorted(tables, key=repr))
        )
        if not any(q.unlinked for q in questions):
            return load
        once = copies[:1]  # for one bit copies buy nothing
        most_v = _most_v(self.survey, questions[0], once[0])
        return load._replace(distance=1, times=distance * load.times, copies=once, most_v=most_v)

    def _in_order(self, group: Ids) -> tuple[str, ...]:
        return tuple(q.id for q in self.survey.questions if q.id in group)


def _most_v(survey: Survey, question: AnyQuestion, copies: int) -> float:
    """The most noise of a question whose set bits travel unlinked, so that they keep to the budget.

    What the other messages leave at least is shared evenly by all such questions.
    """
    if survey.reports_per_person is None:
        return math.inf
    others = bool(together(survey)) + bool(memoised(survey))
    each = (survey.reports_per_person - others) / len(unlinked(survey)) / copies
    flips = each - sum(domain.most for domain in question.domains)
    if flips <= 0:
        return 0.0
    return 1 / (BitFlip.at_least(min(flips / question.bits, 0.49)).excess)


def fixed_groups(survey: Survey, groups: Sequence[Group], signal: float) -> Grouping:
    """The best noise for messages and copies that the survey fixes.

    If the large-N limit finds none (it is rough about randomizers of the questions' own), all
    messages get the same noise, and the accountant has the last word.
    """
    search = Search.of(survey, signal, sum(group.copies for group in groups))
    ids = [frozenset(group.questions) for group in groups]
    homes = _homes(ids, search.tables)
    loads = [
        search.load(names, homes[names], (group.copies,))
        for names, group in zip(ids, groups, strict=True)
    ]
    found = allocate(loads, search.limits._replace(points=FINE))
    equal = Allocation(tuple(Share(group.copies, 1.0) for group in groups), math.inf)
    return Grouping(tuple(group.questions for group in groups), found or equal)


def best_groups(
    survey: Survey, signal: float, budget: int, progress: Progress | None = None
) -> list[Grouping]:
    """Ways to cover the wanted tables, the best in the large-N limit first; none if none fits.

    Questions are put into blocks, first each alone; a message is the union of the blocks that a
    wanted table touches, so that blocks of one give a message a table, and one block gives one
    joint report. Step by step the two blocks are merged that leave the smallest error, down to
    one block. Questions with unlinked set bits stay alone. The limit flatters messages of many
    bits, so the accountant has to choose: the best of all steps is followed by the finest that
    fits, the joint report, both also with one copy, and the best of fewer and of more messages.
    """
    search = Search.of(survey, signal, budget)
    alone = [frozenset(ids) for ids in (memoised(survey), *unlinked(survey)) if ids]
    blocks = [frozenset({id}) for id in together(survey)]

    def tried(blocks: Sequence[Ids], copies: int | None = None) -> Step:
        groups = _covering(blocks, search.tables) + alone
        if len(groups) > budget:
            return Step(math.inf, len(groups), None)
        points = copy_points(budget - len(groups) + 1) if copies is None else (copies,)
        found = search.try_groups(groups, points)
        return Step(found.allocation.error if found else math.inf, len(groups), found)

    steps, single = [tried(blocks)], [tried(blocks, copies=1)]
    while len(blocks) > 1:
        options = {}
        for one, other in combinations(blocks, 2):
            look = search.look(one, other)
            if look not in options:
                merged = [b for b in blocks if b not in (one, other)] + [one | other]
                options[look] = (tried(merged)[:2], merged)
        blocks = min(options.values(), key=lambda o: o[0])[1]
        steps.append(tried(blocks))
        if progress:
            progress(f"searching messages: {len(blocks)} blocks of questions left")
    return _worth_certifying(search, steps, [*single, tried(blocks, copies=1)])


class Step(NamedTuple):
    """One way that was tried: its error, how many messages, and what they get."""

    error: float
    messages: int
    found: Grouping | None


def _worth_certifying(
    search: Search, steps: Sequence[Step], single: Sequence[Step]
) -> list[Grouping]:
    """The ways of which one can be the best when certified, with finely tuned noise."""
    possible = [step for step in steps if step.found]
    if not possible:
        return []
    best = min(possible, key=lambda step: step.error)
    fewer = [step for step in possible if 1 < step.messages <= max(best.messages // 2, 2)]
    more = [step for step in possible if step.messages > best.messages]
    chosen = [best, possible[0], possible[-1], *single]
    chosen += [min(side, key=lambda step: step.error) for side in (fewer, more) if side]
    kept = dict.fromkeys(step.found for step in chosen if step.found)
    ways = [search.refined(grouping) for grouping in kept]
    return sorted(ways, key=lambda way: way.allocation.error)


def copy_points(most: int) -> tuple[int, ...]:
    """Numbers of copies to try: all small ones, then each about a tenth more."""
    points = np.geomspace(1, max(most, 1), COPY_POINTS).round().astype(int)
    return tuple(int(point) for point in np.unique(points))


def _covering(blocks: Sequence[Ids], tables: Iterable[Ids]) -> list[Ids]:
    """The unions of blocks that tables touch, without those that lie in another one."""
    unions = {frozenset().union(*(block for block in blocks if block & table)) for table in tables}
    unions.discard(frozenset())
    return [u for u in sorted(unions, key=sorted) if not any(u < other for other in unions)]


def _homes(groups: Sequence[Ids], tables: Iterable[Ids]) -> dict[Ids, list[Ids]]:
    """Every table in the smallest group that holds it."""
    homes: dict[Ids, list[Ids]] = {group: [] for group in groups}
    for table in tables:
        homes[min((group for group in groups if table <= group), key=len)].append(table)
    return homes


def _log_phi(question: AnyQuestion) -> float:
    """d ln phi of a randomizer of the question's own; of one that is no bit flip, its epsilon."""
    channel = crowd_channel(question)
    if channel is None:
        return 0.0
    log_phi = math.log1p(channel.excess) if isinstance(channel, BitFlip) else channel.epsilon
    return question.distance * log_phi
