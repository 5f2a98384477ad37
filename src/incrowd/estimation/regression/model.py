"""A regression model: an outcome with a score for each level, and terms of indicators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress, product

import numpy as np

from incrowd.errors import IncrowdError, TableError
from incrowd.estimation.regression.variables import ModelVariable
from incrowd.estimation.tables import MOST_CELLS, MOST_COUNTS
from incrowd.methods import Family, Penalty

INTERCEPT = "(intercept)"
Levels = Mapping[str, str]  # answers to open questions, by id


@dataclass(frozen=True)
class ModelTerm:
    """The people who are on all of these levels; everybody, if there are none. SLOPE in place of a
    level stands for the scores of all levels."""

    levels: tuple[tuple[ModelVariable, str], ...] = ()

    @property
    def name(self) -> str:
        """ "(intercept)", "a=yes" or "a=yes:b=old"."""
        return ":".join(variable.term(level) for variable, level in self.levels) or INTERCEPT


@dataclass(frozen=True)
class Model:
    """scores: the value of the outcome on each of its levels; 0 and 1 for a logistic model.

    interactions: variables whose combinations of levels have coefficients. open: the ids of the
    open questions, whose answers are the same for all people of a stratum. penalty: the penalty of
    a logistic model.
    """

    family: Family
    outcome: ModelVariable
    scores: tuple[float, ...]
    predictors: tuple[ModelVariable, ...]
    interactions: tuple[tuple[ModelVariable, ...], ...] = ()
    open: frozenset[str] = frozenset()
    penalty: Penalty | None = None

    @property
    def randomized(self) -> tuple[ModelVariable, ...]:
        """The outcome, then the randomized predictors: the axes of the table."""
        hidden = (each for each in self.predictors if each.question.id not in self.open)
        return (self.outcome, *hidden)

    @property
    def ids(self) -> tuple[str, ...]:
        """The questions of that table."""
        return tuple(variable.question.id for variable in self.randomized)

    @property
    def cells(self) -> int:
        """The cells of that table."""
        return math.prod(len(variable.levels) for variable in self.randomized)

    @property
    def counts(self) -> int:
        """Needed for the covariance of its cells: of bits, and of pairs of bits of a question."""
        bits = [variable.question.bits for variable in self.randomized]
        return math.prod(1 + b + b * (b - 1) // 2 for b in bits)

    @property
    def fits_a_table(self) -> bool:
        """Whether the table with the covariance of its cells fits into memory."""
        return self.cells <= MOST_CELLS and self.counts <= MOST_COUNTS

    @property
    def fits_pairs(self) -> bool:
        """Whether pairs of questions are enough: the model is linear, leaves out nobody, and has no
        interaction of two randomized questions."""
        noisy = (sum(each.question.id not in self.open for each in s) for s in self.interactions)
        return self.family == "linear" and not self.optional and max(noisy, default=0) < 2

    @property
    def terms(self) -> tuple[ModelTerm, ...]:
        """The terms that have coefficients: the intercept, levels, and combinations of levels."""
        sets = [(variable,) for variable in self.predictors] + list(self.interactions)
        terms = [
            ModelTerm(tuple(zip(each, levels, strict=True)))
            for each in sets
            for levels in product(*(variable.others for variable in each))
        ]
        return (ModelTerm(), *terms)

    @property
    def outcome_level(self) -> tuple[str, str]:
        """The question that is explained, by id, and its answer; "" for the whole question."""
        whole = self.outcome.name == self.outcome.question.id and self.family == "linear"
        return self.outcome.question.id, "" if whole else self.outcome.levels[1]

    @property
    def term_levels(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """The levels of each term, with the ids of their questions."""
        return tuple(tuple((v.question.id, level) for v, level in t.levels) for t in self.terms)

    @property
    def shown_scores(self) -> tuple[tuple[str, float], ...]:
        """The score of each answer in a linear model; none for an amount, which needs none."""
        if self.family != "linear" or self.outcome.question.rounded:
            return ()
        each = zip(self.outcome.levels, self.scores, self.outcome.counted, strict=True)
        return tuple((level, score) for level, score, counted in each if counted)

    @property
    def explained(self) -> str:
        """The outcome in words; for a logistic model, the answer whose odds are explained."""
        named = self.outcome.name == self.outcome.question.id and self.family == "logistic"
        return self.outcome.term(self.outcome.levels[1]) if named else self.outcome.name

    @property
    def references(self) -> tuple[str, ...]:
        """The levels with which others are compared."""
        return tuple(v.term(v.levels[v.reference]) for v in self.predictors if not v.slope)

    @property
    def slopes(self) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
        """The question's id and the score of each answer, for each predictor with a slope."""
        sloped = [v for v in self.predictors if v.slope]
        each = (zip(v.levels, v.slope, strict=True) for v in sloped)
        pairs = (tuple(compress(pairs, v.counted)) for v, pairs in zip(sloped, each, strict=True))
        return tuple(zip((v.question.id for v in sloped), pairs, strict=True))

    @property
    def optional(self) -> bool:
        """Whether people are left out because they did not answer."""
        return not all(each.answered.all() for each in (self.outcome, *self.predictors))

    @property
    def absent(self) -> tuple[str, ...]:
        """Levels of open questions that no released person is known to have."""
        each = (v for v in self.predictors if not v.slope)
        return tuple(v.term(level) for v in each for level in v.absent)

    def without(self, absent: Mapping[str, tuple[str, ...]]) -> Model:
        """Return the model without some levels of some predictors, by name,
        also in interactions."""
        left = {v.name: v.without(absent.get(v.name, ())) for v in self.predictors}
        crossed = tuple(tuple(left[v.name] for v in among) for among in self.interactions)
        return replace(self, predictors=tuple(left.values()), interactions=crossed)


def too_large(model: Model) -> IncrowdError:
    """Return the error for a table that does not fit into memory."""
    return TableError.of("on", "estimation.large-model", cells=model.cells, counts=model.counts)


@dataclass(frozen=True)
class Design:
    """x: shape (coefficients, cells), zero in cells that are not part of the model. y: shape
    (cells,), the outcome's score. counted: which cells are part of the model."""

    x: np.ndarray
    y: np.ndarray
    counted: np.ndarray


def design(model: Model, *strata: Levels) -> Design:
    """Return the predictors and the outcome in each cell of the tables of some strata, one table
    after the other, each in C order."""
    places, x, y, counted = _places(model), [], [], []
    for stratum in strata:
        part = np.ones(len(next(iter(places.values()))), bool)
        for variable in (model.outcome, *model.predictors):
            part &= variable.counted[_level(variable, places, stratum)]
        rows = [part * term_values(model, term, stratum) for term in model.terms]
        x.append(np.array(rows, float))
        y.append(np.array(model.scores)[_level(model.outcome, places, stratum)])
        counted.append(part)
    return Design(np.hstack(x), np.hstack(y), np.hstack(counted))


def term_values(model: Model, term: ModelTerm, *strata: Levels) -> np.ndarray:
    """Return the factor of a term's coefficient in each cell of the tables: 1 if people are on its
    levels, otherwise 0; for a slope, their score."""
    places = _places(model)
    values = np.ones((len(strata), len(next(iter(places.values())))))
    for row, stratum in zip(values, strata, strict=True):
        for variable, level in term.levels:
            row *= variable.values(level)[_level(variable, places, stratum)]
    return values.ravel()


def _places(model: Model) -> dict[str, np.ndarray]:
    """Return, for each axis of the table, the place of the level in all cells."""
    shape = [len(each.levels) for each in model.randomized]
    return dict(zip(model.ids, np.indices(shape).reshape(len(shape), -1), strict=True))


def _level(
    variable: ModelVariable, places: Mapping[str, np.ndarray], stratum: Levels
) -> np.ndarray:
    """Return the place of a variable's level in all cells; for an open question, the stratum's."""
    if variable.question.id in places:
        return places[variable.question.id]
    level = variable.level_of(stratum[variable.question.id])
    return np.full(len(next(iter(places.values()))), variable.levels.index(level))
