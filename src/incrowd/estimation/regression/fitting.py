"""A model and the evidence of strata -> coefficients, or why they cannot be estimated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress, product
from typing import NamedTuple

import numpy as np
import scipy

from incrowd.catalog.sentences import translatable
from incrowd.estimation.regression.evidence import JointTable
from incrowd.estimation.regression.model import Levels, Model, ModelTerm, design, term_values
from incrowd.estimation.regression.penalized import (
    StackedCells,
    cells_of,
    penalized_root,
    score_interval,
    score_p_value,
)
from incrowd.estimation.regression.results import Coefficient, GroupSize, ModelFit, coefficients
from incrowd.estimation.regression.solving import (
    BEYOND_NOISE,
    Strata,
    linear_root,
    logistic_root,
    sandwich,
    weakest,
)
from incrowd.estimation.regression.variables import SLOPE
from incrowd.estimation.tables import TableEstimate

LEAST_PEOPLE = 0.5  # without noise a share is of whole people, up to rounding
MOST_REFUSED = 0.2  # chance of a refusal up to which those that are not refused are about right
CLEAR = 7.0  # standard errors of the noise above zero, from which a normal logarithm is about right
DRAWS = 4000


StrataTable = tuple[Sequence[Levels], TableEstimate]  # strata, and their cells one after the other


def fit_tables(model: Model, strata: Sequence[tuple[Levels, TableEstimate]]) -> ModelFit:
    """Fit a model to the joint tables of some strata.

    strata: for each, the answers to the open questions, and the unbiased table of the others with
    its covariance. A single stratum without such answers is the whole collection.
    """
    return _fit_parts(model, [((levels,), joint) for levels, joint in strata])


def fit_together(model: Model, strata: Sequence[Levels], joint: TableEstimate) -> ModelFit:
    """Fit a model to one table of all strata, whose errors are correlated, as weights make them.

    joint: the tables of the strata one after the other, as shares of all people.
    """
    return _fit_parts(model, [(strata, joint)])


def _fit_parts(model: Model, parts: Sequence[StrataTable]) -> ModelFit:
    risk = _refusal_risk(model, parts)
    result = replace(_fit_if_seen(model, parts), refusal=risk.chance, risk=risk.who)
    if result.coefficients:
        cells = cells_of(_strata(model, parts))
        result = replace(
            result,
            coefficients=tuple(_with_design_effects(model, cells, result.coefficients)),
            groups=tuple(_group_sizes(model, parts, cells)),
        )
    if model.family == "linear" or model.penalty or result.separated:
        return result
    groups, cells = _groups_of(model, parts), cells_of(_strata(model, parts))
    hardly = [each for each in _seen(groups, cells) if each.share <= CLEAR * each.noise]
    if hardly or (risk.levels and risk.chance > MOST_REFUSED):
        least = min(hardly, key=lambda each: each.share / each.noise, default=risk)
        return replace(result, separated=least.levels, risk=least.who)
    return result


def _with_design_effects(
    model: Model, cells: StackedCells, estimates: Sequence[Coefficient]
) -> Iterator[Coefficient]:
    """Compare each variance with that of the inverse information, without noise and weights."""
    height = np.array([each.estimate for each in estimates]) @ cells.x
    if model.family == "logistic":
        mean = scipy.special.expit(height)
        weights = mean * (1 - mean) * cells.shares
    else:
        counted = np.any(cells.x != 0, axis=0)
        residual = float(counted * (cells.y - height) ** 2 @ cells.shares)
        weights = cells.shares / max(residual / max(float(counted @ cells.shares), 1e-300), 1e-300)
    simple = np.diagonal(np.linalg.inv((cells.x * weights) @ cells.x.T)) / cells.people
    for each, variance in zip(estimates, simple.tolist(), strict=True):
        computable = variance > 0 and each.bounded and cells.sampling is not None
        yield replace(each, design_effect=each.standard_error**2 / variance if computable else None)


def _group_sizes(
    model: Model, parts: Sequence[StrataTable], cells: StackedCells
) -> Iterator[GroupSize]:
    """Yield the people on each level of each predictor without a slope.

    The variance of a mean is that of a ratio of sums over cells.
    """
    strata = [each for levels, _ in parts for each in levels]
    counted = design(model, *strata).counted
    for variable in (each for each in model.predictors if not each.slope):
        for level in compress(variable.levels, variable.counted):
            term = ModelTerm(((variable, level),))
            there = (term_values(model, term, *strata) > 0) & counted
            share = float(there @ cells.shares)
            effective = None
            if share > 0 and cells.sampling is not None:
                off = there * (cells.y - float(there * cells.y @ cells.shares) / share)
                among = float(off**2 @ cells.shares) / share
                variance = float(off @ cells.covariance @ off) / share**2
                effective = among / variance if among > 0 and variance > 0 else None
            yield GroupSize(term.name, share * cells.people, effective)


def _fit_if_seen(model: Model, parts: Sequence[StrataTable]) -> ModelFit:
    strata = _strata(model, parts)
    if model.penalty:
        return _penalized(model, strata)
    if model.family == "logistic":
        # The log odds of a group are those of two shares, and both have to be above zero beyond the
        # noise, and at least half a person. Sampling needs no such limit: its error shrinks with
        # the share, that of the noise does not. docs/regression.md#what-cannot-be-estimated
        cells = cells_of(strata)
        seen = _seen(_groups_of(model, parts), cells)
        unseen = [each for each in seen if each.share <= each.limit(cells)]
        if unseen:
            least = min(unseen, key=lambda each: each.share / max(each.noise, 1e-300))
            return replace(no_fit(least.reason), separated=least.levels)
    return fit(model, strata)


def _strata(model: Model, parts: Sequence[StrataTable]) -> Strata:
    """Return the joint tables as evidence; their axes are those of `Model.randomized`."""
    tables = [JointTable(joint, design(model, *levels), model.family) for levels, joint in parts]
    return Strata(tables, not parts[0][1].error.noise_only)


def fit(model: Model, strata: Strata) -> ModelFit:
    """Return the root of the score, with the sandwich for its covariance."""
    names = [term.name for term in model.terms]
    root = linear_root if model.family == "linear" else logistic_root
    beta = root(strata, len(names))
    if beta is None:
        return no_fit(translatable("estimation.diverging", outcome=model.explained))
    if reason := _too_little(names, strata, beta):
        return no_fit(reason)
    covariance = sandwich(strata, beta)
    return ModelFit(coefficients(names, beta, covariance), covariance)


def _too_little(names: Sequence[str], strata: Strata, beta: np.ndarray) -> str:
    """Return the coefficient with too little information, as a reason; "" if all have enough."""
    least = weakest(strata, beta)
    if least.enough:
        return ""
    return translatable(
        "estimation.too-little-information",
        name=names[least.coefficient],
        information=float(least.information),
        error=float(least.error),
    )


def _penalized(model: Model, strata: Strata) -> ModelFit:
    """Return the root of the penalized score, with the intervals of the score test.

    Groups may be separated, but each must be known to have people.
    """
    names, cells = [term.name for term in model.terms], cells_of(strata)
    if reason := _too_little(names, strata, np.zeros(len(names))):
        return no_fit(reason)
    beta = penalized_root(cells)
    if beta is None:
        return no_fit(translatable("estimation.diverging", outcome=model.explained))
    if reason := _too_little(names, strata, beta):
        return no_fit(reason)
    covariance = sandwich(strata, beta)
    tested = []
    for place, each in enumerate(coefficients(names, beta, covariance)):
        low, high = score_interval(cells, beta, place)
        p_value = score_p_value(cells, beta, place)
        tested.append(replace(each, low=low, high=high, p_value=p_value))
    return ModelFit(tuple(tested), covariance)


def silent_share(model: Model, strata: Sequence[tuple[Levels, TableEstimate]]) -> float:
    """Return the share of the people of these strata who did not answer."""
    if not model.optional:
        return 0.0
    people, counted = 0.0, 0.0
    for levels, joint in strata:
        in_model = design(model, levels).counted * 1.0
        people += joint.people
        counted += joint.people * float(in_model @ joint.estimate.ravel())
    return 1 - counted / people


def counted_shares(
    model: Model, strata: Sequence[Levels], joint: TableEstimate
) -> tuple[float, float]:
    """Return the shares of all people who are in a table of strata, and who are in the model."""
    shares, counted = joint.estimate.ravel(), design(model, *strata).counted * 1.0
    return float(np.ones_like(counted) @ shares), float(counted @ shares)


def no_fit(reason: str) -> ModelFit:
    """Return a fit without coefficients, with the reason."""
    return ModelFit((), np.zeros((0, 0)), reason)


class _Group(NamedTuple):
    """People who must be seen both with the outcome and without it.

    levels: that define the group, with their questions. sides: with the outcome and without it; a
    description of the people, and their cells.
    """

    levels: tuple[tuple[str, str], ...]
    sides: tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]]


class _Seen(NamedTuple):
    """The estimated share of one side of a group, and its standard error by the noise."""

    levels: tuple[tuple[str, str], ...]
    who: str
    share: float
    noise: float

    def limit(self, cells: StackedCells) -> float:
        """Return what the share has to exceed."""
        return max(BEYOND_NOISE * self.noise, LEAST_PEOPLE / cells.people)

    @property
    def reason(self) -> str:
        """The reason why there are no coefficients."""
        facts = {"who": self.who, "share": self.share, "error": self.noise}
        return translatable("estimation.separated", **facts)


def _groups_of(model: Model, parts: Sequence[StrataTable]) -> list[_Group]:
    return list(_groups(model, [each for levels, _ in parts for each in levels]))


def _groups(model: Model, strata: Sequence[Levels]) -> Iterator[_Group]:
    """Yield the groups of a model: each combination of levels that it distinguishes, including the
    reference levels; and for a slope, the people on both sides of each answer."""
    counted = design(model, *strata)
    yes, no = counted.counted & (counted.y == 1), counted.counted & (counted.y == 0)
    outcome = model.explained
    for variables in [*((each,) for each in model.predictors), *model.interactions]:
        if any(each.slope for each in variables):
            continue
        levels = (compress(each.levels, each.counted) for each in variables)
        for combination in product(*levels):
            term = ModelTerm(tuple(zip(variables, combination, strict=True)))
            there = term_values(model, term, *strata) > 0
            names = {"group": term.name, "outcome": outcome}
            yield _Group(
                tuple((each.question.id, level) for each, level in term.levels),
                (
                    (translatable("estimation.group-with", **names), there & yes),
                    (translatable("estimation.group-without", **names), there & no),
                ),
            )
    for variable in (each for each in model.predictors if each.slope):
        scores = term_values(model, ModelTerm(((variable, SLOPE),)), *strata)
        answers = zip(variable.levels, variable.slope, variable.counted, strict=True)
        for level, score in ((level, score) for level, score, counted in answers if counted):
            below, above = scores < score, scores > score
            names = {"outcome": outcome, "level": variable.term(level)}
            yield _Group(
                ((variable.question.id, SLOPE),),
                (
                    (translatable("estimation.sides-rising", **names), below & yes | above & no),
                    (translatable("estimation.sides-falling", **names), above & yes | below & no),
                ),
            )


def _seen(groups: Iterable[_Group], cells: StackedCells) -> list[_Seen]:
    """Return the estimated shares of both sides of all groups."""
    return [
        _Seen(
            group.levels,
            who,
            float(there @ cells.shares),
            math.sqrt(max(float(there @ cells.noise @ there), 0.0)),
        )
        for group in groups
        for who, there in group.sides
    ]


class Risk(NamedTuple):
    """The chance that a model will be refused, and mostly because of which people."""

    chance: float
    levels: tuple[tuple[str, str], ...] = ()
    who: str = ""


def refusal_risk(model: Model, strata: Sequence[tuple[Levels, TableEstimate]]) -> Risk:
    """Return the chance that a model will be refused, from tables with the expected shares and
    errors.

    All conditions (on the sides of groups, and on the information about the coefficients where
    they are zero) are linear in the shares, which are about normal: 4,000 draws, always the same.
    """
    return _refusal_risk(model, [((levels,), joint) for levels, joint in strata])


def _refusal_risk(model: Model, parts: Sequence[StrataTable]) -> Risk:
    evidence = _strata(model, parts)
    if model.family == "linear":
        return linear_risk(evidence, len(model.terms))
    cells = cells_of(evidence)
    groups = [] if model.penalty else _groups_of(model, parts)
    seen = _seen(groups, cells)
    sides = [there for group in groups for _, there in group.sides]
    rows = np.vstack([np.array(sides, float).reshape(-1, len(cells.y)), _information_rows(cells)])
    mean, covariance = rows @ cells.shares, rows @ cells.covariance @ rows.T
    limits = BEYOND_NOISE * np.sqrt(np.maximum(np.diagonal(covariance), 0))
    limits[: len(seen)] = [each.limit(cells) for each in seen]
    values, directions = np.linalg.eigh(covariance)
    normal = np.random.default_rng(0).normal(size=(DRAWS, len(values)))
    drawn = mean + (normal * np.sqrt(np.maximum(values, 0))) @ directions.T
    refused = drawn <= limits
    chance = float(refused.any(axis=1).mean())
    unseen = refused[:, : len(seen)]
    if not unseen.any() or unseen.any(axis=1).mean() < chance / 2:
        return Risk(chance)
    worst = seen[int(np.argmax(unseen.sum(axis=0)))]
    return Risk(chance, worst.levels, worst.who)


def linear_risk(strata: Strata, terms: int) -> Risk:
    """Return the same for a linear model, whose information has to be above zero in every
    direction: from the direction in which it is the fewest standard errors above."""
    least = weakest(strata, linear_root(strata, terms))
    if least.information <= 0:
        return Risk(1.0)
    return Risk(
        float(scipy.special.ndtr(BEYOND_NOISE - least.information / max(least.error, 1e-300)))
    )


def _information_rows(cells: StackedCells) -> np.ndarray:
    """Return the information about each coefficient, and in each principal direction, where all
    coefficients are zero, as sums over the shares."""
    information = (cells.x * cells.shares) @ cells.x.T
    diagonal = np.diagonal(information)
    scale = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    _, directions = np.linalg.eigh(scale[:, None] * information * scale)
    along = np.vstack([np.eye(len(scale)), directions.T * scale])
    return np.asarray((along @ cells.x) ** 2)
