"""The information of messages of cells about wanted tables: main effects and interactions.

Proof: docs/mathematics.md#inflation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from incrowd.planner.loads import SearchVariable, VariableSet, cells


def relative_variance(variables: Sequence[SearchVariable]) -> float:
    """Return the factor from the noise variance of all cells to a share of their sampling variance.

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
        """Return the terms of some tables, if all answers are equally common."""
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
        """Return the inverse noise variance per person of every term in every message with leak 1
        per bit.

        Shape (terms, messages); 0 if the message does not estimate the term. parities: the number
        of messages, the first ones, that are parities of all pairs; a parity estimates the term of
        two variables as well as the four cells of their table.
        """
        sent = indicators(messages, len(self.variables))
        unit = np.array([_unit([self.variables[i] for i in m]) for m in messages])
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
    """Return the variables of each set as 0 and 1, shape (sets, variables)."""
    rows = list(sets)
    members = np.zeros((len(rows), variables))
    places = [(i, each) for i, row in enumerate(rows) for each in row]
    if places:
        members[tuple(np.array(places).T)] = 1.0
    return members


def _terms(table: VariableSet, several: VariableSet) -> list[VariableSet]:
    """Return all sets of a table's variables that contain its variable with several answers, if
    any.

    The empty set is left out: its term is the number of people, which is known.
    """
    others = sorted(table - several)
    chosen = (c for size in range(len(others) + 1) for c in combinations(others, size))
    terms = (table & several | frozenset(each) for each in chosen)
    return [term for term in terms if term]


def excess_alone(variables: Sequence[SearchVariable]) -> float:
    """Return by how much the inflation of a message's table exceeds 1, times the leak per bit, if
    no other message is sent. For exclusive answers, every margin has the same excess."""
    joint = cells(variables)
    if all(v.most is None for v in variables):
        return joint / _unit(variables)
    return joint * relative_variance(variables)


def _unit(variables: Sequence[SearchVariable]) -> float:
    """Return 1 / 2 for a single yes/no question, whose one bit has the noise variance of one of two
    cells, while half their difference has half of it; otherwise 1."""
    return 0.5 if cells(variables) == 2 and len(variables) == 1 else 1.0
