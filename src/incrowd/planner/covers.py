"""Messages that hold all wanted tables at the least cost, from which a search begins."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from incrowd.planner.effects import indicators
from incrowd.planner.loads import VariableSet

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
    """Return the sets that are not contained in another one, without repeats."""
    ordered = sorted(set(sets), key=sorted)
    members = indicators(ordered, max((max(ids) for ids in ordered), default=-1) + 1)
    contained = members @ members.T >= members.sum(axis=1)[:, None]
    np.fill_diagonal(contained, False)
    return tuple(ids for ids, c in zip(ordered, contained.any(axis=1), strict=True) if not c)


def cheapest_cover(
    tables: Sequence[VariableSet], cost: Cost, *, disjoint: bool
) -> tuple[VariableSet, ...]:
    """Return unions of tables that together hold all tables at the least cost.

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
    """Return the tables, and unions that cost no more than the tables in them,
    smaller ones first."""
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
