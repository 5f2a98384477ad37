"""A model and what strata say of it -> coefficients, or why they cannot be estimated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.regression.evidence import Table
from incrowd.estimation.regression.model import Levels, Model, Term, design, holding
from incrowd.estimation.regression.results import Fit, coefficients
from incrowd.estimation.regression.solving import (
    BEYOND_NOISE,
    Strata,
    linear_root,
    logistic_root,
    sandwich,
    weakest,
)
from incrowd.estimation.tables import NOISE_ONLY

MORE = "collect more reports, or put answers together"
NOT_FOUND = (
    "the coefficients run away: some of the predictors together leave hardly a doubt of {outcome} "
    f"(separation); {MORE}, or use fewer predictors"
)


Part = tuple[Sequence[Levels], JointEstimate]  # strata, and their cells one after the other


def fit_tables(model: Model, strata: Sequence[tuple[Levels, JointEstimate]]) -> Fit:
    """Fit a model to the joint tables of some strata.

    strata: for each the answers to the questions that are asked in clear, and the unbiased table of
    the others with its covariance. One stratum without such answers is the whole collection.
    """
    return _fit_parts(model, _apart(strata))


def fit_together(model: Model, strata: Sequence[Levels], joint: JointEstimate) -> Fit:
    """Fit a model to one table of all strata, whose errors hang together, as weights make them.

    joint: the tables of the strata one after the other, in shares of all people.
    """
    return _fit_parts(model, [(strata, joint)])


def _fit_parts(model: Model, strata: Sequence[Part]) -> Fit:
    parts = _tables(model, strata)
    sampled = strata[0][1].errors != NOISE_ONLY
    if model.family == "logistic" and (reason := _separated(model, strata, parts)):
        return no_fit(reason)
    return fit(model, Strata(parts, sampled))


def _apart(strata: Sequence[tuple[Levels, JointEstimate]]) -> list[Part]:
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
    least = weakest(strata, beta)
    if not least.enough:
        known = f"is {least.information:.3g} with a standard error of {least.error:.2g}"
        return no_fit(
            f"too little is known of {names[least.coefficient]}: the information about it {known}, "
            f"and cannot be told from zero; {MORE}, or use fewer predictors"
        )
    covariance = sandwich(strata, beta)
    return Fit(coefficients(names, beta, covariance), covariance)


def left_out(model: Model, strata: Sequence[tuple[Levels, JointEstimate]]) -> float:
    """The share of people who are no part of the model, for they did not answer."""
    if not model.optional:
        return 0.0
    parts = _tables(model, _apart(strata))
    people = sum(part.people for part in parts)
    each = (part.people * part.share(part.design.counted * 1.0)[0] for part in parts)
    return 1 - sum(each) / people


def counted_share(model: Model, strata: Sequence[Levels], joint: JointEstimate) -> float:
    """Of one table of all strata, the share of people who are part of the model."""
    (table,) = _tables(model, [(strata, joint)])
    return table.share(table.design.counted * 1.0)[0]


def no_fit(reason: str) -> Fit:
    """Why there are no coefficients."""
    return Fit((), np.zeros((0, 0)), reason)


def _groups(model: Model) -> Iterator[Term]:
    """All combinations of levels that the model tells apart, those of reference included."""
    for variables in [*((each,) for each in model.predictors), *model.interactions]:
        levels = (
            [level for level, held in zip(each.levels, each.counted, strict=True) if held]
            for each in variables
        )
        yield from (Term(tuple(zip(variables, each, strict=True))) for each in product(*levels))


def _separated(model: Model, strata: Sequence[Part], parts: Sequence[Table]) -> str:
    """Which group has an outcome of which nobody knows whether anybody is there; "" if none.

    Its log odds are those of two shares, and both have to be above zero beyond noise.
    """
    people = sum(part.people for part in parts)
    weakest = (np.inf, "")
    for group in _groups(model):
        where = [holding(model, group, *levels) for levels, _ in strata]
        for score, said in ((1.0, "with"), (0.0, "without")):
            each = [
                part.share(here * part.design.counted * (part.design.y == score))
                for here, part in zip(where, parts, strict=True)
            ]
            weights = [part.people / people for part in parts]
            share = sum(w * value for w, (value, _) in zip(weights, each, strict=True))
            variance = sum(w**2 * v for w, (_, v) in zip(weights, each, strict=True))
            error = float(np.sqrt(max(variance, 0.0)))
            if share <= BEYOND_NOISE * error:
                found = f"{group.name} {said} {model.explained}"
                reason = (
                    f"the share of people {found} is {share:.4g} with a standard error of "
                    f"{error:.2g}, and cannot be told from zero (separation); {MORE}"
                )
                weakest = min(weakest, (share / max(error, 1e-300), reason))
    return weakest[1]
