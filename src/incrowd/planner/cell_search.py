"""Which questions to cross: a search for the messages of cells with the smallest inflation.

The inflation of a table is its variance over that of sampling alone: the people over the effective
sample size.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, compress
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from incrowd.planner.effects import (
    Effects,
    Footprint,
    SearchVariable,
    VariableSet,
    crossable,
    excess_alone,
    footprint,
    indicators,
    size,
)
from incrowd.planner.leak_shares import (
    STEPS,
    TINY,
    LeakLimits,
    Use,
    Vector,
    local_prices,
    scaled,
    smallest_excess,
)
from incrowd.plans import Message
from incrowd.survey import AnyQuestion, Survey
from incrowd.survey.crossings import cell_answers, crossing_problem
from incrowd.survey.question import QuestionIds


def questions_crossable(survey: Survey, ids: Sequence[str]) -> bool:
    """Whether the planner may send some questions as cells.

    Text, fixed randomizers and permanent responses cannot be crossed, nor can two questions that
    allow several answers each.
    """
    questions = [survey.question(id) for id in ids]
    return not crossing_problem(questions) and not any(q.memoized for q in questions)


def too_large(survey: Survey, ids: Sequence[str]) -> bool:
    """Whether a table has so many cells that its precision would come at the cost of all others."""
    return size([_variable(survey.question(id)) for id in ids]) > LARGE


def variables(survey: Survey) -> tuple[SearchVariable, ...]:
    """The randomized questions of a survey, in order."""
    return tuple(map(_variable, survey.randomized))


def places(survey: Survey, ids: Iterable[str]) -> VariableSet:
    """The places of some questions among the randomized ones."""
    wanted = set(ids)
    return frozenset(i for i, q in enumerate(survey.randomized) if q.id in wanted)


def names(survey: Survey, places: VariableSet) -> QuestionIds:
    """The ids of the questions at some places, in the order of the survey."""
    return tuple(q.id for i, q in enumerate(survey.randomized) if i in places)


def precision_by_cells(
    survey: Survey, messages: Sequence[Message], tables: Sequence[QuestionIds]
) -> np.ndarray:
    """1 / (inflation - 1) of each table, by least squares over all messages of cells.

    Shape (tables,); 0 for a table that no message holds.
    """
    sent = sorted((message for message in messages if message.cells), key=lambda m: not m.parities)
    held = [i for i, ids in enumerate(tables) if any(message.holds(ids) for message in sent)]
    wanted = tuple(places(survey, tables[i]) for i in held)
    problem = SearchTask(variables(survey), wanted, LeakLimits(1.0))
    leaks = [message.noise.excess for message in sent if message.noise]
    precision = np.zeros(len(tables))
    if held:
        parities = sum(message.parities for message in sent)
        by_cells = inflations(problem, [places(survey, m.ids) for m in sent], leaks, parities)
        precision[held] = 1 / (np.array(by_cells) - 1)
    return precision


def _variable(question: AnyQuestion) -> SearchVariable:
    answers = () if question.one_way_only else cell_answers(question)
    most = question.domain.most if question.many else None
    return SearchVariable(max(len(answers), 1), most)


# Messages that hold all wanted tables at the least cost, from which a search begins.

Cost = Callable[[VariableSet], float]  # infinite if the variables cannot be one message
MOST_UNIONS = 2000
STRETCH = 2.0  # times the cost of the tables inside, up to which a union may grow further
COVER_WORK = 50_000  # partial covers, over the unions that can extend them


class Union(NamedTuple):
    """A message that holds some tables. inside: those tables, as the bits of an integer."""

    ids: VariableSet
    cost: float
    inside: int


class _Cover(NamedTuple):
    """Some unions. bound: their cost, plus the least cost of the other tables."""

    bound: float
    done: int
    chosen: tuple[VariableSet, ...] = ()


def without_contained(sets: Sequence[VariableSet]) -> tuple[VariableSet, ...]:
    """The sets that are not contained in another one, each once."""
    ordered = sorted(set(sets), key=sorted)
    members = indicators(ordered, max((max(ids) for ids in ordered), default=-1) + 1)
    contained = members @ members.T >= members.sum(axis=1)[:, None]
    np.fill_diagonal(contained, False)
    return tuple(ids for ids, c in zip(ordered, contained.any(axis=1), strict=True) if not c)


def cheapest_cover(
    tables: Sequence[VariableSet], cost: Cost, *, disjoint: bool
) -> tuple[VariableSet, ...]:
    """Unions of tables that together hold all tables at the least cost.

    Dynamic programming over the tables that are held; each step adds the first table that is
    missing. If there are too many states, only those with the smallest bound are continued, so that
    the result is optimal for few tables and good for many. disjoint: whether tables without a
    common variable may be united.
    """
    unions = _unions(tables, cost, disjoint)
    holding = [[u for u in unions if u.inside >> i & 1] for i in range(len(tables))]
    least = [min(u.cost / u.inside.bit_count() for u in group) for group in holding]
    width = max(8, COVER_WORK // sum(map(len, holding)))
    best = _Cover(math.inf, 0)
    frontier = [_Cover(sum(least), 0)]
    while frontier:
        reached: dict[int, _Cover] = {}
        for cover in frontier:
            for union in holding[_first_missing(cover.done)]:
                new = _extended(cover, union, least)
                if new.bound < reached.get(new.done, best).bound:
                    reached[new.done] = new
        complete = reached.pop((1 << len(tables)) - 1, best)
        best = min(best, complete)
        frontier = heapq.nsmallest(width, (c for c in reached.values() if c < best))
    return without_contained(best.chosen)


def _extended(cover: _Cover, union: Union, least: Sequence[float]) -> _Cover:
    gained, saved = union.inside & ~cover.done, 0.0
    done = cover.done | gained
    while gained:
        saved += least[(gained & -gained).bit_length() - 1]
        gained &= gained - 1
    return _Cover(cover.bound + union.cost - saved, done, (*cover.chosen, union.ids))


def _first_missing(done: int) -> int:
    return (~done & (done + 1)).bit_length() - 1


def _unions(tables: Sequence[VariableSet], cost: Cost, disjoint: bool) -> list[Union]:
    """The tables, and unions that cost no more than the tables in them, smaller ones first."""
    alone = list(map(cost, tables))
    unions = {
        ids: Union(ids, price, _inside(ids, tables))
        for ids, price in zip(tables, alone, strict=True)
    }
    frontier = list(unions)
    while frontier and len(unions) < MOST_UNIONS:
        wider = {one | table for one in frontier for table in tables if disjoint or one & table}
        frontier = []
        for ids in sorted(wider - unions.keys(), key=sorted):
            union = Union(ids, cost(ids), _inside(ids, tables))
            if union.cost <= STRETCH * _total(union.inside, alone):
                unions[ids] = union
                frontier.append(ids)
    return [u for u in unions.values() if u.ids in tables or u.cost <= _total(u.inside, alone)]


def _inside(ids: VariableSet, tables: Sequence[VariableSet]) -> int:
    return sum(1 << i for i, table in enumerate(tables) if table <= ids)


def _total(inside: int, costs: Sequence[float]) -> float:
    total = 0.0
    while inside:
        total += costs[(inside & -inside).bit_length() - 1]
        inside &= inside - 1
    return total


LARGE = 1000  # cells; a table of more gets one equal share of the leak
CLOSE_ENOUGH = 1.02  # times the smallest inflation: within it the fewest reports decide
GAIN = 1e-4  # the least relative gain for which a search goes on
ROUGH = 60  # steps of an evaluation during the search, for half a percent of the excess
REPRICINGS = 2  # rounds of pricing leaks by the local epsilon that they add
MOVES = 32  # tried in one step: those that reduce the cost most
MOST_MERGERS = 4000  # of two messages each, considered in one step
WORK = 6e7  # terms times messages, of the search for a plan
ROUNDING = 1e-9


class MessageFacts(NamedTuple):
    """The variables of a message as far as costs depend on them; see the functions of `effects`."""

    footprint: Footprint
    excess_alone: float
    size: int
    crossable: bool

    @classmethod
    def of(cls, variables: Sequence[SearchVariable]) -> MessageFacts:
        """Compute them."""
        alone = excess_alone(variables)
        return cls(footprint(variables), alone, size(variables), crossable(variables))


@dataclass(frozen=True)
class SearchTask:
    """Wanted tables, as sets of places of variables, and the limits for all messages.

    mean: whether to minimize the mean of the tables' inflations rather than the largest. work: the
    effort after which the search ends, in terms times messages of all evaluations. larger: tables
    that are sent like those with more than 1,000 cells, however many they have. Every table has to
    be `crossable`.
    """

    variables: tuple[SearchVariable, ...]
    tables: tuple[VariableSet, ...]
    limits: LeakLimits
    mean: bool = False
    work: float = WORK
    larger: tuple[VariableSet, ...] = ()

    def among(self, ids: VariableSet) -> list[SearchVariable]:
        """The variables at these places."""
        return [self.variables[i] for i in sorted(ids)]

    @cached_property
    def _facts(self) -> dict[VariableSet, MessageFacts]:
        return {}

    def facts(self, ids: VariableSet) -> MessageFacts:
        """What a message of these variables sends and tells, computed once."""
        if ids not in self._facts:
            self._facts[ids] = MessageFacts.of(self.among(ids))
        return self._facts[ids]

    def is_large(self, ids: VariableSet) -> bool:
        """Whether a message has so many cells that it would take nearly all of the leak."""
        return self.facts(ids).size > LARGE

    @cached_property
    def small(self) -> tuple[VariableSet, ...]:
        """The tables whose inflation is minimized, without those contained in another one."""
        return without_contained([t for t in self.tables if not self.is_large(t)])

    @cached_property
    def large(self) -> tuple[VariableSet, ...]:
        """The other tables, each of which gets an equal share of the leak."""
        large = without_contained([*filter(self.is_large, self.tables), *self.larger])
        return tuple(t for t in large if not any(t <= small for small in self.small))

    @cached_property
    def costs(self) -> Cost:
        """The cost of each message if only the leak is limited."""
        return _cost(self, None)

    @cached_property
    def effects(self) -> Effects:
        """The terms of the small tables."""
        return Effects.of(self.variables, self.small)


class Candidate(NamedTuple):
    """Some messages, the small ones first, each with the leak 1 / v per bit that can change.

    excess: by how much the inflation of the small tables, the largest or the mean, exceeds 1.
    volume: reports or slots relative to their limits. parities: the number of messages, the first
    ones, that are the parities of all pairs of their variables.
    """

    messages: tuple[VariableSet, ...]
    leaks: tuple[float, ...]
    excess: float
    use: Use
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


def search(problem: SearchTask) -> tuple[Candidate, ...]:
    """The messages worth certifying: of those close to the best, the ones with the fewest reports;
    then the best.

    They keep the limits in the large-N limit; empty if nothing that was tried does. The search
    starts from one message per table and from the cheapest cover without least squares; then it
    merges messages and takes tables out of them as long as the inflation falls, computed by least
    squares over all messages.
    """
    trials = _Trials(problem, {}, [0.0])
    starts = [trials.of(problem.small)]
    if problem.small:
        starts.append(trials.of(_cover(problem, None)))
    best = min(starts, key=RANK)
    if problem.small and _capped(problem, best):
        starts.append(trials.of(_cover(problem, best)))
    for start in sorted(starts, key=RANK):
        _descend(trials, start)
    fitting = sorted((c for c in trials.seen.values() if c.fits), key=RANK)
    near = [c for c in fitting if 1 + c.excess <= CLOSE_ENOUGH * (1 + fitting[0].excess)]
    cheapest = sorted(near, key=lambda candidate: candidate.use.reports)[:1]
    chosen = dict.fromkeys(_small(problem, c) for c in (*cheapest, *fitting[:1]))
    return tuple(evaluate(problem, messages) for messages in chosen)


def inflations(
    problem: SearchTask, messages: Sequence[VariableSet], leaks: Sequence[float], parities: int = 0
) -> list[float]:
    """The inflation of every wanted table, by least squares over all messages.

    For a table with more than 1,000 cells, by its own message alone. parities: as in `Candidate`.
    """
    effects = Effects.of(problem.variables, [t for t in problem.tables if not problem.is_large(t)])
    precisions = effects.precisions(messages, parities)
    excess = iter(effects.weights @ (1 / (precisions @ np.array(leaks))))
    pairs = list(zip(messages, leaks, strict=True))[parities:]
    return [
        1 + min(problem.facts(m).excess_alone / leak for m, leak in pairs if table <= m)
        if problem.is_large(table)
        else 1 + float(next(excess))
        for table in problem.tables
    ]


def evaluate(
    problem: SearchTask, small: Sequence[VariableSet], steps: int = STEPS, useful: float = math.inf
) -> Candidate:
    """The best leaks of messages that hold all small tables, together with those of the large ones.

    steps: the largest number of steps. useful: an excess above this need not be minimized.
    """
    messages = (*small, *problem.large)
    footprints = [problem.facts(message).footprint for message in messages]
    changed = np.array([each.changed for each in footprints], float)
    equal = 1 / (changed * len(messages))
    if not small:
        return _candidate(problem, messages, equal, 0.0)
    precisions = problem.effects.precisions(small)
    start = np.array([problem.facts(message).excess_alone for message in small])
    part, priced_by_leak = len(small) / len(messages), changed[: len(small)]

    def priced(prices: Vector, useful: float = math.inf) -> Candidate:
        leaks, excess = smallest_excess(
            precisions,
            problem.effects.weights,
            prices,
            mean=problem.mean,
            start=start,
            steps=steps,
            useful=useful,
        )
        share = part / float(priced_by_leak @ leaks)
        shared = np.append(share * leaks, equal[len(small) :])
        return _candidate(problem, messages, shared, excess / share)

    best = priced(priced_by_leak, useful * part * problem.limits.leak)
    if best.excess < useful and _locally_capped(problem, best):
        for _ in range(REPRICINGS):
            prices = local_prices(footprints, np.array(best.leaks))
            best = min(best, priced(prices[: len(small)]), key=RANK)
    return best


def _candidate(
    problem: SearchTask, messages: tuple[VariableSet, ...], leaks: Vector, excess: float
) -> Candidate:
    """The largest leaks in these proportions that the limits allow. excess: at these leaks."""
    footprints = [problem.facts(message).footprint for message in messages]
    scale = scaled(footprints, leaks, problem.limits)
    use = Use.of(footprints, scale * leaks, problem.limits.tail)
    volume = use.volume(problem.limits)
    return Candidate(messages, tuple((scale * leaks).tolist()), excess / scale, use, volume)


def _small(problem: SearchTask, candidate: Candidate) -> tuple[VariableSet, ...]:
    return candidate.messages[: len(candidate.messages) - len(problem.large)]


def _locally_capped(problem: SearchTask, candidate: Candidate) -> bool:
    return candidate.use.leak < problem.limits.leak * (1 - GAIN)


def _capped(problem: SearchTask, candidate: Candidate) -> bool:
    """Whether not only the leak limits some messages, so that crossing more may help."""
    return _locally_capped(problem, candidate) or not candidate.fits


class _Trials(NamedTuple):
    """The evaluations of sets of messages so far, and their work."""

    problem: SearchTask
    seen: dict[frozenset[VariableSet], Candidate]
    work: list[float]

    def of(self, messages: Sequence[VariableSet], useful: float = math.inf) -> Candidate:
        """Evaluate messages, without those contained in others. useful: as in `evaluate`."""
        key = frozenset(without_contained(messages))
        if key not in self.seen:
            self.work[0] += len(self.problem.effects.members) * len(key)
            self.seen[key] = evaluate(self.problem, sorted(key, key=sorted), ROUGH, useful)
        return self.seen[key]


class _Move(NamedTuple):
    """Messages that are replaced by others. cost: of the new ones minus that of the old ones."""

    removed: frozenset[VariableSet]
    added: tuple[VariableSet, ...]
    cost: float

    def on(self, messages: Sequence[VariableSet]) -> tuple[VariableSet, ...]:
        """All messages after the move."""
        return (*(m for m in messages if m not in self.removed), *self.added)


def _descend(trials: _Trials, current: Candidate) -> None:
    """Move to better messages until there are none or the work is used up.

    All helpful moves of different messages are made at once if that is better than the best move.
    """
    problem = trials.problem
    while trials.work[0] < problem.work:
        here = _small(problem, current)
        moves = heapq.nsmallest(MOVES, _moves(problem, current), key=attrgetter("cost"))
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
        held = (*together, *problem.small)  # two moves can each depend on the other's message
        current = min(trials.of(helpful[0].on(here)), trials.of(held), key=RANK)


def _better(rank: tuple[float, float], current: Candidate) -> bool:
    volume, excess = current.rank
    return rank[0] < volume * (1 - GAIN) or (rank[0] <= volume and rank[1] < excess * (1 - GAIN))


def _moves(problem: SearchTask, candidate: Candidate) -> Iterator[_Move]:
    """All moves from some messages, with their costs without least squares."""
    capped = _capped(problem, candidate)
    cost = _cost(problem, candidate) if capped else problem.costs
    messages = _small(problem, candidate)
    yield from _mergers(problem, messages, cost, disjoint=capped)
    for message in messages:
        others = [m for m in messages if m != message]
        for added in _divisions(problem, message, others):
            saved = cost(message) + sum(cost(m) for m in others if any(m <= a for a in added))
            yield _Move(frozenset({message}), added, sum(map(cost, added)) - saved)


def _mergers(
    problem: SearchTask, messages: Sequence[VariableSet], cost: Cost, *, disjoint: bool
) -> Iterator[_Move]:
    """Replace two messages by their union, and with them all other messages inside it."""
    pairs = combinations(messages, 2)
    possible = {one | other for one, other in pairs if disjoint or one & other}
    unions = heapq.nsmallest(MOST_MERGERS, (u for u in possible if cost(u) < math.inf), key=cost)
    outside = 1 - indicators(unions, len(problem.variables))
    contained = outside @ indicators(messages, len(problem.variables)).T == 0
    costs = np.array(list(map(cost, messages)))
    for union, inside in zip(unions, contained, strict=True):
        removed = frozenset(compress(messages, inside))
        yield _Move(removed, (union,), cost(union) - float(costs[inside].sum()))


def _divisions(
    problem: SearchTask, message: VariableSet, others: Sequence[VariableSet]
) -> Iterator[tuple[VariableSet, ...]]:
    """Replacements for a message: its tables one by one, or one of them, alone or in another
    message, and the union of the rest."""
    tables = [t for t in problem.small if t <= message and not any(t <= m for m in others)]
    if frozenset(tables) == {message}:
        return
    yield tuple(tables)
    for table in tables:
        rest = frozenset(i for t in tables if t != table for i in t)
        if rest and rest != message:
            yield table, rest
            for other in others:
                if other & table and problem.facts(other | table).crossable:
                    yield other | table, rest


def _cost(problem: SearchTask, candidate: Candidate | None) -> Cost:
    """The cost of a message if all tables have the same inflation, without least squares.

    It is the leak times the excess of the inflation; or, given a candidate, the sum of the used
    shares of all limits at the candidate's inflation.
    """
    limits = problem.limits

    def cost(ids: VariableSet) -> float:
        sent, needed, cells, possible = problem.facts(ids)
        if not possible or cells > LARGE:
            return math.inf
        if candidate is None:
            return sent.changed * needed
        use = Use.of([sent], np.array([needed / candidate.excess]), limits.tail)
        return sum(used / max(most, TINY) for used, most in zip(use, limits, strict=False))

    return lru_cache(maxsize=None)(cost)


def _cover(problem: SearchTask, candidate: Candidate | None) -> tuple[VariableSet, ...]:
    """The messages that hold all small tables and cost least."""
    cost = _cost(problem, candidate) if candidate else problem.costs
    return cheapest_cover(problem.small, cost, disjoint=candidate is not None)
