"""What a person sends who answers some questions by cells: how many bits, and how many change.

Proof: docs/mathematics.md#inflation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

Ids = frozenset[int]  # the places of some variables


@dataclass(frozen=True)
class Variable:
    """A question as the search for messages sees it.

    answers: how many, "no answer" among them. most: None if a person gives exactly one of them;
    else how many options she may choose at most, 2 or more.
    """

    answers: int
    most: int | None = None


class Footprint(NamedTuple):
    """What a person sends of the combinations of some variables' answers.

    bits: one for each cell. changed: how many one person's change of answers can change. ones: how
    many are 1 at most. unit: 1 / 2 for a lone yes/no, whose single bit has the noise variance of
    one of two cells, where their half difference has half of it; else 1.
    """

    bits: int
    changed: int
    ones: int
    unit: float = 1.0


def footprint(variables: Sequence[Variable]) -> Footprint:
    """The bits of a message of cells. Of the variables one at most has several answers at once.

    Each option of that one has a bit for every combination of the other answers, and each
    combination has one more, "any".
    """
    joint = cells(variables)
    several = next((v for v in variables if v.most is not None), None)
    if several is not None:
        most = min(several.most or 0, several.answers)
        if len(variables) == 1:
            return Footprint(several.answers, min(2 * most, several.answers), most)
        return Footprint((several.answers + 1) * joint, 2 * most + 2, most + 1)
    if joint == 2:
        return Footprint(1, 1, 1, unit=0.5)
    return Footprint(joint, 2, 1)


def best_ratio(variables: int) -> float:
    """By which single bits should leak more than the parities of as many variables.

    The cells of a pair have the noise variance (2 v / ratio + v) / 4, v that of a parity. D
    variables that change leak D (K - D + ratio), most at D = (K + ratio) / 2 if that need not be
    whole. The product of both is least where ratio (ratio + 1) = K.
    """
    return (math.sqrt(1 + 4 * variables) - 1) / 2


def parities_footprint(variables: int) -> Footprint:
    """The bits of the parities of all pairs of variables with two answers each."""
    most = variables**2 // 4
    return Footprint(variables * (variables - 1) // 2, most, most)


def crossable(variables: Sequence[Variable]) -> bool:
    """Whether one message of cells can hold them: at most one has several answers at once."""
    return sum(v.most is not None for v in variables) <= 1


def cells(variables: Sequence[Variable]) -> int:
    """The combinations of answers of the variables that have exactly one."""
    return math.prod(v.answers for v in variables if v.most is None)


def size(variables: Sequence[Variable]) -> int:
    """The combinations of all answers, of the options of several at once as well."""
    return math.prod(v.answers for v in variables)


def relative_variance(variables: Sequence[Variable]) -> float:
    """What turns the noise variance of all cells together into a share of their sampling variance.

    One over the sampling variance of the cells, times the people, if all are equally common. Of
    several answers at once: of one option's cells.
    """
    several = next((v for v in variables if v.most is not None), None)
    share = (
        1.0 if several is None else min(several.most or 0, several.answers) / several.answers / 2
    )
    return 1 / (share * (1 - share / cells(variables)))


@dataclass(frozen=True)
class Effects:
    """The main effects and interactions that wanted tables consist of, and what they count there.

    The cells of a table are a sum of one term for each set of its variables (a variable of several
    answers is in all of them). Summed cells of a message estimate each term, those of different
    terms independently, so that least squares over all messages is a weighted mean of each term
    by itself. Proof: docs/mathematics.md#inflation.

    members: which variables a term has, shape (terms, variables). sizes: the answers of each
    variable, 1 for several at once, shape (variables,). weights: shape (tables, terms).
    """

    variables: tuple[Variable, ...]
    members: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, variables: Sequence[Variable], tables: Sequence[Ids]) -> Effects:
        """The terms of some tables, all of answers that are guessed to be equally common."""
        sizes = np.array([1.0 if v.most is not None else v.answers for v in variables])
        several = frozenset(i for i, v in enumerate(variables) if v.most is not None)
        terms = {term: None for table in tables for term in _terms(table, several)}
        place = {term: i for i, term in enumerate(terms)}
        weights = np.zeros((len(tables), len(terms)))
        for row, table in zip(weights, tables, strict=True):
            unit = relative_variance([variables[i] for i in table])
            for term in _terms(table, several):
                freedom = math.prod(sizes[i] - 1 for i in term - several)
                row[place[term]] = unit * freedom / math.prod(sizes[i] for i in table - term)
        return cls(tuple(variables), indicators(terms, len(variables)), sizes, weights)

    def precisions(self, messages: Sequence[Ids], parities: int = 0) -> np.ndarray:
        """The inverse noise variance, times the people, of every term that a message estimates at
        leak 1 per bit, 0 for others: shape (terms, messages).

        parities: so many of the first messages are parities of all pairs, each of which tells the
        term of two variables as the four cells of their table do.
        """
        sent = indicators(messages, len(self.variables))
        unit = np.array([footprint([self.variables[i] for i in m]).unit for m in messages])
        inside = self.members @ (1 - sent).T == 0
        found = inside * np.outer(self.combinations, unit / self._combinations(sent))
        pairs = self.members.sum(axis=1) == 2
        found[:, :parities] = inside[:, :parities] & pairs[:, None]
        return np.asarray(found)

    @cached_property
    def combinations(self) -> np.ndarray:
        """The combinations of answers of each term's variables, shape (terms,)."""
        return self._combinations(self.members)

    def _combinations(self, members: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(members > 0, self.sizes, 1.0).prod(axis=1))


def indicators(sets: Iterable[Ids], variables: int) -> np.ndarray:
    """Which variables each set has: shape (sets, variables)."""
    rows = list(sets)
    members = np.zeros((len(rows), variables))
    places = [(i, each) for i, row in enumerate(rows) for each in row]
    if places:
        members[tuple(np.array(places).T)] = 1.0
    return members


def _terms(table: Ids, several: Ids) -> list[Ids]:
    """All sets of a table's variables that have the variable of several answers, if there is one.

    Without it the empty set is left out, the number of people, which is known.
    """
    others = sorted(table - several)
    chosen = (c for size in range(len(others) + 1) for c in combinations(others, size))
    terms = (table & several | frozenset(each) for each in chosen)
    return [term for term in terms if term]


def excess_alone(variables: Sequence[Variable]) -> float:
    """How much the inflation of a message's table is above 1, times the leak per bit, if nothing
    else is sent. Of exclusive answers that of every margin as well."""
    joint = cells(variables)
    if all(v.most is None for v in variables):
        return joint / footprint(variables).unit
    return joint * relative_variance(variables)
