"""A model and what strata say of it -> coefficients, or why they cannot be estimated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress, product
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.estimation.regression.evidence import Table
from incrowd.estimation.regression.model import Levels, Model, Term, design, term_values
from incrowd.estimation.regression.penalized import Cells, cells_of, penalized_root, score_interval
from incrowd.estimation.regression.results import Fit, coefficients
from incrowd.estimation.regression.solving import (
    BEYOND_NOISE,
    Strata,
    linear_root,
    logistic_root,
    sandwich,
    weakest,
)
from incrowd.estimation.regression.variables import SLOPE
from incrowd.estimation.tables import NOISE_ONLY, TableEstimate

LEAST_PEOPLE = 0.5  # without noise a share is of whole people, up to rounding
MORE = "collect more reports"
DRAWS = 4000
NOT_FOUND = (
    "the estimates diverge: some predictors together almost determine {outcome} (separation); "
    f"{MORE}, or use fewer predictors"
)


Part = tuple[Sequence[Levels], TableEstimate]  # strata, and their cells one after the other


def fit_tables(model: Model, strata: Sequence[tuple[Levels, TableEstimate]]) -> Fit:
    """Fit a model to the joint tables of some strata.

    strata: for each the answers to the questions that are asked in clear, and the unbiased table of
    the others with its covariance. One stratum without such answers is the whole collection.
    """
    found = _fit_parts(model, _apart(strata))
    if found.reason:
        return found
    risk = refusal_risk(model, strata)
    return replace(found, refusal=risk.chance, risk=risk.who)


def fit_together(model: Model, strata: Sequence[Levels], joint: TableEstimate) -> Fit:
    """Fit a model to one table of all strata, whose errors hang together, as weights make them.

    joint: the tables of the strata one after the other, in shares of all people.
    """
    return _fit_parts(model, [(strata, joint)])


def _fit_parts(model: Model, strata: Sequence[Part]) -> Fit:
    parts = _tables(model, strata)
    together = Strata(parts, strata[0][1].errors != NOISE_ONLY)
    if model.penalty:
        return _penalized(model, together)
    if model.family == "logistic" and (unseen := _least_seen(model, strata, parts)):
        return replace(no_fit(unseen.reason), separated=unseen.levels)
    return fit(model, together)


def _apart(strata: Sequence[tuple[Levels, TableEstimate]]) -> list[Part]:
    return [((levels,), joint) for levels, joint in strata]


def _tables(model: Model, strata: Sequence[Part]) -> list[Table]:
    """What the joint tables say, their axes those of `Model.randomized`."""
    return [Table(joint, design(model, *levels), model.family) for levels, joint in strata]


def fit(model: Model, strata: Strata) -> Fit:
    """The root of the score, with the sandwich for its covariance."""
    names = [term.name for term in model.terms]
    root = linear_root if model.family == "linear" else logistic_root
    beta = root(strata, len(names))
    if beta is None:
        return no_fit(NOT_FOUND.format(outcome=model.explained))
    if reason := _uninformed(names, strata, beta):
        return no_fit(reason)
    covariance = sandwich(strata, beta)
    return Fit(coefficients(names, beta, covariance), covariance)


def _uninformed(names: Sequence[str], strata: Strata, beta: np.ndarray) -> str:
    """Of which coefficient too little is known; "" if there is enough of all."""
    least = weakest(strata, beta)
    if least.enough:
        return ""
    known = f"is {least.information:.3g} with a standard error of {least.error:.2g}"
    return (
        f"too little is known of {names[least.coefficient]}: the information about it {known}, "
        f"and cannot be told from zero; {MORE}, merge answers, or use fewer predictors"
    )


def _penalized(model: Model, strata: Strata) -> Fit:
    """The root of the penalized score, with the intervals of the score test.

    Groups may be separated; that there are people in each of them has to be known.
    """
    names, cells = [term.name for term in model.terms], cells_of(strata)
    if reason := _uninformed(names, strata, np.zeros(len(names))):
        return no_fit(reason)
    beta = penalized_root(cells)
    if beta is None:
        return no_fit(NOT_FOUND.format(outcome=model.explained))
    if reason := _uninformed(names, strata, beta):
        return no_fit(reason)
    covariance = sandwich(strata, beta)
    ends = [score_interval(cells, beta, place) for place in range(len(beta))]
    made = coefficients(names, beta, covariance)
    pairs = zip(made, ends, strict=True)
    return Fit(tuple(replace(each, low=low, high=high) for each, (low, high) in pairs), covariance)


def silent_share(model: Model, strata: Sequence[tuple[Levels, TableEstimate]]) -> float:
    """The share of the people of these strata who did not answer."""
    if not model.optional:
        return 0.0
    parts = _tables(model, _apart(strata))
    people = sum(part.people for part in parts)
    each = (part.people * part.share(part.design.counted * 1.0)[0] for part in parts)
    return 1 - sum(each) / people


def counted_shares(
    model: Model, strata: Sequence[Levels], joint: TableEstimate
) -> tuple[float, float]:
    """Of one table of strata, in shares of all people: those in it, and those in the model."""
    (table,) = _tables(model, [(strata, joint)])
    counted = table.design.counted * 1.0
    return table.share(np.ones_like(counted))[0], table.share(counted)[0]


def no_fit(reason: str) -> Fit:
    """Why there are no coefficients."""
    return Fit((), np.zeros((0, 0)), reason)


class _Group(NamedTuple):
    """People of whom some have to be seen with an outcome, and some without.

    levels: that tell them apart, after their questions. with_outcome, without: who they are, and
    their cells.
    """

    levels: tuple[tuple[str, str], ...]
    with_outcome: tuple[str, np.ndarray]
    without: tuple[str, np.ndarray]


class _Seen(NamedTuple):
    """A share of people, and its error by the noise."""

    levels: tuple[tuple[str, str], ...]
    who: str
    share: float
    noise: float

    @property
    def reason(self) -> str:
        """Why there are no coefficients."""
        return (
            f"the share of people {self.who} is {self.share:.4g} with an error of {self.noise:.2g} "
            "by the noise, and cannot be told from zero (separation)"
        )


def _groups(model: Model, strata: Sequence[Levels]) -> Iterator[_Group]:
    """All that has to be seen: of each combination of levels that the model tells apart, those of
    reference included, and of each slope for every answer, people on both sides of it."""
    counted = design(model, *strata)
    yes, no = counted.counted & (counted.y == 1), counted.counted & (counted.y == 0)
    outcome = model.explained
    for variables in [*((each,) for each in model.predictors), *model.interactions]:
        if any(each.slope for each in variables):
            continue
        levels = (compress(each.levels, each.counted) for each in variables)
        for combination in product(*levels):
            term = Term(tuple(zip(variables, combination, strict=True)))
            there = term_values(model, term, *strata) > 0
            yield _Group(
                tuple((each.question.id, level) for each, level in term.levels),
                (f"{term.name} with {outcome}", there & yes),
                (f"{term.name} without {outcome}", there & no),
            )
    for variable in (each for each in model.predictors if each.slope):
        scores = term_values(model, Term(((variable, SLOPE),)), *strata)
        answers = zip(variable.levels, variable.slope, variable.counted, strict=True)
        for level, score in ((level, score) for level, score, counted in answers if counted):
            below, above = scores < score, scores > score
            said = f"with {outcome} {{}} {variable.term(level)}, or without it {{}} that"
            yield _Group(
                ((variable.question.id, SLOPE),),
                (said.format("below", "above"), below & yes | above & no),
                (said.format("above", "below"), above & yes | below & no),
            )


def _least_seen(model: Model, strata: Sequence[Part], parts: Sequence[Table]) -> _Seen | None:
    """The people of whom it is least clear that there are any; None if all are seen.

    The log odds of a group are those of two shares, and both have to be above zero beyond the
    noise, and be at least half a person. Who was drawn needs no such limit: its error shrinks with
    the share, that of the noise does not. Proof: docs/regression.md#what-cannot-be-estimated.
    """
    levels = list(chain.from_iterable(levels for levels, _ in strata))
    cells = cells_of(Strata(parts))
    least = LEAST_PEOPLE / cells.people
    seen = [
        _Seen(group.levels, who, float(there @ cells.shares), _error(there, cells.noise))
        for group in _groups(model, levels)
        for who, there in (group.with_outcome, group.without)
    ]
    unseen = [each for each in seen if each.share <= max(BEYOND_NOISE * each.noise, least)]
    return min(unseen, key=lambda each: each.share / max(each.noise, 1e-300), default=None)


class Risk(NamedTuple):
    """How often reports will not tell the coefficients of a model, and for which people mostly."""

    chance: float
    levels: tuple[tuple[str, str], ...] = ()
    who: str = ""


def refusal_risk(model: Model, strata: Sequence[tuple[Levels, TableEstimate]]) -> Risk:
    """The chance that a model will be refused, of tables with the shares and errors to expect.

    All that is looked at (`_least_seen`, and the information about the coefficients where they are
    zero) is linear in the shares, which are about normal: 4,000 draws of them, always the same.
    """
    parts = _tables(model, _apart(strata))
    together = Strata(parts, strata[0][1].errors != NOISE_ONLY)
    if model.family == "linear":
        return linear_risk(together, len(model.terms))
    cells = cells_of(together)
    groups = [] if model.penalty else list(_groups(model, [levels for levels, _ in strata]))
    seen = [
        _Seen(group.levels, who, float(there @ cells.shares), _error(there, cells.noise))
        for group in groups
        for who, there in (group.with_outcome, group.without)
    ]
    sides = [there for group in groups for _, there in (group.with_outcome, group.without)]
    least = LEAST_PEOPLE / cells.people
    rows = np.vstack([np.array(sides, float).reshape(-1, len(cells.y)), _information_rows(cells)])
    mean, covariance = rows @ cells.shares, rows @ cells.covariance @ rows.T
    limits = BEYOND_NOISE * np.sqrt(np.maximum(np.diagonal(covariance), 0))
    limits[: len(seen)] = [max(BEYOND_NOISE * each.noise, least) for each in seen]
    values, directions = np.linalg.eigh(covariance)
    normal = np.random.default_rng(0).normal(size=(DRAWS, len(values)))
    drawn = mean + (normal * np.sqrt(np.maximum(values, 0))) @ directions.T
    refused = drawn <= limits
    chance = float(refused.any(axis=1).mean())
    if not refused[:, : len(seen)].any():
        return Risk(chance)
    worst = seen[int(np.argmax(refused[:, : len(seen)].sum(axis=0)))]
    return Risk(chance, worst.levels, worst.who)


def linear_risk(strata: Strata, terms: int) -> Risk:
    """The same of a linear model, whose information has to be above zero in every direction: by the
    one in which it is fewest standard errors above."""
    least = weakest(strata, linear_root(strata, terms))
    if least.information <= 0:
        return Risk(1.0)
    return Risk(
        float(scipy.special.ndtr(BEYOND_NOISE - least.information / max(least.error, 1e-300)))
    )


def _information_rows(cells: Cells) -> np.ndarray:
    """The information about each coefficient, and in each principal direction of all of them, where
    all are zero, as sums over the shares."""
    information = (cells.x * cells.shares) @ cells.x.T
    diagonal = np.diagonal(information)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    _, directions = np.linalg.eigh(scale[:, None] * information * scale)
    along = np.vstack([np.eye(len(scale)), directions.T * scale])
    return np.asarray((along @ cells.x) ** 2)


def _error(there: np.ndarray, noise: np.ndarray) -> float:
    return math.sqrt(max(float(there @ noise @ there), 0.0))
