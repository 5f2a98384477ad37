"""The reports that a message sends, and their leak: one model for messages of every kind.

In the large-N limit k reports in which two people differ in `distance` bits leak mu^2 N =
k (phi^distance - 1), phi = 1 + 1 / v, where v = p q / (p - q)^2 is the noise variance of a bit
(docs/mathematics.md#large-crowds). For cells the distance is 1, and there are as many collections
as bits that can change; the leak of one bit is 1 / v.
Proof: docs/mathematics.md#inflation, docs/mathematics.md#parities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from incrowd.estimation.precision import CellAxis

LARGE = 1000  # cells; a table of more gets one equal share of the leak
VariableSet = frozenset[int]  # of some questions among the randomized ones
Vector = np.ndarray
ONLY_CELLS = CellAxis(0.0, 1)  # in place of an axis that is not needed


@dataclass(frozen=True)
class SearchVariable:
    """A question in the search for messages.

    answers: the number of answers, including "no answer". most: None if a person gives exactly one
    of them; otherwise the largest number of options that she may choose, at least 2. times: how
    often its noise is drawn for one person: the rows, and unless it is memoized, the rounds.

    What only other messages than cells need: axis, for their tables. distance: the number of bits
    with the planner's noise in which two answers differ. fixed: d ln phi of its randomizer.
    memoized: whether noise is drawn once. wide: whether it has too many answers for a joint report,
    so that it travels alone, as cells.
    """

    answers: int
    most: int | None = None
    times: int = 1
    axis: CellAxis = ONLY_CELLS
    distance: int = 0
    fixed: float = 0.0
    memoized: bool = False
    wide: bool = False
    id: str = field(default="", compare=False)

    @property
    def two_answers(self) -> bool:
        """Whether parities can be formed of it."""
        return self.answers == 2 and self.most is None


class Load(NamedTuple):
    """The contribution of one person to a message.

    times: the number of collections of each copy. distance: the number of bits with the planner's
    noise in which two reports can differ. fixed: ln of the product of phi^d over the questions with
    fixed randomizers. bits: those that noise can set, each of which is a report then; ones: the
    largest number of reports without noise. copies: the numbers to choose from. tables: the axes of
    every wanted table that is estimated from this message alone. most_v: the largest noise.
    """

    times: int
    distance: int = 1
    fixed: float = 0.0
    bits: int = 0
    ones: int = 1
    copies: tuple[int, ...] = (1,)
    tables: tuple[tuple[CellAxis, ...], ...] = ()
    most_v: float = math.inf

    @property
    def large(self) -> bool:
        """Whether all its tables have more than 1,000 cells."""
        sizes = [math.prod(axis.cells for axis in axes) for axes in self.tables]
        return bool(sizes) and min(sizes) > LARGE

    def v_of(self, leak: float) -> float:
        """Return the noise with which one copy has a given leak, at most `most_v`.

        If fixed randomizers alone leak more than that, their leak is added once more.
        """
        if not self.distance:
            return min(1.0, self.most_v)
        exponent = max(math.log1p(leak / self.times) - self.fixed, self.fixed) / self.distance
        return min(1 / math.expm1(exponent) if exponent else math.inf, self.most_v)

    def with_leak(self, leak: float) -> Load:
        """Return this message without tables, with one copy that has a given leak."""
        return self._replace(copies=self.copies[:1], tables=(), most_v=self.v_of(leak))


def joint_load(variables: Sequence[SearchVariable], copies: tuple[int, ...] = (1,)) -> Load:
    """Return the load of a joint report.

    copies: the numbers to choose from; of responses that are drawn once, more copies add nothing.
    """
    distance, fixed = sum(v.distance for v in variables), sum(v.fixed for v in variables)
    once = any(v.memoized and v.distance for v in variables)
    times = max(v.times for v in variables)
    return Load(times, distance, fixed, copies=copies[:1] if once else copies)


def cells_load(variables: Sequence[SearchVariable]) -> Load:
    """Return the load of a message of cells of crossable variables.

    Each option of a variable with several answers at once has a bit for every combination of the
    other answers, and each combination has one more bit, "any".
    """
    joint, times = cells(variables), max(v.times for v in variables)
    several = next((v for v in variables if v.most is not None), None)
    if several is not None:
        most = min(several.most or 0, several.answers)
        if len(variables) == 1:
            return Load(min(2 * most, several.answers) * times, bits=several.answers, ones=most)
        return Load((2 * most + 2) * times, bits=(several.answers + 1) * joint, ones=most + 1)
    if joint == 2:
        return Load(times, bits=1)
    return Load(2 * times, bits=joint)


def parities_load(variables: Sequence[SearchVariable]) -> Load:
    """Return the load of the parities of all pairs of K variables with two answers each."""
    count, times = len(variables), max(v.times for v in variables)
    most = count**2 // 4
    return Load(most * times, bits=count * (count - 1) // 2, ones=most)


class Clique(NamedTuple):
    """The parities of all pairs of some variables, and a single bit of each of them.

    ratio: the leak of a single bit over that of a parity; 0 if the single bits do not depend on the
    parities. times: as of a `SearchVariable`.
    """

    ids: VariableSet
    ratio: float
    times: int = 1

    @classmethod
    def of(cls, ids: VariableSet, times: int = 1) -> Clique:
        """Return the clique of some variables with the best ratio.

        The cells of a pair have the noise variance (2 v / ratio + v) / 4, where v is that of a
        parity. D of K variables that change leak D (K - D + ratio), at most at D = (K + ratio) / 2
        if D need not be an integer. The product is smallest where ratio (ratio + 1) = K.
        """
        return cls(ids, (math.sqrt(1 + 4 * len(ids)) - 1) / 2, times)

    def worst(self, parity: float, single: float) -> float:
        """Return the largest cost of the bits that change, given those of a parity and a single
        bit."""
        size = len(self.ids)
        costs = (d * (size - d) * parity + d * single for d in range(1, size + 1))
        return self.times * max(costs)

    def estimates(self, table: VariableSet) -> bool:
        """Return whether a table has only one or two of these variables."""
        return table <= self.ids and len(table) <= 2

    @property
    def singles(self) -> list[VariableSet]:
        """The messages of the single bits."""
        return [frozenset({i}) for i in sorted(self.ids)] if self.ratio else []


def crossable(variables: Sequence[SearchVariable]) -> bool:
    """Return whether one message of cells can hold them: at most one allows several answers at
    once."""
    return sum(v.most is not None for v in variables) <= 1


def cells(variables: Sequence[SearchVariable]) -> int:
    """Return the number of combinations of answers of the variables with exactly one answer."""
    return math.prod(v.answers for v in variables if v.most is None)


def size(variables: Sequence[SearchVariable]) -> int:
    """Return the number of combinations of all answers, including options of several at once."""
    return math.prod(v.answers for v in variables)
