"""The search for the questions that travel together, in the large-crowd limit.

A candidate is a set of messages: the cells of some tables, which are crossed further or taken apart
as long as the inflation falls; parities of all pairs of some questions, with the best cells for the
rest; or joint reports of groups of questions. `allocation` computes the best noise of each.
Proof: docs/mathematics.md#inflation, docs/mathematics.md#parities.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, compress
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.catalog.sentences import translatable
from incrowd.estimation.precision import CellAxis
from incrowd.planner.allocation import (
    FINE,
    FULL,
    STEPS,
    TINY,
    Allocation,
    CellsLoad,
    LimitsUse,
    PlanLimits,
    allocate,
    smallest_excess,
)
from incrowd.planner.covers import Cost, cheapest_cover, without_contained
from incrowd.planner.effects import Effects, indicators
from incrowd.planner.loads import (
    LARGE,
    Clique,
    Load,
    VariableSet,
    Vector,
    cells_load,
    joint_load,
    parities_load,
    size,
)
from incrowd.planner.task import LimitMessage, MessageGroups, MessageKind, PlanCandidate, SearchTask

SearchProgress = Callable[[str], None]
CLOSE_ENOUGH = 1.02  # times the smallest inflation: within it the fewest reports decide
GAIN = 1e-4  # the least relative gain for which a search goes on
ROUGH = 60  # steps of an evaluation during the search, for half a percent of the excess
REPRICINGS = 2  # rounds of pricing leaks by the local epsilon that they add
MOVES = 32  # tried in one step: those that reduce the cost most
MOST_MERGERS = 4000  # of two messages each, considered in one step
ROUNDING = 1e-9
ALIKE = 1.01  # leaks within this factor get the same noise


QUICK = FULL._replace(work=2e4, steps=15)  # for errors that are shown with two digits


def ways(task: SearchTask, progress: SearchProgress | None = None) -> list[PlanCandidate]:
    """Return the ways worth certifying: the given messages, or cells, or joint reports.

    If only the guarantee limits what is sent, no joint report is as precise as the cells of its
    tables. Joint reports are tried as well if the reports of a person, their size, or the local
    epsilon are limited; but if they have to be searched, and the effort is not full, only if cells
    do not fit. Empty if nothing fits.
    """
    if task.given is not None:
        return [given_way(task, task.given)]
    cells, limits = cells_way(task), task.limits
    budget, capped = limits.reports < math.inf, min(limits.slots, limits.local_epsilon) < math.inf
    if cells and (task.effort != FULL if budget else not capped):
        return [cells]
    joint = joint_ways(task, progress) if budget else [given_way(task, task.default)]
    return [cells, *joint] if cells else joint


# Messages of cells: their leaks, and the tables by least squares over all of them.


class CellsCandidate(NamedTuple):
    """Some messages of cells, the small ones first, each with the leak 1 / v per bit that can
    change.

    excess: by how much the inflation of the small tables, the largest or the mean, exceeds 1.
    volume: reports or slots relative to their limits. parities: the number of messages, the first
    ones, that are the parities of all pairs of their variables.
    """

    messages: tuple[VariableSet, ...]
    leaks: tuple[float, ...]
    excess: float
    use: LimitsUse
    volume: float
    parities: int = 0

    @property
    def fits(self) -> bool:
        """Whether a person sends no more than is allowed."""
        return self.volume <= 1 + ROUNDING

    @property
    def rank(self) -> tuple[float, float]:
        """The objective of a search: first a volume above the limits, then the inflation."""
        return (1.0 if self.fits else self.volume), self.excess


RANK = attrgetter("rank")


def inflations(
    task: SearchTask, messages: Sequence[VariableSet], leaks: Sequence[float], parities: int = 0
) -> list[float]:
    """Return the inflation of every wanted table, by least squares over all messages of cells.

    For a table with more than 1,000 cells, by its own message alone. parities: as in a
    `CellsCandidate`.
    """
    effects = Effects.of(task.variables, [t for t in task.tables if not task.is_large(t)])
    precisions = effects.precisions(messages, parities)
    excess = iter(effects.weights @ (1 / (precisions @ np.array(leaks))))
    pairs = list(zip(messages, leaks, strict=True))[parities:]
    return [
        1 + min(task.facts(m).excess_alone / leak for m, leak in pairs if table <= m)
        if task.is_large(table)
        else 1 + float(next(excess))
        for table in task.tables
    ]


def evaluate(
    task: SearchTask,
    small: Sequence[VariableSet],
    steps: int = STEPS,
    useful: float = math.inf,
    cliques: Sequence[Clique] = (),
) -> CellsCandidate:
    """Return the best leaks of messages that hold all small tables, together with those of the
    large ones.

    steps: the largest number of steps. useful: an excess above this need not be minimized. cliques:
    their parities and single bits are sent as well.
    """
    singles = [single for each in cliques for single in each.singles]
    crossed = (*(each.ids for each in cliques), *singles, *small)
    messages = (*crossed, *task.large)
    facts = [task.facts(message) for message in messages[len(cliques) :]]
    parities = [parities_load(task.among(each.ids)) for each in cliques]
    sent = CellsLoad.of(cliques, parities + [each.load for each in facts])
    prices = sent.prices
    equal, shared = 1 / (prices * len(prices)), len(prices) - len(task.large)

    def candidate(leaks: Vector, excess: float) -> CellsCandidate:
        """Return the largest leaks in these proportions that the limits allow."""
        leaks = sent.columns @ leaks if cliques else leaks
        scale = sent.scaled(leaks, task.limits)
        use = sent.use(scale * leaks, task.limits.tail)
        of_each, volume = tuple((scale * leaks).tolist()), use.volume(task.limits)
        return CellsCandidate(messages, of_each, excess / scale, use, volume, len(cliques))

    if not crossed:
        return candidate(equal, 0.0)
    precisions = task.effects.precisions(crossed, len(cliques))
    if cliques:
        precisions = precisions @ sent.columns[: len(crossed), :shared]
    alone = [4 / 3 * (1 + 2 / each.ratio) if each.ratio else 1.0 for each in cliques]
    alone += [each.excess_alone for each in facts[len(singles) : len(singles) + len(small)]]
    part, by_leak = shared / len(prices), prices[:shared]

    def priced(prices: Vector, useful: float = math.inf) -> CellsCandidate:
        leaks, excess = smallest_excess(
            precisions,
            task.effects.weights,
            prices,
            mean=task.mean,
            start=np.array(alone),
            steps=steps,
            useful=useful,
        )
        share = part / float(by_leak @ leaks)
        return candidate(np.append(share * leaks, equal[shared:]), excess / share)

    best = priced(by_leak, useful * part * task.limits.leak)
    if best.excess < useful and _locally_capped(task, best) and not cliques:
        for _ in range(REPRICINGS):
            prices = sent.local_prices(np.array(best.leaks))
            best = min(best, priced(prices[:shared]), key=RANK)
    return best


def _small(task: SearchTask, candidate: CellsCandidate) -> tuple[VariableSet, ...]:
    return candidate.messages[: len(candidate.messages) - len(task.large)]


def _locally_capped(task: SearchTask, candidate: CellsCandidate) -> bool:
    return candidate.use.leak < task.limits.leak * (1 - GAIN)


def _capped(task: SearchTask, candidate: CellsCandidate) -> bool:
    """Return whether limits other than the leak affect some messages, so crossing more may help."""
    return _locally_capped(task, candidate) or not candidate.fits


# Which questions are crossed.


def search(task: SearchTask) -> CellsCandidate | None:
    """Return the messages of cells worth certifying: of those close to the best, the ones with the
    fewest reports.

    They keep the limits in the large-N limit; None if nothing that was tried does. The search
    starts from one message per table and from the cheapest cover without least squares; then it
    merges messages and takes tables out of them as long as the inflation falls, computed by least
    squares over all messages.
    """
    trials = _Trials(task, {}, [0.0])
    starts = [trials.of(task.small)]
    if task.small:
        starts.append(trials.of(_cover(task, None)))
    best = min(starts, key=RANK)
    if task.small and _capped(task, best):
        starts.append(trials.of(_cover(task, best)))
    for start in sorted(starts, key=RANK):
        _descend(trials, start)
    fewest = _fewest_reports(c for c in trials.seen.values() if c.fits)
    return fewest and evaluate(task, _small(task, fewest))


def _fewest_reports(candidates: Iterable[CellsCandidate]) -> CellsCandidate | None:
    """Return the candidate with the fewest reports among those close to the best one; None if there
    is no such candidate."""
    ranked = sorted(candidates, key=RANK)
    near = [c for c in ranked if 1 + c.excess <= CLOSE_ENOUGH * (1 + ranked[0].excess)]
    return min(near, key=lambda candidate: candidate.use.reports, default=None)


class _Trials(NamedTuple):
    """The evaluations of sets of messages so far, and their work."""

    task: SearchTask
    seen: dict[frozenset[VariableSet], CellsCandidate]
    work: list[float]

    def of(self, messages: Sequence[VariableSet], useful: float = math.inf) -> CellsCandidate:
        """Evaluate messages, without those contained in others. useful: as in `evaluate`."""
        key = frozenset(without_contained(messages))
        if key not in self.seen:
            self.work[0] += len(self.task.effects.members) * len(key)
            self.seen[key] = evaluate(self.task, sorted(key, key=sorted), ROUGH, useful)
        return self.seen[key]


class _Move(NamedTuple):
    """Messages that are replaced by others. cost: the cost of the new ones minus that of the old
    ones."""

    removed: frozenset[VariableSet]
    added: tuple[VariableSet, ...]
    cost: float

    def on(self, messages: Sequence[VariableSet]) -> tuple[VariableSet, ...]:
        """Return all messages after the move."""
        return (*(m for m in messages if m not in self.removed), *self.added)


def _descend(trials: _Trials, current: CellsCandidate) -> None:
    """Move to better messages until there are none or the work is used up.

    All helpful moves of different messages are made at once if that is better than the best move.
    """
    task = trials.task
    while trials.work[0] < task.effort.work:
        here = _small(task, current)
        moves = heapq.nsmallest(MOVES, _moves(task, current), key=attrgetter("cost"))
        useful = current.excess if current.fits else math.inf
        after = [trials.of(move.on(here), useful) for move in moves]
        tried = sorted((each.rank, i) for i, each in enumerate(after))
        helpful = [moves[i] for rank, i in tried if _better(rank, current)]
        if not helpful:
            return
        together, gone = here, set[VariableSet]()
        for move in helpful:
            if gone.isdisjoint(move.removed):
                together, gone = move.on(together), gone | move.removed
        held = (*together, *task.small)  # two moves can each depend on the other's message
        current = min(trials.of(helpful[0].on(here)), trials.of(held), key=RANK)


def _better(rank: tuple[float, float], current: CellsCandidate) -> bool:
    volume, excess = current.rank
    return rank[0] < volume * (1 - GAIN) or (rank[0] <= volume and rank[1] < excess * (1 - GAIN))


def _moves(task: SearchTask, candidate: CellsCandidate) -> Iterator[_Move]:
    """Yield all moves from some messages, with their costs without least squares."""
    capped = _capped(task, candidate)
    cost = _cost(task, candidate if capped else None)
    messages = _small(task, candidate)
    yield from _mergers(task, messages, cost, disjoint=capped)
    for message in messages:
        others = [m for m in messages if m != message]
        for added in _divisions(task, message, others):
            saved = cost(message) + sum(cost(m) for m in others if any(m <= a for a in added))
            yield _Move(frozenset({message}), added, sum(map(cost, added)) - saved)


def _mergers(
    task: SearchTask, messages: Sequence[VariableSet], cost: Cost, *, disjoint: bool
) -> Iterator[_Move]:
    """Replace two messages with their union, and with them all other messages inside it."""
    pairs = combinations(messages, 2)
    possible = {one | other for one, other in pairs if disjoint or one & other}
    unions = heapq.nsmallest(MOST_MERGERS, (u for u in possible if cost(u) < math.inf), key=cost)
    outside = 1 - indicators(unions, len(task.variables))
    contained = outside @ indicators(messages, len(task.variables)).T == 0
    costs = np.array(list(map(cost, messages)))
    for union, inside in zip(unions, contained, strict=True):
        removed = frozenset(compress(messages, inside))
        yield _Move(removed, (union,), cost(union) - float(costs[inside].sum()))


def _divisions(
    task: SearchTask, message: VariableSet, others: Sequence[VariableSet]
) -> Iterator[tuple[VariableSet, ...]]:
    """Yield replacements for a message: its tables one by one, or one of them, alone or in another
    message, and the union of the rest."""
    tables = [t for t in task.small if t <= message and not any(t <= m for m in others)]
    if frozenset(tables) == {message}:
        return
    yield tuple(tables)
    for table in tables:
        rest = frozenset(i for t in tables if t != table for i in t)
        if rest and rest != message:
            yield table, rest
            for other in others:
                if other & table and task.facts(other | table).crossable:
                    yield other | table, rest


def _cost(task: SearchTask, candidate: CellsCandidate | None) -> Cost:
    """Return the cost of a message if all tables have the same inflation, without least squares.

    It is the leak times the excess of the inflation; or, given a candidate, the sum of the used
    shares of all limits at the candidate's inflation.
    """
    limits = task.limits

    def cost(ids: VariableSet) -> float:
        load, needed, cells, possible = task.facts(ids)
        if not possible or cells > LARGE:
            return math.inf
        if candidate is None:
            return load.times * needed
        sent = CellsLoad.of((), [load])
        use = sent.use(np.array([needed / candidate.excess]), limits.tail)
        return sum(used / max(most, TINY) for used, most in zip(use, limits, strict=False))

    return lru_cache(maxsize=None)(cost)


def _cover(task: SearchTask, candidate: CellsCandidate | None) -> tuple[VariableSet, ...]:
    """Return the messages that hold all small tables and cost least."""
    cost = _cost(task, candidate)
    return cheapest_cover(task.small, cost, disjoint=candidate is not None)


# Parities of all pairs of yes/no questions.

FEWEST = 3  # variables; parities of fewer leak as much as cells
CERTAIN = 5  # variables; with so many, cells have at least SHARPER times the excess of parities
SHARPER = 1.15  # the search for cells reaches a factor of 1.16 for 5 variables, 1.25 for 8


def with_parities(task: SearchTask) -> CellsCandidate | None:
    """Return the messages worth certifying, cells alone or with parities: of those close to the
    best, the one with the fewest reports. None if nothing that was tried keeps the limits.

    Of K yes/no questions of which D change, D (K - D) parities and D single bits change, so that
    all K (K - 1) / 2 tables leak far less than separate tables.
    """
    cliques = _cliques(task)
    parities = _beside_cliques(task, cliques) if cliques else None
    if parities and _all_pairs(task, cliques) and not _cells_may_suffice(task, parities):
        return parities
    return _fewest_reports(filter(None, (search(task), parities)))


def _cells_may_suffice(task: SearchTask, parities: CellsCandidate) -> bool:
    """Return whether cells can be close to parities of all pairs, or better if more than the leak
    limits both."""
    few = min(map(len, parities.messages[: parities.parities])) < CERTAIN
    close = 1 + SHARPER * parities.excess <= CLOSE_ENOUGH * (1 + parities.excess)
    return _locally_capped(task, parities) or few or close


def _cliques(task: SearchTask) -> list[Clique]:
    """Return the variables with two answers, grouped by the wanted pairs that connect them."""
    binary = {i for i, each in enumerate(task.variables) if each.two_answers}
    groups: list[VariableSet] = []
    for pair in (table for table in task.small if len(table) == 2 and table <= binary):
        joined = frozenset().union(pair, *(group for group in groups if group & pair))
        groups = [joined, *(group for group in groups if not group & pair)]
    return [
        Clique.of(group, max(v.times for v in task.among(group)))
        for group in groups
        if len(group) >= FEWEST
    ]


def _all_pairs(task: SearchTask, cliques: Sequence[Clique]) -> bool:
    """Return whether the wanted tables are exactly all pairs of these variables."""
    pairs = {frozenset(pair) for clique in cliques for pair in combinations(clique.ids, 2)}
    return pairs == {*task.small, *task.large}


def _beside_cliques(task: SearchTask, cliques: Sequence[Clique]) -> CellsCandidate | None:
    """Return parities of all pairs of some variables, a bit for each variable, and the best cells
    for the other tables. None if nothing fits."""
    others = [t for t in task.tables if not any(each.estimates(t) for each in cliques)]
    rest, small = replace(task, tables=tuple(others)), tuple[VariableSet, ...]()
    if rest.small or rest.large:
        if (beside := search(rest)) is None:
            return None
        small = _small(rest, beside)
    candidate = evaluate(task, small, cliques=cliques)
    return candidate if candidate.fits else None


@lru_cache(maxsize=8)
def cells_way(task: SearchTask) -> PlanCandidate | None:
    """Return the best candidate of cells, beside the other messages, which get their parts of the
    leak.

    None if no table can be cells, or if nothing keeps the limits.
    """
    number, limits = len(task.beside), task.limits
    left = limits._replace(reports=limits.reports - number, slots=limits.slots - number)
    best = with_parities(replace(task, limits=left)) if task.tables else None
    if best is None:
        return None
    equal = 1 / (len(best.messages) + number)
    parts = [equal if each.part is None else each.part for each in task.beside]
    others = [
        (ids, kind, _load(task, ids, kind).v_of(part * limits.leak))
        for (ids, kind, _), part in zip(task.beside, parts, strict=True)
    ]
    kinds: list[MessageKind] = ["parities"] * best.parities
    kinds += ["cells"] * (len(best.messages) - best.parities)
    noises = [1 / ((1 - sum(parts)) * leak) for leak in few_noises(best.leaks)]
    sent = [*others, *zip(best.messages, kinds, noises, strict=True)]
    messages = [_limit_message(task, sorted(ids), kind, 1, v) for ids, kind, v in sent]
    return PlanCandidate(tuple(messages), 0.0 if others else best.excess)


def few_noises(leaks: Sequence[float]) -> list[float]:
    """Replace leaks within one percent of each other with their mean: every noise takes time to
    certify."""
    means: dict[float, float] = {}
    ordered = sorted(leaks)
    while ordered:
        alike = [leak for leak in ordered if leak <= ALIKE * ordered[0]]
        means |= dict.fromkeys(alike, math.fsum(alike) / len(alike))
        ordered = ordered[len(alike) :]
    return [means[leak] for leak in leaks]


# Given messages, each with the tables that are estimated from it alone.

GroupCopies = tuple[int, ...]


def given_way(task: SearchTask, groups: MessageGroups) -> PlanCandidate:
    """Return the best noise for given messages if only the leak is limited.

    If the large-N limit permits none (it is rough for fixed randomizers), all messages get the same
    noise, and the accountant decides.
    """
    homes = _homes(groups, task.wanted)
    loads = [
        _load(task, frozenset(order), kind, (copies,), homes[frozenset(order)])
        for order, kind, copies in groups
    ]
    limits, effort = task.limits._replace(reports=math.inf), task.effort._replace(points=FINE)
    allocation = allocate(_sharing(task, loads), limits, mean=task.mean, effort=effort)
    if allocation is None:
        return _with_equal_noise(task, groups)
    shares = [share.v for share in allocation.shares]
    messages = [_limit_message(task, *each, v) for each, v in zip(groups, shares, strict=True)]
    return PlanCandidate(tuple(messages), allocation.excess)


def _homes(
    groups: MessageGroups, tables: Iterable[VariableSet]
) -> dict[VariableSet, list[VariableSet]]:
    """Assign every table to the smallest message that holds it; parities hold only pairs."""
    sent = [(frozenset(order), 2 if kind == "parities" else 0) for order, kind, _ in groups]
    homes: dict[VariableSet, list[VariableSet]] = {ids: [] for ids, _ in sent}
    for table in tables:
        holding = (ids for ids, only in sent if table <= ids and len(table) == (only or len(table)))
        homes[min(holding, key=len)].append(table)
    return homes


def _load(
    task: SearchTask,
    ids: VariableSet,
    kind: MessageKind,
    copies: GroupCopies = (1,),
    tables: Iterable[VariableSet] = (),
) -> Load:
    """Return a message with the tables that are estimated from it alone.

    From parities, as if each question had a message of its own.
    """
    among = task.among(ids)
    if kind == "joint":
        load = joint_load(among, copies)
        axes = {tuple(sorted((v.axis for v in task.among(each)), key=repr)) for each in tables}
    elif kind == "cells":
        load = cells_load(among)
        load = load._replace(most_v=_most_v(task, load))
        axes = {(_summed_axis(task, each, size(task.among(ids - each))),) for each in tables}
    else:
        load, ratio = parities_load(among), Clique.of(ids).ratio
        axes = {(_summed_axis(task, each, (1 + 2 / ratio) / 4),) for each in tables}
    return load._replace(tables=tuple(sorted(axes, key=repr)))


def _summed_axis(task: SearchTask, table: VariableSet, scale: float) -> CellAxis:
    """Return what to expect of a table of cells, as one axis. scale: the scale of a bit's noise in
    a cell."""
    axes = [each.axis for each in task.among(table)]
    share: float = math.prod(each.share for each in axes)
    cells: int = math.prod(each.cells for each in axes)
    return CellAxis(share, cells, scale=float(scale))


def _most_v(task: SearchTask, load: Load) -> float:
    """Return the largest noise of a wide variable's cells with which it keeps its share of the
    reports."""
    if task.wide_reports == math.inf:
        return math.inf
    flips = (task.wide_reports - load.ones) / load.bits
    return 1 / BitFlip.at_least(min(flips, 0.49)).excess if flips > 0 else 0.0


def _sharing(task: SearchTask, loads: Sequence[Load]) -> list[Load]:
    """Return the loads, where messages with too many cells get an equal part of what may leak.

    Their tables do not count in the inflation; they would take nearly all of the leak.
    """
    if all(load.large for load in loads):
        return list(loads)
    part = task.limits.leak / len(loads)
    return [load.with_leak(part) if load.large else load for load in loads]


def _with_equal_noise(task: SearchTask, groups: MessageGroups) -> PlanCandidate:
    """Return the way of messages for which the large-N limit permits no noise."""
    return PlanCandidate(tuple(_limit_message(task, *group, 1.0) for group in groups), math.inf)


def _limit_message(
    task: SearchTask, order: Iterable[int], kind: MessageKind, copies: int, v: float
) -> LimitMessage:
    order = tuple(order)
    distance = sum(task.variables[i].distance for i in order) if kind == "joint" else 1
    return LimitMessage(order, kind, copies, distance, v)


# Joint reports of groups of questions.

COPY_POINTS = 48


class _JointTrials(NamedTuple):
    """The allocations of joint reports so far, for messages of equal loads only once."""

    task: SearchTask
    limits: PlanLimits
    seen: dict[frozenset[tuple[Load, int]], Allocation]
    loads: dict[tuple[VariableSet, tuple[VariableSet, ...], GroupCopies], Load]

    def of(
        self,
        messages: Sequence[VariableSet],
        copies: GroupCopies | None = None,
        useful: float = math.inf,
    ) -> PlanCandidate:
        """Return the best copies and noise of some messages.

        copies: the numbers to choose from; by default all that one message may have if each of the
        others has one. The excess is infinite if these messages leak too much or are too many, or
        have an excess above `useful` (see `allocate`).
        """
        task = self.task
        copies = copies or copy_points(int(self.limits.reports) - len(messages) + 1)
        groups = task.separate(messages)
        homes = _homes(groups, task.wanted)
        loads = [
            self._load(ids, kind, copies, tuple(homes[ids]))
            for ids, (_, kind, _) in zip(messages, groups, strict=True)
        ]
        loads = _sharing(task, loads)
        ordered = sorted(loads, key=repr)
        key = frozenset(Counter(ordered).items())
        allocation = self.seen.get(key) or allocate(
            ordered, self.limits, mean=task.mean, effort=task.effort, useful=useful
        )
        if allocation is None:
            return _with_equal_noise(task, groups)
        self.seen[key] = allocation
        shares = dict(zip(ordered, allocation.shares, strict=True))
        each = [
            _limit_message(task, order, kind, *shares[load])
            for (order, kind, _), load in zip(groups, loads, strict=True)
        ]
        return PlanCandidate(tuple(each), allocation.excess)

    def _load(
        self,
        ids: VariableSet,
        kind: MessageKind,
        copies: GroupCopies,
        tables: tuple[VariableSet, ...],
    ) -> Load:
        key = ids, tables, copies
        if key not in self.loads:
            self.loads[key] = _load(self.task, ids, kind, copies, tables)
        return self.loads[key]

    def equivalent(
        self, one: VariableSet, other: VariableSet
    ) -> tuple[frozenset[tuple[str, ...]], int]:
        """Return a key under which equivalent pairs of blocks are equal."""
        both = sum(bool(one & table) and bool(other & table) for table in self.task.held)
        return frozenset({self._kinds(one), self._kinds(other)}), both

    def _kinds(self, block: VariableSet) -> tuple[str, ...]:
        """Return the kinds of questions in a block, and of the tables that share a question with
        it."""
        touching = [self._axes(table) for table in self.task.held if table & block]
        return (*self._axes(block), *sorted(map(repr, touching)))

    def _axes(self, ids: VariableSet) -> list[str]:
        return sorted(repr(self.task.variables[i].axis) for i in ids)


def best_joint_way(
    task: SearchTask,
    messages: Sequence[VariableSet],
    copies: GroupCopies | None = None,
    reports: float = math.inf,
) -> PlanCandidate:
    """Return the best copies and finely tuned noise of some messages. copies: the numbers to choose
    from; by default all with which a person sends at most that many reports.

    One copy each, with equal noise, if the limit permits none.
    """
    limits = task.limits._replace(reports=reports)
    way = _JointTrials(task, limits, {}, {}).of(messages, copies)
    if way.excess < math.inf:
        return _refined(task, way)
    return given_way(task, task.separate(messages))


def _refined(task: SearchTask, way: PlanCandidate) -> PlanCandidate:
    """Return the same messages and copies, with finely tuned noise."""
    return given_way(task, tuple(message[:3] for message in way.messages))


def joint_ways(task: SearchTask, progress: SearchProgress | None) -> list[PlanCandidate]:
    """Return ways to cover the wanted tables by joint reports, the best in the large-N limit first.

    Questions are put into blocks, at first each alone. A message is the union of the blocks that
    share a question with a wanted table: single questions give one message per table, and one block
    gives one joint report. In each step the two blocks are merged whose merger leaves the smallest
    inflation. Questions with too many answers are sent as cells, each alone. The limit is too
    optimistic about messages with many bits, so the accountant has to choose among several: the
    best of all steps, the finest that fits, and the joint report, the last two also with one copy,
    and the best with fewer and with more messages.
    """
    trials = _JointTrials(task, task.limits, {}, {})
    joint, *others = task.joint_groups
    blocks = [frozenset({i}) for i in sorted(joint)]

    def way(
        blocks: Sequence[VariableSet], copies: GroupCopies | None = None, useful: float = math.inf
    ) -> PlanCandidate:
        return trials.of([*_covering(task, blocks), *filter(None, others)], copies, useful)

    steps, single = [way(blocks)], [way(blocks, (1,))]
    while len(blocks) > 1:
        options, least = {}, math.inf
        for one, other in combinations(blocks, 2):
            look = trials.equivalent(one, other)
            if look not in options:
                merged = [b for b in blocks if b not in (one, other)] + [one | other]
                option = way(merged, useful=least)
                least = min(least, option.excess)
                options[look] = ((option.excess, len(option.messages)), merged)
        blocks = min(options.values(), key=lambda o: o[0])[1]
        steps.append(way(blocks))
        if progress:
            progress(translatable("planner.searching-messages", blocks=len(blocks)))
    return _worth_certifying(task, steps, [*single, way(blocks, (1,))])


def _worth_certifying(
    task: SearchTask, steps: Sequence[PlanCandidate], single: Sequence[PlanCandidate]
) -> list[PlanCandidate]:
    """Return the ways that may be the best once they are certified, with finely tuned noise."""
    possible = [way for way in steps if way.excess < math.inf]
    if not possible:
        return []
    excess = attrgetter("excess")
    best = min(possible, key=excess)
    fewer = [w for w in possible if 1 < len(w.messages) <= max(len(best.messages) // 2, 2)]
    more = [w for w in possible if len(w.messages) > len(best.messages)]
    chosen = [best, possible[0], possible[-1], *single]
    chosen += [min(side, key=excess) for side in (fewer, more) if side]
    fitting = dict.fromkeys(way for way in chosen if way.excess < math.inf)
    return sorted((_refined(task, way) for way in fitting), key=excess)


@lru_cache(maxsize=64)
def copy_points(most: int) -> GroupCopies:
    """Return numbers of copies to try: all small ones, then steps of about a tenth."""
    points = np.geomspace(1, max(most, 1), COPY_POINTS).round().astype(int)
    return tuple(np.unique(points).tolist())


def _covering(task: SearchTask, blocks: Sequence[VariableSet]) -> list[VariableSet]:
    """Return, for each table, the union of the blocks that share a question with it, without
    repeats."""
    unions = {
        frozenset().union(*(block for block in blocks if block & table)) for table in task.held
    }
    unions.discard(frozenset())
    in_order = sorted(unions, key=lambda ids: sorted(task.names(ids)))
    return [ids for ids in in_order if not any(ids < other for other in unions)]
