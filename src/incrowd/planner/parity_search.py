"""Pairs of yes/no questions by parities: candidates in addition to those of the search for cells.

One message reports for each pair of questions whether the two answers differ, and a single bit
reports each question by itself. If D of K questions change, D (K - D) parities and D single bits
change, so that all K (K - 1) / 2 tables leak far less than separate tables.
Proof: docs/mathematics.md#parities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from incrowd.accountant.numerics.extrema import root
from incrowd.planner.cell_search import CLOSE_ENOUGH, GAIN, RANK, Candidate, SearchTask, search
from incrowd.planner.effects import SearchVariable, VariableSet, best_ratio, parities_footprint
from incrowd.planner.leak_shares import Use, Vector, log_odds, smallest_excess

TWO = SearchVariable(2)
FEWEST = 3  # variables; parities of fewer leak as much as cells
CERTAIN = 5  # variables; with so many, cells have at least SHARPER times the excess of parities
SHARPER = 1.15  # the search for cells reaches a factor of 1.16 for 5 variables, 1.25 for 8


class Clique(NamedTuple):
    """Variables with two answers each. ratio: the leak of a single bit over that of a parity."""

    ids: VariableSet
    ratio: float

    @classmethod
    def of(cls, ids: VariableSet) -> Clique:
        """The clique of some variables with the best ratio."""
        return cls(ids, best_ratio(len(ids)))

    def worst(self, parity: float, single: float) -> float:
        """The largest cost of the bits that change, given those of a parity and a single bit."""
        size = len(self.ids)
        return max(d * (size - d) * parity + d * single for d in range(1, size + 1))

    def estimates(self, table: VariableSet) -> bool:
        """Whether a table has only one or two of these variables."""
        return table <= self.ids and len(table) <= 2


def candidates(problem: SearchTask) -> tuple[Candidate, ...]:
    """The messages worth certifying, cells alone or with parities: of those close to the best, the
    one with the fewest reports. Empty if nothing that was tried keeps the limits."""
    cliques = _cliques(problem)
    by_parities = _with_parities(problem, cliques)
    if (
        by_parities
        and _all_pairs(problem, cliques)
        and not _cells_may_suffice(problem, by_parities[0])
    ):
        return by_parities
    ranked = sorted((*search(problem)[:1], *by_parities), key=RANK)
    near = [c for c in ranked if 1 + c.excess <= CLOSE_ENOUGH * (1 + ranked[0].excess)]
    return tuple(sorted(near, key=lambda candidate: candidate.use.reports)[:1])


def _cells_may_suffice(problem: SearchTask, parities: Candidate) -> bool:
    """Whether cells can be close to parities of all pairs, or better if more than the leak limits
    both."""
    capped = parities.use.leak < problem.limits.leak * (1 - GAIN)
    few = min(map(len, parities.messages[: parities.parities])) < CERTAIN
    return capped or few or 1 + SHARPER * parities.excess <= CLOSE_ENOUGH * (1 + parities.excess)


def _cliques(problem: SearchTask) -> list[Clique]:
    """The variables with two answers, grouped by the wanted pairs that connect them."""
    binary = {i for i, each in enumerate(problem.variables) if each == TWO}
    groups: list[VariableSet] = []
    for pair in (table for table in problem.small if len(table) == 2 and table <= binary):
        joined = frozenset().union(pair, *(group for group in groups if group & pair))
        groups = [joined, *(group for group in groups if not group & pair)]
    return [Clique.of(group) for group in groups if len(group) >= FEWEST]


def _all_pairs(problem: SearchTask, cliques: Sequence[Clique]) -> bool:
    """Whether the wanted tables are exactly all pairs of these variables."""
    pairs = {frozenset(pair) for clique in cliques for pair in combinations(clique.ids, 2)}
    return pairs == {*problem.small, *problem.large}


def _with_parities(problem: SearchTask, cliques: Sequence[Clique]) -> tuple[Candidate, ...]:
    """Parities of all pairs of some variables, a bit for each variable, and the best cells for the
    other tables. Empty if there are no such variables, or if nothing fits."""
    if not cliques:
        return ()
    by_parities = [t for t in problem.tables if any(each.estimates(t) for each in cliques)]
    rest = replace(problem, tables=tuple(t for t in problem.tables if t not in by_parities))
    more = rest.small or rest.large
    beside = search(rest)[:1] if more else ()
    if more and not beside:
        return ()
    others = beside[0].messages if beside else ()
    small = len(others) - len(rest.large)
    messages = (
        *(each.ids for each in cliques),
        *[frozenset({i}) for clique in cliques for i in sorted(clique.ids)],
        *others,
    )
    columns = _columns(cliques, len(others))
    prices = np.array(
        [each.worst(1.0, each.ratio) for each in cliques]
        + [problem.facts(message).footprint.changed for message in others]
    )
    alone = [4 / 3 * (1 + 2 / each.ratio) for each in cliques]
    alone += [problem.facts(message).excess_alone for message in others[:small]]
    precisions = problem.effects.precisions(
        messages[: len(messages) - len(rest.large)], len(cliques)
    )
    shared, part = len(alone), len(alone) / len(prices)
    leaks, excess = smallest_excess(
        precisions @ columns[: precisions.shape[1], :shared],
        problem.effects.weights,
        prices[:shared],
        mean=problem.mean,
        start=np.array(alone),
    )
    each = np.append(part * leaks, 1 / (prices[shared:] * len(prices)))
    candidate = _scaled(problem, cliques, messages, columns @ each, excess / part)
    return (candidate,) if candidate.fits else ()


def _columns(cliques: Sequence[Clique], others: int) -> Vector:
    """The leak of each message per unit of each clique, with its single bits, and of each other
    message: shape (messages, cliques + others)."""
    parities = np.eye(len(cliques))
    bits = [
        np.tile(each.ratio * row, (len(each.ids), 1))
        for each, row in zip(cliques, parities, strict=True)
    ]
    clique_leaks = np.vstack([parities, *bits])
    return np.block(
        [
            [clique_leaks, np.zeros((len(clique_leaks), others))],
            [np.zeros((others, len(parities))), np.eye(others)],
        ]
    )


def _scaled(
    problem: SearchTask,
    cliques: Sequence[Clique],
    messages: tuple[VariableSet, ...],
    leaks: Vector,
    excess: float,
) -> Candidate:
    """Leaks in these proportions, as large as the limits allow. excess: at these leaks."""
    limits = problem.limits
    footprints = [parities_footprint(len(each.ids)) for each in cliques]
    footprints += [problem.facts(message).footprint for message in messages[len(cliques) :]]

    def use(scale: float) -> Use:
        of_each = Use.of(footprints, scale * leaks, limits.tail)
        together = _together(cliques, scale * leaks), _together(cliques, log_odds(scale * leaks))
        leak, local = of_each.leak + together[0], of_each.local_epsilon + together[1]
        return of_each._replace(leak=leak, local_epsilon=local)

    scale = limits.leak / use(1.0).leak
    if use(scale).local_epsilon > limits.local_epsilon:
        scale = root(
            lambda s: use(s).local_epsilon - limits.local_epsilon, 0.0, scale, relative=1e-12
        )
    used = use(scale)
    return Candidate(
        messages,
        tuple((scale * leaks).tolist()),
        excess / scale,
        used,
        used.volume(limits),
        len(cliques),
    )


def _together(cliques: Sequence[Clique], costs: Vector) -> float:
    """The cost of all bits that can change together, minus the sum of the largest costs of each
    message alone. costs: of a changed bit of each message."""
    difference, start = 0.0, len(cliques)
    for clique, parity in zip(cliques, costs.tolist(), strict=False):
        size, single = len(clique.ids), float(costs[start])
        difference += clique.worst(parity, single) - size**2 // 4 * parity - size * single
        start += size
    return difference
