"""The bits that a person sends for some questions as cells, and how many of them can change.

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

VariableSet = frozenset[int]  # the places of some variables


@dataclass(frozen=True)
class SearchVariable:
    """A question in the search for messages.

    answers: the number of answers, including "no answer". most: None if a person gives exactly one
    of them; otherwise the largest number of options that she may choose, at least 2.
    """

    answers: int
    most: int | None = None


class Footprint(NamedTuple):
    """The bits of a message of cells of some variables.

    bits: one for each cell. changed: the largest number of bits that differ between two people.
    ones: the largest number of bits that are 1. unit: 1 / 2 for a single yes/no question, whose one
    bit has the noise variance of one of two cells, while half their difference has half of it;
    otherwise 1.
    """

    bits: int
    changed: int
    ones: int
    unit: float = 1.0


def footprint(variables: Sequence[SearchVariable]) -> Footprint:
    """The bits of a message of cells of crossable variables.

    Each option of a variable with several answers at once has a bit for every combination of the
    other answers, and each combination has one more bit, "any".
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
    """The best ratio of the leak of single bits to that of the parities of K variables.

    The cells of a pair have the noise variance (2 v / ratio + v) / 4, where v is that of a parity.
    D variables that change leak D (K - D + ratio), at most at D = (K + ratio) / 2 if D need not be
    an integer. The product of both is smallest where ratio (ratio + 1) = K.
    """
    return (math.sqrt(1 + 4 * variables) - 1) / 2


def parities_footprint(variables: int) -> Footprint:
    """The bits of the parities of all pairs of K variables with two answers each."""
    most = variables**2 // 4
    return Footprint(variables * (variables - 1) // 2, most, most)


def crossable(variables: Sequence[SearchVariable]) -> bool:
    """Whether one message of cells can hold them: at most one allows several answers at once."""
    return sum(v.most is not None for v in variables) <= 1


def cells(variables: Sequence[SearchVariable]) -> int:
    """The number of combinations of answers of the variables with exactly one answer."""
    return math.prod(v.answers for v in variables if v.most is None)


def size(variables: Sequence[SearchVariable]) -> int:
    """The number of combinations of all answers, including options of several at once."""
    return math.prod(v.answers for v in variables)


def relative_variance(variables: Sequence[SearchVariable]) -> float:
    """The factor from the noise variance of all cells to a share of their sampling variance.

    It is 1 over the sampling variance of the cells, per person, if all cells are equally common.
    With several answers at once, only the cells of one option count.
    """
    several = next((v for v in variables if v.most is not None), None)
    share = (
        1.0 if several is None else min(several.most or 0, several.answers) / several.answers / 2
    )
    return 1 / (share * (1 - share / cells(variables)))


@dataclass(frozen=True)
class Effects:
    """The main effects and interactions of the wanted tables, and their weights in the inflation.

    The cells of a table are a sum of one term for each set of its variables (a variable with
    several answers at once is in all sets). Sums of the cells of a message estimate each term,
    independently of the other terms, so that least squares over all messages is a weighted mean for
    each term separately. Proof: docs/mathematics.md#inflation.

    members: the variables of each term, shape (terms, variables). sizes: the number of answers of
    each variable, 1 for several at once, shape (variables,). weights: shape (tables, terms).
    """

    variables: tuple[SearchVariable, ...]
    members: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, variables: Sequence[SearchVariable], tables: Sequence[VariableSet]) -> Effects:
        """The terms of some tables, if all answers are equally common."""
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

    def precisions(self, messages: Sequence[VariableSet], parities: int = 0) -> np.ndarray:
        """The inverse noise variance per person of every term in every message with leak 1 per bit.

        Shape (terms, messages); 0 if the message does not estimate the term. parities: the number
        of messages, the first ones, that are parities of all pairs; a parity estimates the term of
        two variables as well as the four cells of their table.
        """
        sent = indicators(messages, len(self.variables))
        unit = np.array([footprint([self.variables[i] for i in m]).unit for m in messages])
        inside = self.members @ (1 - sent).T == 0
        precisions = inside * np.outer(self.combinations, unit / self._combinations(sent))
        pairs = self.members.sum(axis=1) == 2
        precisions[:, :parities] = inside[:, :parities] & pairs[:, None]
        return np.asarray(precisions)

    @cached_property
    def combinations(self) -> np.ndarray:
        """The number of combinations of answers to each term's variables, shape (terms,)."""
        return self._combinations(self.members)

    def _combinations(self, members: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(members > 0, self.sizes, 1.0).prod(axis=1))


def indicators(sets: Iterable[VariableSet], variables: int) -> np.ndarray:
    """The variables of each set as 0 and 1, shape (sets, variables)."""
    rows = list(sets)
    members = np.zeros((len(rows), variables))
    places = [(i, each) for i, row in enumerate(rows) for each in row]
    if places:
        members[tuple(np.array(places).T)] = 1.0
    return members


def _terms(table: VariableSet, several: VariableSet) -> list[VariableSet]:
    """All sets of a table's variables that contain its variable with several answers, if any.

    The empty set is left out: its term is the number of people, which is known.
    """
    others = sorted(table - several)
    chosen = (c for size in range(len(others) + 1) for c in combinations(others, size))
    terms = (table & several | frozenset(each) for each in chosen)
    return [term for term in terms if term]


def excess_alone(variables: Sequence[SearchVariable]) -> float:
    """By how much the inflation of a message's table exceeds 1, times the leak per bit, if no other
    message is sent. For exclusive answers, every margin has the same excess."""
    joint = cells(variables)
    if all(v.most is None for v in variables):
        return joint / footprint(variables).unit
    return joint * relative_variance(variables)
