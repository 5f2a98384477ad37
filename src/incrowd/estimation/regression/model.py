"""What is regressed on what: an outcome with a score for each level, and terms of indicators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import compress, product

import numpy as np

from incrowd.errors import IncrowdError, InWords, TableError
from incrowd.estimation.regression.variables import Variable
from incrowd.estimation.tables import MOST_CELLS, MOST_COUNTS
from incrowd.survey.formulas import Family, Penalty

INTERCEPT = "(intercept)"
Levels = Mapping[str, str]  # of questions that are asked in clear, by id


@dataclass(frozen=True)
class Term:
    """People who are on all of these levels of variables; everybody, if there are none. SLOPE in
    the place of a level is for the scores of all of them."""

    levels: tuple[tuple[Variable, str], ...] = ()

    @property
    def name(self) -> str:
        """ "(intercept)", "a=yes" or "a=yes:b=old"."""
        return ":".join(variable.term(level) for variable, level in self.levels) or INTERCEPT


@dataclass(frozen=True)
class Model:
    """scores: the value of the outcome on each of its levels; 0 and 1 for a logistic model.

    interactions: variables whose levels have coefficients together. open: the ids of the questions
    that are asked in clear, so that a stratum of people says what their answer is. penalty: of a
    logistic model.
    """

    family: Family
    outcome: Variable
    scores: tuple[float, ...]
    predictors: tuple[Variable, ...]
    interactions: tuple[tuple[Variable, ...], ...] = ()
    open: frozenset[str] = frozenset()
    penalty: Penalty | None = None

    @property
    def randomized(self) -> tuple[Variable, ...]:
        """The outcome, then the predictors that reports tell with noise: the axes of the table."""
        hidden = (each for each in self.predictors if each.question.id not in self.open)
        return (self.outcome, *hidden)

    @property
    def ids(self) -> tuple[str, ...]:
        """The questions of that table."""
        return tuple(variable.question.id for variable in self.randomized)

    @property
    def cells(self) -> int:
        """Of that table."""
        return math.prod(len(variable.levels) for variable in self.randomized)

    @property
    def counts(self) -> int:
        """That the covariance of its cells takes: of bits, and of pairs of bits of a question."""
        bits = [variable.question.bits for variable in self.randomized]
        return math.prod(1 + b + b * (b - 1) // 2 for b in bits)

    @property
    def fits_a_table(self) -> bool:
        """Whether memory holds that table with the covariance of its cells."""
        return self.cells <= MOST_CELLS and self.counts <= MOST_COUNTS

    @property
    def fits_pairs(self) -> bool:
        """Whether the model can be read from pairs of questions alone: it is linear, leaves out
        nobody, and has no interaction of two questions with noise."""
        noisy = (sum(each.question.id not in self.open for each in s) for s in self.interactions)
        return self.family == "linear" and not self.optional and max(noisy, default=0) < 2

    @property
    def terms(self) -> tuple[Term, ...]:
        """What has a coefficient: everybody, the levels, combinations of levels."""
        sets = [(variable,) for variable in self.predictors] + list(self.interactions)
        found = [
            Term(tuple(zip(each, levels, strict=True)))
            for each in sets
            for levels in product(*(variable.others for variable in each))
        ]
        return (Term(), *found)

    @property
    def outcome_level(self) -> tuple[str, str]:
        """The question that is explained, by id, and its answer; "" if it is the whole of it."""
        whole = self.outcome.name == self.outcome.question.id and self.family == "linear"
        return self.outcome.question.id, "" if whole else self.outcome.levels[1]

    @property
    def term_levels(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """For each term the questions of its levels, by id, and these."""
        return tuple(tuple((v.question.id, level) for v, level in t.levels) for t in self.terms)

    @property
    def shown_scores(self) -> tuple[tuple[str, float], ...]:
        """What each answer counts in a linear model; of an amount all numbers count as they are."""
        if self.family != "linear" or self.outcome.question.rounded:
            return ()
        each = zip(self.outcome.levels, self.scores, self.outcome.counted, strict=True)
        return tuple((level, score) for level, score, counted in each if counted)

    @property
    def explained(self) -> str:
        """The outcome as people read it: of a logistic model what the odds are of."""
        named = self.outcome.name == self.outcome.question.id and self.family == "logistic"
        return self.outcome.term(self.outcome.levels[1]) if named else self.outcome.name

    @property
    def references(self) -> tuple[str, ...]:
        """The levels that others are compared with."""
        return tuple(v.term(v.levels[v.reference]) for v in self.predictors if not v.slope)

    @property
    def slopes(self) -> tuple[tuple[str, tuple[tuple[str, float], ...]], ...]:
        """For predictors with a slope the question's id, and the score of each answer."""
        sloped = [v for v in self.predictors if v.slope]
        each = (zip(v.levels, v.slope, strict=True) for v in sloped)
        kept = (tuple(compress(pairs, v.counted)) for v, pairs in zip(sloped, each, strict=True))
        return tuple(zip((v.question.id for v in sloped), kept, strict=True))

    @property
    def optional(self) -> bool:
        """Whether some people are left out, for they did not answer."""
        return not all(each.answered.all() for each in (self.outcome, *self.predictors))

    @property
    def absent(self) -> tuple[str, ...]:
        """Levels of questions in clear that none of the released people are known to be on."""
        each = (v for v in self.predictors if not v.slope)
        return tuple(v.term(level) for v in each for level in v.absent)

    def without(self, absent: Mapping[str, tuple[str, ...]]) -> Model:
        """Some levels of some predictors, by name, left out: in interactions as well."""
        left = {v.name: v.without(absent.get(v.name, ())) for v in self.predictors}
        crossed = tuple(tuple(left[v.name] for v in among) for among in self.interactions)
        return replace(self, predictors=tuple(left.values()), interactions=crossed)


def too_large(model: Model) -> IncrowdError:
    """The error for a table that is not made."""
    found = InWords(f"{model.cells:,} cells from {model.counts:,} counts")
    allowed = "the table is too large; drop a predictor, or use questions with fewer answers"
    return TableError.of("on", found, allowed)


@dataclass(frozen=True)
class Design:
    """x: shape (coefficients, cells), zero in cells that are not part of the model; y: shape
    (cells,), the outcome's score. counted: which cells are part of it."""

    x: np.ndarray
    y: np.ndarray
    counted: np.ndarray


def design(model: Model, *strata: Levels) -> Design:
    """The predictors and the outcome in each cell of the tables of some strata, one table after
    the other, each in C order."""
    each = [_design(model, stratum) for stratum in strata]
    return Design(
        np.hstack([found.x for found in each]),
        np.hstack([found.y for found in each]),
        np.hstack([found.counted for found in each]),
    )


def _design(model: Model, stratum: Levels) -> Design:
    places = _places(model)
    counted = np.ones(len(next(iter(places.values()))), bool)
    for variable in (model.outcome, *model.predictors):
        counted &= variable.counted[_level(variable, places, stratum)]
    rows = [counted * term_values(model, term, stratum) for term in model.terms]
    scores = np.array(model.scores)[_level(model.outcome, places, stratum)]
    return Design(np.array(rows, float), scores, counted)


def term_values(model: Model, term: Term, *strata: Levels) -> np.ndarray:
    """What a term's coefficient is multiplied by in each cell of the tables: 1 where people are on
    its levels, else 0; of a slope their score."""
    places = _places(model)
    found = np.ones((len(strata), len(next(iter(places.values())))))
    for row, stratum in zip(found, strata, strict=True):
        for variable, level in term.levels:
            row *= variable.values(level)[_level(variable, places, stratum)]
    return found.ravel()


def _places(model: Model) -> dict[str, np.ndarray]:
    """For each axis of the table the place of the level, in all cells."""
    shape = [len(each.levels) for each in model.randomized]
    return dict(zip(model.ids, np.indices(shape).reshape(len(shape), -1), strict=True))


def _level(variable: Variable, places: Mapping[str, np.ndarray], stratum: Levels) -> np.ndarray:
    """The place of a variable's level in all cells; of an open one it is the stratum's."""
    if variable.question.id in places:
        return places[variable.question.id]
    level = variable.level_of(stratum[variable.question.id])
    return np.full(len(next(iter(places.values()))), variable.levels.index(level))
