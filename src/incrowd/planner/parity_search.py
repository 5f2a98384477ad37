"""Pairs of yes/no questions by parities: candidates beside those of the search for cells.

A message says of each pair of questions whether the two answers differ, and a single bit tells each
question by itself. Of K questions D that change are D (K - D) parities and D single bits, so that
all K (K - 1) / 2 tables leak far less than their number.
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
from incrowd.planner.effects import (
    Ids,
    Variable,
    best_ratio,
    excess_alone,
    footprint,
    parities_footprint,
)
from incrowd.planner.leak_shares import Use, Vector, log_odds, smallest_excess

TWO = Variable(2)
FEWEST = 3  # variables, below which parities leak what cells do
CERTAIN = 5  # variables, from which on cells of all pairs have at least this excess more
SHARPER = 1.15  # times that of parities, as the search for cells finds: 1.16, then 1.25 for 8


class Clique(NamedTuple):
    """Variables with two answers each. ratio: by which a single bit leaks more than a parity."""

    ids: Ids
    ratio: float

    @classmethod
    def of(cls, ids: Ids) -> Clique:
        """With the best ratio."""
        return cls(ids, best_ratio(len(ids)))

    def worst(self, parity: float, single: float) -> float:
        """The largest sum over bits that change, if a changed bit of either kind costs so much."""
        size = len(self.ids)
        return max(d * (size - d) * parity + d * single for d in range(1, size + 1))

    def tells(self, table: Ids) -> bool:
        """Whether a table is of one or two of them."""
        return table <= self.ids and len(table) <= 2


def candidates(problem: SearchTask) -> tuple[Candidate, ...]:
    """The messages worth certifying, of cells or of parities beside them: the cheapest of those
    close to the best. None, if nothing that was tried keeps the limits."""
    cliques = _cliques(problem)
    by_parities = _with_parities(problem, cliques)
    if by_parities and _all_pairs(problem, cliques) and not _cells_may_do(problem, by_parities[0]):
        return by_parities
    found = sorted((*search(problem)[:1], *by_parities), key=RANK)
    near = [c for c in found if 1 + c.excess <= CLOSE_ENOUGH * (1 + found[0].excess)]
    return tuple(sorted(near, key=lambda candidate: candidate.use.reports)[:1])


def _cells_may_do(problem: SearchTask, found: Candidate) -> bool:
    """Whether cells can be close to parities of all pairs, or better where more than the leak
    limits both."""
    capped = found.use.leak < problem.limits.leak * (1 - GAIN)
    few = min(map(len, found.messages[: found.parities])) < CERTAIN
    return capped or few or 1 + SHARPER * found.excess <= CLOSE_ENOUGH * (1 + found.excess)


def _cliques(problem: SearchTask) -> list[Clique]:
    """The variables of wanted pairs with two answers each, as far as pairs connect them."""
    binary = {i for i, each in enumerate(problem.variables) if each == TWO}
    groups: list[Ids] = []
    for pair in (table for table in problem.small if len(table) == 2 and table <= binary):
        joined = frozenset().union(pair, *(group for group in groups if group & pair))
        groups = [joined, *(group for group in groups if not group & pair)]
    return [Clique.of(group) for group in groups if len(group) >= FEWEST]


def _all_pairs(problem: SearchTask, cliques: Sequence[Clique]) -> bool:
    """Whether all pairs of these variables are wanted, and nothing else."""
    pairs = {frozenset(pair) for clique in cliques for pair in combinations(clique.ids, 2)}
    return pairs == {*problem.small, *problem.large}


def _with_parities(problem: SearchTask, cliques: Sequence[Clique]) -> tuple[Candidate, ...]:
    """Parities of all pairs of some variables, a bit for each variable, and what a search finds for
    the other tables; none, if there are no such variables, or nothing is found or fits."""
    told = [table for table in problem.tables if any(each.tells(table) for each in cliques)]
    rest = replace(problem, tables=tuple(t for t in problem.tables if t not in told))
    more = rest.small or rest.large
    beside = search(rest)[:1] if more else ()
    if not cliques or (more and not beside):
        return ()
    others = beside[0].messages if beside else ()
    small = len(others) - len(rest.large)
    messages = (*(each.ids for each in cliques), *_bits(cliques), *others)
    columns = _columns(cliques, len(others))
    prices = np.array(
        [each.worst(1.0, each.ratio) for each in cliques]
        + [footprint(problem.among(message)).changed for message in others]
    )
    alone = [4 / 3 * (1 + 2 / each.ratio) for each in cliques]
    alone += [excess_alone(problem.among(message)) for message in others[:small]]
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
    found = _scaled(problem, cliques, messages, columns @ each, excess / part)
    return (found,) if found.fits else ()


def _bits(cliques: Sequence[Clique]) -> list[Ids]:
    """The messages of one variable each."""
    return [frozenset({i}) for clique in cliques for i in sorted(clique.ids)]


def _columns(cliques: Sequence[Clique], others: int) -> Vector:
    """What each message leaks for a unit of each parities, with their single bits, and of each
    other message: shape (messages, parities and others)."""
    parities = np.eye(len(cliques))
    bits = [
        np.tile(each.ratio * row, (len(each.ids), 1))
        for each, row in zip(cliques, parities, strict=True)
    ]
    own = np.vstack([parities, *bits])
    return np.block(
        [[own, np.zeros((len(own), others))], [np.zeros((others, len(parities))), np.eye(others)]]
    )


def _scaled(
    problem: SearchTask,
    cliques: Sequence[Clique],
    messages: tuple[Ids, ...],
    leaks: Vector,
    excess: float,
) -> Candidate:
    """Leaks in these proportions, as large as the limits allow. excess: at these leaks."""
    limits = problem.limits
    footprints = [parities_footprint(len(each.ids)) for each in cliques]
    footprints += [footprint(problem.among(message)) for message in messages[len(cliques) :]]

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
    """What the bits that change cost together, less what they would if of each message as many
    changed as can. costs: of a changed bit of each message."""
    found, start = 0.0, len(cliques)
    for clique, parity in zip(cliques, costs.tolist(), strict=False):
        size, single = len(clique.ids), float(costs[start])
        found += clique.worst(parity, single) - size**2 // 4 * parity - size * single
        start += size
    return found
